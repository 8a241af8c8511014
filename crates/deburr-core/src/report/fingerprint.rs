//! Fingerprints of findings: what stays when a program is linked again, so that a finding is known in the
//! next run.
//!
//! In: the path of a file and its findings. Out: hexadecimal digits, made of the path, the rule, the function, the
//! message without addresses, and which of several equal findings it is.

use super::PlacedFinding;
use std::collections::HashMap;

/// Gives the findings of one file their fingerprints, in the order of addresses.
#[derive(Debug)]
pub struct Fingerprints<'r> {
    path: &'r str,
    /// Findings so far that only their order distinguishes.
    equal: HashMap<u64, u64>,
}

impl<'r> Fingerprints<'r> {
    /// Of the file at a path.
    pub fn of(path: &'r str) -> Fingerprints<'r> {
        Fingerprints { path: path.strip_prefix("./").unwrap_or(path), equal: HashMap::new() }
    }

    /// The next finding's, in hexadecimal digits.
    pub fn next(&mut self, finding: &PlacedFinding) -> String {
        let message = without_addresses(&finding.message);
        let parts = [self.path, &finding.rule, finding.function.as_deref().unwrap_or_default(), &message];
        let same = parts.into_iter().fold(BASIS, |hash, part| fnv1a(fnv1a(hash, part.as_bytes()), &[0]));
        let turn = self.equal.entry(same).or_default();
        let fingerprint = fnv1a(same, &turn.to_le_bytes());
        *turn += 1;
        format!("{fingerprint:016x}")
    }
}

/// A message with `0x` in place of each hexadecimal number.
fn without_addresses(message: &str) -> String {
    let mut parts = message.split("0x");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str("0x");
        plain.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    plain
}

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a with 64 bits (RFC 9923): the same on every machine and in every version.
fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Evidence, Severity};
    use crate::report::Hex;

    fn finding(rule: &'static str, svma: u64, message: &str) -> PlacedFinding {
        let function = serde_json::json!({
            "function": "spin_lock", "svma": "0x0", "features": {}, "reach": "required", "path": [], "root": null, "guard": null,
        });
        let function = serde_json::from_value(function).unwrap();
        let made =
            PlacedFinding::of_run(rule, Severity::Note, &function, message.to_owned(), Evidence::default());
        PlacedFinding { svma: Hex(svma), ..made }
    }

    #[test]
    fn hash_is_the_published_one() {
        assert_eq!(fnv1a(BASIS, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(BASIS, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(BASIS, b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn fingerprint_survives_relinking_and_distinguishes_findings() {
        let all = |findings: &[PlacedFinding]| {
            let mut fingerprints = Fingerprints::of("bin/server");
            findings.iter().map(|finding| fingerprints.next(finding)).collect::<Vec<_>>()
        };
        let mut findings = [
            finding("llsc-loop", 0x1100, "a loop"),
            finding("llsc-loop", 0x1120, "a loop"),
            finding("outlined-atomic", 0x1139, "a branch at 0x1139 in main"),
        ];
        let before = all(&findings);
        assert!(before[0] != before[1] && before[1] != before[2], "{before:?}");
        for finding in &mut findings {
            finding.svma = Hex(finding.svma.0 + 0x40);
        }
        findings[2].message = "a branch at 0x1179 in main".into();
        assert_eq!(all(&findings), before);
        findings[2].function = Some("other".into());
        assert_ne!(all(&findings)[2], before[2]);
        assert_ne!(Fingerprints::of("bin/other").next(&findings[0]), before[0]);
        assert_eq!(Fingerprints::of("./bin/server").next(&findings[0]), before[0]);
    }
}

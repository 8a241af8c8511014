//! Tags as lintian prints them, for those who read package checks: `E: PACKAGE: TAG DETAILS [PATH:SVMA]`.
//!
//! A tag is `deburr-` and the rule's id; `deburr explain` has its page. The package is the file that was given, without its
//! version; the path is the one within it.

use super::location::{function_of, place};
use super::renderer::{Checked, Finished, Renderer};
use crate::render::line::one_line;
use deburr_core::finding::Severity;
use deburr_core::report::PlacedFinding;
use std::io::{self, Write};

/// One line a finding.
pub(crate) struct Lintian;

impl Renderer for Lintian {
    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        file.report.findings.iter().try_for_each(|finding| tag(out, &file.report.path, finding))
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        run.across.iter().try_for_each(|finding| tag(out, &finding.path, &PlacedFinding::from(finding)))?;
        for skip in run.skipped.iter().filter(|skip| skip.fault) {
            let (package, inner) = split(&skip.path);
            writeln!(out, "E: {package}: deburr-not-checked {} [{inner}]", one_line(&skip.reason))?;
        }
        Ok(())
    }
}

fn tag(out: &mut dyn Write, path: &str, finding: &PlacedFinding) -> io::Result<()> {
    let letter = match finding.severity {
        Severity::Error => 'E',
        Severity::Warning => 'W',
        Severity::Note => 'I',
    };
    let (package, inner) = split(path);
    let (rule, message) = (&finding.rule, one_line(&finding.message));
    let function = one_line(&function_of(finding));
    writeln!(out, "{letter}: {package}: deburr-{rule} {message} in {function} [{inner}:{}]", place(finding))
}

/// The name of the package, and the path in it; of a file in no package, its own name and path.
fn split(path: &str) -> (String, String) {
    let (package, inner) = path.split_once('!').unwrap_or((path, path));
    let name = package.rsplit('/').next().unwrap_or(package);
    // NAME_VERSION_ARCHITECTURE.deb
    let name = if name.ends_with(".deb") { name.split('_').next().unwrap_or(name) } else { name };
    (one_line(name), one_line(inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::{example, example_across, rendered, rendered_with};

    #[test]
    fn finding_is_a_tag_of_its_package() {
        let mut report = example();
        report.path = "/pool/server_1.2-3_arm64.deb!usr/bin/server".to_owned();
        report.findings[2].function = Some("a\nb".into());
        let expected = "\
I: server: deburr-outlined-atomic calls a helper in spin_lock [usr/bin/server:0x1000]
I: server: deburr-outlined-atomic calls a helper in spin_lock [usr/bin/server:0x1010]
W: server: deburr-llsc-loop compare-and-swap of 4 bytes in a\u{fffd}b [usr/bin/server:0x2000]
";
        assert_eq!(rendered(&mut Lintian, &[report]), expected);
    }

    #[test]
    fn file_in_no_package_is_its_own() {
        let text = rendered_with(&mut Lintian, &[], &[example_across()]);
        assert!(text.starts_with("W: verify: deburr-scalar-twin "), "{text}");
        assert!(text.ends_with(" in checksum_block [bin/verify:0x1180]\n"), "{text}");
    }
}

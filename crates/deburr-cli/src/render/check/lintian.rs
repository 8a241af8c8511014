//! Tags as lintian prints them, for those who read package checks: `E: PACKAGE: TAG DETAILS [PATH:SVMA]`.
//!
//! A tag is `deburr-` and the rule's id; `deburr explain` has its page. The package is the file that was given, without its
//! version; the path is the one within it. A file has at most one line for each rule: its worst finding, and how many more there
//! are.

use super::answer::why_undecided;
use super::location::{function_of, place};
use super::renderer::{Checked, Finished, Renderer};
use crate::text::line::{fit, fit_middle};
use crate::text::number::grouped;
use deburr_core::finding::Severity;
use deburr_core::report::PlacedFinding;
use deburr_text::one_line;
use std::io::{self, Write};

/// Columns of a line: what lintian's own longest tags have.
const MAX_LINE: usize = 200;

/// Columns of a path in it, so that the message has some, too.
const MAX_PATH: usize = 70;

/// One line for each rule of a file.
pub(crate) struct Lintian;

impl Renderer for Lintian {
    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        if let Some(why) = why_undecided(file.report) {
            let (package, inner) = split(&file.report.path);
            line(out, &format!("W: {package}: deburr-undecided"), &one_line(&why), &inner)?;
        }
        tags(out, &file.report.path, file.report.counted())
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        for of_file in run.across.chunk_by(|a, b| a.path == b.path) {
            let placed: Vec<PlacedFinding> = of_file.iter().map(PlacedFinding::from).collect();
            tags(out, of_file.first().map_or("", |first| &first.path), placed.iter())?;
        }
        for skip in run.skipped.iter().filter(|skip| skip.fault) {
            let (package, inner) = split(&skip.path);
            line(out, &format!("E: {package}: deburr-not-checked"), &one_line(&skip.reason), &inner)?;
        }
        Ok(())
    }
}

/// Writes the tags of a file's findings, in the order of the first of each rule.
fn tags<'f>(
    out: &mut dyn Write,
    path: &str,
    findings: impl Iterator<Item = &'f PlacedFinding>,
) -> io::Result<()> {
    // By rule: its worst finding, the first of these, and how many it has.
    let mut rules: Vec<(&PlacedFinding, u64)> = Vec::new();
    for finding in findings {
        match rules.iter_mut().find(|(worst, _)| worst.rule == finding.rule) {
            Some((worst, count)) => {
                *count += 1;
                if finding.severity > worst.severity {
                    *worst = finding;
                }
            }
            None => rules.push((finding, 1)),
        }
    }
    rules.into_iter().try_for_each(|(worst, count)| tag(out, path, worst, count))
}

fn tag(out: &mut dyn Write, path: &str, finding: &PlacedFinding, count: u64) -> io::Result<()> {
    let letter = match finding.severity {
        Severity::Error => 'E',
        Severity::Warning => 'W',
        Severity::Note => 'I',
    };
    let (package, inner) = split(path);
    let function = function_of(finding);
    let function = one_line(&function);
    let more = if count > 1 { format!(", and {} more", grouped(count - 1)) } else { String::new() };
    let message = format!("{} in {function}{more}", one_line(&finding.message));
    let place = format!("{}:{}", fit_middle(&inner, Some(MAX_PATH)), place(finding));
    line(out, &format!("{letter}: {package}: deburr-{}", finding.rule), &message, &place)
}

/// Writes a line: of what is too long, the message loses its end, and then the place its middle.
fn line(out: &mut dyn Write, tag: &str, message: &str, place: &str) -> io::Result<()> {
    let tag = fit(tag, Some(80));
    let place = fit_middle(place, Some(MAX_PATH + 20));
    let room = MAX_LINE.saturating_sub(tag.chars().count() + place.chars().count() + 4);
    writeln!(out, "{tag} {} [{place}]", fit(message, Some(room)))
}

/// The name of the package, and the path in it; of a file in no package, its own name and path.
fn split(path: &str) -> (String, String) {
    let (package, inner) = path.split_once('!').unwrap_or((path, path));
    let name = package.rsplit('/').next().unwrap_or(package);
    // NAME_VERSION_ARCHITECTURE.deb
    let name = if name.ends_with(".deb") { name.split('_').next().unwrap_or(name) } else { name };
    (one_line(name).into_owned(), one_line(inner).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::{
        example, example_across, rendered, rendered_with, undecided_example,
    };

    #[test]
    fn finding_is_a_tag_of_its_package() {
        let mut report = example();
        report.path = "/pool/server_1.2-3_arm64.deb!usr/bin/server".to_owned();
        report.findings[2].function = Some("a\nb".into());
        let expected = "\
I: server: deburr-outlined-atomic calls a helper in spin_lock, and 1 more [usr/bin/server:0x1000]
W: server: deburr-llsc-loop compare-and-swap of 4 bytes in a\\x0ab [usr/bin/server:0x2000]
";
        assert_eq!(rendered(&mut Lintian, &[report]), expected);
    }

    #[test]
    fn an_undecided_file_is_a_tag() {
        let mut report = undecided_example();
        report.path = "/pool/server_1.2-3_arm64.deb!usr/bin/server".to_owned();
        report.findings.clear();
        let text = rendered(&mut Lintian, &[report]);
        assert!(
            text.starts_with("W: server: deburr-undecided undecided on armv8.0-a: 2 functions "),
            "{text}"
        );
        assert!(text.ends_with(" [usr/bin/server]\n"), "{text}");
    }

    #[test]
    fn file_in_no_package_is_its_own() {
        let text = rendered_with(&mut Lintian, &[], &[example_across()]);
        assert!(text.starts_with("W: verify: deburr-scalar-twin "), "{text}");
        assert!(text.ends_with(" in checksum_block [bin/verify:0x1180]\n"), "{text}");
    }

    #[test]
    fn line_has_at_most_200_columns_whatever_its_names_hold() {
        let mut report = example();
        report.path = format!("/pool/{}.deb!{}", "p".repeat(300), "d/".repeat(300));
        for finding in &mut report.findings {
            finding.message = "m".repeat(500).into();
            finding.function = Some("f".repeat(500).into());
        }
        let text = rendered(&mut Lintian, &[report]);
        assert_eq!(text.lines().count(), 2, "one for each rule: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= MAX_LINE), "{text}");
        assert!(
            text.lines().all(|line| line.ends_with("d/:0x1000]") || line.ends_with("d/:0x2000]")),
            "{text}"
        );
    }
}

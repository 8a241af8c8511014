//! Text for editors and grep: one line a finding, in the order of addresses.
//!
//! `PATH:SVMA: SEVERITY RULE: MESSAGE [FUNCTION at FILE:LINE]`, before them of an undecided file
//! `PATH: warning undecided: MESSAGE`

use super::answer::why_undecided;
use super::location::place;
use super::renderer::{Checked, Finished, Renderer};
use crate::config::allow::NO_NAME;
use crate::render::style::Palette;
use deburr_core::finding::Severity;
use deburr_core::report::PlacedFinding;
use deburr_text::one_line;
use std::io::{self, Write};

/// One line a finding.
pub(crate) struct Concise {
    pub(crate) palette: Palette,
}

impl Renderer for Concise {
    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        if let Some(why) = why_undecided(file.report) {
            let head = self.palette.severity(Severity::Warning, "warning undecided");
            writeln!(out, "{}: {head}: {}", one_line(&file.report.path), one_line(&why))?;
        }
        file.report.counted().try_for_each(|finding| self.finding(out, &file.report.path, finding))
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        run.across
            .iter()
            .try_for_each(|finding| self.finding(out, &finding.path, &PlacedFinding::from(finding)))
    }
}

impl Concise {
    fn finding(&self, out: &mut dyn Write, path: &str, finding: &PlacedFinding) -> io::Result<()> {
        let path = one_line(path);
        let function = one_line(finding.function.as_deref().unwrap_or(NO_NAME));
        let source = match &finding.source {
            Some(source) => format!(" at {}:{}", one_line(&source.file), source.line),
            None => String::new(),
        };
        let plain = format!("{} {}", finding.severity.name(), finding.rule);
        let head = self.palette.severity(finding.severity, &plain);
        let message = one_line(&finding.message);
        writeln!(out, "{path}:{}: {head}: {message} [{function}{source}]", place(finding))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::{
        example, example_across, rendered, rendered_with, undecided_example,
    };

    #[test]
    fn finding_is_one_line_whatever_its_names_hold() {
        let mut report = example();
        report.findings[0].section = Some(".text".into());
        report.findings[1].function = Some("a\nb".into());
        report.findings[1].source = None;
        report.findings[2].function = None;
        let text = rendered(&mut Concise { palette: Palette::new(false) }, &[report]);
        let expected = "\
bin/server:.text+0x1000: note outlined-atomic: calls a helper [spin_lock at lock.c:7]
bin/server:0x1010: note outlined-atomic: calls a helper [a\\x0ab]
bin/server:0x2000: warning llsc-loop: compare-and-swap of 4 bytes [(no name) at lock.c:7]
";
        assert_eq!(text, expected);
    }

    #[test]
    fn an_undecided_file_has_a_line_of_its_own() {
        let text = rendered(&mut Concise { palette: Palette::new(false) }, &[undecided_example()]);
        let first = text.lines().next().unwrap();
        assert!(
            first.starts_with("bin/server: warning undecided: undecided on armv8.0-a: 2 functions "),
            "{text}"
        );
        assert_eq!(text.matches("undecided:").count(), 1);
    }

    #[test]
    fn finding_across_files_is_one_of_its_file() {
        let text = rendered_with(&mut Concise { palette: Palette::new(false) }, &[], &[example_across()]);
        let message = "scalar loop, where bin/server has it on 128-bit vectors";
        assert_eq!(text, format!("bin/verify:0x1180: warning scalar-twin: {message} [checksum_block]\n"));
    }
}

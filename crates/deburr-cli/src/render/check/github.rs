//! Annotations of GitHub Actions: a workflow command a finding, on the source line where DWARF has it, or
//! else on the file that was checked. Follows "Workflow commands for GitHub Actions" and the escapes of its
//! toolkit's `core.command`.

use super::answer::why_undecided;
use super::location::{local, place};
use super::renderer::{Checked, Finished, Renderer};
use deburr_core::finding::Severity;
use deburr_core::report::PlacedFinding;
use std::io::{self, Write};

/// One command a finding.
pub(crate) struct Github {
    /// The current folder: sources are named from there.
    pub(crate) here: Option<String>,
    /// Whether an undecided file fails the run.
    pub(crate) undecided_fails: bool,
}

impl Renderer for Github {
    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        if let Some(why) = why_undecided(file.report) {
            let command = if self.undecided_fails { "error" } else { "warning" };
            let path = property(local(&file.report.path, self.here.as_deref()));
            writeln!(out, "::{command} file={path},title=undecided::{}", data(&why))?;
        }
        file.report.counted().try_for_each(|finding| self.finding(out, &file.report.path, finding))
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        run.across
            .iter()
            .try_for_each(|finding| self.finding(out, &finding.path, &PlacedFinding::from(finding)))?;
        for skip in run.skipped.iter().filter(|skip| skip.fault) {
            let file = property(local(&skip.path, self.here.as_deref()));
            writeln!(out, "::error file={file},title=not checked::{}", data(&skip.reason))?;
        }
        Ok(())
    }
}

impl Github {
    fn finding(&self, out: &mut dyn Write, path: &str, finding: &PlacedFinding) -> io::Result<()> {
        let command = match finding.severity {
            Severity::Note => "notice",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let local = |path: &str| property(local(path, self.here.as_deref()));
        let at = match &finding.source {
            Some(source) => format!("file={},line={}", local(&source.file), source.line),
            None => format!("file={}", local(path)),
        };
        let function = finding.function.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        let message = data(&format!("{function}{} ({path}:{})", finding.message, place(finding)));
        writeln!(out, "::{command} {at},title={}::{message}", property(&finding.rule))
    }
}

/// The text after the last colons.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The text after an equals sign.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::{example, rendered, undecided_example};

    #[test]
    fn annotation_is_on_the_source_line_or_else_on_the_file() {
        let mut report = example();
        report.findings[0].source = None;
        report.findings[0].function = None;
        report.findings[2].source.as_mut().unwrap().file = "/work/src/a,b.c".to_owned();
        let text =
            rendered(&mut Github { here: Some("/work".to_owned()), undecided_fails: false }, &[report]);
        let expected = "\
::notice file=bin/server,title=outlined-atomic::calls a helper (bin/server:0x1000)
::notice file=lock.c,line=7,title=outlined-atomic::spin_lock: calls a helper (bin/server:0x1010)
::warning file=src/a%2Cb.c,line=7,title=llsc-loop::spin_lock: compare-and-swap of 4 bytes (bin/server:0x2000)
";
        assert_eq!(text, expected);
    }

    #[test]
    fn an_undecided_file_is_a_warning_and_an_error_where_it_fails_the_run() {
        let mut report = undecided_example();
        report.findings.clear();
        let expected = "file=bin/server,title=undecided::undecided on armv8.0-a: 2 functions that need more may be \
                        reached by paths that were not followed (--verbose lists them)\n";
        for (undecided_fails, command) in [(false, "warning"), (true, "error")] {
            let text = rendered(&mut Github { here: None, undecided_fails }, &[report.clone()]);
            assert_eq!(text, format!("::{command} {expected}"));
        }
        report.answer_allowed = true;
        assert_eq!(rendered(&mut Github { here: None, undecided_fails: true }, &[report]), "");
    }

    #[test]
    fn nothing_in_a_name_ends_the_command_or_its_properties() {
        let mut report = example();
        report.path = "100%:a,b\nc".to_owned();
        report.findings.truncate(1);
        report.findings[0].source = None;
        report.findings[0].function = Some("f::g\r".into());
        let text = rendered(&mut Github { here: None, undecided_fails: false }, &[report]);
        let expected = "::notice file=100%25%3Aa%2Cb%0Ac,title=outlined-atomic::\
                        f::g%0D: calls a helper (100%25:a,b%0Ac:0x1000)\n";
        assert_eq!(text, expected);
    }
}

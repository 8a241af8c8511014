//! JUnit XML, as CI servers read it: a suite for each file, a failure for each finding at or above
//! `--fail-on`; a file without any is one test that passes. XML 1.0; the elements are those of Ant's
//! junitreport.

use super::location::place;
use super::renderer::{Checked, Finished, Renderer};
use crate::config::allow::NO_NAME;
use deburr_core::finding::Severity;
use deburr_core::report::PlacedFinding;
use std::io::{self, Write};

/// One document.
pub(crate) struct Junit {
    /// The least severity that is a failure; `None`: none is.
    pub(crate) threshold: Option<Severity>,
}

impl Renderer for Junit {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"deburr\">")
    }

    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        self.suite(out, &file.report.path, file.report.counted())
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        for finding in run.across {
            self.suite(out, &finding.path, [&PlacedFinding::from(finding)].into_iter())?;
        }
        for skip in run.skipped.iter().filter(|skip| skip.fault) {
            let (path, reason) = (escaped(&skip.path), escaped(&skip.reason));
            writeln!(
                out,
                "  <testsuite name=\"{path}\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    \
                 <testcase classname=\"{path}\" name=\"check\">\n      <error message=\"{reason}\"/>\n    \
                 </testcase>\n  </testsuite>"
            )?;
        }
        writeln!(out, "</testsuites>")
    }
}

impl Junit {
    fn suite<'f>(
        &self,
        out: &mut dyn Write,
        path: &str,
        findings: impl Iterator<Item = &'f PlacedFinding>,
    ) -> io::Result<()> {
        let fails = |finding: &&PlacedFinding| self.threshold.is_some_and(|least| finding.severity >= least);
        let failures: Vec<&PlacedFinding> = findings.filter(fails).collect();
        let path = escaped(path);
        let (tests, count) = (failures.len().max(1), failures.len());
        writeln!(
            out,
            "  <testsuite name=\"{path}\" tests=\"{tests}\" failures=\"{count}\" errors=\"0\" skipped=\"0\">"
        )?;
        if failures.is_empty() {
            writeln!(out, "    <testcase classname=\"{path}\" name=\"check\"/>")?;
        }
        for finding in failures {
            let place = place(finding);
            let function = finding.function.as_deref().unwrap_or(NO_NAME);
            let name = escaped(&format!("{} at {place} in {function}", finding.rule));
            let (rule, message) = (escaped(&finding.rule), escaped(&finding.message));
            let source = finding.source.as_ref();
            let source =
                source.map(|source| format!(" at {}:{}", source.file, source.line)).unwrap_or_default();
            let text = escaped(&format!(
                "{} {}: {} [{function}{source}]",
                finding.severity.name(),
                finding.rule,
                finding.message
            ));
            writeln!(out, "    <testcase classname=\"{path}\" name=\"{name}\">")?;
            writeln!(out, "      <failure type=\"{rule}\" message=\"{message}\">{text}</failure>")?;
            writeln!(out, "    </testcase>")?;
        }
        writeln!(out, "  </testsuite>")
    }
}

/// Text for elements and attributes. Characters that XML cannot hold at all (section 2.2) are replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' => escaped.push_str("&#9;"),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::{example, example_with, rendered};
    use deburr_core::Report;

    fn counts(threshold: Option<Severity>, reports: &[Report]) -> Vec<(String, usize, usize)> {
        let text = rendered(&mut Junit { threshold }, reports);
        let document = roxmltree::Document::parse(&text).unwrap();
        let suites = document.root_element().children().filter(|node| node.has_tag_name("testsuite"));
        let suites = suites.map(|suite| {
            let of = |name| suite.descendants().filter(|node| node.has_tag_name(name)).count();
            assert_eq!(suite.attribute("tests").unwrap(), of("testcase").to_string());
            assert_eq!(suite.attribute("failures").unwrap(), of("failure").to_string());
            (suite.attribute("name").unwrap().to_owned(), of("testcase"), of("failure"))
        });
        suites.collect()
    }

    #[test]
    fn finding_fails_from_the_threshold_on() {
        let of = |threshold| counts(threshold, &[example()]);
        let suite = |tests, failures| vec![("bin/server".to_owned(), tests, failures)];
        assert_eq!(of(Some(Severity::Note)), suite(3, 3));
        assert_eq!(of(Some(Severity::Warning)), suite(1, 1));
        assert_eq!(of(Some(Severity::Error)), suite(1, 0));
        assert_eq!(of(None), suite(1, 0));
    }

    #[test]
    fn any_name_is_read_back_by_an_xml_parser() {
        let name = "operator<<(\"&'\")\t\n]]>\u{1}<!--";
        let mut report = example_with(|report| report.path = format!("bin/{name}"));
        report.findings.truncate(1);
        report.findings[0].function = Some(name.into());
        report.findings[0].message = name.into();
        let text = rendered(&mut Junit { threshold: Some(Severity::Note) }, &[report]);
        let document = roxmltree::Document::parse(&text).unwrap();
        let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
        let legal = name.replace('\u{1}', "\u{fffd}");
        assert_eq!(failure.attribute("message"), Some(legal.as_str()));
        assert!(failure.text().unwrap().contains(&legal), "{:?}", failure.text());
        let case = failure.parent().unwrap();
        assert_eq!(case.attribute("classname").unwrap(), format!("bin/{legal}"));
    }
}

//! JUnit XML, as CI servers read it: a suite for each file, a failure for each finding at or above
//! `--fail-on`; a file without any is one test that passes. A file with an answer has it as a property, and an undecided
//! one has a test that is skipped, or fails where `--fail-on` says so. XML 1.0; the elements are those of Ant's
//! junitreport.

use super::answer::why_undecided;
use super::location::place;
use super::renderer::{Checked, Finished, Renderer};
use crate::config::allow::NO_NAME;
use crate::config::fail_on::Failing;
use deburr_core::Report;
use deburr_core::report::PlacedFinding;
use std::io::{self, Write};

/// One document.
pub(crate) struct Junit {
    pub(crate) failing: Failing,
}

impl Renderer for Junit {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"deburr\">")
    }

    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        self.suite(out, &file.report.path, file.report.counted(), Some(file.report))
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        for finding in run.across {
            self.suite(out, &finding.path, [&PlacedFinding::from(finding)].into_iter(), None)?;
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
        report: Option<&Report>,
    ) -> io::Result<()> {
        let fails =
            |finding: &&PlacedFinding| self.failing.threshold.is_some_and(|least| finding.severity >= least);
        let failures: Vec<&PlacedFinding> = findings.filter(fails).collect();
        let undecided = report.and_then(why_undecided);
        let path = escaped(path);
        let (failed, skipped) = match (&undecided, self.failing.undecided) {
            (Some(_), true) => (failures.len() + 1, 0),
            (Some(_), false) => (failures.len(), 1),
            (None, _) => (failures.len(), 0),
        };
        let tests = failures.len().max(1) + usize::from(undecided.is_some());
        writeln!(
            out,
            "  <testsuite name=\"{path}\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\">"
        )?;
        if let Some((answer, on)) = report.and_then(|report| report.answer.zip(report.on_baseline.as_ref())) {
            let (answer, name) = (answer.name(), escaped(&on.name));
            writeln!(
                out,
                "    <properties>\n      <property name=\"answer\" value=\"{answer}\"/>\n      \
                 <property name=\"baseline\" value=\"{name}\"/>\n    </properties>"
            )?;
        }
        if failures.is_empty() {
            writeln!(out, "    <testcase classname=\"{path}\" name=\"check\"/>")?;
        }
        if let Some(why) = undecided {
            let why = escaped(&why);
            writeln!(out, "    <testcase classname=\"{path}\" name=\"answer\">")?;
            match self.failing.undecided {
                true => writeln!(out, "      <failure type=\"undecided\" message=\"{why}\">{why}</failure>")?,
                false => writeln!(out, "      <skipped message=\"{why}\"/>")?,
            }
            writeln!(out, "    </testcase>")?;
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

/// Text for elements and attributes. Characters that act, and those that XML cannot hold at all (section 2.2), are spelt out or
/// replaced.
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
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            active if deburr_text::is_active(active) => deburr_text::spell(&mut escaped, active),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::{example, example_with, rendered, undecided_example};
    use deburr_core::finding::Severity;

    fn junit(threshold: Option<Severity>, undecided: bool) -> Junit {
        Junit { failing: Failing { threshold, undecided } }
    }

    #[test]
    fn an_undecided_file_is_a_test_that_is_skipped_or_fails() {
        let mut report = undecided_example();
        report.findings.clear();
        for (undecided, kind, counts) in [(false, "skipped", ("0", "1")), (true, "failure", ("1", "0"))] {
            let text = rendered(&mut junit(Some(Severity::Warning), undecided), &[report.clone()]);
            let document = roxmltree::Document::parse(&text).unwrap();
            let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
            let of = |name| suite.attribute(name).unwrap();
            assert_eq!((of("tests"), (of("failures"), of("skipped"))), ("2", counts));
            let said = suite.descendants().find(|node| node.has_tag_name(kind)).unwrap();
            assert!(said.attribute("message").unwrap().contains("2 functions that need more"), "{text}");
            let property = suite.descendants().find(|node| node.has_tag_name("property")).unwrap();
            assert_eq!(
                (property.attribute("name"), property.attribute("value")),
                (Some("answer"), Some("undecided"))
            );
        }
    }

    fn counts(threshold: Option<Severity>, reports: &[Report]) -> Vec<(String, usize, usize)> {
        let text = rendered(&mut junit(threshold, false), reports);
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
        let text = rendered(&mut junit(Some(Severity::Note), false), &[report]);
        let document = roxmltree::Document::parse(&text).unwrap();
        let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
        let legal = name.replace('\u{1}', "\\x01");
        assert_eq!(failure.attribute("message"), Some(legal.as_str()));
        assert!(failure.text().unwrap().contains(&legal), "{:?}", failure.text());
        let case = failure.parent().unwrap();
        assert_eq!(case.attribute("classname").unwrap(), format!("bin/{legal}"));
    }
}

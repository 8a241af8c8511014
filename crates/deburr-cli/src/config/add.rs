//! `--add-allowances`: the findings of a run → `[[allow]]` tables in the configuration file, so that the next
//! run finds nothing new.
//!
//! One table for each rule, file and function, in that order. The user's text stays: tables are appended, and
//! where there is one for the same already, its count is raised in place.

use super::allow::{Allowance, Allowed, NO_NAME};
use super::document::{Config, NAME};
use crate::output;
use deburr_core::Report;
use deburr_text::ShownPath as _;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const REASON: &str = "present when allowances were added";

/// What is to be written.
#[derive(Debug, Default)]
pub(crate) struct Additions {
    /// Findings by rule, file and function.
    counts: BTreeMap<(Cow<'static, str>, String, String), u64>,
}

/// What was written.
#[derive(Debug)]
pub(crate) struct Added {
    path: PathBuf,
    tables: usize,
    raised: usize,
    findings: u64,
}

impl Additions {
    /// Takes all findings out of a report, as the allowances that will be written for them do.
    pub(crate) fn take(&mut self, report: &mut Report) -> Vec<Allowed> {
        report.allowed += report.counted().count() as u64;
        for finding in report.counted() {
            let function = finding.function.as_deref().unwrap_or(NO_NAME).to_owned();
            *self.counts.entry((finding.rule.clone(), report.path.clone(), function)).or_default() += 1;
        }
        let reason: Arc<str> = REASON.into();
        let allow = |finding| Allowed { finding, reason: reason.clone() };
        report.findings.extract_if(.., |finding| finding.counted).map(allow).collect()
    }

    /// Writes them to the file that is given, or else to the one in use.
    pub(crate) fn write(&self, given: Option<&Path>, in_use: Option<&Path>) -> Result<Added, String> {
        let path = given.or(in_use).unwrap_or(Path::new(NAME));
        let fault = |error: std::io::Error| format!("{}: {error}", path.shown());
        let read = match std::fs::metadata(path) {
            // Nothing is read of a device or a FIFO, which would give what it gets, or wait.
            Ok(there) if !there.is_file() => Ok(String::new()),
            _ => std::fs::read_to_string(path),
        };
        let before = match read {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(fault(error)),
        };
        let mut added = Added { path: path.to_owned(), tables: 0, raised: 0, findings: 0 };
        let after = self.added_to(&before, &mut added)?;
        if after != before {
            output::write(path, after.as_bytes(), &[])?;
        }
        Ok(added)
    }

    /// A configuration's text with the tables.
    fn added_to(&self, text: &str, added: &mut Added) -> Result<String, String> {
        let path = added.path.shown().into_owned();
        let known = Config::parse(text, &path)?.allowances;
        let mut raised = Vec::new();
        let mut tables = String::new();
        for ((rule, file, function), &count) in &self.counts {
            added.findings += count;
            let is_same = |known: &&Allowance| {
                known.rules == [&**rule]
                    && known.names_file(file)
                    && known.function.as_deref() == Some(function)
            };
            match known.iter().find(is_same) {
                Some(Allowance { count: Some((least, span)), .. }) if *least < count => {
                    raised.push((span.clone(), count));
                }
                Some(_) => {}
                None => {
                    let quoted = |text: &str| toml::Value::from(text).to_string();
                    added.tables += 1;
                    tables.push_str(&format!(
                        "\n[[allow]]\nrule = \"{rule}\"\nfile = {}\nfunction = {}\ncount = {count}\nreason = \"{REASON}\"\n",
                        quoted(file),
                        quoted(function)
                    ));
                }
            }
        }
        added.raised = raised.len();
        let mut after = text.to_owned();
        raised.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        for (span, count) in raised {
            after.replace_range(span, &count.to_string());
        }
        if !after.is_empty() && !after.ends_with('\n') {
            after.push('\n');
        }
        after.push_str(if after.is_empty() { tables.trim_start() } else { &tables });
        // Where `allow` is written as a list in one line, no table can follow.
        Config::parse(&after, &path).map_err(|fault| format!("no allowances can be added: {fault}"))?;
        Ok(after)
    }
}

impl fmt::Display for Added {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let Added { path, tables, raised, findings } = self;
        let path = path.shown();
        if *findings == 0 {
            return write!(f, "no allowances added to {path}: there is nothing to allow");
        }
        let (s, of) = (plural(*tables as u64), plural(*findings));
        write!(f, "{tables} allowance{s} for {findings} finding{of} added to {path}")?;
        if *raised > 0 { write!(f, ", {raised} raised") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::allow::Ledger;
    use crate::render::check::example::{example, example_with};

    fn added_to(text: &str, reports: &mut [Report]) -> Result<(String, Added), String> {
        let mut additions = Additions::default();
        for report in reports {
            additions.take(report);
        }
        let mut added = Added { path: NAME.into(), tables: 0, raised: 0, findings: 0 };
        Ok((additions.added_to(text, &mut added)?, added))
    }

    /// What the allowances of a text leave of reports, and how many of them are stale or exceeded.
    fn left(text: &str, reports: &[Report]) -> (usize, usize) {
        let config = Config::parse(text, NAME).unwrap();
        let mut ledger = Ledger::new(&config.allowances);
        let mut left = 0;
        for report in reports {
            let mut report = report.clone();
            ledger.settle(&mut report);
            left += report.findings.len();
        }
        let remarks = ledger.remarks(|_| true);
        (left, remarks.stale.len() + remarks.exceeded.len())
    }

    #[test]
    fn tables_follow_the_users_text() {
        let (text, added) = added_to("# ours\ntarget = \"neoverse-n1\"", &mut [example()]).unwrap();
        let expected = "\
# ours
target = \"neoverse-n1\"

[[allow]]
rule = \"llsc-loop\"
file = \"bin/server\"
function = \"spin_lock\"
count = 1
reason = \"present when allowances were added\"

[[allow]]
rule = \"outlined-atomic\"
file = \"bin/server\"
function = \"spin_lock\"
count = 2
reason = \"present when allowances were added\"
";
        assert_eq!(text, expected);
        assert_eq!(added.to_string(), "2 allowances for 3 findings added to deburr.toml");
        assert_eq!(left(&text, &[example()]), (0, 0));
    }

    #[test]
    fn next_run_is_clean_whatever_the_names_are() {
        let names =
            ["f(char*)", "f(char&)", "f(char, int*)", "operator*(\"a\"\\, 'b')", "g?", "gh", "*", r"名\x0a"];
        let paths =
            ["server", "bin/server", "./sbin/server", "a.deb!bin/server", "odd*", "odder", "lib.a(x.o)"];
        let mut reports: Vec<Report> = Vec::new();
        for (turn, path) in paths.into_iter().enumerate() {
            let mut report = example_with(|report| report.path = path.to_owned());
            let mut finding = report.findings[0].clone();
            report.findings.clear();
            for (count, name) in names.iter().enumerate() {
                // The numbers differ, so that no allowance fits where another is meant.
                let count = 1 + (count * 3 + turn * 5) % 11;
                let mut named = finding.clone();
                named.function = Some((*name).into());
                report.findings.extend(std::iter::repeat_n(named, count));
            }
            finding.function = None;
            report.findings.push(finding);
            reports.push(report);
        }
        let (text, _) = added_to("", &mut reports.clone()).unwrap();
        assert!(text.starts_with("[[allow]]\n"), "{text}");
        assert_eq!(left(&text, &reports), (0, 0), "{text}");
    }

    #[test]
    fn count_is_raised_where_the_table_is_there_already() {
        let (before, _) = added_to("", &mut [example()]).unwrap();
        let mut more = example();
        more.findings.extend([more.findings[0].clone(), more.findings[1].clone()]);
        assert_eq!(left(&before, &[more.clone()]), (4, 1));
        let (after, added) = added_to(&before, &mut [more.clone()]).unwrap();
        assert_eq!(after, before.replace("count = 2", "count = 4"));
        assert_eq!(added.to_string(), "0 allowances for 5 findings added to deburr.toml, 1 raised");
        assert_eq!(left(&after, &[more]), (0, 0));
    }

    #[test]
    fn text_that_tables_cannot_follow_is_refused() {
        let text = "allow = [{ rule = \"llsc-loop\", file = \"x\", reason = \"r\" }]\n";
        let refused = added_to(text, &mut [example()]).unwrap_err();
        assert!(refused.starts_with("no allowances can be added: deburr.toml:"), "{refused}");
        assert!(added_to("x = 1\n", &mut [example()]).unwrap_err().contains("unknown key `x`"));
    }
}

//! Renderers: reports → text for people or documents for programs. They see reports and the sums of a run, compute layout
//! only, and write each file when it comes: none holds the findings of a run.

pub(crate) mod compare;
pub(crate) mod concise;
pub(crate) mod diff;
#[cfg(test)]
pub(crate) mod example;
pub(crate) mod few;
pub(crate) mod fix;
pub(crate) mod functions;
pub(crate) mod github;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod listing;
pub(crate) mod sarif;
pub(crate) mod style;
pub(crate) mod text;
pub(crate) mod totals;

use crate::config::allow::{Allowed, Remarks};
use crate::config::guard::StaleGuard;
use crate::input::walk::Skipped;
use deburr_core::Report;
use deburr_core::report::{AcrossFinding, PlacedFinding};
use std::io::{self, Write};
use totals::Totals;

/// One file that was checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked<'r> {
    /// With the findings that are not allowed.
    pub(crate) report: &'r Report,
    /// The findings that are.
    pub(crate) allowed: &'r [Allowed],
}

/// A run that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished<'r> {
    pub(crate) totals: &'r Totals,
    /// By path.
    pub(crate) skipped: &'r [Skipped],
    /// Findings by comparison of files, by file.
    pub(crate) across: &'r [AcrossFinding],
    pub(crate) stale_guards: &'r [StaleGuard],
    pub(crate) remarks: &'r Remarks,
}

/// A finding by comparison of files as one of its own file.
fn placed(finding: &AcrossFinding) -> PlacedFinding {
    PlacedFinding {
        rule: finding.rule,
        severity: finding.severity,
        function: finding.function.clone(),
        svma: finding.svma,
        section: finding.section.clone(),
        extent: 0,
        source: None,
        message: finding.message.clone(),
        evidence: finding.evidence.clone(),
    }
}

/// A format: what is written at the beginning, for each file, and at the end.
pub(crate) trait Renderer {
    /// Opens the document.
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Adds one file.
    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()>;

    /// Closes the document.
    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()>;
}

/// A finding's address: `0x4a10`, in relocatable objects `.text+0x10`.
fn place(finding: &PlacedFinding) -> String {
    let section = finding.section.as_deref().map(|name| format!("{name}+")).unwrap_or_default();
    format!("{section}{}", finding.svma)
}

/// A text that stays on its line, whatever a symbol table or a folder holds.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// A path as it is known in a folder, if it lies there.
fn local<'p>(path: &'p str, here: Option<&str>) -> &'p str {
    let below = here.and_then(|here| path.strip_prefix(here)?.strip_prefix('/'));
    let path = below.unwrap_or(path);
    path.strip_prefix("./").unwrap_or(path)
}

/// A path as a URI reference (RFC 3986): relative, or of the scheme `file`.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for &byte in path.as_bytes() {
        match byte {
            // A colon in the first segment would look like a scheme; it is escaped everywhere.
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b'/'
            | b'!'
            | b'+'
            | b'@' => {
                uri.push(char::from(byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_named_from_the_folder_that_it_lies_in() {
        for (path, expected) in [
            ("/work/src/a.c", "src/a.c"),
            ("./a.c", "a.c"),
            ("/workshop/a.c", "/workshop/a.c"),
            ("a.c", "a.c"),
        ] {
            assert_eq!(local(path, Some("/work")), expected);
        }
        assert_eq!(local("/work/a.c", None), "/work/a.c");
    }

    #[test]
    fn uri_escapes_what_a_path_may_hold() {
        assert_eq!(uri("usr/bin/c++ 名:%"), "usr/bin/c++%20%E5%90%8D%3A%25");
        assert_eq!(uri("/usr/lib/x.so"), "file:///usr/lib/x.so");
        assert_eq!(uri("a.deb!usr/x.a(y.o)"), "a.deb!usr/x.a%28y.o%29");
    }
}

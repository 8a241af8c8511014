//! The JSON document of `deburr check`, written piece by piece: its schema is `schema.json`.

use super::totals::Totals;
use crate::config::StaleGuard;
use crate::input::walk::Skipped;
use deburr_core::Report;
use deburr_core::report::{AcrossFinding, SCHEMA_VERSION};
use serde::Serialize;
use serde_json::json;
use std::io::{self, Write};

/// Writes one document.
pub(crate) struct Document {
    pretty: bool,
    files: u64,
}

impl Document {
    /// Opens the document.
    pub(crate) fn begin(out: &mut dyn Write, pretty: bool) -> io::Result<Document> {
        let document = Document { pretty, files: 0 };
        let (line, colon) = document.space();
        let version = env!("CARGO_PKG_VERSION");
        write!(out, "{{{line}\"schema_version\":{colon}{SCHEMA_VERSION},{line}")?;
        write!(out, "\"tool_version\":{colon}\"{version}\",{line}\"files\":{colon}[")?;
        Ok(document)
    }

    /// Adds one report.
    pub(crate) fn file(&mut self, out: &mut dyn Write, report: &Report) -> io::Result<()> {
        if self.files > 0 {
            out.write_all(b",")?;
        }
        self.files += 1;
        if self.pretty {
            out.write_all(b"\n    ")?;
        }
        self.value(out, report, "\n    ")
    }

    /// Closes the document.
    pub(crate) fn end(
        self,
        out: &mut dyn Write,
        across: &[AcrossFinding],
        (skipped, stale): (&[Skipped], &[StaleGuard]),
        totals: &Totals,
    ) -> io::Result<()> {
        let (line, colon) = self.space();
        let skipped: Vec<_> =
            skipped.iter().map(|skip| json!({"path": skip.path, "reason": skip.reason})).collect();
        let before_end = if self.files > 0 { line } else { "" };
        write!(out, "{before_end}],{line}\"across_files\":{colon}")?;
        self.value(out, &across, "\n  ")?;
        write!(out, ",{line}\"skipped\":{colon}")?;
        self.value(out, &skipped, "\n  ")?;
        write!(out, ",{line}\"stale_guards\":{colon}")?;
        self.value(out, &stale, "\n  ")?;
        write!(out, ",{line}\"statistics\":{colon}")?;
        self.value(out, totals, "\n  ")?;
        writeln!(out, "{}}}", if self.pretty { "\n" } else { "" })
    }

    /// What stands between members, and after a colon.
    const fn space(&self) -> (&'static str, &'static str) {
        if self.pretty { ("\n  ", " ") } else { ("", "") }
    }

    fn value(&self, out: &mut dyn Write, value: &impl Serialize, indent: &str) -> io::Result<()> {
        if self.pretty {
            // JSON strings hold no raw line ends, so that every one is layout.
            out.write_all(serde_json::to_string_pretty(value)?.replace('\n', indent).as_bytes())
        } else {
            serde_json::to_writer(out, value).map_err(io::Error::from)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::text::tests::{example, example_across};

    fn document(pretty: bool, reports: &[Report]) -> serde_json::Value {
        let mut out = Vec::new();
        let mut totals = Totals::default();
        let mut document = Document::begin(&mut out, pretty).unwrap();
        for report in reports {
            totals.add(report, 4096);
            document.file(&mut out, report).unwrap();
        }
        let reason = "32-bit Arm ELF: not supported".to_owned();
        let skipped = [Skipped { path: "old.so".to_owned(), reason, named: false, fault: false }];
        let reason_it_is_stale = "it matches no function of the run";
        let place = "deburr.toml:1".to_owned();
        let stale = [StaleGuard { function: "sum_*".to_owned(), reason_it_is_stale, place }];
        document.end(&mut out, &[example_across()], (&skipped, &stale), &totals).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn document_follows_its_schema() {
        let schema: serde_json::Value = serde_json::from_str(include_str!("../schema.json")).unwrap();
        assert!(jsonschema::meta::is_valid(&schema));
        let validator = jsonschema::validator_for(&schema).unwrap();
        for document in
            [document(false, &[example()]), document(true, &[example(), example()]), document(true, &[])]
        {
            let errors: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{errors:?}");
        }
        let mut wrong = document(false, &[example()]);
        wrong["files"][0]["findings"][0]["svma"] = json!(4096);
        assert!(!validator.is_valid(&wrong));
    }

    #[test]
    fn pretty_and_plain_documents_say_the_same() {
        assert_eq!(document(true, &[example()]), document(false, &[example()]));
    }
}

//! The JSON document of `deburr check`, written piece by piece. `schema.json` is its schema; `schema-1.merge-patch.json` has what differs in
//! version 1.
//!
//! In: the calls of [`Renderer`]. Out: one JSON object. Each file goes out when it comes, so that no run is
//! held in memory.

use super::renderer::{Checked, Finished, Renderer};
use super::with_field::WithField;
use crate::args::format::SchemaVersion;
use crate::input::walk::Skipped;
use crate::render::json::write_value;
use deburr_core::report::grouped;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes one document.
pub(crate) struct Json {
    version: SchemaVersion,
    pretty: bool,
    files: u64,
}

impl Renderer for Json {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let (line, colon) = self.space();
        let version = env!("CARGO_PKG_VERSION");
        let schema = self.version as u8;
        write!(out, "{{{line}\"schema_version\":{colon}{schema},{line}")?;
        write!(out, "\"tool_version\":{colon}\"{version}\",{line}\"files\":{colon}[")
    }

    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        if self.files > 0 {
            out.write_all(b",")?;
        }
        self.files += 1;
        if self.pretty {
            out.write_all(b"\n    ")?;
        }
        match self.version {
            SchemaVersion::One => self.value(out, file.report, "\n    "),
            SchemaVersion::Two => {
                let groups = grouped(&file.report.findings);
                let report = WithField { of: file.report, field: "findings", value: &groups };
                self.value(out, &report, "\n    ")
            }
        }
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        let (line, colon) = self.space();
        let skipped: Vec<_> = run.skipped.iter().map(skipped).collect();
        let before_end = if self.files > 0 { line } else { "" };
        write!(out, "{before_end}],{line}\"across_files\":{colon}")?;
        self.value(out, &run.across, "\n  ")?;
        write!(out, ",{line}\"skipped\":{colon}")?;
        self.value(out, &skipped, "\n  ")?;
        write!(out, ",{line}\"stale_guards\":{colon}")?;
        self.value(out, &run.stale_guards, "\n  ")?;
        write!(out, ",{line}\"stale_allowances\":{colon}")?;
        self.value(out, &run.remarks.stale, "\n  ")?;
        write!(out, ",{line}\"exceeded_allowances\":{colon}")?;
        self.value(out, &run.remarks.exceeded, "\n  ")?;
        if let Some(configuration) = run.configuration {
            write!(out, ",{line}\"configuration\":{colon}")?;
            self.value(out, configuration, "\n  ")?;
        }
        if let Some(profile) = run.profile {
            write!(out, ",{line}\"profile\":{colon}")?;
            self.value(out, profile, "\n  ")?;
        }
        write!(out, ",{line}\"statistics\":{colon}")?;
        self.value(out, run.totals, "\n  ")?;
        writeln!(out, "{}}}", if self.pretty { "\n" } else { "" })
    }
}

/// One entry of `skipped`.
fn skipped(skip: &Skipped) -> Value {
    let mut entry = json!({"path": skip.path, "reason": skip.reason});
    if let Some(kind) = &skip.kind {
        entry["kind"] = json!(kind);
    }
    if let Some(bytes) = skip.bytes {
        entry["bytes"] = json!(bytes);
    }
    if skip.is_part {
        entry["is_part"] = json!(true);
    }
    entry
}

impl Json {
    pub(crate) const fn new(version: SchemaVersion, pretty: bool) -> Json {
        Json { version, pretty, files: 0 }
    }

    /// The space between members, and after a colon.
    const fn space(&self) -> (&'static str, &'static str) {
        if self.pretty { ("\n  ", " ") } else { ("", "") }
    }

    fn value(&self, out: &mut dyn Write, value: &impl Serialize, indent: &str) -> io::Result<()> {
        write_value(out, self.pretty, value, indent)
    }
}

/// The JSON Schema of version 1: the schema of version 2 after the merge patch with the differences.
pub(crate) fn schema_of_version_1() -> serde_json::Result<Value> {
    let mut schema = serde_json::from_str(include_str!("../../schema.json"))?;
    merge(&mut schema, serde_json::from_str(include_str!("../../schema-1.merge-patch.json"))?);
    Ok(schema)
}

/// Applies a JSON Merge Patch (RFC 7396): `null` removes a member.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        match (target.as_object_mut(), value) {
            (Some(members), Value::Null) => drop(members.remove(&name)),
            (_, value) => merge(&mut target[name], value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::{example, example_across, rendered_with, undecided_example};
    use deburr_core::Report;
    use deburr_test_support::schema_faults;

    fn document_of(version: SchemaVersion, pretty: bool, reports: &[Report]) -> serde_json::Value {
        let text = rendered_with(&mut Json::new(version, pretty), reports, &[example_across()]);
        serde_json::from_str(&text).unwrap()
    }

    fn document(pretty: bool, reports: &[Report]) -> serde_json::Value {
        document_of(SchemaVersion::Two, pretty, reports)
    }

    #[test]
    fn document_of_each_version_follows_its_schema_and_not_the_other() {
        let schemas = [
            schema_of_version_1().unwrap(),
            serde_json::from_str(include_str!("../../schema.json")).unwrap(),
        ];
        for (version, schema) in [SchemaVersion::One, SchemaVersion::Two].into_iter().zip(&schemas) {
            for document in [
                document_of(version, false, &[example(), undecided_example()]),
                document_of(version, true, &[example(), example()]),
                document_of(version, true, &[]),
            ] {
                let faults = schema_faults(schema, &document);
                assert!(faults.is_empty(), "{faults:?}");
                let other = schemas.iter().find(|other| *other != schema).unwrap();
                assert!(!schema_faults(other, &document).is_empty());
            }
        }
        let mut wrong = document(false, &[example()]);
        wrong["files"][0]["findings"][0]["places"][0]["svma"] = json!(4096);
        assert!(!schema_faults(&schemas[1], &wrong).is_empty());
    }

    /// The example of RFC 7396, section 3.
    #[test]
    fn a_merge_patch_changes_adds_and_removes() {
        let mut target = json!({
            "title": "Goodbye!", "author": {"givenName": "John", "familyName": "Doe"},
            "tags": ["example", "sample"], "content": "This will be unchanged"
        });
        let patch = json!({
            "title": "Hello!", "phoneNumber": "+01-123-456-7890", "author": {"familyName": null},
            "tags": ["example"]
        });
        merge(&mut target, patch);
        let expected = json!({
            "title": "Hello!", "author": {"givenName": "John"}, "tags": ["example"],
            "content": "This will be unchanged", "phoneNumber": "+01-123-456-7890"
        });
        assert_eq!(target, expected);
    }

    #[test]
    fn the_versions_differ_in_the_findings_of_files_alone() {
        let strip = |version| {
            let mut document = document_of(version, false, &[example(), undecided_example()]);
            document["schema_version"].take();
            for file in document["files"].as_array_mut().unwrap() {
                file["findings"].take();
            }
            document
        };
        assert_eq!(strip(SchemaVersion::One), strip(SchemaVersion::Two));
    }

    #[test]
    fn pretty_and_plain_documents_say_the_same() {
        assert_eq!(document(true, &[example()]), document(false, &[example()]));
    }
}

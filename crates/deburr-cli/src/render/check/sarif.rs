//! SARIF 2.1.0 (OASIS), for code scanning: results are written as they come, after the tool's description.
//!
//! A finding with a source line is placed there, and the address in the binary is a related location;
//! otherwise the binary is the place. Allowed findings are results with a suppression.

use super::fingerprint::Fingerprints;
use super::location::{local, place, uri};
use super::renderer::{Checked, Finished, Renderer};
use crate::render::json::write_value;
use deburr_core::report::PlacedFinding;
use deburr_core::rule::RULES;
use serde_json::{Value, json};
use std::io::{self, Write};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Writes one document.
pub(crate) struct Sarif {
    pub(crate) pretty: bool,
    /// The current folder: sources are named from there.
    pub(crate) here: Option<String>,
    pub(crate) results: u64,
}

impl Renderer for Sarif {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let rules: Vec<Value> = RULES
            .iter()
            .map(|rule| {
                json!({
                    "id": rule.id,
                    "shortDescription": {"text": rule.summary},
                    "help": {"text": rule.page, "markdown": rule.page},
                    "properties": {"severity": rule.severity, "preview": rule.preview},
                })
            })
            .collect();
        let tool = json!({"driver": {
            "name": env!("CARGO_PKG_NAME"),
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "informationUri": env!("CARGO_PKG_REPOSITORY"),
            "rules": rules,
        }});
        write!(out, "{{\"$schema\": \"{SCHEMA}\", \"version\": \"2.1.0\", \"runs\": [{{\"tool\": ")?;
        write_value(out, self.pretty, &tool, "\n")?;
        out.write_all(b",\n\"results\": [")
    }

    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        let path = &file.report.path;
        let mut fingerprints = Fingerprints::of(path);
        let open = file.report.findings.iter().map(|finding| (finding, None));
        let allowed = file.allowed.iter().map(|allowed| (&allowed.finding, Some(&allowed.reason)));
        for (finding, reason) in open.chain(allowed) {
            let mut result = self.result(path, finding);
            result["partialFingerprints"] = json!({"deburr/v1": fingerprints.next(finding)});
            if let Some(reason) = reason {
                result["suppressions"] =
                    json!([{"kind": "external", "status": "accepted", "justification": **reason}]);
            }
            self.write(out, &result)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        for finding in run.across {
            let placed = PlacedFinding::from(finding);
            let mut result = self.result(&finding.path, &placed);
            let fingerprint = Fingerprints::of(&finding.path).next(&placed);
            result["partialFingerprints"] = json!({"deburr/v1": fingerprint});
            self.write(out, &result)?;
        }
        let notifications = run.skipped.iter().map(|skip| {
            json!({
                "level": if skip.fault { "error" } else { "note" },
                "message": {"text": format!("not checked: {}", skip.reason)},
                "locations": [{"physicalLocation": {"artifactLocation": self.artifact(&skip.path)}}],
            })
        });
        let invocation = json!({
            "executionSuccessful": !run.skipped.iter().any(|skip| skip.fault),
            "toolExecutionNotifications": notifications.collect::<Vec<Value>>(),
        });
        out.write_all(b"],\n\"invocations\": [")?;
        write_value(out, self.pretty, &invocation, "\n")?;
        out.write_all(b"]}]}\n")
    }
}

impl Sarif {
    fn write(&mut self, out: &mut dyn Write, result: &Value) -> io::Result<()> {
        out.write_all(if self.results > 0 { b",\n" } else { b"\n" })?;
        self.results += 1;
        write_value(out, self.pretty, result, "\n")
    }

    fn artifact(&self, path: &str) -> Value {
        json!({"uri": uri(local(path, self.here.as_deref()))})
    }

    fn result(&self, path: &str, finding: &PlacedFinding) -> Value {
        let binary = json!({
            "artifactLocation": self.artifact(path),
            "address": address(finding),
        });
        let mut location = json!({"physicalLocation": binary});
        let mut related = json!([]);
        if let Some(source) = &finding.source {
            related = json!([location]);
            let mut physical = json!({"artifactLocation": self.artifact(&source.file)});
            // Line 0 is how DWARF says "no line".
            if source.line > 0 {
                physical["region"] = json!({"startLine": source.line});
            }
            location = json!({"physicalLocation": physical});
        }
        if let Some(function) = &finding.function {
            location["logicalLocations"] = json!([{"fullyQualifiedName": **function, "kind": "function"}]);
        }
        json!({
            "ruleId": finding.rule,
            "ruleIndex": RULES.iter().position(|rule| rule.id == finding.rule),
            "level": finding.severity,
            "message": {"text": *finding.message},
            "analysisTarget": self.artifact(path),
            "locations": [location],
            "relatedLocations": related,
            "properties": {"evidence": finding.evidence},
        })
    }
}

/// Where a finding is in the binary. In relocatable objects the address counts from the section's start.
fn address(finding: &PlacedFinding) -> Value {
    let kind = if finding.section.is_some() { "relativeAddress" } else { "absoluteAddress" };
    json!({
        kind: finding.svma.0,
        "length": finding.extent,
        "kind": "instruction",
        "fullyQualifiedName": place(finding),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::{example, example_across, rendered_with};
    use deburr_core::Report;
    use deburr_test_support::schema_faults;

    fn document(pretty: bool, reports: &[Report]) -> Value {
        let here = Some("/work".to_owned());
        let sarif = &mut Sarif { pretty, here, results: 0 };
        serde_json::from_str(&rendered_with(sarif, reports, &[example_across()])).unwrap()
    }

    #[test]
    fn document_follows_the_published_schema() {
        let schema = include_str!("../../../tests/data/sarif-schema-2.1.0.json");
        // Two patterns have a bracket too many, which not every engine takes.
        let schema: Value = serde_json::from_str(&schema.replace("{2}]?$", "{2}$")).unwrap();
        let mut odd = example();
        odd.path = "/tmp/a b%#?名!x\n.so".to_owned();
        odd.findings[0].section = Some(".text".into());
        odd.findings[1].source = None;
        odd.findings[2].source.as_mut().unwrap().line = 0;
        for document in [
            document(false, &[]),
            document(false, &[example(), odd.clone()]),
            document(true, &[odd, example()]),
        ] {
            let faults = schema_faults(&schema, &document);
            assert!(faults.is_empty(), "{faults:?}");
        }
        for (pointer, wrong) in [
            ("/runs/0/results/0/level", json!("fatal")),
            ("/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri", json!("a b")),
            ("/runs/0/results/0/locations/0/physicalLocation/region/startLine", json!(0)),
            ("/version", json!("2.0.0")),
        ] {
            let mut document = document(false, &[example()]);
            assert!(schema_faults(&schema, &document).is_empty());
            *document.pointer_mut(pointer).unwrap() = wrong;
            assert!(!schema_faults(&schema, &document).is_empty(), "{pointer}");
        }
    }

    #[test]
    fn finding_is_placed_in_its_source_and_in_the_binary() {
        let mut report = example();
        report.findings[2].source.as_mut().unwrap().file = "/work/src/lock.c".to_owned();
        report.findings[1].source = None;
        let results = document(false, &[report])["runs"][0]["results"].clone();
        // One allowed, and one across files.
        assert_eq!(results.as_array().unwrap().len(), 5);
        let with_source = &results[2];
        assert_eq!((&with_source["ruleId"], &with_source["level"]), (&json!("llsc-loop"), &json!("warning")));
        let physical = &with_source["locations"][0]["physicalLocation"];
        assert_eq!(physical["artifactLocation"]["uri"], "src/lock.c");
        assert_eq!(physical["region"], json!({"startLine": 7}));
        assert_eq!(with_source["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "spin_lock");
        assert_eq!(with_source["analysisTarget"]["uri"], "bin/server");
        let related = &with_source["relatedLocations"][0]["physicalLocation"];
        assert_eq!(
            (&related["address"]["absoluteAddress"], &related["address"]["length"]),
            (&json!(0x2000), &json!(12))
        );
        let without = &results[1]["locations"][0]["physicalLocation"];
        assert_eq!(
            (&without["artifactLocation"]["uri"], &without["address"]["absoluteAddress"]),
            (&json!("bin/server"), &json!(0x1010))
        );
        for result in results.as_array().unwrap() {
            let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(result["ruleId"], RULES[rule].id);
        }
    }

    #[test]
    fn allowed_finding_is_suppressed_with_its_reason() {
        let results = document(false, &[example()])["runs"][0]["results"].clone();
        let suppressed: Vec<_> =
            results.as_array().unwrap().iter().filter(|it| it.get("suppressions").is_some()).collect();
        assert_eq!(suppressed.len(), 1);
        assert_eq!(suppressed[0]["suppressions"][0]["justification"], "as good as it gets");
    }

    #[test]
    fn pretty_and_plain_documents_say_the_same() {
        assert_eq!(document(true, &[example()]), document(false, &[example()]));
    }
}

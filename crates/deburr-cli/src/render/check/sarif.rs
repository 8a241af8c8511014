//! SARIF 2.1.0 (OASIS), for code scanning.
//!
//! There is one result for each function and rule, with the number of its findings, the worst first; and no more of
//! them than GitHub takes, with a notification of those that are left out.
//!
//! A finding with a source line is placed there, and the address in the binary is a related location;
//! otherwise the binary is the place. Allowed findings are results with a suppression.

use super::answer::why_undecided;
use super::location::{local, place, uri};
use super::renderer::{Checked, Finished, Renderer};
use crate::render::json::write_value;
use crate::text::line::fit;
use crate::text::number::counted;
use deburr_core::finding::Severity;
use deburr_core::report::{Fingerprints, PlacedFinding};
use deburr_core::rule::RULES;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// Results at most: GitHub refuses files with more in a run (its documentation, "SARIF results exceed one or more limits").
const MOST_RESULTS: usize = 25_000;

/// Characters of a rule's description: GitHub shows no more than 1,024 (its documentation, "reportingDescriptor object").
const LONGEST_DESCRIPTION: usize = 1000;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Writes one document.
pub(crate) struct Sarif {
    pub(crate) pretty: bool,
    /// The current folder: sources are named from there.
    pub(crate) here: Option<String>,
    /// What is to be written, by severity.
    pub(crate) results: BTreeMap<Reverse<Severity>, Vec<String>>,
    /// Results that there was no room for.
    pub(crate) left_out: u64,
    /// Findings in code that the files' owners cannot change.
    pub(crate) of_runtimes: u64,
    /// Files with an answer, and what is said of the undecided ones.
    pub(crate) answers: Vec<(Value, Option<String>)>,
}

impl Renderer for Sarif {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let rules: Vec<Value> = RULES
            .iter()
            .map(|rule| {
                json!({
                    "id": rule.id,
                    "shortDescription": {"text": sentence(rule.summary)},
                    "fullDescription": {"text": described(rule.page).unwrap_or_else(|| sentence(rule.summary))},
                    "help": {"text": format!("deburr explain {}", rule.id), "markdown": rule.page},
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

    fn file(&mut self, _out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        let path = &file.report.path;
        if let Some((answer, on)) = file.report.answer.zip(file.report.on_baseline.as_ref()) {
            // Of a file, SARIF has properties where it lists artifacts (3.24).
            let properties = json!({"answer": answer, "baseline": on.name});
            let artifact = json!({"location": self.artifact(path), "properties": properties});
            self.answers.push((artifact, why_undecided(file.report)));
        }
        let mut fingerprints = Fingerprints::of(path);
        self.of_runtimes += file.report.not_counted().values().sum::<u64>();
        let open = file.report.counted().map(|finding| (finding, None));
        let allowed = file.allowed.iter().map(|allowed| (&allowed.finding, Some(&allowed.reason)));
        let mut groups: Vec<(&PlacedFinding, Option<&_>, String, u64)> = Vec::new();
        // By group: what its findings took of a run.
        let mut shares: Vec<Option<f64>> = Vec::new();
        let mut places: HashMap<(&str, Option<&str>, bool), usize> = HashMap::new();
        for (finding, reason) in open.chain(allowed) {
            let fingerprint = fingerprints.next(finding);
            let name = finding.function.as_deref();
            let place = name.and_then(|_| places.get(&(&*finding.rule, name, reason.is_some())).copied());
            match place.and_then(|place| groups.get_mut(place)) {
                Some(group) => {
                    group.3 += 1;
                    if let Some(Some(sum)) = place.and_then(|place| shares.get_mut(place)) {
                        *sum += percent(finding);
                    }
                    if finding.severity > group.0.severity {
                        (group.0, group.2) = (finding, fingerprint);
                    }
                }
                None => {
                    places.insert((&finding.rule, name, reason.is_some()), groups.len());
                    groups.push((finding, reason, fingerprint, 1));
                    shares.push(finding.weight.map(|_| percent(finding)));
                }
            }
        }
        for ((finding, reason, fingerprint, count), share) in groups.into_iter().zip(shares) {
            let mut result = self.result(path, finding);
            if let Some(share) = share {
                // From 0 to 100 (SARIF 2.1.0, 3.27.25).
                result["rank"] = json!((share.min(100.0) * 1e4).round() / 1e4);
            }
            result["partialFingerprints"] = json!({"deburr/v1": fingerprint});
            result["properties"]["findings"] = json!(count);
            if let Some(reason) = reason {
                result["suppressions"] =
                    json!([{"kind": "external", "status": "accepted", "justification": **reason}]);
            }
            self.keep(finding.severity, &result)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        for finding in run.across {
            let placed = PlacedFinding::from(finding);
            let mut result = self.result(&finding.path, &placed);
            let fingerprint = Fingerprints::of(&finding.path).next(&placed);
            result["partialFingerprints"] = json!({"deburr/v1": fingerprint});
            self.keep(finding.severity, &result)?;
        }
        for (number, result) in self.results.values().flatten().enumerate() {
            out.write_all(if number > 0 { b",\n" } else { b"\n" })?;
            out.write_all(result.as_bytes())?;
        }
        let left_out = (self.left_out > 0).then(|| {
            let text = format!(
                "{} results are left out, the least severe: GitHub takes {MOST_RESULTS}",
                self.left_out
            );
            json!({"level": "warning", "message": {"text": text}})
        });
        let of_runtimes = (self.of_runtimes > 0).then(|| {
            let text = format!(
                "{} in language runtimes and C libraries left out: --include-runtime reports them",
                counted(self.of_runtimes, "finding")
            );
            json!({"level": "note", "message": {"text": text}})
        });
        let notifications = run.skipped.iter().map(|skip| {
            json!({
                "level": if skip.fault { "error" } else { "note" },
                "message": {"text": format!("not checked: {}", skip.reason)},
                "locations": [{"physicalLocation": {"artifactLocation": self.artifact(&skip.path)}}],
            })
        });
        let undecided = self.answers.iter().filter_map(|(artifact, why)| {
            let text = why.as_deref()?;
            let location = json!({"physicalLocation": {"artifactLocation": artifact["location"]}});
            Some(json!({"level": "warning", "message": {"text": text}, "locations": [location]}))
        });
        let notifications = notifications.chain(undecided);
        let invocation = json!({
            "executionSuccessful": !run.skipped.iter().any(|skip| skip.fault),
            "toolExecutionNotifications": notifications.chain(left_out).chain(of_runtimes).collect::<Vec<Value>>(),
        });
        out.write_all(b"],\n\"invocations\": [")?;
        write_value(out, self.pretty, &invocation, "\n")?;
        out.write_all(b"]")?;
        if !self.answers.is_empty() {
            let artifacts: Vec<&Value> = self.answers.iter().map(|(artifact, _)| artifact).collect();
            out.write_all(b",\n\"artifacts\": ")?;
            write_value(out, self.pretty, &artifacts, "\n")?;
        }
        out.write_all(b"}]}\n")
    }
}

impl Sarif {
    pub(crate) fn new(pretty: bool, here: Option<String>) -> Sarif {
        Sarif { pretty, here, results: BTreeMap::new(), left_out: 0, of_runtimes: 0, answers: Vec::new() }
    }

    /// Keeps a result, in the place of a less severe one where there is no more room.
    fn keep(&mut self, severity: Severity, result: &Value) -> io::Result<()> {
        let mut text = Vec::new();
        write_value(&mut text, self.pretty, result, "\n")?;
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        self.results.entry(Reverse(severity)).or_default().push(text);
        if self.results.values().map(Vec::len).sum::<usize>() > MOST_RESULTS {
            self.left_out += 1;
            if let Some(mut least) = self.results.last_entry() {
                least.get_mut().pop();
                if least.get().is_empty() {
                    least.remove();
                }
            }
        }
        Ok(())
    }

    fn artifact(&self, path: &str) -> Value {
        json!({"uri": uri(local(path, self.here.as_deref()))})
    }

    fn result(&self, path: &str, finding: &PlacedFinding) -> Value {
        // A binary has no lines. GitHub shows a result only where its region begins at one.
        let binary = json!({
            "artifactLocation": self.artifact(path),
            "address": address(finding),
            "region": {"startLine": 1},
        });
        let mut location = json!({"physicalLocation": binary});
        let mut related = json!([]);
        if let Some(source) = &finding.source {
            related = json!([location]);
            let mut physical = json!({"artifactLocation": self.artifact(&source.file)});
            // Line 0 is how DWARF says "no line".
            physical["region"] = json!({"startLine": source.line.max(1)});
            location = json!({"physicalLocation": physical});
        }
        if let Some(function) = &finding.function {
            location["logicalLocations"] = json!([{"fullyQualifiedName": **function, "kind": "function"}]);
        }
        let mut result = json!({
            "ruleId": finding.rule,
            "ruleIndex": RULES.iter().position(|rule| rule.id == finding.rule),
            "level": finding.severity,
            "message": {"text": sentence(&finding.message)},
            "locations": [location],
            "properties": {"evidence": finding.evidence},
        });
        // Where the binary is the location, that says it already.
        if finding.source.is_some() {
            result["analysisTarget"] = self.artifact(path);
            result["relatedLocations"] = related;
        }
        result
    }
}

/// A text as a sentence: with a full stop at its end.
fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// The first paragraph of a rule's page below its first heading of the second level, as plain text.
fn described(page: &str) -> Option<String> {
    let mut lines = page.lines().skip_while(|line| !line.starts_with("## ")).skip(1);
    let first = lines.find(|line| !line.is_empty())?;
    let rest = lines.take_while(|line| !line.is_empty() && !line.starts_with(['#', '`', '|', '-']));
    let text = [first].into_iter().chain(rest).collect::<Vec<_>>().join(" ").replace('`', "");
    Some(fit(&sentence(text.trim_end_matches(':')), Some(LONGEST_DESCRIPTION)))
}

/// How much of a run a finding took.
fn percent(finding: &PlacedFinding) -> f64 {
    finding.weight.map_or(0.0, |weight| weight.share.percent())
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
    use crate::render::check::example::{example, example_across, rendered_with, undecided_example};
    use deburr_core::Report;
    use deburr_test_support::schema_faults;

    fn document(pretty: bool, reports: &[Report]) -> Value {
        let here = Some("/work".to_owned());
        let sarif = &mut Sarif::new(pretty, here);
        serde_json::from_str(&rendered_with(sarif, reports, &[example_across()])).unwrap()
    }

    #[test]
    fn an_undecided_file_is_an_artifact_with_its_answer_and_a_warning() {
        let document = document(false, &[undecided_example(), example()]);
        let run = &document["runs"][0];
        assert_eq!(run["artifacts"].as_array().unwrap().len(), 1, "a file without an answer has none");
        let properties = &run["artifacts"][0]["properties"];
        assert_eq!(properties, &json!({"answer": "undecided", "baseline": "armv8.0-a"}));
        let notifications = run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
        let warning = notifications.iter().find(|it| it["level"] == "warning").unwrap();
        let text = warning["message"]["text"].as_str().unwrap();
        assert!(text.starts_with("undecided on armv8.0-a: 2 functions "), "{text}");
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
            document(true, &[undecided_example(), example()]),
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
        report.findings[1].function = Some("other".into());
        let results = document(false, &[report])["runs"][0]["results"].clone();
        // One allowed, and one across files; the worst first.
        assert_eq!(results.as_array().unwrap().len(), 5);
        let of = |rule: &str, function: &str| {
            let is = |result: &&Value| {
                let name = &result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"];
                result["ruleId"] == rule && name == function
            };
            results.as_array().unwrap().iter().find(is).cloned().unwrap_or_default()
        };
        let with_source = &of("llsc-loop", "spin_lock");
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
        let without = &of("outlined-atomic", "other")["locations"][0]["physicalLocation"];
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
    fn findings_of_one_function_and_rule_are_one_result() {
        let mut report = example();
        let first = report.findings[0].clone();
        report.findings = vec![first.clone(); 3];
        report.findings[1].severity = Severity::Error;
        report.findings[2].function = Some("other".into());
        let results = document(false, &[report])["runs"][0]["results"].clone();
        let counts: Vec<&Value> =
            results.as_array().unwrap().iter().map(|it| &it["properties"]["findings"]).collect();
        assert_eq!((&results[0]["level"], counts[0]), (&json!("error"), &json!(2)), "{results:#}");
    }

    #[test]
    fn what_github_does_not_take_is_left_out_and_told() {
        let mut report = example();
        let mut finding = report.findings[0].clone();
        finding.function = None;
        report.findings = vec![finding; MOST_RESULTS + 7];
        report.findings[MOST_RESULTS + 3].severity = Severity::Error;
        let document = document(false, &[report]);
        let run = &document["runs"][0];
        let results = run["results"].as_array().unwrap();
        assert_eq!((results.len(), &results[0]["level"]), (MOST_RESULTS, &json!("error")));
        let told = run["invocations"][0]["toolExecutionNotifications"].to_string();
        assert!(told.contains("results are left out, the least severe: GitHub takes 25000"), "{told}");
    }

    #[test]
    fn pretty_and_plain_documents_say_the_same() {
        assert_eq!(document(true, &[example()]), document(false, &[example()]));
    }
}

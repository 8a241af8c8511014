//! The least that a wheel variant has to state of the CPU (PEP 825, with the properties of the providers `x86_64` and
//! `aarch64`): for each package, by the code that is reached without a check.
//!
//! In: reports. Out: one JSON document with the properties of each package, as text and as `variant.json` has them.

use super::renderer::{Checked, Finished, Renderer};
use crate::names::ARCHES;
use crate::render::json::write_value;
use deburr_core::Report;
use deburr_package::wheel::LevelProperty;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The version of the document's form.
const SCHEMA_VERSION: u32 = 1;

/// Writes one document, at the end.
#[derive(Default)]
pub(crate) struct Variant {
    pub(crate) pretty: bool,
    pub(crate) packages: BTreeMap<String, Needs>,
}

/// What the files of a package need, by architecture.
#[derive(Default)]
pub(crate) struct Needs {
    /// The place of the highest level among those of its architecture.
    levels: BTreeMap<&'static str, usize>,
    /// Features that no level has.
    beyond: BTreeMap<&'static str, BTreeSet<String>>,
}

impl Renderer for Variant {
    fn file(&mut self, _out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        let Report { path, arch, level, needed_beyond, made_at_run_time, .. } = file.report;
        if *made_at_run_time {
            return Ok(());
        }
        let package = path.split_once('!').map_or(path.as_str(), |(package, _)| package);
        let needs = self.packages.entry(package.to_owned()).or_default();
        let Some(arch) = ARCHES.into_iter().find(|known| known.name() == *arch) else {
            return Ok(());
        };
        let place = deburr_cpu::levels(arch).iter().position(|known| known.name == *level).unwrap_or(0);
        let highest = needs.levels.entry(arch.name()).or_default();
        *highest = place.max(*highest);
        needs.beyond.entry(arch.name()).or_default().extend(needed_beyond.iter().map(|name| extension(name)));
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write, _run: Finished<'_>) -> io::Result<()> {
        let packages: Vec<Value> = self.packages.iter().map(|(path, needs)| needs.value(path)).collect();
        let document = json!({
            "schema_version": SCHEMA_VERSION,
            "tool_version": env!("CARGO_PKG_VERSION"),
            "packages": packages,
        });
        write_value(out, self.pretty, &document, "\n")?;
        writeln!(out)
    }
}

impl Needs {
    fn value(&self, path: &str) -> Value {
        let (mut texts, mut variant) = (Vec::new(), Map::new());
        for arch in ARCHES {
            let mut features = Map::new();
            // The first level is what the platform tag says.
            let level = self.levels.get(arch.name()).filter(|place| **place > 0);
            let level = level.and_then(|place| deburr_cpu::levels(arch).get(*place));
            if let Some(level) = level {
                features.extend(
                    LevelProperty::from_level(level.name)
                        .map(|it| (it.feature.to_owned(), json!([it.value]))),
                );
            }
            for name in self.beyond.get(arch.name()).into_iter().flatten() {
                features.insert(name.clone(), json!(["on"]));
            }
            for (feature, values) in &features {
                let value = values[0].as_str().unwrap_or_default();
                texts.push(format!("{} :: {feature} :: {value}", arch.name()));
            }
            if !features.is_empty() {
                variant.insert(arch.name().to_owned(), Value::Object(features));
            }
        }
        json!({"path": path, "properties": texts, "variant": variant})
    }
}

/// A feature as the providers call it, who follow Linux.
fn extension(feature: &str) -> String {
    match feature {
        "FEAT_LSE" => "atomics".to_owned(),
        "FEAT_FP16" => "asimdhp".to_owned(),
        "FEAT_DotProd" => "asimddp".to_owned(),
        "FEAT_RDM" => "asimdrdm".to_owned(),
        "FEAT_LRCPC" => "lrcpc".to_owned(),
        "FEAT_FHM" => "asimdfhm".to_owned(),
        "SHA" => "sha_ni".to_owned(),
        other => other.trim_start_matches("FEAT_").to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::{example, rendered};

    fn report(path: &str, arch: &'static str, level: &str, beyond: &[&str]) -> Report {
        let mut report = example();
        report.path = path.to_owned();
        report.arch = arch.into();
        report.level = level.to_owned();
        report.needed_beyond = beyond.iter().map(|name| (*name).to_owned()).collect();
        report
    }

    #[test]
    fn a_package_states_the_most_that_any_of_its_files_needs() {
        let reports = [
            report("a.whl!x.so", "x86_64", "x86-64-v2", &["AES"]),
            report("a.whl!y.so", "x86_64", "x86-64-v3", &[]),
            report("b.whl!x.so", "x86_64", "x86-64-v1", &[]),
            report("c.whl!x.so", "aarch64", "armv8.2-a", &["FEAT_DotProd", "FEAT_SVE"]),
        ];
        let document: Value = serde_json::from_str(&rendered(&mut Variant::default(), &reports)).unwrap();
        let packages = document["packages"].as_array().unwrap();
        assert_eq!(packages[0]["properties"], json!(["x86_64 :: aes :: on", "x86_64 :: level :: v3"]));
        assert_eq!(packages[0]["variant"], json!({"x86_64": {"level": ["v3"], "aes": ["on"]}}));
        // Every machine of the platform tag will do.
        assert_eq!((&packages[1]["properties"], &packages[1]["variant"]), (&json!([]), &json!({})));
        let arm = json!(["aarch64 :: asimddp :: on", "aarch64 :: sve :: on", "aarch64 :: version :: 8.2a"]);
        assert_eq!(packages[2]["properties"], arm);
    }
}

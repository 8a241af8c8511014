//! One file, one verdict: header, counts, groups, findings and JSON say the same, whatever they are made from.

use super::{Scratch, deburr, stdout};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Files of the system that are checked, as far as it has so many.
const SYSTEM_FILES: usize = 24;

/// The objects of all fixtures.
fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deburr-core/fixtures");
    let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "o")).collect()
}

/// Programs and libraries of moderate size.
fn system_files() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in ["/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"] {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|path| {
            let size = path.symlink_metadata().map_or(0, |it| if it.is_file() { it.len() } else { 0 });
            let is_fit = (100_000..900_000).contains(&size);
            is_fit && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF\x02"))
        });
        files.sort();
        found.extend(files.into_iter().take(SYSTEM_FILES / 2));
    }
    found
}

fn count_of<'v>(values: impl Iterator<Item = &'v Value>, key: &str, name: &str) -> u64 {
    values.filter(|value| value[key] == name).count() as u64
}

/// What one report says twice.
fn assert_agrees(report: &Value) {
    let path = &report["path"];
    let functions = report["isa_functions"].as_array().unwrap();
    let unknown = count_of(functions.iter(), "reach", "unknown");
    assert_eq!(report["not_followed"], unknown, "{path}: header and functions");
    let mut by_group: BTreeMap<&str, u64> = BTreeMap::new();
    for function in functions {
        let is_unknown = function["reach"] == "unknown";
        assert_eq!(function["group"].is_string(), is_unknown, "{path}: {function}");
        assert_eq!(function["because"].is_string(), is_unknown, "{path}: {function}");
        if let Some(group) = function["group"].as_str() {
            *by_group.entry(group).or_default() += 1;
        }
    }
    let groups = report["isa_groups"].as_array().unwrap();
    let stated: BTreeMap<&str, u64> =
        groups.iter().map(|it| (it["id"].as_str().unwrap(), it["count"].as_u64().unwrap())).collect();
    assert_eq!(stated, by_group, "{path}: groups and functions");
    let presumed = count_of(functions.iter(), "reach", "presumed");
    assert_eq!(report["presumption"]["count"].as_u64().unwrap_or(0), presumed, "{path}");
    // What the header says that it needs, something needs; and the level is among those it runs on, unless known machines of
    // the level die.
    let levels = report["runs_on"]["levels"].as_array().unwrap();
    let level = deburr_cpu::level_named(report["level"].as_str().unwrap()).unwrap();
    let having = deburr_cpu::cpus_having(level.arch, level.features);
    let not = report["runs_on"]["not"].as_array().unwrap();
    let is_endangered = not.iter().any(|cpu| having.iter().any(|having| cpu == having.as_str()));
    assert!(levels.first() == Some(&report["level"]) || is_endangered, "{path}: {levels:?}");
    let unsafe_ones =
        functions.iter().filter(|it| it["reach"] == "required" || it["reach"] == "under-guarded");
    assert!(report["needed_by"].is_null() || unsafe_ones.count() > 0, "{path}");
    for finding in report["findings"].as_array().unwrap() {
        if finding["rule"] == "isa-note-missing" {
            assert_eq!(finding["evidence"]["level"], report["level"], "{path}: {finding}");
        }
    }
    let advice = report["advice"].as_array().unwrap();
    for advice in advice {
        let removes: Vec<(&String, u64)> =
            advice["removes"].as_object().unwrap().iter().map(|(k, v)| (k, v.as_u64().unwrap())).collect();
        assert_eq!(advice["findings"], removes.iter().map(|(_, count)| count).sum::<u64>(), "{path}");
        for (rule, count) in removes {
            let of_rule = report["findings"].as_array().unwrap().iter().filter(|it| it["rule"] == *rule);
            assert!(count <= of_rule.map(|it| it["count"].as_u64().unwrap()).sum(), "{path}");
        }
    }
    let is_open = |it: &&Value| it["reach"] == "required" || it["reach"] == "unknown";
    let mut with_lse = functions.iter().filter(|it| !it["features"]["FEAT_LSE"].is_null()).peekable();
    // Loads of 16 bytes are dispatched without LSE.
    if with_lse.peek().is_some() && with_lse.all(|it| is_open(&it)) {
        assert_eq!(report["atomics"]["inline_dispatch"], 0, "{path}: LSE is only without a known check");
    }
}

/// The lines of one file, in text.
fn block<'t>(text: &'t str, path: &str) -> Vec<&'t str> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("{path}: ")));
    let head = lines.next().unwrap_or_else(|| panic!("{path} is not in the text"));
    let rest = lines.take_while(|line| line.starts_with(' '));
    std::iter::once(head).chain(rest).collect()
}

/// 1042 for `unknown` in a line that has `1,042 unknown`; 0 where it has none.
fn number_before(line: &str, what: &str) -> u64 {
    let words: Vec<&str> = line.split(' ').collect();
    let pair = words.windows(2).find(|pair| pair[1].trim_end_matches([';', ',']) == what);
    pair.map_or(0, |pair| pair[0].replace(',', "").parse().unwrap())
}

#[test]
fn text_and_json_say_the_same_of_fixtures_and_of_the_system() {
    let scratch = Scratch::new("agreement");
    let json = scratch.join("report.json");
    let files: Vec<PathBuf> = fixtures().into_iter().chain(system_files()).collect();
    assert!(files.len() > 100, "only {} files", files.len());
    let mut arguments = vec!["check", "--verbose", "--fail-on", "never", "--format", "text", "--format"];
    let to_json = format!("json={}", json.display());
    arguments.push(&to_json);
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    arguments.extend(names.iter().map(String::as_str));
    let text = stdout(&deburr(&arguments));
    let document: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let reports = document["files"].as_array().unwrap();
    assert!(reports.len() > 100, "only {} reports", reports.len());
    let mut told = 0;
    for report in reports {
        assert_agrees(report);
        let path = report["path"].as_str().unwrap();
        let level = report["level"].as_str().unwrap();
        if report["coverage"]["executable_bytes"] == 0 {
            continue;
        }
        let lines = block(&text, path);
        // What does not fit into the first line goes on in the next ones.
        let after = lines.iter().skip(1).take_while(|line| line.starts_with("    "));
        let head = after.fold(lines[0].to_owned(), |head, line| format!("{head} {}", line.trim_start()));
        assert!(
            ["needs ", "runs on ", ", of "].iter().any(|before| head.contains(&format!("{before}{level}"))),
            "{head}"
        );
        // No other level is said to be needed in the whole report.
        let needed: BTreeSet<&str> = lines
            .iter()
            .flat_map(|line| line.split("needs ").skip(1))
            .filter_map(|rest| rest.split([' ', ',', ';']).next())
            .filter(|word| word.starts_with("x86-64-v") || word.starts_with("armv"))
            .collect();
        assert!(needed.iter().all(|it| *it == level), "{path}: {needed:?} beside {level}");
        let unknown = report["not_followed"].as_u64().unwrap();
        let counts = lines.iter().find(|line| line.contains(" above the first level: "));
        assert_eq!(counts.map_or(0, |line| number_before(line, "unknown")), unknown, "{path}: {counts:?}");
        let above =
            head.split("; ").find(|part| part.ends_with(" above it not followed")).unwrap_or_default();
        let in_head = above.split(' ').next().unwrap().replace(',', "").parse().unwrap_or(0);
        assert_eq!(unknown, in_head, "{path}: {head}");
        told += unknown;
        let longest = lines.iter().skip(1).map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(longest <= 160, "{path}: a line of {longest} columns");
    }
    assert!(told > 0, "nothing is unknown in any of these files: the test tests nothing");
}

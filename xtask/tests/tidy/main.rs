//! The boundaries that no compiler holds: layers, one name per rule everywhere, the rules' pages, sizes.

mod census;
mod dependencies;
mod links;
mod names;
mod planted;
mod prose;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use xtask::imports::{self, Imports, Knot};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the repository")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fails with what a guard has found.
fn assert_none(found: Vec<String>) {
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<PathBuf> = listed.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(dir) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(files_below(&path));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    files_below(dir).into_iter().filter(is_rust).collect()
}

fn core() -> PathBuf {
    repository().join("crates/deburr-core")
}

/// The code of a file: without comments, and without its unit tests.
fn code(path: &Path) -> String {
    code_of(&read(path))
}

/// As [`code`], of a text that rustfmt has laid out: an item ends with `;` or with a brace below its first line's start.
fn code_of(text: &str) -> String {
    let mut kept = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if line.trim_start().starts_with("#[cfg(test)]") {
            let end = format!("{indent}}}");
            let mut item = lines.by_ref().skip_while(|line| line.trim_start().starts_with("#["));
            let is_short = item.next().is_none_or(|first| first.ends_with([';', '}']));
            if !is_short {
                item.find(|line| line.starts_with(&end));
            }
        } else if !line.trim_start().starts_with("//") {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// Whether `name` stands in the text as a path's first word or a whole word.
fn names(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '.')
    })
}

/// The first folder or file name below `src/`: the stage a file belongs to.
fn stage(src: &Path, path: &Path) -> String {
    let below = path.strip_prefix(src).expect("a file below the folder");
    let first = below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    first.unwrap_or_default().trim_end_matches(".rs").to_owned()
}

fn id_of(file_stem: &str) -> String {
    file_stem.replace('_', "-")
}

/// The rules, as file names without `.rs`.
fn rules() -> Vec<String> {
    let files = entries(&core().join("src/rule"));
    let stems =
        files.iter().filter_map(|path| path.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    stems.filter(|stem| !["mod", "context"].contains(&stem.as_str())).collect()
}

#[test]
fn unit_tests_are_no_code_and_what_follows_them_is() {
    let text = "//! fs\nuse a;\n#[cfg(test)]\nmod tests;\nuse b;\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    fn t() {\n    \
                }\n}\n// fs\nfn c() {\n    #[cfg(test)]\n    let d = 1;\n    e();\n}\n#[cfg(test)]\nuse std::fs;\nuse f;\n";
    assert_eq!(code_of(text), "use a;\nuse b;\nfn c() {\n    e();\n}\nuse f;");
}

/// Whether one of some paths is a path, or begins with it.
fn is_below(paths: &BTreeSet<String>, path: &str) -> bool {
    paths
        .iter()
        .any(|other| other.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")))
}

/// Names of the decoders outside `insn/`, and of `object` outside `image/`.
fn strayed(src: &Path) -> Vec<String> {
    const HOMES: [(&str, &str); 3] = [("object::", "image"), ("iced_x86::", "insn"), ("disarm64", "insn")];
    let mut found = Vec::new();
    for path in rust_files(src) {
        let (paths, stage) = (imports::written(&path), stage(src, &path));
        let strays = HOMES
            .iter()
            .filter(|(name, home)| stage != *home && paths.iter().any(|path| path.starts_with(name)));
        found.extend(
            strays
                .map(|(name, home)| (name.trim_end_matches("::"), home))
                .map(|(name, home)| format!("{}: {name} belongs in {home}/ only", path.display())),
        );
    }
    found
}

#[test]
fn decoders_stay_in_insn_and_object_stays_in_image() {
    assert_none(strayed(&core().join("src")));
}

/// The core's stages, in groups: each names only what is in earlier groups, and nothing else of its own.
const STAGES: [&[&str]; 14] = [
    &["address", "budget", "engine", "pattern"],
    &["image", "insn"],
    &["function"],
    &["reach"],
    &["finding", "idiom"],
    &["benchmark", "profile", "provenance", "remedy"],
    &["danger"],
    &["rule"],
    &["report"],
    &["front", "request"],
    &["advice", "guards", "siblings"],
    &["check"],
    &["entered", "listing"],
    &["diff"],
];

/// What imports do against the order of [`STAGES`], as lines for a reader.
fn out_of_order(src: &Path) -> Vec<String> {
    let stage_of = |file: &str| file.split(['/', '.']).next().unwrap_or_default().to_owned();
    let rank = |stage: &str| STAGES.iter().position(|group| group.contains(&stage));
    let mut found = Vec::new();
    for (file, targets) in
        Imports::read(&src.join("lib.rs")).edges().iter().filter(|(file, _)| *file != "lib.rs")
    {
        let stage = stage_of(file);
        let Some(own) = rank(&stage) else {
            found.push(format!("{file}: {stage} is in no stage"));
            continue;
        };
        for target in targets.iter().filter(|target| stage_of(target) != stage) {
            if rank(&stage_of(target)).is_none_or(|other| other >= own) {
                found.push(format!("{file} names {target}, which is no earlier stage"));
            }
        }
    }
    found
}

/// The rooms of the analysis of run-time checks, in the same way.
const REACH_ROOMS: [&str; 6] = ["domain", "file", "machine", "learn", "observe", "verdict"];

#[test]
fn the_rooms_of_reach_name_only_earlier_ones() {
    let edges = Imports::read(&core().join("src/lib.rs")).edges();
    let room_of = |file: &str| {
        let below = file.strip_prefix("function/reach/")?;
        REACH_ROOMS.iter().position(|room| below.split('/').next() == Some(room))
    };
    let mut compared = 0;
    for (file, targets) in &edges {
        for target in targets {
            if let (Some(own), Some(other)) = (room_of(file), room_of(target)) {
                assert!(other <= own, "{file} names {target}, which is in a later room");
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "only {compared} imports within reach are seen");
}

#[test]
fn no_stage_names_a_later_stage() {
    assert_none(out_of_order(&core().join("src")));
}

/// What reads, prints or asks the machine.
const OUTSIDE: [&str; 11] = [
    "std::fs",
    "std::env",
    "std::time",
    "std::process",
    "std::net",
    "std::thread",
    "std::io",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
];

/// Where the code of a folder names one of some words.
fn naming(folder: &Path, never: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in rust_files(folder) {
        let (paths, code) = (imports::written(&path), code(&path));
        let named = never.iter().filter(|never| is_below(&paths, never) || names(&code, never));
        found.extend(named.map(|never| format!("{}: {never}", path.display())));
    }
    found
}

/// The same, but for streams that somebody else opened.
fn outside_but_for_streams() -> Vec<&'static str> {
    let never = OUTSIDE.into_iter().filter(|never| *never != "std::io");
    never.chain(["std::io::stdin", "std::io::stdout", "std::io::stderr"]).collect()
}

#[test]
fn the_core_opens_nothing_and_prints_nothing() {
    // It reads from decompressors, which are no files.
    assert_none(naming(&core().join("src"), &outside_but_for_streams()));
    assert!(read(&core().join("src/lib.rs")).contains("#![forbid(unsafe_code)]"));
}

#[test]
fn profiles_are_read_from_what_the_caller_has_opened() {
    let profile = repository().join("crates/deburr-profile/src");
    assert!(rust_files(&profile).len() > 10, "no code is found");
    assert_none(naming(&profile, &outside_but_for_streams()));
}

#[test]
fn archives_are_read_from_what_the_caller_has_opened() {
    let archive = repository().join("crates/deburr-archive/src");
    assert!(rust_files(&archive).len() > 10, "no code is found");
    assert_none(naming(&archive, &outside_but_for_streams()));
}

#[test]
fn tables_are_written_to_what_the_caller_has_opened() {
    let tables = repository().join("crates/deburr-tables/src");
    assert!(rust_files(&tables).len() > 10, "no code is found");
    assert_none(naming(&tables, &outside_but_for_streams()));
}

/// Statistics and the contention model get numbers and seeds, formats get text: none measures, reads or prints. Statistics know
/// nothing but themselves and that there are two sides, and the model nothing but itself and random numbers.
#[test]
fn statistics_know_no_clock_and_no_file() {
    let lab = repository().join("crates/deburr-lab/src");
    for folder in ["stats", "benchfmt", "readers", "model"] {
        assert!(rust_files(&lab.join(folder)).len() > 5, "{folder}: no code is found");
        // Profiles are too large to be held as a text.
        let never = if folder == "readers" { outside_but_for_streams() } else { OUTSIDE.to_vec() };
        assert_none(naming(&lab.join(folder), &never));
    }
    assert_none(imported(&lab, "stats", |target| !target.starts_with("stats/") && target != "side.rs"));
    let is_random = |target: &str| target == "stats/distributions/random.rs";
    assert_none(imported(&lab, "model", |target| !target.starts_with("model/") && !is_random(target)));
}

#[test]
fn measuring_knows_no_statistics() {
    let lab = repository().join("crates/deburr-lab/src");
    let is_statistics = |target: &str| target.starts_with("stats/") || target.starts_with("comparison");
    assert!(rust_files(&lab.join("measure")).len() > 5, "no measuring code is found");
    assert_none(imported(&lab, "measure", is_statistics));
}

/// Imports of some files of the crate by the files of a folder.
fn imported(src: &Path, folder: &str, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let edges = Imports::read(&src.join("lib.rs")).edges();
    let inside = edges.iter().filter(|(file, _)| file.starts_with(&format!("{folder}/")));
    let meant = inside.flat_map(|(file, targets)| {
        targets.iter().filter(|target| is_meant(target)).map(move |target| format!("{file} names {target}"))
    });
    meant.collect()
}

/// Imports of the audit from the rooms of the plan, the prover among them: from anywhere except its own interface.
fn shared(src: &Path) -> Vec<String> {
    imported(src, "audit", |target| !target.starts_with("audit/") && !target.starts_with("subject/"))
}

#[test]
fn the_audit_shares_nothing_with_the_plan() {
    let patch = repository().join("crates/deburr-patch/src");
    assert_none(shared(&patch));
    // The interface is types: it names no room either, and whoever audits names it.
    assert_none(imported(&patch, "subject", |target| !target.starts_with("subject/")));
    let interface = imported(&patch, "audit", |target| target.starts_with("subject/"));
    assert!(interface.len() > 2 && imported(&patch, "audit", |_| true).len() > 30, "{interface:#?}");
}

#[test]
fn no_rule_knows_another() {
    let rules = rules();
    for rule in &rules {
        // Variants of kernels are instructions, and so is one rule's id.
        let code = code(&core().join(format!("src/rule/{rule}.rs")));
        let (before, rest) = code.split_once("benchmark:").unwrap_or((&code, ""));
        let code = format!("{before}{}", rest.split_once("wants:").map_or(rest, |(_, after)| after));
        for other in rules.iter().filter(|other| *other != rule) {
            let named =
                [format!("super::{other}"), format!("rule::{other}"), format!("\"{}\"", id_of(other))];
            assert!(!named.iter().any(|name| code.contains(name)), "rule/{rule}.rs names {other}");
        }
    }
}

#[test]
fn a_rule_has_one_name_everywhere() {
    let rules: BTreeSet<String> = rules().into_iter().collect();
    let list = read(&core().join("src/rule/mod.rs"));
    for rule in &rules {
        let id = format!("\"{}\"", id_of(rule));
        assert!(
            read(&core().join(format!("src/rule/{rule}.rs"))).contains(&id),
            "rule/{rule}.rs: its id is not {id}"
        );
        assert!(list.contains(&format!("mod {rule};")), "rule/mod.rs does not list {rule}");
    }
    let fixtures = entries(&core().join("fixtures")).into_iter().filter(|path| path.is_dir());
    let fixtures: BTreeSet<String> =
        fixtures.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    assert_eq!(rules, fixtures, "rule files and fixture folders");
    let pages =
        entries(&core().join("pages")).into_iter().filter_map(|path| Some(path.file_stem()?.to_owned()));
    let pages: BTreeSet<String> = pages.map(|stem| stem.to_string_lossy().into_owned()).collect();
    assert_eq!(rules.iter().map(|rule| id_of(rule)).collect::<BTreeSet<_>>(), pages, "rule files and pages");
}

/// A new rule would have to be added to it.
#[test]
fn no_test_and_no_recorded_text_names_all_rules() {
    let ids: Vec<String> = rules().iter().map(|rule| id_of(rule)).collect();
    let folders = ["crates", "tests", "xtask"].map(|folder| repository().join(folder));
    let mut looked_at = 0;
    for path in folders.iter().flat_map(|folder| files_below(folder)) {
        let is_test = path.components().any(|part| part.as_os_str() == "tests");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let named = ids.iter().filter(|id| text.contains(id.as_str())).count();
        assert!(!is_test || named < ids.len(), "{}: names every rule", path.display());
        looked_at += 1;
    }
    assert!(looked_at > 500, "only {looked_at} files are looked at");
}

#[test]
fn a_page_has_the_fixed_headings() {
    const HEADINGS: [&str; 6] = [
        "What it finds",
        "Why it costs",
        "On which cores, with the source",
        "What to do",
        "When it is wrong",
        "Example",
    ];
    for rule in rules() {
        let page = core().join(format!("pages/{}.md", id_of(&rule)));
        let text = read(&page);
        let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, HEADINGS, "{}", page.display());
        assert!(text.starts_with(&format!("# {}", id_of(&rule))), "{}: the title is the id", page.display());
    }
}

#[test]
fn every_rule_has_fixtures_that_hit_and_that_miss() {
    for rule in rules() {
        let files = entries(&core().join("fixtures").join(&rule));
        let sources: Vec<&PathBuf> =
            files.iter().filter(|path| path.extension().is_some_and(|e| e == "s")).collect();
        let (mut hits, mut misses) = (0, 0);
        let mark = format!("//~ {}", id_of(&rule));
        for source in sources {
            let name = source.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let text = read(source);
            assert!(
                source.with_extension("o").exists(),
                "{}: no object: `cargo xtask fixtures --bless`",
                source.display()
            );
            assert!(text.starts_with(['/', '#']), "{}: opens with a comment that says why", source.display());
            assert!(text.lines().count() <= 70, "{}: too long", source.display());
            if name.starts_with("hit-") {
                hits += 1;
                assert!(text.contains(&mark), "{}: no `{mark}`", source.display());
            } else if name.starts_with("miss-") {
                misses += 1;
                assert!(!text.contains("//~"), "{}: a miss marks nothing", source.display());
            } else {
                panic!("{}: neither hit- nor miss-", source.display());
            }
        }
        assert!(hits > 0 && misses > 0, "{rule}: {hits} fixtures hit and {misses} miss");
    }
}

#[test]
fn every_file_opens_with_what_it_is() {
    for path in rust_files(repository()) {
        let text = read(&path);
        assert!(text.starts_with("//!"), "{}: opens without //!", path.display());
    }
}

/// A table may be as long as it is: `// tidy: table` stands in the file (for the file) or above the function.
#[test]
fn files_and_functions_stay_readable() {
    for path in rust_files(repository()) {
        let text = read(&path);
        let lines: Vec<&str> = text.lines().collect();
        let is_table = text.lines().take(40).any(|line| line.trim() == "// tidy: table");
        assert!(is_table || lines.len() <= 1000, "{}: {} lines", path.display(), lines.len());
        for (start, line) in lines.iter().enumerate() {
            let body = line.trim_start();
            let indent = line.len() - body.len();
            let words: Vec<&str> = body.split_whitespace().take_while(|word| !word.contains('(')).collect();
            let opens = words.contains(&"fn") || body.starts_with("fn ");
            if !opens || body.starts_with("//") || start > 0 && lines[start - 1].contains("tidy: table") {
                continue;
            }
            let close = format!("{}}}", " ".repeat(indent));
            let end = lines[start..].iter().position(|line| *line == close).unwrap_or(0);
            let single = body.ends_with(';') || body.ends_with('}');
            assert!(is_table || single || end < 120, "{}:{}: {} lines", path.display(), start + 1, end + 1);
        }
    }
}

#[test]
fn the_design_fits_on_a_hundred_lines() {
    let lines = read(&repository().join("DESIGN.md")).lines().count();
    assert!(lines <= 100, "DESIGN.md: {lines} lines");
}

/// The imports of a crate.
fn imports_of(src: &Path) -> Imports {
    let root = ["lib.rs", "main.rs"].map(|name| src.join(name)).into_iter().find(|path| path.exists());
    Imports::read(&root.expect("a root file"))
}

/// The circles of imports in one crate, as lines for a reader.
fn circles(src: &Path) -> Vec<String> {
    let imports = imports_of(src);
    let edges = imports.edges();
    let lines = |circle: &BTreeSet<String>| -> Vec<String> {
        let inside = circle.iter().map(|file| {
            let targets: Vec<&str> = edges[file].intersection(circle).map(String::as_str).collect();
            format!("    {file} names {}", targets.join(", "))
        });
        [format!("{}:", src.display())].into_iter().chain(inside).collect()
    };
    imports.circles().iter().flat_map(lines).collect()
}

/// A knot of rooms, as lines for a reader.
fn lines_of(src: &Path, knot: &Knot) -> Vec<String> {
    let rooms: Vec<&str> = knot.rooms.iter().map(String::as_str).collect();
    let head = format!("{}/{}: a knot of {}", src.display(), knot.folder, rooms.join(", "));
    let imports = knot.imports.iter().map(|(one, other)| format!("    {one} names {other}"));
    [head].into_iter().chain(imports).collect()
}

/// The knots of rooms in one crate, as lines for a reader.
fn knots(src: &Path) -> Vec<String> {
    imports_of(src).knots().iter().flat_map(|knot| lines_of(src, knot)).collect()
}

/// The crates whose files import one way. `DEBURR_TIDY_CRATE` adds one more, and shows what it has.
fn one_way() -> Vec<PathBuf> {
    let crates = [
        "deburr-archive",
        "deburr-cli",
        "deburr-core",
        "deburr-cpu",
        "deburr-lab",
        "deburr-package",
        "deburr-patch",
        "deburr-profile",
        "deburr-tables",
        "deburr-text",
    ];
    let more = std::env::var("DEBURR_TIDY_CRATE").ok();
    let names = crates.into_iter().chain(more.as_deref());
    names.map(|name| repository().join("crates").join(name).join("src")).collect()
}

#[test]
fn no_file_imports_what_imports_it() {
    assert_none(one_way().iter().flat_map(|src| circles(src)).collect());
}

/// A knot that is still there.
struct Knotted {
    crate_name: &'static str,
    folder: &'static str,
    rooms: &'static [&'static str],
    reason: &'static str,
}

/// Each with what it is made of and why it is there.
const KNOTTED: [Knotted; 4] = [
    Knotted {
        crate_name: "deburr-core",
        folder: "function/reach/verdict",
        rooms: &["checks", "edges", "evidence", "offered", "presumed", "refusal", "unknown"],
        reason: "checks.rs has fields of what the other rooms find, and these rooms read checks.rs and edges.rs",
    },
    Knotted {
        crate_name: "deburr-pack",
        folder: "",
        rooms: &["build", "check", "record", "wheel"],
        reason: "check.rs reads the trees of build/, which runs check.rs; record.rs has its faults, which it returns as records",
    },
    Knotted {
        crate_name: "deburr-pack",
        folder: "assemble",
        rooms: &["interface", "place", "plan", "select", "whole"],
        reason: "plan.rs has both the types of a plan and the planning, which the other files name and are named by",
    },
    Knotted {
        crate_name: "deburr-pack",
        folder: "build",
        rooms: &["known", "wrap"],
        reason: "known.rs names the compilers that wrap.rs finds, and wrap.rs reads the flags of each from known.rs",
    },
];

/// Knots that are not in a list, and those of the list that are not there as it says.
fn unlisted(crates: &[(String, PathBuf)], listed: &[Knotted]) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = vec![false; listed.len()];
    for (name, src) in crates {
        for knot in imports_of(src).knots() {
            let is_this = |one: &Knotted| {
                one.crate_name == name && one.folder == knot.folder && knot.rooms.iter().eq(one.rooms)
            };
            match listed.iter().position(is_this) {
                Some(at) => seen[at] = true,
                None => found.extend(lines_of(src, &knot)),
            }
        }
    }
    let others = listed.iter().zip(seen).filter(|(_, is_seen)| !is_seen).map(|(knotted, _)| knotted);
    found.extend(others.map(|Knotted { crate_name, folder, rooms, reason }| {
        format!("{crate_name}: {folder}: not the knot of {} any more ({reason})", rooms.join(", "))
    }));
    found
}

#[test]
fn no_room_imports_what_imports_it() {
    let name = |src: &PathBuf| {
        let folder = src.parent().and_then(Path::file_name).expect("a crate's folder");
        folder.to_string_lossy().into_owned()
    };
    let crates: Vec<(String, PathBuf)> = crate_sources().into_iter().map(|src| (name(&src), src)).collect();
    assert!(crates.len() > 10, "only {} crates are read", crates.len());
    assert_none(unlisted(&crates, &KNOTTED));
}

/// The folders below `src` with more files than a reader keeps apart; those of `rule/` are alike.
fn crowded(src: &Path) -> Vec<String> {
    const MOST: usize = 14;
    let mut folders = BTreeMap::<PathBuf, usize>::new();
    for file in rust_files(src) {
        *folders.entry(file.parent().unwrap_or(src).to_owned()).or_default() += 1;
    }
    let crowded = folders.iter().filter(|(folder, count)| **count > MOST && !folder.ends_with("rule"));
    crowded.map(|(folder, count)| format!("{}: {count} files", folder.display())).collect()
}

fn crate_sources() -> Vec<PathBuf> {
    let crates = entries(&repository().join("crates"));
    crates.into_iter().map(|dir| dir.join("src")).filter(|src| src.is_dir()).collect()
}

#[test]
fn no_folder_is_crowded() {
    assert_none(crate_sources().iter().flat_map(|src| crowded(src)).collect());
}

#[test]
fn no_crate_is_half_of_the_house() {
    const MOST_PERCENT: usize = 46;
    let lines = |src: &PathBuf| rust_files(src).iter().map(|file| read(file).lines().count()).sum::<usize>();
    let all: Vec<(PathBuf, usize)> =
        crate_sources().into_iter().map(|src| (src.clone(), lines(&src))).collect();
    let total: usize = all.iter().map(|(_, lines)| lines).sum();
    for (src, lines) in all {
        assert!(lines * 100 <= total * MOST_PERCENT, "{}: {lines} of {total} lines", src.display());
    }
}

//! The boundaries that no compiler holds: layers, one name per rule everywhere, the rules' pages, sizes.

mod imports;

use imports::Imports;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the repository")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<PathBuf> = listed.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(dir) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
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
fn stage(path: &Path) -> String {
    let below = path.strip_prefix(core().join("src")).expect("a file of the core");
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

#[test]
fn decoders_stay_in_insn_and_object_stays_in_image() {
    for path in rust_files(&core().join("src")) {
        let (code, stage) = (code(&path), stage(&path));
        for (name, home) in [("object::", "image"), ("iced_x86", "insn"), ("disarm64", "insn")] {
            assert!(
                stage == home || !names(&code, name),
                "{}: {name} belongs in {home}/ only",
                path.display()
            );
        }
    }
}

#[test]
fn no_stage_names_a_later_stage() {
    // `insn` and `image` know nothing of each other, but that offsets in code are counted in one unit.
    const SHARED: &str = "crate::insn::sweep::CodeOffset";
    const ORDER: [&str; 7] = ["address", "image", "insn", "function", "finding", "rule", "report"];
    for path in rust_files(&core().join("src")) {
        let Some(rank) = ORDER.iter().position(|name| *name == stage(&path)) else { continue };
        let code = code(&path).replace(SHARED, "");
        for later in ORDER.iter().skip(rank + 1).chain(["check"].iter()) {
            assert!(
                !code.contains(&format!("crate::{later}")),
                "{}: names the later stage {later}",
                path.display()
            );
        }
    }
}

#[test]
fn the_core_opens_nothing_and_prints_nothing() {
    const NEVER: [&str; 9] = [
        "std::fs",
        "std::env",
        "std::time",
        "std::process",
        "std::net",
        "std::io::stdout",
        "std::io::stderr",
        "println!",
        "eprintln!",
    ];
    for path in rust_files(&core().join("src")) {
        let code = code(&path);
        for never in NEVER {
            assert!(!names(&code, never), "{}: {never} in the core", path.display());
        }
    }
    assert!(read(&core().join("src/lib.rs")).contains("#![forbid(unsafe_code)]"));
}

/// Statistics get numbers and seeds, formats get text: neither measures, reads or prints, and statistics know nothing but themselves
/// and that there are two sides.
#[test]
fn statistics_know_no_clock_and_no_file() {
    const NEVER: [&str; 8] = [
        "std::fs",
        "std::env",
        "std::time",
        "std::process",
        "std::thread",
        "std::io",
        "println!",
        "eprintln!",
    ];
    let lab = repository().join("crates/deburr-lab/src");
    for folder in ["stats", "benchfmt", "report"] {
        for path in rust_files(&lab.join(folder)) {
            let code = code(&path);
            for never in NEVER {
                assert!(!names(&code, never), "{}: {never}", path.display());
            }
            let own: usize =
                ["crate::stats", "crate::side"].map(|own| code.matches(own).count()).iter().sum();
            let foreign = code.matches("crate::").count() > own && folder == "stats";
            assert!(!foreign, "{}: statistics name another module of the crate", path.display());
        }
    }
}

#[test]
fn measuring_knows_no_statistics() {
    let measuring = rust_files(&repository().join("crates/deburr-lab/src/measure"));
    assert!(measuring.len() > 5, "no measuring code is found");
    for path in measuring {
        let code = code(&path);
        for never in ["crate::stats", "crate::comparison"] {
            assert!(!code.contains(never), "{}: {never}", path.display());
        }
    }
}

#[test]
fn no_rule_knows_another() {
    let rules = rules();
    for rule in &rules {
        let code = code(&core().join(format!("src/rule/{rule}.rs")));
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

/// The circles of imports in one crate, as lines for a reader.
fn circles(name: &str) -> Vec<String> {
    let src = repository().join("crates").join(name).join("src");
    let root = ["lib.rs", "main.rs"].map(|name| src.join(name)).into_iter().find(|path| path.exists());
    let imports = Imports::read(&root.expect("a root file"));
    let edges = imports.edges();
    let lines = |circle: &BTreeSet<String>| -> Vec<String> {
        let inside = circle.iter().map(|file| {
            let targets: Vec<&str> = edges[file].intersection(circle).map(String::as_str).collect();
            format!("    {file} names {}", targets.join(", "))
        });
        [format!("{name}:")].into_iter().chain(inside).collect()
    };
    imports.circles().iter().flat_map(lines).collect()
}

#[test]
fn no_file_imports_what_imports_it() {
    // Those without circles so far; `DEBURR_TIDY_CRATE` shows those of another.
    let asked = std::env::var("DEBURR_TIDY_CRATE").ok();
    let crates = ["deburr-cli", "deburr-cpu", "deburr-patch"].into_iter().chain(asked.as_deref());
    let found: Vec<String> = crates.flat_map(circles).collect();
    assert!(found.is_empty(), "circles of imports:\n{}", found.join("\n"));
}

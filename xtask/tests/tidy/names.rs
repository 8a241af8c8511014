//! Names are data: what files, paths and configurations call something is printed by way of `deburr-text` alone.

use super::{assert_none, code_of, crate_sources, read, repository, rust_files};
use std::path::Path;

/// A way around, and the files that may have it.
struct Detour {
    text: &'static str,
    /// Crates in which it is one.
    crates: &'static [&'static str],
    /// Files that have it for another reason, by the end of their path.
    except: &'static [&'static str],
    instead: &'static str,
}

const DETOURS: [Detour; 4] = [
    Detour {
        text: ".display()",
        crates: &["deburr-cli", "deburr-lab", "deburr-pack", "deburr-package"],
        except: &[],
        instead: "deburr_text::ShownPath::shown",
    },
    Detour { text: "from_utf8_lossy", crates: &["deburr-core"], except: &[], instead: "deburr_text::shown" },
    Detour {
        text: "is_control",
        crates: &["deburr-cli", "deburr-core", "deburr-pack", "deburr-profile", "deburr-tables"],
        // HTML: what is no text of a document at all.
        except: &["render/page/markup.rs"],
        instead: "deburr_text::one_line",
    },
    Detour {
        text: "io::stderr()",
        crates: &["deburr-cli"],
        // The one place that opens it, and the file behind `/dev/stderr`.
        except: &["output/complaints.rs", "output/target.rs"],
        instead: "output::complaints, or Palette::plain where there are colours",
    },
];

/// Of a file of a crate: the lines that go around.
fn detours(of_crate: &str, path: &Path, code: &str) -> Vec<String> {
    let is_meant = |detour: &&Detour| {
        detour.crates.contains(&of_crate) && !detour.except.iter().any(|end| path.ends_with(end))
    };
    let is_harmless = |line: &str| {
        line.contains("stderr().is_terminal")
            || line.contains("plain(io::stderr()")
            || line.contains("plain(std::io::stderr()")
    };
    let mut found = Vec::new();
    for detour in DETOURS.iter().filter(is_meant) {
        let lines = code.lines().filter(|line| line.contains(detour.text) && !is_harmless(line));
        found.extend(lines.map(|line| format!("{}: {}: {}", path.display(), line.trim(), detour.instead)));
    }
    found
}

#[test]
fn every_name_that_is_printed_is_spelt_out_by_one_function() {
    let mut found = Vec::new();
    for src in crate_sources() {
        let of_crate = src.parent().and_then(Path::file_name).unwrap().to_str().unwrap().to_owned();
        for path in rust_files(&src) {
            found.extend(detours(&of_crate, &path, &code_of(&read(&path))));
        }
    }
    assert_none(found);
}

/// The formats of `deburr check` that are documents for programs, whose own escapes hold names.
const DOCUMENTS: [&str; 5] = ["Json", "Sarif", "Junit", "Html", "VariantJson"];

fn unguarded(sinks: &str) -> Vec<String> {
    let arms = sinks.lines().filter(|line| line.trim_start().starts_with("ReportFormat::"));
    let boxed = arms.filter(|line| line.contains("=> Box::"));
    let is_document = |line: &&str| {
        let format = line.trim_start().trim_start_matches("ReportFormat::");
        DOCUMENTS.contains(&format.split(' ').next().unwrap_or_default())
    };
    boxed.filter(|line| !is_document(line)).map(str::to_owned).collect()
}

#[test]
fn every_format_for_people_is_behind_the_wall() {
    let sinks = read(&repository().join("crates/deburr-cli/src/cmd/check/sink.rs"));
    assert!(sinks.contains("ReportFormat::Text => for_people("), "the guard looks at the wrong lines");
    assert_none(unguarded(&sinks));
}

#[test]
fn planted_detours_are_found() {
    let planted = |of_crate: &str, path: &str, code: &str| detours(of_crate, Path::new(path), code).len();
    assert_eq!(planted("deburr-cli", "src/a.rs", "format!(\"{}\", path.display())"), 1);
    assert_eq!(planted("deburr-cli", "src/a.rs", "writeln!(io::stderr(), \"x\")"), 1);
    assert_eq!(planted("deburr-cli", "src/a.rs", "if io::stderr().is_terminal() {"), 0);
    assert_eq!(planted("deburr-core", "src/a.rs", "String::from_utf8_lossy(name)"), 1);
    assert_eq!(planted("deburr-cli", "src/render/page/markup.rs", "c.is_control()"), 0);
    assert_eq!(planted("deburr-cli", "src/render/line.rs", "c.is_control()"), 1);
    assert_eq!(unguarded("  ReportFormat::Lintian => Box::new(Lintian),").len(), 1);
    assert_eq!(unguarded("  ReportFormat::Json => Box::new(Json::new(pretty)),").len(), 0);
}

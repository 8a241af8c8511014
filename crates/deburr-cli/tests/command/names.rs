//! Names are data: whatever a file, its path or a configuration calls something, no output acts upon a terminal, and none begins
//! a line with what a build service would obey.

use super::fixtures::{archive, folder};
use super::{Scratch, deburr};
use serde_json::Value;
use std::process::{Command, Output};

const LLSC: &str = "llsc_loop/hit-cas.o";

/// What a name could act with, of each kind: a colour, the end of a line and a command behind it, C1, a change of the direction.
const HOSTILE: [(&str, &str); 5] = [
    ("cas_4_seq_cst", "\x1b[31m\n::a::xx"),
    ("cas_1_acquire", "\u{202e}\u{9b}\r::a:"),
    ("cas_2_clang", "\x07\x7f\t\n::a::x"),
    ("hit-cas.s", "\n::a:\x1b[m"),
    ("GNU AS 2.40", "\n::a::\x1b[5m"),
];

/// A name of a file or of a member.
const FILE: &str = "x\n::a::\x1b[31m\u{202e}.o";

fn replaced(mut bytes: Vec<u8>, old: &str, new: &str) -> Vec<u8> {
    let [old, new] = [old, new].map(str::as_bytes);
    assert!(new.len() <= old.len(), "{old:?}");
    let places: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(old) && bytes[at + old.len()] == 0).collect();
    assert!(!places.is_empty(), "{old:?}");
    for at in places {
        bytes[at..at + old.len()].fill(0);
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    bytes
}

/// A fixture with hostile names of functions, of its source, of its producer and of its code section.
fn hostile() -> Vec<u8> {
    let bytes = std::fs::read(folder().join(LLSC)).unwrap();
    let bytes = HOSTILE.iter().fold(bytes, |bytes, (old, new)| replaced(bytes, old, new));
    // The only name that ends so and stands for the code.
    replaced(bytes, ".rela.debug_line", ".rela.debug_li\n\x1b")
}

fn assert_harmless(text: &str, what: &str) {
    let acts = |c: char| c != '\n' && deburr_text::is_active(c);
    assert!(!text.contains(acts), "{what}: {text:?}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("::a")), "{what}: {text}");
}

fn assert_output_harmless(output: &Output, what: &str) {
    for stream in [&output.stdout, &output.stderr] {
        assert_harmless(std::str::from_utf8(stream).unwrap(), what);
    }
}

/// All texts of a document.
fn texts(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, out)),
        Value::Object(members) => {
            for (name, value) in members {
                out.push(name.clone());
                texts(value, out);
            }
        }
        _ => {}
    }
}

#[test]
fn no_name_acts_in_any_format_of_check() {
    let scratch = Scratch::new("names-check");
    let file = scratch.file(FILE, &hostile());
    let formats = ["text", "concise", "github", "lintian", "junit", "html", "json", "sarif"];
    for (format, target) in
        formats.iter().flat_map(|format| [(format, "neoverse-n1"), (format, "cortex-a72")])
    {
        let what = format!("check --format {format} --target {target}");
        let arguments =
            ["check", "--limit", "0", "-v", "--preview", "--format", format, "--target", target, &file];
        let output = deburr(&arguments);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{what}");
        assert!(!output.stdout.is_empty() || *format == "lintian" || *format == "concise", "{what}");
        if *format == "json" || *format == "sarif" {
            let mut all = Vec::new();
            texts(&serde_json::from_slice(&output.stdout).unwrap(), &mut all);
            assert!(all.iter().any(|text| text.contains(r"\x1b[31m")), "{what}");
            all.retain(|text| text.contains("::a"));
            all.iter().for_each(|text| assert_harmless(&text.replace('\n', " "), &what));
        } else if *format != "html" {
            assert_output_harmless(&output, &what);
        }
    }
    // With colours, those of deburr stay, and they alone.
    let output = deburr(&["check", "--limit", "0", "--color", "always", "--target", "neoverse-n1", &file]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\x1b[1m") && text.contains(r"\x1b[31m"), "{text:?}");
    assert_harmless(&anstyle_free(&text), "coloured");
}

/// The text without the colours of deburr, which are bold, dim and of one digit each.
fn anstyle_free(text: &str) -> String {
    let mut rest = text.to_owned();
    for style in ["0", "1", "2", "31", "32", "33", "34", "36"] {
        rest = rest.replace(&format!("\x1b[{style}m"), "");
    }
    rest
}

#[test]
fn no_name_acts_in_what_other_verbs_print() {
    let scratch = Scratch::new("names-verbs");
    let file = scratch.file(FILE, &hostile());
    let plain = folder().join(LLSC).display().to_string();
    let (_, name) = HOSTILE[0];
    for arguments in [
        vec!["diff", &plain, &file],
        vec!["diff", &file, &plain],
        vec!["diff", "--format", "json", &plain, &file],
        vec!["fix", &file],
        vec!["fix", "--target", "neoverse-n1", &file],
        vec!["show", &file, name],
        vec!["show", &file, "no\x1b[31m\n::a::such"],
        vec!["show", "--format", "json", &file, name],
        vec!["check", "no\x1b[31m\n::a::such"],
        vec!["check", "--config", "no\x1b[31m\n::a::such", &plain],
        vec!["check", "--target", "no\x1b[31m\n::a::such", &plain],
        vec!["check", "--select", "no\x1b[31m\u{202e}such", &plain],
        vec!["compare", "--values", &file, &plain],
        vec!["bench", "--show", &file],
        vec!["pack", "assemble", &file, "-o", "no\x1b[31m\n::a::such"],
        vec!["scan", &file, "-o", "/nowhere\x1b[31m\n::a::such"],
    ] {
        let output = deburr(&arguments);
        assert!(!output.stdout.is_empty() || !output.stderr.is_empty(), "{arguments:?}");
        assert_output_harmless(&output, &format!("{arguments:?}"));
    }
    let output = deburr(&["show", &file, name]);
    assert_eq!(output.status.code(), Some(0), "what a name is in the file is an answer, too");
    assert_output_harmless(&output, "show");
}

#[test]
fn no_name_of_a_configuration_or_a_member_acts() {
    let scratch = Scratch::new("names-configuration");
    let file = scratch.file("a.o", &hostile());
    let config = |text: &str| scratch.file("deburr.toml", text.as_bytes());
    for text in [
        "select = [\"no\\u001b[31m\\n::a::such\"]",
        "\"\\u001b[31m\\n::a::x\" = 1",
        "\x1b[31m = 1\n::a::x",
        "target = \"\\u001b[31m\\u202e\"",
        "[severity]\n\"\\n::a::\\u001b\" = \"off\"",
        "[[allow]]\nrule = \"llsc-loop\"\nfunction = \"\\u001b[31m\\n::a::x*\"\nreason = \"x\\n::a::y\\u001b\"",
        "[[allow]]\nrule = \"mfence\"\nfunction = \"\\u001b[31m\\n::a::x*\"\nfile = \"\\n::a::\"\nreason = \"x\\n::a::y\\u001b\"",
    ] {
        let config = config(text);
        for format in ["text", "concise", "github", "lintian"] {
            let output = deburr(&["check", "-v", "--format", format, "--config", &config, &file]);
            assert_output_harmless(&output, &format!("{text} as {format}"));
        }
    }
    // The name as the file has it allows the finding, though it is shown otherwise.
    let allowed =
        config("[[allow]]\nrule = \"llsc-loop\"\nfunction = \"\\u001b[31m\\n::a::xx\"\nreason = \"x\"");
    let count = |arguments: &[&str]| {
        let output = deburr(arguments);
        String::from_utf8(output.stdout).unwrap().lines().count()
    };
    let all = count(&["check", "--format", "concise", "--target", "neoverse-n1", &file]);
    let left =
        count(&["check", "--format", "concise", "--target", "neoverse-n1", "--config", &allowed, &file]);
    assert_eq!(left + 1, all);

    let member = scratch.file("lib.a", &archive(&[("x\x1b[31m\r.o", &hostile())]));
    let output = deburr(&["check", "-v", "--target", "neoverse-n1", &member]);
    assert_eq!(output.status.code(), Some(1), "{}", super::stderr(&output));
    assert_output_harmless(&output, "an archive");
}

#[test]
fn a_name_of_thousands_of_letters_is_shortened_in_a_diff() {
    let scratch = Scratch::new("names-long");
    let source = |widens: &str| {
        format!(
            ".globl {0}\n.type {0}, @function\n{0}:\n{widens}\n ret\n.size {0}, .-{0}\n",
            "n".repeat(5000)
        )
    };
    let object = |name: &str, widens: &str| {
        let source = scratch.file(&format!("{name}.s"), source(widens).as_bytes());
        let object = scratch.join(format!("{name}.o"));
        let status = Command::new("gcc").args(["-c", &source, "-o"]).arg(&object).status().unwrap();
        assert!(status.success());
        object.to_str().unwrap().to_owned()
    };
    let (old, new) = (object("old", " paddd %xmm0, %xmm1"), object("new", " vpaddd %ymm0, %ymm1, %ymm2"));
    let output = deburr(&["diff", "--baseline", "x86-64", &old, &new]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("nnn…nnn"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 600), "{text}");
}

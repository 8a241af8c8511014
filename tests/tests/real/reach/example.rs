//! The worked example of `docs/explanation/reach.md`: its listing is objdump's where gcc is the version that the page names, and
//! its verdict is deburr's by any version.

use deburr_tests::command::check;
use deburr_tests::oracle::{Line, Listing};
use deburr_tests::toolchain::{compile, repository, run, work_dir};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn page() -> String {
    fs::read_to_string(repository().join("docs/explanation/reach.md")).expect("the page")
}

/// The compiler, its version and its options, as the page has them: "gcc 12 makes this of … (`-O3 -shared -fPIC`)".
fn build(page: &str) -> (PathBuf, bool) {
    let sentence = page.split("\ngcc ").nth(1).expect("the page names its compiler");
    let version = sentence.split(' ').next().expect("a version");
    let options: Vec<&str> = sentence.split('`').nth(1).expect("options").split(' ').collect();
    let source = fs::read_to_string(repository().join("tests/design/reach.c")).expect("the source");
    let here = run(Command::new("gcc").arg("-dumpversion"));
    let file = compile(&work_dir("design-reach"), "example.so", ("c", &source), "gcc", &options);
    (file, here.trim().split('.').next() == Some(version))
}

/// An instruction as the page writes it: variables and functions by name, places within a function by address.
fn written(line: &Line) -> String {
    let name = |text: &str| text.split(['<', '>']).nth(1).map(str::to_owned);
    let (operands, comment) = line.operands.split_once('#').unwrap_or((&line.operands, ""));
    let operands = match (operands.split_once("(%rip)"), name(operands)) {
        (Some((displacement, rest)), _) => {
            let before = displacement.rfind("0x").map_or("", |at| &displacement[..at]);
            format!("{before}{}(%rip){}", name(comment).unwrap_or_default(), rest.trim_end())
        }
        (None, Some(target)) if !target.contains('+') => target,
        (None, _) => operands.split(" <").next().unwrap_or_default().trim_end().to_owned(),
    };
    format!("{} {operands}", line.mnemonic).trim_end().to_owned()
}

/// The cells of the page's listing, which has two columns: address and instruction.
fn cells(page: &str) -> Vec<(u64, String)> {
    let listing =
        page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a listing");
    let columns = listing.lines().flat_map(|line| {
        let at = line.char_indices().nth(37).map_or(line.len(), |(at, _)| at);
        <[&str; 2]>::from(line.split_at(at))
    });
    let instruction = |cell: &str| {
        let (address, text) = cell.trim().split_once("  ")?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let text = text.split(';').next()?;
        Some((address, text.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    columns.filter_map(instruction).collect()
}

#[test]
fn the_worked_example_is_what_the_compiler_makes_and_what_deburr_says() {
    let page = page();
    let (file, is_the_pages_compiler) = build(&page);
    let function = check(&file, &[]).0["isa_functions"][0].clone();
    assert_eq!((&function["function"], &function["reach"]), (&"fast".into(), &"guarded".into()));
    assert_eq!(
        (&function["guard"]["kind"], &function["guard"]["function"]),
        (&"branch".into(), &"sum".into())
    );
    let cells = cells(&page);
    assert!(cells.len() >= 16, "{cells:#?}");
    if is_the_pages_compiler {
        let listing = Listing::of("objdump", &file);
        for (address, text) in cells {
            let line = listing.lines.iter().find(|line| line.address == address);
            assert_eq!(line.map(written).as_deref(), Some(text.as_str()), "{address:#x}");
        }
        let branch = function["guard"]["svma"].as_str().expect("an address");
        let verdict = format!("guarded        fast (AVX); branch at {branch} in sum\n");
        assert!(page.contains(&verdict), "the page does not say: {verdict}");
    }
}

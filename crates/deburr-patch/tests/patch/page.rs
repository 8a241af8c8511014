//! What `docs/explanation/patch.md` says is so: its files are there, its instructions are what their text says, and its example is
//! proven or refused as it says.

use super::Sequence;
use super::pairs::PAIRS;
use deburr_core::Svma;
use deburr_core::insn::disassemble;
use deburr_core::insn::text::Syntax;
use deburr_cpu::Arch;
use deburr_patch::prove;
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/explanation/patch.md");

/// One instruction, after a check that its text is what it disassembles to: `885ffc40 ldaxr w0, [x2]`.
fn instruction(at: u64, text: &str) -> u32 {
    let (word, text) = text.trim().split_once(' ').expect("an instruction and its text");
    let word = u32::from_str_radix(word, 16).expect("eight hexadecimal digits");
    let decoded = disassemble(Arch::Aarch64, &word.to_le_bytes(), Svma(at), Syntax::Att);
    assert_eq!(decoded.as_deref(), Some(text), "{word:#010x}");
    word
}

/// The address that a line begins with, and the rest.
fn addressed(line: &str) -> (u64, &str) {
    let (at, rest) = line.split_once(' ').expect("an address");
    (u64::from_str_radix(at, 16).expect("a hexadecimal address"), rest)
}

/// The old and the new sequence of the example, and where it begins.
fn example() -> (u64, Vec<u32>, Vec<u32>) {
    let block = PAGE.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a listing");
    let lines = block.lines().map(|line| {
        let (at, columns) = addressed(line);
        let (old, new) = columns.split_once('|').expect("two columns");
        (at, instruction(at, old), instruction(at, new))
    });
    let lines: Vec<(u64, u32, u32)> = lines.collect();
    let start = lines.first().expect("an instruction").0;
    let (old, new) = lines.into_iter().map(|(_, old, new)| (old, new)).unzip();
    (start, old, new)
}

#[test]
fn files_named_in_the_page_exist() {
    let names =
        PAGE.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs") || name.ends_with('/'));
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let core = package.join("../deburr-core/src");
    let repository = package.join("../..");
    let roots =
        [package.join("src"), package.join("src/candidate/exclusive"), package.to_owned(), core, repository];
    let mut count = 0;
    for name in names {
        assert!(roots.iter().any(|root| root.join(name).exists()), "{name}");
        count += 1;
    }
    assert!(count > 30, "{count}");
}

#[test]
fn the_example_is_equal_by_folding() {
    let (_, old, new) = example();
    let proof = prove(&old, &new).expect("a proof");
    assert_eq!((proof.size, proof.acquire, proof.release, proof.searched), (4, true, true, false));
}

#[test]
fn as_many_pairs_need_the_search_as_the_page_says() {
    let words = |sequence: Sequence| sequence.iter().map(|(word, _)| *word).collect::<Vec<u32>>();
    let searched = PAIRS
        .iter()
        .filter(|pair| prove(&words(pair.old), &words(pair.new)).is_ok_and(|proof| proof.searched));
    let names: Vec<&str> = searched.map(|pair| pair.name).collect();
    assert_eq!((PAIRS.len(), names.len()), (57, 8));
    assert!(names.contains(&"weak compare-and-swap, gcc"), "{names:?}");
}

#[test]
fn each_edit_of_the_example_is_refused_for_what_the_page_says() {
    let (start, old, new) = example();
    let rows =
        PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "));
    let mut count = 0;
    for (edit, reason) in rows.filter(|(edit, _)| edit.starts_with("26") || edit.starts_with("27")) {
        let (at, text) = addressed(edit);
        let mut new = new.clone();
        new[((at - start) / 4) as usize] = instruction(at, text);
        let refusal = prove(&old, &new).expect_err(edit);
        assert_eq!(refusal.to_string(), reason, "{edit}");
        count += 1;
    }
    assert_eq!(count, 8);
}

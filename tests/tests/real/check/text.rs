//! Disassembly as text against GNU objdump's, line by line.
//!
//! In: a program of the distribution for each architecture. What may differ is only how one and the same thing is
//! written: the share of lines that agree word for word, after [`normal`], has a floor.

use deburr_core::Svma;
use deburr_core::insn::disassemble;
use deburr_core::insn::text::Syntax;
use deburr_cpu::Arch;
use deburr_tests::package::fetch;
use deburr_tests::toolchain::{require, run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The bytes of one line of `objdump -d`, their address, and the text behind them.
fn parse(line: &str, arch: Arch) -> Option<(u64, Vec<u8>, &str)> {
    let (address, rest) = line.split_once(":\t")?;
    let (raw, text) = rest.split_once('\t')?;
    let svma = u64::from_str_radix(address.trim(), 16).ok()?;
    let mut code = Vec::new();
    for part in raw.split_whitespace() {
        match arch {
            Arch::Aarch64 => code.extend(u32::from_str_radix(part, 16).ok()?.to_le_bytes()),
            Arch::X86_64 => code.push(u8::from_str_radix(part, 16).ok()?),
        }
    }
    Some((svma, code, text))
}

/// Ways to write one and the same thing.
const SPELLINGS: &[(&str, &str)] = &[
    ("0x0(%", "(%"),
    ("+0x0]", "]"),
    ("callq", "call"),
    ("pushq ", "push "),
    ("jmpq", "jmp"),
    ("repz", "rep"),
    ("movabs", "mov"),
    ("%es:(", "("),
    ("%ds:(", "("),
    ("data16 ", ""),
    ("cs nop", "nop"),
    ("shl $0x1,", "shl "),
    ("shr $0x1,", "shr "),
    ("sar $0x1,", "sar "),
    ("shll $0x1,", "shll "),
    ("fs:0x28", "fs:[0x28]"),
    (".000000000000000000e+00", ""),
];

/// Without comments, names of targets and spaces; numbers are decimal.
fn normal(arch: Arch, text: &str) -> String {
    let text = &SPELLINGS.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours));
    let comment = if arch == Arch::X86_64 { " # " } else { "//" };
    let text = text.split(comment).next().unwrap_or(text);
    let text = text.split('<').next().unwrap_or(text);
    let mut out = String::new();
    for (index, word) in text.split_whitespace().enumerate() {
        if index == 1 {
            out.push(' ');
        }
        let mut rest = word;
        while let Some(at) = rest.find("0x") {
            let (before, hex) = rest.split_at(at);
            out.push_str(before);
            let end = hex[2..].find(|c: char| !c.is_ascii_hexdigit()).map_or(hex.len(), |end| end + 2);
            out.push_str(
                &u64::from_str_radix(&hex[2..end], 16)
                    .map_or_else(|_| hex[..end].to_owned(), |n| n.to_string()),
            );
            rest = &hex[end..];
        }
        out.push_str(rest);
    }
    out
}

/// objdump writes targets of branches without `0x`.
fn with_prefixed_target(arch: Arch, text: &str) -> String {
    let words: Vec<&str> =
        text.split('<').next().unwrap_or(text).trim_end().rsplitn(2, [' ', '\t', ',']).collect();
    let mnemonic = text.split_whitespace().next().unwrap_or_default();
    let is_transfer = match arch {
        Arch::Aarch64 => {
            ["b", "bl", "cbz", "cbnz", "tbz", "tbnz", "adr", "adrp"].contains(&mnemonic)
                || mnemonic.starts_with("b.")
                || text.contains('<')
        }
        Arch::X86_64 => {
            mnemonic.starts_with('j') || mnemonic.starts_with("call") || mnemonic.starts_with("loop")
        }
    };
    match words.as_slice() {
        [last, before]
            if is_transfer && last.bytes().all(|byte| byte.is_ascii_hexdigit()) && !last.is_empty() =>
        {
            let separator = &text[before.len()..=before.len()];
            format!("{before}{separator}0x{last}")
        }
        _ => text.to_owned(),
    }
}

/// Compares every instruction of `.text`; prints what differs most.
fn assert_texts_agree(arch: Arch, syntax: Syntax, file: &Path) {
    let (tool, options): (_, &[&str]) = match (arch, syntax) {
        (Arch::Aarch64, _) => ("aarch64-linux-gnu-objdump", &[]),
        (Arch::X86_64, Syntax::Att) => ("objdump", &["-Matt"]),
        (Arch::X86_64, Syntax::Intel) => ("objdump", &["-Mintel"]),
    };
    require(tool);
    let text = run(Command::new(tool).args(["-d", "-z", "-w", "--section=.text"]).args(options).arg(file));
    let (mut lines, mut alike) = (0u64, 0u64);
    let mut different: BTreeMap<&str, (u64, String)> = BTreeMap::new();
    for (svma, code, theirs) in text.lines().filter_map(|line| parse(line, arch)) {
        if theirs.starts_with('.') || theirs.contains("undefined") || theirs.contains("(bad)") {
            continue;
        }
        lines += 1;
        let ours = disassemble(arch, &code, Svma(svma), syntax).unwrap_or_default();
        if normal(arch, &ours) == normal(arch, &with_prefixed_target(arch, theirs)) {
            alike += 1;
        } else {
            let mnemonic = theirs.split_whitespace().next().unwrap_or_default();
            different.entry(mnemonic).or_insert_with(|| (0, format!("{theirs}  |  {ours}"))).0 += 1;
        }
    }
    let mut different: Vec<_> = different.into_iter().collect();
    different.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (mnemonic, (count, example)) in different.iter().take(12) {
        println!("{count:8} {mnemonic}: {example}");
    }
    let share = alike as f64 / lines.max(1) as f64 * 100.0;
    println!("{}: {alike} of {lines} lines agree, {share:.3} %", file.display());
    assert!(lines >= 1_000_000, "{}: objdump prints {lines} instructions only", file.display());
    assert!(share >= 99.8, "{}: {share:.3} % of {lines} lines agree", file.display());
}

fn postgres(arch: &str) -> PathBuf {
    let (package, dir) = fetch(arch, &["postgresql-17", "postgresql-16", "postgresql-15", "postgresql-18"]);
    dir.join(format!("usr/lib/postgresql/{}/bin/postgres", package.trim_start_matches("postgresql-")))
}

#[test]
#[ignore = "half a minute of objdump; `cargo xtask nightly` runs it"]
fn text_of_a64_code_is_that_of_objdump() {
    assert_texts_agree(Arch::Aarch64, Syntax::Att, &postgres("arm64"));
}

#[test]
#[ignore = "a minute of objdump; `cargo xtask nightly` runs it"]
fn text_of_x86_64_code_is_that_of_objdump_in_both_syntaxes() {
    let file = postgres("amd64");
    assert_texts_agree(Arch::X86_64, Syntax::Att, &file);
    assert_texts_agree(Arch::X86_64, Syntax::Intel, &file);
}

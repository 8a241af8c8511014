//! The decoders against llvm-objdump, instruction by instruction, as facts: length, target, transfer, atomics.
//!
//! In: programs of the distribution for both architectures, and this machine's libc. The text of the disassembly is
//! read for names and targets only; how operands are written does not matter. What may differ stands in
//! [`TOLERATED`], with a reason each.

use deburr_core::Svma;
use deburr_core::insn::{Class, Flow, decode};
use deburr_cpu::Arch;
use deburr_tests::oracle::{is_load_exclusive, is_lse, is_store_exclusive};
use deburr_tests::package::fetch;
use deburr_tests::toolchain::require;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What llvm-objdump 14 and newer must be told to know, so that no instruction of a present program is unknown to it.
const EXTENSIONS: &str = "+v8.7a,+v9.2a,+sve2,+sve2-aes,+sve2-sha3,+sve2-sm4,+sve2-bitperm,+sme,+lse,+crypto,+sha2,\
     +sha3,+sm4,+aes,+crc,+fullfp16,+fp16fml,+dotprod,+bf16,+i8mm,+f32mm,+f64mm,+mte,+rand,+ls64,+mops,+hbc,+rcpc,\
     +rcpc-immo,+rdm,+lor,+pauth,+flagm,+altnzcv,+sb,+ssbs,+predres,+bti,+tme,+pan,+ras,+spe,+ecv";

/// Differences that are no faults of ours: architecture, kind, start of the mnemonic, and the reason.
const TOLERATED: &[(Arch, &str, &str, &str)] = &[
    (Arch::X86_64, "decoded", "<unknown>", "iced-x86 knows extensions that are newer than LLVM 14"),
    (Arch::Aarch64, "decoded", "<unknown>", "disarm64 knows extensions up to Armv9.6, LLVM 14 up to Armv9.2"),
    (Arch::Aarch64, "decoded", "udf", "`udf` is an instruction that traps, here and in the manual"),
    (Arch::Aarch64, "undecoded", "addg", "LLVM does not insist on the bits of `addg` that should be zero"),
    (Arch::Aarch64, "undecoded", "subg", "LLVM does not insist on the bits of `subg` that should be zero"),
    (Arch::Aarch64, "undecoded", "mrs", "LLVM names registers with op0 0 and 1, which no MRS reads"),
    (Arch::Aarch64, "undecoded", "msr", "LLVM names registers with op0 0 and 1, which no MSR writes"),
];

/// One line of the disassembly.
struct Line<'a> {
    svma: u64,
    code: Vec<u8>,
    mnemonic: &'a str,
    operands: &'a str,
    /// Whether a `lock` stands before it.
    locked: bool,
}

/// Prefixes that LLVM prints on lines of their own, or before the mnemonic.
const PREFIXES: [&str; 14] = [
    "lock", "rep", "repz", "repne", "notrack", "bnd", "xacquire", "xrelease", "data16", "rex64", "cs", "ds",
    "es", "ss",
];

fn parse<'a>(text: &'a str, arch: Arch) -> Option<Line<'a>> {
    let (address, rest) = text.split_once(':')?;
    let svma = u64::from_str_radix(address.trim(), 16).ok()?;
    let (raw, text) = rest.split_once('\t')?;
    let mut code = Vec::new();
    for part in raw.split_whitespace() {
        match part.len() {
            // Newer versions print the word, older ones its bytes.
            8 if arch == Arch::Aarch64 => code.extend(u32::from_str_radix(part, 16).ok()?.to_le_bytes()),
            2 => code.push(u8::from_str_radix(part, 16).ok()?),
            _ => return None,
        }
    }
    let text = text.trim();
    let (mut mnemonic, mut operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut locked = false;
    while arch == Arch::X86_64 && PREFIXES.contains(&mnemonic) && !operands.trim().is_empty() {
        locked |= mnemonic == "lock";
        (mnemonic, operands) =
            operands.trim().split_once(char::is_whitespace).unwrap_or((operands.trim(), ""));
    }
    (!code.is_empty()).then_some(Line { svma, code, mnemonic, operands: operands.trim(), locked })
}

/// The target of a direct transfer, by its name and its operands; `None` for everything else.
fn target(arch: Arch, mnemonic: &str, operands: &str) -> Option<u64> {
    let is_direct = match arch {
        Arch::X86_64 => {
            mnemonic.starts_with('j')
                || mnemonic.starts_with("call")
                || mnemonic.starts_with("loop")
                || mnemonic == "xbegin"
        }
        Arch::Aarch64 => {
            ["b", "bl", "cbz", "cbnz", "tbz", "tbnz"].contains(&mnemonic) || mnemonic.starts_with("b.")
        }
    };
    if !is_direct || operands.contains('*') {
        return None;
    }
    let last = operands.split('<').next()?.trim().rsplit([',', ' ']).next()?;
    u64::from_str_radix(last.trim_start_matches("0x"), 16).ok()
}

/// The kinds of difference between a line and our facts of its bytes.
fn differences(arch: Arch, line: &Line) -> Vec<&'static str> {
    let unknown = line.mnemonic == "<unknown>" || line.mnemonic.starts_with('.');
    let Some(insn) = decode(arch, &line.code, Svma(line.svma)) else {
        return if unknown { vec![] } else { vec!["undecoded"] };
    };
    if unknown {
        return vec!["decoded"];
    }
    let mut kinds = Vec::new();
    if usize::from(insn.length) != line.code.len() {
        kinds.push("length");
        return kinds;
    }
    let mut compare = |kind, theirs: bool, ours: bool| {
        if theirs != ours {
            kinds.push(kind);
        }
    };
    let (name, rest) = (line.mnemonic, line.operands);
    let theirs = target(arch, name, rest);
    compare("target", true, theirs == insn.flow.target().map(|svma| svma.0));
    match arch {
        Arch::Aarch64 => {
            compare("load-exclusive", is_load_exclusive(name), insn.class == Class::LoadExclusive);
            compare("store-exclusive", is_store_exclusive(name), insn.class == Class::StoreExclusive);
            compare("LSE", is_lse(name), insn.class == Class::LseAtomic);
            compare("return", matches!(name, "ret" | "retaa" | "retab"), insn.flow == Flow::Return);
            compare("call", name.starts_with("bl"), is_call(insn.flow));
            compare(
                "barrier",
                matches!(name, "dmb" | "dsb" | "ssbb" | "pssbb"),
                insn.class == Class::Barrier,
            );
        }
        Arch::X86_64 => {
            let locked = line.locked || name.starts_with("xchg") && rest.contains(['(', ':']);
            compare("lock", locked, insn.class == Class::LockedAtomic);
            compare("return", name.starts_with("ret"), insn.flow == Flow::Return);
            compare("call", name.starts_with("call"), is_call(insn.flow));
            compare("pause", name == "pause", insn.class == Class::SpinHint);
        }
    }
    kinds
}

fn is_call(flow: Flow) -> bool {
    matches!(flow, Flow::Call(_) | Flow::IndirectCall)
}

/// Compares every instruction of `.text`.
fn assert_decoders_agree(arch: Arch, file: &Path, at_least: u64) {
    require("llvm-objdump");
    let mut objdump = Command::new("llvm-objdump");
    objdump.args(["-d", "-z", "--section=.text"]);
    if arch == Arch::Aarch64 {
        objdump.arg(format!("--mattr={EXTENSIONS}"));
    }
    let mut objdump =
        objdump.arg(file).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("llvm-objdump starts");
    let output = BufReader::new(objdump.stdout.take().expect("its output is a pipe"));
    let mut lines = 0u64;
    let mut prefixes: Vec<(u64, Vec<u8>, bool)> = Vec::new();
    let mut found: BTreeMap<(&str, String), (u64, String)> = BTreeMap::new();
    for text in output.lines() {
        let text = text.expect("the disassembly is text");
        let Some(mut line) = parse(&text, arch) else { continue };
        lines += 1;
        if arch == Arch::X86_64 && PREFIXES.contains(&line.mnemonic) && line.operands.is_empty() {
            prefixes.push((line.svma, line.code, line.mnemonic == "lock"));
            continue;
        }
        if let Some((first, ..)) = prefixes.first() {
            line.svma = *first;
            line.locked |= prefixes.iter().any(|(_, _, locks)| *locks);
            line.code =
                prefixes.drain(..).flat_map(|(_, code, _)| code).chain(line.code.iter().copied()).collect();
        }
        for kind in differences(arch, &line) {
            found.entry((kind, line.mnemonic.to_owned())).or_insert_with(|| (0, text.clone())).0 += 1;
        }
    }
    assert!(objdump.wait().expect("llvm-objdump ends").success(), "llvm-objdump fails on {}", file.display());
    assert!(lines >= at_least, "{}: llvm-objdump prints {lines} instructions only", file.display());
    let faults: Vec<_> = found
        .iter()
        .filter(|((kind, mnemonic), _)| {
            let tolerated = TOLERATED
                .iter()
                .find(|(of, what, start, _)| *of == arch && what == kind && mnemonic.starts_with(start));
            if let Some((.., reason)) = tolerated {
                println!("{}: {kind} of {mnemonic}: {reason}", file.display());
            }
            tolerated.is_none()
        })
        .map(|((kind, mnemonic), (count, first))| format!("{kind} of {mnemonic}, {count} times: {first}"))
        .collect();
    assert!(faults.is_empty(), "{}: {lines} instructions\n{}", file.display(), faults.join("\n"));
    println!("{}: {lines} instructions agree", file.display());
}

fn postgres(arch: &str) -> PathBuf {
    let (package, dir) = fetch(arch, &["postgresql-17", "postgresql-16", "postgresql-15", "postgresql-18"]);
    dir.join(format!("usr/lib/postgresql/{}/bin/postgres", package.trim_start_matches("postgresql-")))
}

#[test]
fn facts_of_a64_code_are_those_of_llvm() {
    assert_decoders_agree(Arch::Aarch64, &postgres("arm64"), 1_000_000);
}

#[test]
#[ignore = "a quarter of a minute of llvm-mc; `cargo xtask nightly` runs it"]
fn facts_of_a_libc_for_arm64_are_those_of_llvm() {
    let (_, dir) = fetch("arm64", &["libc6"]);
    for path in ["lib/aarch64-linux-gnu/libc.so.6", "usr/lib/aarch64-linux-gnu/libc.so.6"] {
        if dir.join(path).exists() {
            return assert_decoders_agree(Arch::Aarch64, &dir.join(path), 250_000);
        }
    }
    panic!("libc6 for arm64 holds no libc.so.6");
}

#[test]
#[ignore = "half a minute of llvm-mc; `cargo xtask nightly` runs it"]
fn facts_of_x86_64_code_are_those_of_llvm() {
    assert_decoders_agree(Arch::X86_64, &postgres("amd64"), 1_000_000);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn facts_of_the_libc_of_this_machine_are_those_of_llvm() {
    let paths = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"];
    let libc = paths.iter().map(Path::new).find(|path| path.exists());
    assert_decoders_agree(Arch::X86_64, libc.expect("this machine has a libc.so.6"), 250_000);
}

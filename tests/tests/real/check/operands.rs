//! Which registers instructions read and write, checked against LLVM's tables, opcode by opcode.
//!
//! In: code that covers every definition of the A64 decoder, and every x86-64 opcode that random bytes find. Out: no
//! difference that is not in [`TOLERATED`]. Three things are required of every instruction: what LLVM says is used is in
//! `reads`; what it says is defined is in `writes`; what is in `writes` and not in `reads`, and so counts as surely
//! overwritten, LLVM says is defined. That `reads` may hold more is no fault: it refuses more, and is never wrong.

use deburr_core::Svma;
use deburr_core::insn::{Insn, Reg, RegSet, decode};
use deburr_cpu::Arch;
use deburr_tests::toolchain::{repository, require, run, work_dir};
use disarm64::decoder::{self, Opcode};
use disarm64_defn::defn::InsnOpcode;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LLVM_CONFIG: &str = "llvm-config-19";

/// Differences that are no faults of ours: architecture, kind, start of LLVM's name, and the reason.
const TOLERATED: &[(Arch, &str, &str, &str)] = &[
    (
        Arch::Aarch64,
        "reads",
        "BL",
        "a call needs a stack by LLVM's convention; the instruction does not read SP",
    ),
    (Arch::Aarch64, "", "SYSLxt", "LLVM takes the result of SYSL for a source (DDI 0487 C6.2, SYSL)"),
    (Arch::Aarch64, "writes", "MRS", "of all registers RNDR and RNDRRS alone set NZCV (DDI 0487 C6.2, MRS)"),
    (
        Arch::Aarch64,
        "writes",
        "MSRpstate",
        "of all fields none is in NZCV: CFINV, XAFLAG and AXFLAG have names",
    ),
    (Arch::X86_64, "reads", "CLDEMOTE", "its memory operand is a hint (SDM volume 2, CLDEMOTE)"),
    (Arch::X86_64, "reads", "NOOP", "nothing is done with the operand"),
    (Arch::X86_64, "reads", "UD1", "it traps before it reads"),
    (Arch::X86_64, "reads", "LEAVE64", "RSP comes from RBP"),
    (Arch::X86_64, "reads", "XOR", "of two equal operands the result is zero"),
    (Arch::X86_64, "reads", "SUB", "of two equal operands the result is zero"),
    (Arch::X86_64, "reads", "PSUB", "of two equal operands the result is zero"),
    (Arch::X86_64, "reads", "PXOR", "of two equal operands the result is zero"),
    (Arch::X86_64, "reads", "VPSUB", "of two equal operands the result is zero"),
    (Arch::X86_64, "reads", "VPXOR", "of two equal operands the result is zero"),
    (Arch::X86_64, "reads", "VXOR", "of two equal operands the result is zero"),
    (
        Arch::X86_64,
        "",
        "RCL",
        "a count that is masked to zero leaves the flags; LLVM does not look at counts",
    ),
    (Arch::X86_64, "", "RCR", "as RCL"),
    (Arch::X86_64, "writes", "RO", "ROL and ROR as RCL"),
    (Arch::X86_64, "writes", "SA", "SAR as RCL"),
    (Arch::X86_64, "writes", "SH", "SHL, SHR, SHLD and SHRD as RCL"),
    (Arch::X86_64, "", "CLI", "IF is no status flag"),
    (Arch::X86_64, "", "STI", "IF is no status flag"),
    (Arch::X86_64, "writes", "CLAC", "AC is no status flag"),
    (Arch::X86_64, "writes", "STAC", "AC is no status flag"),
    (Arch::X86_64, "writes", "CDQ", "RAX stays (SDM volume 2, CWD/CDQ/CQO)"),
    (Arch::X86_64, "writes", "CQO", "as CDQ"),
    (Arch::X86_64, "writes", "CWD", "as CDQ"),
    (Arch::X86_64, "writes", "VMWRITE", "both operands are sources (SDM volume 3, VMWRITE)"),
    (Arch::X86_64, "overwrites", "VM", "instructions of VMX report in all status flags (SDM volume 3, 32.2)"),
    (Arch::X86_64, "overwrites", "INV", "INVEPT and INVVPID as those of VMX"),
    (
        Arch::X86_64,
        "overwrites",
        "MOV64",
        "moves from and to CRn and DRn leave the flags undefined (SDM volume 2, MOV)",
    ),
    (Arch::X86_64, "overwrites", "CLRSSBSY", "CF reports, the others are cleared (SDM volume 2, CLRSSBSY)"),
    (Arch::X86_64, "overwrites", "RSTORSSP", "CF reports, the others are cleared (SDM volume 2, RSTORSSP)"),
    (Arch::X86_64, "overwrites", "RDPRU", "CF reports, the others are cleared (APM volume 3, RDPRU)"),
    (Arch::X86_64, "overwrites", "IRET", "the flags come from the stack"),
    (Arch::X86_64, "overwrites", "RSM", "all state comes from memory"),
    (Arch::X86_64, "overwrites", "SKINIT", "it initialises the processor (APM volume 3, SKINIT)"),
    (Arch::X86_64, "overwrites", "SYSENTER", "RSP comes from IA32_SYSENTER_ESP"),
    (Arch::X86_64, "overwrites", "SYSEXIT", "RSP comes from RCX"),
    (Arch::X86_64, "overwrites", "SYSRET", "the flags come from R11"),
    (Arch::X86_64, "", "MMX_MOVD64from64", "LLVM 19 does not see F3 before REX: `movq` of an XMM register"),
    (Arch::X86_64, "", "XSAVEOPT64", "LLVM 19 does not see F3 before REX: `clrssbsy`"),
];

/// A register by LLVM's name, with those that a tuple such as `Z0_Z1` joins.
fn registers(arch: Arch, names: &str) -> RegSet {
    let single = match arch {
        Arch::Aarch64 => a64_register,
        Arch::X86_64 => x86_register,
    };
    names.split([',', '_']).filter_map(single).fold(RegSet::EMPTY, RegSet::with)
}

fn a64_register(name: &str) -> Option<Reg> {
    match name {
        "SP" | "WSP" => return Some(Reg::SP),
        "FP" => return Some(Reg::FRAME),
        "LR" => return Some(Reg::general(30)),
        "NZCV" => return Some(Reg::FLAGS),
        _ => {}
    }
    let digits = name.find(|c: char| c.is_ascii_digit())?;
    let number = name[digits..].parse().ok()?;
    match &name[..digits] {
        "X" | "W" => Some(Reg::general(number)),
        "B" | "H" | "S" | "D" | "Q" | "Z" => Some(Reg::vector(number)),
        "P" | "PN" => Some(Reg::mask(number)),
        _ => None,
    }
}

fn x86_register(name: &str) -> Option<Reg> {
    const LEGACY: [&str; 8] = ["AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI"];
    if name == "EFLAGS" {
        return Some(Reg::FLAGS);
    }
    let whole = name.strip_prefix(['R', 'E']).unwrap_or(name);
    let legacy = LEGACY.iter().position(|legacy| {
        whole == *legacy
            || name.strip_suffix('L').is_some_and(|low| low == *legacy)
            || legacy.ends_with('X')
                && [format!("{}L", &legacy[..1]), format!("{}H", &legacy[..1])].contains(&name.to_owned())
    });
    if let Some(number) = legacy {
        return Some(Reg::general(number as u8));
    }
    let number = |rest: &str| rest.trim_end_matches(['B', 'W', 'D']).parse().ok();
    match name.split_at_checked(1)? {
        ("R", rest) => number(rest).map(Reg::general),
        ("K", rest) => number(rest).map(Reg::mask),
        ("X" | "Y" | "Z", rest) => rest.strip_prefix("MM").and_then(number).map(Reg::vector),
        _ => None,
    }
}

/// The names of a set's registers, for a report.
fn names(set: RegSet) -> String {
    let general = set.general().map(|reg| format!("{reg:?}"));
    let vectors = (0..32).map(Reg::vector).filter(|reg| set.contains(*reg)).map(|reg| format!("v{reg:?}"));
    let masks = (0..16).map(Reg::mask).filter(|reg| set.contains(*reg)).map(|reg| format!("mask {reg:?}"));
    let flags = set.contains(Reg::FLAGS).then(|| "flags".to_owned());
    general.chain(vectors).chain(masks).chain(flags).collect::<Vec<_>>().join(" ")
}

/// A generator (xorshift64*), so that every run tests the same code.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }
}

/// Words of every definition that the decoder reaches: with random fields, and with each field of a register number 31.
fn a64_words() -> Vec<u32> {
    /// Values of bits 9 to 0; with fewer of them some definitions are not found.
    const LOW: u32 = 128;
    let mut definitions: BTreeMap<u16, Opcode> = BTreeMap::new();
    for low in (0..LOW).map(|i| (i * 37 + 0x1e3) & 1023) {
        for word in (0..1u32 << 22).map(|high| high << 10 | low) {
            if let Some(opcode) = decoder::decode(word) {
                definitions.entry(opcode.id() as u16).or_insert(opcode);
            }
        }
    }
    assert!(definitions.len() >= 3_700, "{} definitions only", definitions.len());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut words = Vec::new();
    for opcode in definitions.values() {
        let (fixed, mask) = (opcode.definition().opcode, opcode.definition().mask);
        words.push(opcode.bits());
        words.extend((0..24).map(|_| fixed | random.next() as u32 & !mask));
        words.extend([0, 5, 10, 16].map(|low| fixed | (random.next() as u32 | 31 << low) & !mask));
    }
    words
}

/// Random bytes that begin as instructions do: prefixes, then an opcode of one of the maps.
fn x86_code() -> Vec<Vec<u8>> {
    let mut random = Random(0x0123_4567_89ab_cdef);
    let mut one = || {
        let mut code: Vec<u8> = Vec::new();
        let mut byte = || random.next() as u8;
        match byte() % 16 {
            0..=8 => {
                let prefixes: [&[u8]; 12] = [
                    &[],
                    &[],
                    &[],
                    &[],
                    &[],
                    &[],
                    &[0x66],
                    &[0xf3],
                    &[0xf2],
                    &[0xf0],
                    &[0x66, 0xf2],
                    &[0x67],
                ];
                code.extend(prefixes[usize::from(byte() % 12)]);
                if byte() % 2 == 0 {
                    code.push(0x40 | (byte() % 16));
                }
                let maps: [&[u8]; 5] = [&[], &[0x0f], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]];
                code.extend(maps[usize::from(byte() % 5)]);
            }
            9..=11 => code.extend([0xc4, (byte() << 5) | (1 + byte() % 3), byte()]),
            _ => code.extend([0x62, (byte() << 4) | (1 + byte() % 7), byte() | 4, byte()]),
        }
        code.extend((0..12).map(|_| random.below(256) as u8));
        code.truncate(15);
        code
    };
    (0..400_000).map(|_| one()).collect()
}

/// Compiles the program that prints LLVM's tables.
fn tables(dir: &Path) -> PathBuf {
    require(LLVM_CONFIG);
    let config = |what: &[&str]| -> Vec<String> {
        run(Command::new(LLVM_CONFIG).args(what)).split_whitespace().map(str::to_owned).collect()
    };
    let program = dir.join("tables");
    run(Command::new("g++")
        .args(["-O1", "-std=c++17", "-fno-rtti"])
        .args(config(&["--cxxflags"]))
        .arg(repository().join("tests/operands/tables.cc"))
        .arg("-o")
        .arg(&program)
        .args(config(&["--ldflags", "--libs"])));
    program
}

/// What LLVM says of one instruction.
struct Facts {
    opcode: String,
    length: usize,
    defined: RegSet,
    used: RegSet,
}

/// Queries LLVM's tables; `None` where they know no instruction.
fn facts(name: &str, arch: Arch, code: &[Vec<u8>]) -> Vec<Option<Facts>> {
    let dir = work_dir(name);
    let (triple, features) = match arch {
        Arch::Aarch64 => ("aarch64-linux-gnu", "+all"),
        Arch::X86_64 => ("x86_64-linux-gnu", ""),
    };
    let lines =
        code.iter().map(|code| code.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n");
    let input = dir.join("code");
    fs::write(&input, lines.collect::<String>()).expect("the input is written");
    let input = File::open(input).expect("the input is read");
    let text = run(Command::new(tables(&dir)).args([triple, features]).stdin(Stdio::from(input)));
    let parse = |line: &str| {
        let mut fields = line.split('\t');
        let (opcode, length) = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
        let mut set = || Some(registers(arch, fields.next()?));
        Some(Facts { opcode, length, defined: set()?, used: set()? })
    };
    let facts: Vec<_> = text.lines().map(parse).collect();
    assert_eq!(facts.len(), code.len(), "one line for each instruction");
    facts
}

/// The kinds of difference of one instruction, with the registers.
fn differences(insn: &Insn, facts: &Facts) -> Vec<(&'static str, RegSet)> {
    let sure = insn.writes.minus(insn.reads).without(Reg::OTHER);
    let kinds = [
        ("reads", facts.used.minus(insn.reads)),
        ("writes", facts.defined.minus(insn.writes)),
        ("overwrites", sure.minus(facts.defined)),
    ];
    kinds.into_iter().filter(|(_, set)| *set != RegSet::EMPTY).collect()
}

/// Compares up to `most` instructions of each of LLVM's opcodes.
fn assert_registers_agree(name: &str, arch: Arch, code: &[Vec<u8>], most: usize, opcodes_at_least: usize) {
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    let mut faults: BTreeMap<(&str, &str), (usize, String)> = BTreeMap::new();
    let all = facts(name, arch, code);
    for (code, facts) in code.iter().zip(&all) {
        let Some(facts) = facts else { continue };
        let insn = decode(arch, code, Svma(0x1000)).filter(|insn| usize::from(insn.length) == facts.length);
        let Some(insn) = insn else { continue };
        let count = compared.entry(&facts.opcode).or_default();
        *count += 1;
        if *count > most {
            continue;
        }
        for (kind, set) in differences(&insn, facts) {
            let is_tolerated = TOLERATED.iter().any(|(of, what, start, _)| {
                *of == arch && (what.is_empty() || *what == kind) && facts.opcode.starts_with(start)
            });
            if !is_tolerated {
                let text = format!("{code:02x?}: {}", names(set));
                faults.entry((kind, &facts.opcode)).or_insert((0, text)).0 += 1;
            }
        }
    }
    assert!(compared.len() >= opcodes_at_least, "{} opcodes only", compared.len());
    let faults: Vec<_> = faults
        .iter()
        .map(|((kind, opcode), (count, first))| format!("{kind} of {opcode}, {count} times: {first}"))
        .collect();
    assert!(faults.is_empty(), "{} of {} opcodes\n{}", faults.len(), compared.len(), faults.join("\n"));
    println!("{} opcodes agree", compared.len());
}

#[test]
#[ignore = "needs LLVM's headers and half a minute; `cargo xtask nightly` runs it"]
fn registers_of_every_a64_instruction_are_those_of_llvm() {
    let code: Vec<Vec<u8>> = a64_words().iter().map(|word| word.to_le_bytes().to_vec()).collect();
    assert_registers_agree("operands-a64", Arch::Aarch64, &code, 200, 6_000);
}

#[test]
#[ignore = "needs LLVM's headers and half a minute; `cargo xtask nightly` runs it"]
fn registers_of_x86_64_instructions_are_those_of_llvm() {
    assert_registers_agree("operands-x86", Arch::X86_64, &x86_code(), 12, 4_000);
}

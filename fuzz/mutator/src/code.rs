//! Edits of code: instructions put in, over others, out or twice, branches that lead elsewhere, constants. Each says whether it
//! changed the file.
//!
//! A64 is edited in words. x86-64 is not decoded: edits begin anywhere, and the decoder falls into step after them.

use crate::bench::Bench;
use crate::file::{Arch, Part};
use crate::instruction::{AARCH64, IDIOMS_AARCH64, IDIOMS_X86_64, X86_64};
use crate::random::Sequence;

const NOP_A64: [u8; 4] = 0xd503_201f_u32.to_le_bytes(); // nop
const NOP_X86: [u8; 1] = [0x90]; // nop

/// A place in code, and the run of code it is in.
fn place(bench: &mut Bench<'_>) -> Option<(Part, usize)> {
    let runs = std::mem::take(&mut bench.file.code);
    let run = bench.pick(&runs);
    bench.file.code = runs;
    let run = run?;
    let offset = bench.random.below(run.size);
    // Functions often begin at multiples of 16: there, too.
    let offset = match (bench.file.arch?, bench.random.once_in(4)) {
        (_, true) => offset & !15,
        (Arch::Aarch64, false) => offset & !3,
        (Arch::X86_64, false) => offset,
    };
    Some((run, run.at + offset))
}

fn nop(arch: Arch) -> &'static [u8] {
    match arch {
        Arch::X86_64 => &NOP_X86,
        Arch::Aarch64 => &NOP_A64,
    }
}

/// An instruction of the table, sometimes with other registers or another immediate.
fn instruction(arch: Arch, random: &mut Sequence) -> Vec<u8> {
    match arch {
        Arch::X86_64 => random.pick(X86_64).map_or_else(Vec::new, |(bytes, _)| bytes.to_vec()),
        Arch::Aarch64 => {
            let word = random.pick(AARCH64).map_or(0, |(word, _)| *word);
            let change = if random.once_in(4) { 1 << random.below(32) } else { 0 };
            (word ^ change).to_le_bytes().to_vec()
        }
    }
}

/// A sequence of instructions that belong together.
fn idiom(arch: Arch, random: &mut Sequence) -> Vec<u8> {
    match arch {
        Arch::X86_64 => {
            let insns = random.one_of(IDIOMS_X86_64);
            insns.iter().flat_map(|(bytes, _)| bytes.iter().copied()).collect()
        }
        Arch::Aarch64 => {
            let insns = random.one_of(IDIOMS_AARCH64);
            insns.iter().flat_map(|(word, _)| word.to_le_bytes()).collect()
        }
    }
}

/// Puts bytes in between: the file grows, or what follows in the run of code moves.
fn put_between(bench: &mut Bench<'_>, new: &[u8]) -> bool {
    let Some((run, at)) = place(bench) else { return false };
    bench.random.once_in(2) && bench.insert(run, at, new) || bench.push_within(run, at, new)
}

/// An instruction put in between.
pub(crate) fn insert(bench: &mut Bench<'_>) -> bool {
    let Some(arch) = bench.file.arch else { return false };
    let new = instruction(arch, bench.random);
    put_between(bench, &new)
}

/// A feature check, a lock, a table, a wait or a loop put in between, or over what is there.
pub(crate) fn insert_idiom(bench: &mut Bench<'_>) -> bool {
    let Some(arch) = bench.file.arch else { return false };
    let new = idiom(arch, bench.random);
    if bench.random.once_in(2) {
        return put_between(bench, &new);
    }
    let Some((run, at)) = place(bench) else { return false };
    let room = run.end().saturating_sub(at).min(new.len());
    bench.put(at, new.get(..room).unwrap_or_default())
}

/// An instruction over what is there.
pub(crate) fn replace(bench: &mut Bench<'_>) -> bool {
    let (Some(arch), Some((run, at))) = (bench.file.arch, place(bench)) else { return false };
    let new = instruction(arch, bench.random);
    let room = run.end().saturating_sub(at).min(new.len());
    bench.put(at, new.get(..room).unwrap_or_default())
}

/// Instructions taken out.
pub(crate) fn delete(bench: &mut Bench<'_>) -> bool {
    let (Some(arch), Some((run, at))) = (bench.file.arch, place(bench)) else { return false };
    let count = 1 + bench.random.below(4);
    let length = count * if arch == Arch::Aarch64 { 4 } else { 1 + bench.random.below(4) };
    if bench.random.once_in(2) {
        let room = run.end().saturating_sub(at).min(length);
        let nops: Vec<u8> = nop(arch).iter().copied().cycle().take(room).collect();
        return bench.put(at, &nops);
    }
    bench.pull_within(run, at, length, nop(arch))
}

/// A run of instructions a second time, elsewhere.
pub(crate) fn duplicate(bench: &mut Bench<'_>) -> bool {
    let Some((run, from)) = place(bench) else { return false };
    let length = (4 + 4 * bench.random.below(16)).min(run.end().saturating_sub(from));
    let copy = bench.bytes.get(from..from + length).unwrap_or_default().to_vec();
    if bench.random.once_in(2) {
        return put_between(bench, &copy);
    }
    let Some((run, to)) = place(bench) else { return false };
    let room = run.end().saturating_sub(to).min(copy.len());
    bench.put(to, copy.get(..room).unwrap_or_default())
}

/// A direct branch or call: how many bits its distance has, where in its word, and how it is told by mask and value.
/// `b`, `bl`; `b.cond`; `cbz`, `cbnz`; `tbz`, `tbnz`; `adr`, whose low bits stay.
const BRANCHES_A64: [(u32, u32, u32, u32); 5] = [
    (26, 0, 0x7c00_0000, 0x1400_0000),
    (19, 5, 0xff00_0000, 0x5400_0000),
    (19, 5, 0x7e00_0000, 0x3400_0000),
    (14, 5, 0x7e00_0000, 0x3600_0000),
    (19, 5, 0x1f00_0000, 0x1000_0000),
];

/// The distance field of an A64 branch: its width and its lowest bit.
fn distance_field(word: u32) -> Option<(u32, u32)> {
    let of = BRANCHES_A64.iter().find(|(_, _, mask, value)| word & mask == *value);
    of.map(|(width, low, ..)| (*width, *low))
}

/// A distance in bytes from `at` to somewhere in its run of code, to its ends, next to it, or far away.
fn distance(run: Part, at: usize, random: &mut Sequence) -> i64 {
    let here = at as i64;
    let target = match random.below(8) {
        0 => run.at as i64,
        1 => run.end() as i64,
        2 => here,
        3 => here + 4,
        4 => here - 4,
        5 => here + (1 << random.below(28)),
        _ => (run.at + random.below(run.size)) as i64 & !3,
    };
    target - here
}

/// A branch or a call that leads elsewhere.
pub(crate) fn retarget(bench: &mut Bench<'_>) -> bool {
    let (Some(arch), Some((run, start))) = (bench.file.arch, place(bench)) else { return false };
    match arch {
        Arch::Aarch64 => {
            let end = run.end().min(bench.bytes.len());
            let mut places = (start..end).step_by(4).chain((run.at..start).step_by(4));
            let found = places.find_map(|at| Some((at, distance_field(bench.read(at, 4) as u32)?)));
            let Some((at, (width, low))) = found else { return false };
            let (word, distance) = (bench.read(at, 4) as u32, distance(run, at, bench.random) >> 2);
            let mask = ((1u32 << width) - 1) << low;
            let field = ((distance as u32) << low) & mask;
            bench.write(at, 4, u64::from(word & !mask | field))
        }
        Arch::X86_64 => {
            let end = run.end().min(bench.bytes.len());
            // Where the distance is, and in how many bytes.
            let field = |at: usize| match (bench.read(at, 1), bench.read(at + 1, 1)) {
                (0xe8 | 0xe9, _) => Some((at + 1, 4)),        // call, jmp
                (0xeb | 0x70..=0x7f, _) => Some((at + 1, 1)), // jmp, jcc
                (0x0f, 0x80..=0x8f) => Some((at + 2, 4)),     // jcc
                (0x48, 0x8d) => Some((at + 3, 4)),            // lea, if its base is RIP
                _ => None,
            };
            let Some((at, width)) = (start..end).chain(run.at..start).find_map(field) else { return false };
            let distance = distance(run, at + width, bench.random);
            bench.write(at, width, distance as u64)
        }
    }
}

/// A constant or a register in an instruction: bits of an A64 word's operands, a byte of x86-64.
pub(crate) fn operand(bench: &mut Bench<'_>) -> bool {
    let (Some(arch), Some((_, at))) = (bench.file.arch, place(bench)) else { return false };
    match arch {
        Arch::Aarch64 => {
            let word = bench.read(at, 4);
            let changed = match bench.random.below(4) {
                // Rd, Rn, Rm, an immediate of 12 bits.
                0 => word & !0x1f | bench.random.below(32) as u64,
                1 => word & !0x3e0 | (bench.random.below(32) as u64) << 5,
                2 => word & !0x1f_0000 | (bench.random.below(32) as u64) << 16,
                _ => word & !0x3f_fc00 | (1 << bench.random.below(12)) << 10,
            };
            bench.write(at, 4, changed)
        }
        Arch::X86_64 => {
            let width = bench.random.one_of(&[1, 1, 4]);
            bench.disturb(at, width)
        }
    }
}

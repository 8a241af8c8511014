//! Edits of relocations with addends. Each says whether it changed the file.

use crate::bench::Bench;
use crate::file::{Arch, Part, RELA, SHT_RELA};

/// Of x86-64: 64, PC32, GOT32, PLT32, COPY, GLOB_DAT, JUMP_SLOT, RELATIVE, GOTPCREL, 32, 32S, PC64, IRELATIVE, GOTPCRELX,
/// REX_GOTPCRELX.
const X86_64: [u64; 15] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 24, 37, 41, 42];
/// Of AArch64: ABS64, ABS32, PREL64, PREL32, ADR_PREL_LO21, ADR_PREL_PG_HI21, ADD_ABS_LO12_NC, LDST8, TSTBR14, CONDBR19,
/// JUMP26, CALL26, LDST16, LDST32, LDST64, LDST128, ADR_GOT_PAGE, LD64_GOT_LO12, COPY, GLOB_DAT, JUMP_SLOT, RELATIVE,
/// IRELATIVE.
const AARCH64: [u64; 23] = [
    257, 258, 260, 261, 274, 275, 277, 278, 279, 280, 282, 283, 284, 285, 286, 299, 311, 312, 1024, 1025,
    1026, 1027, 1032,
];

fn tables(bench: &Bench<'_>) -> Vec<Part> {
    bench.file.of_kind(&[SHT_RELA]).collect()
}

/// The offset, the type, the symbol or the addend of a relocation.
pub(crate) fn field(bench: &mut Bench<'_>) -> bool {
    let tables = tables(bench);
    let Some(entry) = bench.pick(&tables).and_then(|table| bench.entry(table, RELA)) else { return false };
    match bench.random.below(4) {
        0 => {
            let old = bench.read(entry, 8);
            let near = old.wrapping_add(4 * bench.random.below(17) as u64).wrapping_sub(32);
            let offset = if bench.random.once_in(2) { near } else { bench.value(old) };
            bench.write(entry, 8, offset)
        }
        1 => {
            let kinds: &[u64] = if bench.file.arch == Some(Arch::X86_64) { &X86_64 } else { &AARCH64 };
            let kind = bench.random.one_of(kinds);
            bench.write(entry + 8, 4, kind)
        }
        2 => {
            let symbol = bench.random.below(32) as u64;
            bench.write(entry + 12, 4, symbol)
        }
        _ => {
            let old = bench.read(entry + 16, 8);
            let near = old.wrapping_add(4 * bench.random.below(9) as u64).wrapping_sub(16);
            let addend = if bench.random.once_in(2) { near } else { bench.value(old) };
            bench.write(entry + 16, 8, addend)
        }
    }
}

/// Relocations copied, swapped or removed.
pub(crate) fn rearrange(bench: &mut Bench<'_>) -> bool {
    let tables = tables(bench);
    let Some(table) = bench.pick(&tables) else { return false };
    bench.rearrange(table, RELA)
}

//! Patch stage: whether a register is dead at a place, so that a replacement may leave another value in it.
//!
//! In: how control goes through a file. Out: [`Liveness`]. A register is live where control may come to an
//! instruction that reads it before one writes it: in the function, in what it calls, and in what calls it.
//! With `-fipa-ra` (gcc's default) a caller keeps values in registers that a local function does not write.
//! What a call through a pointer or of another file may rely on follows the procedure call standard (AAPCS64,
//! "General-purpose Registers"). It does so only where the function shows that it is bound by no stricter one
//! (`preserve_most`): it overwrites the register already, or every caller is known. x16 and x17 may change
//! wherever a veneer could come between.

use super::backward::{Pointers, Stops, reaching};
use super::flow::{Flow, Places, edges};
use deburr_core::address::CodeOffset;
use deburr_core::address::Svma;
use deburr_core::image::SymbolOrigin;
use deburr_core::insn::{self, Insn, Reg};
use rayon::prelude::*;
use std::sync::OnceLock;

/// Which registers are live where; each register is computed once, by its first query.
#[derive(Default)]
pub(crate) struct Liveness {
    /// By register; where it may be read, or handed to code that is not known.
    handed: [OnceLock<Places>; 31],
    /// By register; where it may be read.
    read: [OnceLock<Places>; 31],
}

impl Liveness {
    /// Whether a sequence may leave another value in x`number` at a place where it is left. `is_new`: the
    /// sequence itself does not write it.
    pub(crate) fn is_dead(&self, flow: &Flow<'_, '_>, at: Svma, number: u8, is_new: bool) -> bool {
        let image = flow.image;
        let is_go = image.build.is_go || image.build.go_version.is_some();
        let Some(at) = image.code_offset(at) else { return false };
        let Some(cell) = self.handed.get(usize::from(number)) else { return false };
        let is_scratch = (9..=17).contains(&number) && !is_go;
        let live = cell.get_or_init(|| {
            let is_handed = |at, word| match (is_scratch, number) {
                (false, _) => leaves(word),
                (true, 16 | 17) => jumps_away(flow, at, word) || is_system_call(word),
                (true, _) => {
                    let calls = edges::is_indirect_call(word) && flow.targets_of(at).is_empty();
                    calls || jumps_away(flow, at, word) || is_system_call(word)
                }
            };
            live(flow, number, is_handed)
        });
        // What is written again before control leaves the function, nobody else sees.
        let is_unseen = !is_scratch || !is_new || number >= 16;
        !live.contains(at) && (is_unseen || self.may_clobber(flow, at, number, 0))
    }

    /// Whether no caller of the function around a place can rely on x`number` being kept.
    fn may_clobber(&self, flow: &Flow<'_, '_>, at: CodeOffset, number: u8, depth: usize) -> bool {
        self.overwrites(flow, at, number) || self.has_known_callers(flow, at, number, depth)
    }

    /// Whether the function around a place overwrites x`number` and reads nowhere what its caller had there: whoever keeps a
    /// register reads it first, wherever the value then goes.
    fn overwrites(&self, flow: &Flow<'_, '_>, at: CodeOffset, number: u8) -> bool {
        let register = Reg::general(number);
        let Some(home) = flow.program.whole_index_at(at) else { return false };
        let Some(function) = flow.program.functions().get(home) else { return false };
        let writes = |at| flow.decode(at).is_some_and(|insn: Insn| insn.writes.contains(register));
        let Some(cell) = self.read.get(usize::from(number)) else { return false };
        function.start.words_until(function.end).any(writes) && {
            let read = cell.get_or_init(|| live(flow, number, |_, _| false));
            !read.contains(function.start)
        }
    }

    /// Whether all that calls the function around a place are calls in this file, and no caller of one of those
    /// can rely on x`number` either. (Whether they read it themselves, liveness says.)
    fn has_known_callers(&self, flow: &Flow<'_, '_>, at: CodeOffset, number: u8, depth: usize) -> bool {
        /// Callers of callers.
        const DEPTH: usize = 8;
        let Some(function) =
            flow.program.whole_index_at(at).and_then(|home| flow.program.functions().get(home))
        else {
            return false;
        };
        let start = flow.image.svma(function.start);
        let is_exported = flow
            .image
            .symbols
            .get(flow.image.symbols.partition_point(|symbol| symbol.svma < start)..)
            .unwrap_or_default()
            .iter()
            .take_while(|symbol| symbol.svma == start)
            .any(|symbol| symbol.origin == SymbolOrigin::Dynsym && symbol.is_global);
        if depth > DEPTH || is_exported {
            return false;
        }
        let is_pointed_to = function.start.words_until(function.end).any(|at| flow.is_pointed_to(at));
        let edges = flow.edges.range(function.start..function.end);
        let mut outside = edges.iter().filter(|(_, from)| !function.contains(*from)).peekable();
        let home = flow.program.whole_index_at(function.start);
        !is_pointed_to
            && outside.peek().is_some()
            && outside.all(|&(to, from)| {
                let is_call = flow.decode(from).is_some_and(|insn| matches!(insn.flow, insn::Flow::Call(_)));
                let is_own_part = flow.program.whole_index_at(from) == home;
                is_own_part
                    || (!is_call || to == function.start) && self.may_clobber(flow, from, number, depth + 1)
            })
    }
}

/// Where x`number` is live; `hands_on`: instructions that hand it to code that is not known.
fn live(flow: &Flow<'_, '_>, number: u8, hands_on: impl Fn(CodeOffset, u32) -> bool + Sync) -> Places {
    let register = Reg::general(number);
    let mut seeds = Vec::new();
    // A procedure linkage table reads what it has just written, and its header what an entry has.
    for code in flow.image.code.iter().filter(|code| !code.name.starts_with(".plt")) {
        let words = code.bytes.as_chunks::<4>().0.par_iter().enumerate();
        seeds.par_extend(words.filter_map(|(index, word)| {
            let (at, word) = (code.at + 4 * index as u32, u32::from_le_bytes(*word));
            let reads = || flow.decode(at).is_some_and(|insn| insn.reads.contains(register));
            let names = may_name(word, number) && !is_system_call(word);
            let is_seed = names && reads() || hands_on(at, word);
            (is_seed && flow.may_run(at)).then_some(at)
        }));
    }
    seeds.extend(flow.probes());
    let writes = |insn: &Insn| insn.writes.contains(register) && !insn.reads.contains(register);
    let may_write = |word: u32| !edges::is_plain(word) || may_name(word, number);
    reaching(flow, seeds, &Stops { may: &may_write, does: &writes }, Pointers::ByConvention)
}

/// Whether an instruction may read or write x`number`: a cheaper query than decoding it, which says no only where that
/// is sure.
pub(crate) fn may_name(word: u32, number: u8) -> bool {
    let number = u32::from(number);
    let field = |low: u32| word >> low & 31 == number;
    // Exceptions, hints, system instructions; pairs that name the first register only; 64 bytes in eight
    // registers.
    let is_implicit =
        word >> 25 == 0b110_1010 || word & 0x3e20_0000 == 0x0820_0000 || word & 0xff20_0c00 == 0xf820_0000;
    field(0) || field(5) || field(10) || field(16) || is_implicit
}

/// A jump to where no table says.
fn jumps_away(flow: &Flow<'_, '_>, at: CodeOffset, word: u32) -> bool {
    edges::is_indirect_jump(word) && flow.targets_of(at).is_empty()
}

/// Calls, returns, jumps through registers and system calls.
fn leaves(word: u32) -> bool {
    let is_indirect = word & 0xfe00_0000 == 0xd600_0000;
    edges::is_call(word) || is_indirect || is_system_call(word)
}

/// `svc`, `hvc`, `smc`
const fn is_system_call(word: u32) -> bool {
    word & 0xffe0_001c == 0xd400_0000 && word & 3 != 0
}

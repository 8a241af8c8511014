//! Patch stage: whether anything relies on what the call of an outlined helper leaves in the registers that
//! it may overwrite.
//!
//! In: how control goes through a file, and the place after a call. Out: whether x16, x17 and x30 are written
//! before they are read on every path from there. A path of x16 and x17 ends where the function returns,
//! calls through a pointer, or comes back from a call. There a veneer could come between and change them
//! (AAPCS64, "General-purpose Registers"). What is called in the same file is entered: assembly may pass
//! something there.

use super::flow::Flow;
use super::liveness::may_name;
use deburr_core::address::CodeOffset;
use deburr_core::address::Svma;
use deburr_core::insn::{self, Insn, Reg};
use std::collections::HashMap;

/// Instructions that are looked at after one call.
const MOST: usize = 1 << 12;
/// x16, x17 and x30.
const OVERWRITTEN: [u8; 3] = [16, 17, 30];

/// Some of [`OVERWRITTEN`], as bits in that order.
type Registers = u8;
const ALL: Registers = 0b111;

/// Whether nothing after a call reads a register that the call of a helper may overwrite, before it is
/// written again. A call of Linux has no argument in them; one of a hypervisor or of secure firmware may have
/// (SMCCC 1.2, "Register use").
pub(crate) fn is_free(flow: &Flow<'_, '_>, after: Svma) -> bool {
    let Some(after) = flow.image.code_offset(after) else { return false };
    // What was followed from each place so far.
    let mut followed: HashMap<CodeOffset, Registers> = HashMap::new();
    let mut pending = vec![(after, ALL)];
    while let Some((at, unwritten)) = pending.pop() {
        let followed = match followed.len() {
            0..MOST => followed.entry(at).or_default(),
            _ => return false,
        };
        if unwritten & !*followed == 0 {
            continue;
        }
        *followed |= unwritten;
        let Some(word) = flow.word(at) else { return false };
        // Most instructions name none of them, and go on.
        if is_plain(word) && !OVERWRITTEN.into_iter().any(|number| may_name(word, number)) {
            pending.push((at.saturating_add(4), unwritten));
            continue;
        }
        let Some(insn) = flow.decode(at) else { return false };
        if named(&insn.reads) & unwritten != 0 && !is_svc(word) {
            return false;
        }
        let unwritten = unwritten & !named(&insn.writes);
        if unwritten != 0 && follow(flow, at, &insn, unwritten, &mut pending).is_none() {
            return false;
        }
    }
    true
}

/// Adds where control goes from an instruction; `None` where that is not known.
fn follow(
    flow: &Flow<'_, '_>,
    at: CodeOffset,
    insn: &Insn,
    unwritten: Registers,
    pending: &mut Vec<(CodeOffset, Registers)>,
) -> Option<()> {
    let target = match insn.flow {
        insn::Flow::Jump(to) | insn::Flow::Branch(to) | insn::Flow::Call(to) => {
            Some(flow.image.code_offset(to)?)
        }
        insn::Flow::IndirectJump => {
            let known = flow.targets_of(at);
            pending.extend(known.iter().map(|&(_, to)| (to, unwritten)));
            if known.is_empty() && reads_any(flow, at, unwritten) {
                return None;
            }
            None
        }
        _ => None,
    };
    pending.extend(target.map(|to| (to, unwritten)));
    let goes_on = matches!(insn.flow, insn::Flow::Next | insn::Flow::Branch(_));
    pending.extend(goes_on.then(|| (at.saturating_add(4), unwritten)));
    Some(())
}

/// Whether an instruction of the function around a jump to unknown places reads one of some registers.
fn reads_any(flow: &Flow<'_, '_>, jump: CodeOffset, registers: Registers) -> bool {
    let home = flow.program.whole_index_at(jump).and_then(|home| flow.program.functions().get(home));
    home.is_none_or(|function| {
        function
            .start
            .words_until(function.end)
            .any(|at| flow.decode(at).is_some_and(|insn| named(&insn.reads) & registers != 0))
    })
}

/// Those that are in a set.
fn named(set: &insn::RegSet) -> Registers {
    let bits = (0..).zip(OVERWRITTEN).filter(|(_, number)| set.contains(Reg::general(*number)));
    bits.fold(0, |all, (bit, _)| all | 1 << bit)
}

/// `svc`
const fn is_svc(word: u32) -> bool {
    word & 0xffe0_001f == 0xd400_0001
}

/// Whether an instruction is no branch, no exception and no system instruction.
const fn is_plain(word: u32) -> bool {
    word >> 26 & 7 != 5
}

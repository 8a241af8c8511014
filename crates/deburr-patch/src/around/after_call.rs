//! Patch stage: whether anything relies on what the call of an outlined helper leaves in the registers that
//! it may overwrite.
//!
//! In: how control goes through a file. Out: [`AfterCall`]: the places from which x16, x17 or x30 may be read before they
//! are written, found backwards from all that read them. A path of x16 and x17 ends where the function returns,
//! calls through a pointer, or comes back from a call. There a veneer could come between and change them
//! (AAPCS64, "General-purpose Registers"). What is called in the same file is entered: assembly may pass
//! something there.

use super::flow::{Flow, Places, edges};
use super::liveness::may_name;
use deburr_core::address::CodeOffset;
use deburr_core::address::Svma;
use deburr_core::insn::{self, Reg};
use rayon::prelude::*;

/// x16, x17 and x30.
const OVERWRITTEN: [u8; 3] = [16, 17, 30];

/// Where one of the registers may be read, whatever it holds.
pub(crate) struct AfterCall {
    /// In the order of [`OVERWRITTEN`].
    read_from: [Places; 3],
}

impl AfterCall {
    pub(crate) fn of(flow: &Flow<'_, '_>) -> AfterCall {
        AfterCall { read_from: OVERWRITTEN.map(|number| read_from(flow, Reg::general(number))) }
    }

    /// Whether nothing after a call reads a register that the call of a helper may overwrite, before it is
    /// written again.
    pub(crate) fn is_free(&self, flow: &Flow<'_, '_>, after: Svma) -> bool {
        let after = flow.image.code_offset(after);
        after.is_some_and(|after| !self.read_from.iter().any(|places| places.contains(after)))
    }
}

/// The places from which a register may be read before it is written.
fn read_from(flow: &Flow<'_, '_>, register: Reg) -> Places {
    let mut found = Places::default();
    let mut pending = readers(flow, register);
    pending.retain(|&at| found.insert(at));
    while let Some(at) = pending.pop() {
        let previous = at.checked_sub(4);
        for (from, falls) in
            flow.edges.sources(at).map(|from| (from, false)).chain(previous.map(|at| (at, true)))
        {
            if may_come_here(flow, (from, falls), register) && found.insert(from) {
                pending.push(from);
            }
        }
    }
    found
}

/// Whether control goes on from an instruction, to the next one or to its target, and leaves a register as it was.
fn may_come_here(flow: &Flow<'_, '_>, (from, falls): (CodeOffset, bool), register: Reg) -> bool {
    let Some(word) = flow.word(from) else { return false };
    // Most instructions do not name it, and go on.
    if edges::is_plain(word) && !may_name(word, register.general_number().unwrap_or_default()) {
        return falls;
    }
    let Some(insn) = flow.decode(from) else { return false };
    let goes_on = match insn.flow {
        insn::Flow::Next => falls,
        insn::Flow::Branch(_) => true,
        insn::Flow::Jump(_) | insn::Flow::Call(_) | insn::Flow::IndirectJump => !falls,
        insn::Flow::IndirectCall | insn::Flow::Return | insn::Flow::Stop => false,
    };
    goes_on && !insn.writes.contains(register)
}

/// The instructions that read a register, and those from which control may go to where its use is not known. A call of Linux has no
/// argument in these registers; one of a hypervisor or of secure firmware may have (SMCCC 1.2, "Register use").
fn readers(flow: &Flow<'_, '_>, register: Reg) -> Vec<CodeOffset> {
    let number = register.general_number().unwrap_or_default();
    let mut found = Vec::new();
    for code in &flow.image.code {
        let words = code.bytes.as_chunks::<4>().0;
        found.par_extend(words.par_iter().enumerate().filter_map(|(index, word)| {
            let at = code.at + 4 * index as u32;
            let word = u32::from_le_bytes(*word);
            let is_last = index + 1 == words.len();
            // Most instructions do not name it, and go on.
            (is_last || !edges::is_plain(word) || may_name(word, number)).then_some(at)
        }));
    }
    found.into_par_iter().filter(|&at| is_reader(flow, at, register)).collect()
}

fn is_reader(flow: &Flow<'_, '_>, at: CodeOffset, register: Reg) -> bool {
    let (Some(word), Some(insn)) = (flow.word(at), flow.decode(at)) else { return true };
    if insn.reads.contains(register) && !is_svc(word) {
        return true;
    }
    if insn.writes.contains(register) {
        return false;
    }
    let leaves = match insn.flow {
        insn::Flow::Jump(to) | insn::Flow::Branch(to) | insn::Flow::Call(to) => {
            flow.image.code_offset(to).is_none()
        }
        insn::Flow::IndirectJump => flow.targets_of(at).is_empty() && reads_any(flow, at, register),
        _ => false,
    };
    let goes_on = matches!(insn.flow, insn::Flow::Next | insn::Flow::Branch(_));
    leaves || goes_on && flow.word(at.saturating_add(4)).is_none()
}

/// Whether an instruction of the function around a jump to unknown places reads a register.
fn reads_any(flow: &Flow<'_, '_>, jump: CodeOffset, register: Reg) -> bool {
    let home = flow.program.whole_index_at(jump).and_then(|home| flow.program.functions().get(home));
    home.is_none_or(|function| {
        function
            .start
            .words_until(function.end)
            .any(|at| flow.decode(at).is_some_and(|insn| insn.reads.contains(register)))
    })
}

/// `svc`
const fn is_svc(word: u32) -> bool {
    word & 0xffe0_001f == 0xd400_0001
}

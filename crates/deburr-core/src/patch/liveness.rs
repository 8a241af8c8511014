//! Patch stage: whether a register is dead at a place, so that a replacement may leave another value in it.
//!
//! In: code from a place on. Out: whether every way from there writes the register before anything can read it. Calls and
//! returns by the psABI (AAPCS64, "General-purpose Registers"), with less than it allows: a call is taken to keep what it
//! may clobber, as one for a thread-local address does, and in Go, whose own convention passes values in x0 to x15, nothing is
//! dead at a call or a return.

use crate::address::Svma;
use crate::image::Image;
use crate::insn::{self, Flow, Reg};
use std::collections::HashSet;

/// Instructions at most that are looked at.
const FAR: usize = 256;

/// Whether nothing reads x`number` from an address on before it is written again.
pub(super) fn is_dead(image: &Image<'_>, at: Svma, number: u8) -> bool {
    let reg = Reg::general(number);
    let is_scratch = (9..=17).contains(&number);
    let is_go = image.build.is_go || image.build.go_version.is_some();
    let mut pending = vec![at];
    let mut seen = HashSet::new();
    while let Some(at) = pending.pop() {
        if !seen.insert(at) {
            continue;
        }
        let insn = image.bytes_at(at).and_then(|code| insn::decode(image.arch, code, at));
        let Some(insn) = insn.filter(|_| seen.len() <= FAR) else { return false };
        if insn.reads.contains(reg) {
            return false;
        }
        // A call writes x30; what else it writes is not relied on.
        let is_call = matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall);
        if insn.writes.contains(reg) && !is_call {
            continue;
        }
        match insn.flow {
            Flow::Next => pending.push(insn.next()),
            Flow::Jump(to) => pending.push(to),
            Flow::Branch(to) => pending.extend([to, insn.next()]),
            Flow::Call(_) | Flow::IndirectCall if is_scratch && !is_go => pending.push(insn.next()),
            Flow::Return if is_scratch && !is_go => {}
            _ => return false,
        }
    }
    true
}

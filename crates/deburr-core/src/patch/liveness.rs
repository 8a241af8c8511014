//! Patch stage: whether a register is dead at a place, so that a replacement may leave another value in it.
//!
//! In: code from a place on. Out: whether every way from there writes the registers before anything can read them. Calls and
//! returns by the psABI (AAPCS64, "General-purpose Registers"), with less than it allows: a call is taken to keep what it
//! may clobber, as one for a thread-local address does, and in Go, whose own convention passes values in x0 to x15, nothing is
//! dead at a call or a return.

use crate::address::Svma;
use crate::image::Image;
use crate::insn::{self, Flow, Reg, RegSet};
use std::collections::HashSet;

/// Instructions at most that are looked at for a register that a replacement overwrites.
const FAR: usize = 256;
/// The same behind a call, in the whole function if need be: its frame is left far away.
const WHOLE_FUNCTION: usize = 4096;

/// What becomes of registers where control leaves the instructions that follow one another.
enum Onward {
    /// It comes back behind the call, which kept them.
    Next,
    /// Nothing reads them there.
    Dead,
    /// Something may read them there.
    Read,
}

/// Whether nothing reads x`number` from an address on before it is written again.
pub(super) fn is_dead(image: &Image<'_>, at: Svma, number: u8) -> bool {
    let is_scratch = (9..=17).contains(&number);
    let is_go = image.build.is_go || image.build.go_version.is_some();
    let onward = |flow: Flow, _: RegSet| match flow {
        Flow::Call(_) | Flow::IndirectCall if is_scratch && !is_go => Onward::Next,
        Flow::Return if is_scratch && !is_go => Onward::Dead,
        _ => Onward::Read,
    };
    !may_read(image, at, RegSet::EMPTY.with(Reg::general(number)), FAR, onward)
}

/// Whether nothing behind a call reads x16, x17 or x30 before it is written again: it would find there what the call leaves.
/// Behind a jump through a register nothing is looked for: no compiler carries a return address through one.
pub(super) fn is_free_of_call(image: &Image<'_>, behind: Svma) -> bool {
    let link = Reg::general(30);
    let overwritten = [16, 17, 30].into_iter().map(Reg::general).fold(RegSet::EMPTY, RegSet::with);
    let onward = |flow: Flow, left: RegSet| match flow {
        Flow::Return if left.contains(link) => Onward::Read,
        // The next call overwrites them all.
        _ => Onward::Dead,
    };
    !may_read(image, behind, overwritten, WHOLE_FUNCTION, onward)
}

/// Whether some way from an address on may read one of some registers before it is written again. `onward` gets what is
/// left of them where a way ends or calls.
fn may_read(
    image: &Image<'_>,
    from: Svma,
    registers: RegSet,
    most: usize,
    onward: impl Fn(Flow, RegSet) -> Onward,
) -> bool {
    let mut pending = vec![(from, registers)];
    let mut seen = HashSet::new();
    while let Some((at, registers)) = pending.pop() {
        if !seen.insert((at, registers)) {
            continue;
        }
        let insn = image.bytes_at(at).and_then(|code| insn::decode(image.arch, code, at));
        let Some(insn) = insn.filter(|_| seen.len() <= most) else { return true };
        if insn.reads.intersects(registers) {
            return true;
        }
        // A call writes x30; what else it writes is not relied on.
        let is_call = matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall);
        let left = if is_call { registers } else { registers.minus(insn.writes) };
        if left == RegSet::EMPTY {
            continue;
        }
        match insn.flow {
            Flow::Next => pending.push((insn.next(), left)),
            Flow::Jump(to) => pending.push((to, left)),
            Flow::Branch(to) => pending.extend([(to, left), (insn.next(), left)]),
            flow => match onward(flow, left) {
                Onward::Next => pending.push((insn.next(), left)),
                Onward::Dead => {}
                Onward::Read => return true,
            },
        }
    }
    false
}

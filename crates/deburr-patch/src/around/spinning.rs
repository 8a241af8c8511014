//! Patch stage: whether a compare-and-swap tries again at once where it fails.
//!
//! In: where control goes on after a failed comparison. Out: whether it comes back to the load-exclusive with
//! nothing to wait for. Such a loop spins: with LSE each try takes the cache line.

use crate::semantics::{Insn, Register, Test, decode};
use deburr_core::address::Svma;
use deburr_core::image::Image;
use std::collections::HashSet;

/// Whether control comes from an address to a load-exclusive with only arithmetic on the path. A load that
/// would wait for another value, a call, a barrier or something new to compare with ends the path.
pub(crate) fn comes_back(image: &Image<'_>, from: Svma, load: Svma, expected: Option<Register>) -> bool {
    /// Instructions that a compiler writes between a failed comparison and the next try.
    const SHORT: usize = 12;
    let mut pending = vec![from];
    let mut seen = HashSet::new();
    while let Some(at) = pending.pop() {
        if at == load {
            return true;
        }
        if seen.len() >= SHORT || !seen.insert(at) {
            continue;
        }
        match image.word_at(at).map(decode) {
            Some(Ok(Insn::Branch { test: Test::Always, offset })) => pending.push(at.offset(4 * offset)),
            Some(Ok(Insn::Branch { offset, .. })) => pending.extend([at.offset(4 * offset), at.offset(4)]),
            Some(Ok(Insn::Move { .. } | Insn::ClearExclusive)) => pending.push(at.offset(4)),
            Some(Ok(insn)) if insn.destination().is_some_and(|register| Some(register) != expected) => {
                pending.push(at.offset(4));
            }
            _ => {}
        }
    }
    false
}

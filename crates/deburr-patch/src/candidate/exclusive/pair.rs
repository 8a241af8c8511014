//! Patch stage: what may take the place of a compare-and-swap of two registers.
//!
//! In: a sequence with `ldxp` and `stxp`. Out: proposals with `casp`, which compares and swaps an even
//! register and the next one with as many others (Arm ARM, C6.2, CASP). Registers that are no such pairs are
//! moved, as far as there are instructions for it, into others that are dead after the sequence. So are the
//! instructions for the status register, which the body itself often leaves as 0:
//! `cset s, ne; …; cinc s, s, ne` of what compares equal.

use super::replacements::Replacements;
use super::sequence::{Sequence, Status, Step};
use crate::semantics::encode::{self, Prepare};
use crate::semantics::{Insn, Logic, Operand, Register, SP, Shift, Step as Decoded, Width, ZERO, decode};
use crate::site::NoShape;

/// Maximum of replacements with other registers, those with the fewest moves.
const MOST: usize = 24;
/// First registers of pairs to move values to, those first that calls may overwrite. Nothing but what is
/// there already goes to x18, which is a platform's own, or to x28 with the frame pointer.
const FIRST: [u8; 13] = [16, 14, 12, 10, 8, 6, 4, 2, 0, 20, 22, 24, 26];

/// Whether what an `ldxp` loads is stored back somewhere, as only a store that succeeds makes one access of
/// the two halves. `casp` stores nothing where the comparison fails, so that nothing is ordered before that
/// store any more.
pub(crate) fn stores_back(words: &[u32]) -> bool {
    let decoded: Vec<Decoded> = words.iter().map(|&word| decode(word)).collect();
    let Some((Ok(Insn::LoadExclusivePair { reference, rt: old }), rest)) = decoded.split_first() else {
        return false;
    };
    let is_load =
        |step: &Decoded| matches!(step, Ok(Insn::LoadExclusive { .. } | Insn::LoadExclusivePair { .. }));
    rest.iter().take_while(|step| !is_load(step)).any(|step| match step {
        Ok(Insn::StoreExclusivePair { reference: stored, rt, .. }) => {
            stored.base == reference.base && rt == old
        }
        _ => false,
    })
}

/// Registers of a compare-and-swap: where the expected value and then the loaded one are, where the new one
/// is, and the instructions that move them there and back.
struct Placed {
    first: Vec<u32>,
    back: Vec<u32>,
    /// Whether nothing but the sequence's own registers takes part, in their own places.
    is_own: bool,
}

/// What may replace a sequence whose high halves are loaded to and stored from `high`.
pub(crate) fn propose(sequence: &Sequence<'_>, high: [Register; 2]) -> Result<Replacements, NoShape> {
    if sequence.body.iter().all(|step| step.to.is_none()) {
        return Err(NoShape::Operation);
    }
    let (mut exact, mut lossy) = (Vec::new(), Vec::new());
    let mut all = placed(sequence, high);
    all.sort_by_key(|placed| placed.first.len() + placed.back.len());
    for placed in &all {
        let whole = ends(sequence, placed, &sequence.body);
        if placed.is_own {
            exact.extend(whole.iter().cloned());
        }
        lossy.extend(whole);
        // An exit that leads to where the sequence ends is none where both come there alike, if nothing is ordered by it.
        let leaves = |step: &&Step| step.to != Some(sequence.end as i64);
        let kept: Vec<Step> = sequence.body.iter().filter(leaves).copied().collect();
        if kept.len() < sequence.body.len() {
            lossy.extend(ends(sequence, placed, &kept));
        }
    }
    lossy.truncate(MOST);
    if lossy.is_empty() {
        return Err(NoShape::Pair);
    }
    let exits = sequence.body.iter().filter_map(|step| step.to).collect();
    let length = sequence.end;
    Ok(Replacements { length, exact, lossy, operand: None, is_narrow: false, exits })
}

/// The instructions around an access, with each of what may become of the status register.
fn ends(sequence: &Sequence<'_>, placed: &Placed, steps: &[Step]) -> Vec<Vec<u32>> {
    let zero = |flags| Some(Status::Zero { flags });
    let status = [zero(false), zero(true).filter(|_| sequence.compares_status), Some(Status::Left)];
    let back = placed.back.iter().filter_map(|&word| Some(Step { insn: decode(word).ok()?, word, to: None }));
    let steps: Vec<Step> = back.chain(steps.iter().copied()).collect();
    let finish = |status| sequence.finish(placed.first.clone(), &steps, status);
    status.into_iter().flatten().filter_map(finish).collect()
}

fn placed(sequence: &Sequence<'_>, high: [Register; 2]) -> Vec<Placed> {
    let plain = |register: Register| Operand::Shifted(register, Shift::Left, 0);
    let width = Width(sequence.reference.bits / 2);
    let (old, new) = ([sequence.old, high[0]], [sequence.new, high[1]]);
    let expected = old.map(|register| compared(sequence, register));
    let is_read = |register: Register| {
        register == sequence.reference.base
            || new.contains(&register)
            || sequence.body.iter().any(|step| step.insn.reads(register))
    };
    let is_free =
        |register: Register| old.contains(&register) || register == sequence.status || !is_read(register);
    let next = |first: u8| [Register(first), Register(first + 1)];
    let pairs = |own: [Register; 2]| {
        let others = FIRST.map(next).into_iter().filter(move |pair| *pair != own);
        [own].into_iter().chain(others)
    };
    let mut found = Vec::new();
    for (to, from) in pairs(old).flat_map(|to| pairs(new).map(move |from| (to, from))) {
        let apart = !to.iter().any(|register| from.contains(register));
        // What is in its place already need not be free.
        let has_room =
            to.into_iter().all(is_free) && from.iter().zip(new).all(|(&to, new)| to == new || is_free(to));
        let casp = encode::compare_and_swap_pair(sequence.reference, to, from).filter(|_| apart && has_room);
        let moved = || {
            let first = moves(width, from, new.map(plain))?;
            let second = moves(width, to, expected)?;
            let back = moves(width, old, to.map(plain))?;
            Some((first, second, back))
        };
        if let (Some(casp), Some((first, second, back))) = (casp, moved()) {
            let is_own = to == old && from == new;
            found.push(Placed {
                first: first.into_iter().chain(second).chain([casp]).collect(),
                back,
                is_own,
            });
        }
    }
    found
}

/// Instructions that move two values to two registers, none for what is there already. `None`: it would take
/// a third register.
fn moves(width: Width, to: [Register; 2], from: [Operand; 2]) -> Option<Vec<u32>> {
    let [low, high] = [0, 1].map(|at| (to.get(at).copied().unwrap_or(ZERO), from.get(at).copied()));
    let crosses = high.1.and_then(Operand::register) == Some(low.0);
    if crosses && low.1.and_then(Operand::register) == Some(high.0) {
        return None;
    }
    let order = if crosses { [high, low] } else { [low, high] };
    let moved = order.into_iter().filter_map(|(to, from)| Some((to, from?)));
    let moved = moved.filter(|&(to, from)| from.register() != Some(to) && to != ZERO);
    moved.map(|(to, from)| encode::prepare(Prepare::AsIs, width, to, from)).collect()
}

/// What the body compares a loaded register with; 0, where it only tests it.
fn compared(sequence: &Sequence<'_>, register: Register) -> Operand {
    let other = |rn: Register, operand: Operand| match operand {
        Operand::Shifted(rm, Shift::Left, 0) if rm == register => Some(Operand::Shifted(rn, Shift::Left, 0)),
        Operand::Value(_) | Operand::Shifted(_, Shift::Left, 0) if rn == register => Some(operand),
        _ => None,
    };
    let compared = sequence.body.iter().find_map(|step| match step.insn {
        Insn::AddSubtract { subtract: true, rn, operand, .. }
        | Insn::Logical { logic: Logic::Xor, invert: false, rn, operand, .. }
        | Insn::Compare { subtract: true, rn, operand, .. }
            if rn != SP =>
        {
            other(rn, operand)
        }
        _ => None,
    });
    compared.unwrap_or(Operand::Value(0))
}

#[cfg(test)]
mod tests {
    use super::super::propose;
    use super::*;
    use crate::prove::{Dead, Difference, Refusal, prove, prove_with};

    /// `ldaxp x8, x9, [x0]`, the instructions between, `stlxp w10, x4, x5, [x0]`, `cbnz w10` back.
    fn sequence(between: &[u32]) -> Vec<u32> {
        let back = 0x3500_000a | ((between.len() as u32 + 2).wrapping_neg() & 0x7_ffff) << 5;
        [0xc87f_a408].iter().chain(between).copied().chain([0xc82a_9404, back, 0xd65f_03c0]).collect()
    }

    /// `cmp x8, x2; ccmp x9, x3, #0, eq; b.ne` to an instruction.
    fn compared_to(to: i64) -> [u32; 3] {
        [0xeb02_011f, 0xfa43_0120, encode::retargeted(0x5400_0001, to - 3).expect("near")]
    }

    /// `cmp x8, #0; ccmp x9, #0, #0, eq; b.ne` to an instruction.
    fn compared_to_zero(to: i64) -> [u32; 3] {
        [0xf100_011f, 0xfa40_0920, encode::retargeted(0x5400_0001, to - 3).expect("near")]
    }

    #[test]
    fn a_flag_of_both_halves_is_the_status_too() {
        // cmp x8, x2; cset w10, ne; cmp x9, x3; cinc w10, w10, ne; cbnz w10, #+12
        let flag = [0xeb02_011f, 0x1a9f_07ea, 0xeb03_013f, 0x1a8a_054a, 0x3500_006a];
        let old = sequence(&flag);
        let proposal = propose(&old).expect("a shape");
        let proven = |new: &&Vec<u32>| prove(&old[..8], new).is_ok();
        let new = proposal.exact.iter().find(proven).expect("a proof");
        // mov x8, x2; mov x9, x3; caspal x8, x9, x4, x5, [x0]
        assert_eq!(new[..3], [0xaa02_03e8, 0xaa03_03e9, 0x4868_fc04]);
        assert_eq!((new.len(), proposal.length), (8, 8));
    }

    #[test]
    fn without_a_flag_the_status_must_be_dead() {
        let old = sequence(&compared_to(20));
        let proposal = propose(&old).expect("a shape");
        assert!(proposal.exact.iter().all(|new| prove(&old[..6], new).is_err()));
        let dead = Dead { exit: 6, registers: 1 << 10 };
        let proven = |new: &&Vec<u32>| prove_with(&old[..6], new, &[], &[dead]).is_ok();
        assert!(proposal.lossy.iter().any(|new| proven(&new)));
    }

    #[test]
    fn an_exit_to_the_end_leaves_room_to_move_a_register() {
        // x4 and x6 are stored: one of them is moved next to the other. Nothing that the branch depends on needs it: a
        // constant does not, and what was loaded is acquired.
        let mut old = sequence(&compared_to_zero(6));
        old[4] = 0xc82a_9804; // stlxp w10, x4, x6, [x0]
        let proposal = propose(&old).expect("a shape");
        let dead = Dead { exit: 6, registers: 1 << 10 | 1 << 5 };
        let proven = |new: &&Vec<u32>| prove_with(&old[..6], new, &[], &[dead]).is_ok();
        assert!(proposal.lossy.iter().any(|new| proven(&new)));
        assert!(proposal.lossy.iter().all(|new| prove(&old[..6], new).is_err()));
        // In the middle of the code after it there is none.
        let mut far = sequence(&compared_to_zero(20));
        far[4] = 0xc82a_9804; // stlxp w10, x4, x6, [x0]
        assert_eq!(propose(&far), Err(NoShape::Pair));
    }

    #[test]
    fn a_branch_that_orders_stays() {
        let dead = Dead { exit: 6, registers: 1 << 10 | 1 << 5 };
        // ldxp x8, x9, [x0]: nothing else orders a store after it.
        let mut relaxed = sequence(&compared_to_zero(6));
        relaxed[0] = 0xc87f_2408;
        // What x2 and x3 were loaded from comes before that store, too.
        let mut registers = sequence(&compared_to(6));
        for old in [&mut relaxed, &mut registers] {
            old[4] = 0xc82a_9804; // stlxp w10, x4, x6, [x0]
            let proposal = propose(old).expect("a shape");
            let refused: Vec<Refusal> = proposal
                .lossy
                .iter()
                .filter_map(|new| prove_with(&old[..6], new, &[], &[dead]).err())
                .collect();
            assert_eq!(refused.len(), proposal.lossy.len());
            let is_for_order = |refusal: &Refusal| {
                matches!(refusal, Refusal::Different { difference: Difference::ControlDependency, .. })
            };
            assert!(refused.iter().any(is_for_order), "{refused:?}");
        }
    }

    #[test]
    fn loaded_registers_that_are_no_pair_are_refused() {
        // ldaxp x9, x8, [x0], and x7, x8
        for load in [0xc87f_a009, 0xc87f_a007] {
            let mut old = sequence(&compared_to(20));
            old[0] = load;
            assert_eq!(propose(&old), Err(NoShape::Pair), "{load:08x}");
        }
    }

    #[test]
    fn what_stores_back_is_refused() {
        // ldaxp x0, x1, [x8]; stxp w9, x0, x1, [x8]; cbnz w9, #-8
        assert_eq!(propose(&[0xc87f_8500, 0xc829_0500, 0x35ff_ffc9]), Err(NoShape::StoresBack));
        // b.ne to stlxp w10, x8, x9, [x0]
        let mut old = sequence(&compared_to(7));
        old.push(0xc82a_a408);
        assert_eq!(propose(&old), Err(NoShape::StoresBack));
        // Another's.
        old[7] = 0xc82a_a428; // stlxp w10, x8, x9, [x1]
        assert_ne!(propose(&old), Err(NoShape::StoresBack));
    }

    #[test]
    fn an_exchange_has_no_casp() {
        assert_eq!(propose(&sequence(&[])), Err(NoShape::Operation));
    }
}

//! Patch stage: whether one sequence of instructions may take another's place.
//!
//! In: both sequences, and what is known around them. Out: a [`Proof`] or a [`Refusal`].
//!
//! | file | from | to |
//! |---|---|---|
//! | `bits` | operations on values | an and-inverter graph, in which what is computed alike is one literal |
//! | `dependence` | operations | what each value is computed from, and what branches depend on |
//! | `path` | | one path through a sequence: its condition, and the state it leaves |
//! | `run` | operations | all paths through the sequence |
//! | `search` | a literal | never true, a state in which it is, or undecided |
//! | `query` | two sequences | what differs on any two paths, as literals; the answer |
//! | `templates` | many pairs | their proofs, each kind of pair proven once |
//! | `given`, `refusal` | | what goes in, and what comes out |

mod bits;
mod dependence;
mod given;
mod path;
mod query;
mod refusal;
mod run;
mod search;
mod templates;

pub use given::{Dead, Given};
pub use refusal::{Difference, Proof, Refusal, Side, State};
pub use templates::Prover;

use path::AccessKind;
use query::Query;

/// Whether `new` may take the place of `old`.
///
/// Both are A64 instructions at the same addresses, entered at the first; where they are left counts from
/// there. `old` holds one load-exclusive and one store-exclusive, `new` one single-copy atomic on each path
/// through it.
///
/// What the old one orders by a dependency, the new one orders: each register that both leave is computed from as much, from the loaded value
/// too unless the new access acquires, and so are the conditions of branches.
///
/// ```
/// use deburr_patch::{Difference, Refusal, prove};
///
/// let old = [
///     0x885ffc02, // ldaxr w2, [x0]
///     0x0b010043, // add   w3, w2, w1
///     0x8804fc03, // stlxr w4, w3, [x0]
///     0x35ffffa4, // cbnz  w4, #-12
/// ];
/// let mut new = [
///     0xb8e10002, // ldaddal w1, w2, [x0]
///     0x0b010043, // add     w3, w2, w1
///     0x2a1f03e4, // mov     w4, wzr
///     0xd503201f, // nop
/// ];
/// assert_eq!(prove(&old, &new)?.size, 4);
///
/// // Without the letter that makes it a release:
/// new[0] = 0xb8a10002; // ldadda w1, w2, [x0]
/// assert!(matches!(prove(&old, &new), Err(Refusal::Different { difference: Difference::Release, .. })));
/// # Ok::<(), Refusal>(())
/// ```
pub fn prove(old: &[u32], new: &[u32]) -> Result<Proof, Refusal> {
    prove_with(old, new, &[], &[])
}

/// As [`prove`], over the states only in which what is given holds. An edge back to the first instruction is
/// refused then: what was known may not hold there.
///
/// # Errors
/// [`Refusal`], where the replacement is not shown to do the same.
pub fn prove_given(old: &[u32], new: &[u32], given: &[Given]) -> Result<Proof, Refusal> {
    prove_with(old, new, given, &[])
}

/// As [`prove_given`], where some registers are also dead: they are not compared where the sequences are left
/// at that exit.
///
/// # Errors
/// [`Refusal`], where the replacement is not shown to do the same.
pub fn prove_with(old: &[u32], new: &[u32], given: &[Given], dead: &[Dead]) -> Result<Proof, Refusal> {
    Query::new(old, new, AccessKind::Atomic, given, dead)?.answer()
}

/// As [`prove`], for sequences of plain loads and no other access.
///
/// Both load from the same addresses in the same order, what each load reads is the same, and so is
/// everything else. Of the plain loads `ldur`, post-indexed `ldr` and `ldp` of 64-bit registers are
/// understood, the last from SP only. Where a load faults, registers and SP may already hold what they do
/// after the sequence; and by memory tagging (FEAT_MTE2) the post-indexed load checks the tag of SP, which
/// one with an offset from SP does not.
///
/// ```
/// use deburr_patch::prove_loads;
///
/// let old = [
///     0xa97ffbfd, // ldp x29, x30, [sp, #-8]
///     0x9100c3ff, // add sp, sp, #48
/// ];
/// let new = [
///     0xf85f83fd, // ldur x29, [sp, #-8]
///     0xf84307fe, // ldr  x30, [sp], #48
/// ];
/// assert!(prove_loads(&old, &new).is_ok());
/// ```
///
/// # Errors
/// [`Refusal`], where the replacement is not shown to do the same.
pub fn prove_loads(old: &[u32], new: &[u32]) -> Result<Proof, Refusal> {
    Query::new(old, new, AccessKind::Loads, &[], &[])?.answer()
}

/// As [`prove_with`], where `new` tries a compare-and-swap until it succeeds.
///
/// `new` loads once with a plain `ldr`, `ldrh` or `ldrb`, and with the same base and size compares what it
/// loaded, all of it, and swaps. The load may read anything: it is a guess, of which only the
/// compare-and-swap says whether it was right. Where it was not, `new` goes back to its first instruction.
/// The registers and flags that it has changed there it writes again before it reads them; shown with any
/// values in them. Where it was right the two are compared as ever. What is assumed is what is of
/// store-exclusives: at some time it succeeds.
///
/// ```
/// use deburr_patch::prove_retrying;
///
/// let old = [
///     0x885f7c02, // ldxr  w2, [x0]
///     0x0a010043, // and   w3, w2, w1
///     0x2a2303e3, // mvn   w3, w3
///     0x88047c03, // stxr  w4, w3, [x0]
///     0x35ffff84, // cbnz  w4, #-16
///     0xd503201f, 0xd503201f, 0xd503201f, 0xd503201f, 0xd503201f, 0xd503201f, // nop
/// ];
/// let new = [
///     0xb9400002, // ldr   w2, [x0]
///     0x0a010043, // and   w3, w2, w1
///     0x2a2303e3, // mvn   w3, w3
///     0x2a0203e4, // mov   w4, w2
///     0x88a47c03, // cas   w4, w3, [x0]
///     0x4a040042, // eor   w2, w2, w4
///     0x35ffff42, // cbnz  w2, #-24
///     0x2a0403e2, // mov   w2, w4
///     0x0a010043, // and   w3, w2, w1: from what the access loaded, not from the guess
///     0x2a2303e3, // mvn   w3, w3
///     0x2a1f03e4, // mov   w4, wzr
/// ];
/// assert!(prove_retrying(&old, &new, &[]).is_ok());
/// ```
///
/// # Errors
/// [`Refusal`], where the replacement is not shown to do the same.
pub fn prove_retrying(old: &[u32], new: &[u32], dead: &[Dead]) -> Result<Proof, Refusal> {
    Query::new(old, new, AccessKind::Retry, &[], dead)?.answer()
}

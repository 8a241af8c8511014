//! Outlined atomics: helper bodies, recognised by their instructions, and the calls of them.
//!
//! A body tests one flag byte, runs one LSE instruction if it is set, and else a load-exclusive/store-exclusive loop:
//!
//! ```text
//! d503245f   bti  c                  absent in compiler-rt and Rust
//! 9000xxxx   adrp x16, flag
//! 394xxxxx   ldrb w16, [x16, flag]
//! 34000070   cbz  w16, +12
//! ........   casal w0, w1, [x2]      the LSE instruction: names operation, size and order
//! d65f03c0   ret
//! ........   mov …, ldaxr … stlxr … cbnz
//! d5033bbf   dmb  ish                only in the `_sync` helpers
//! d65f03c0   ret
//! ```
//!
//! Rust's helpers since 2025 are compiled, and test the flag in another register, such as x8.

use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::Program;
use crate::image::{Image, TransferTarget};
use crate::insn::sweep::Edge;
use crate::insn::{self, Class, Insn, Operation};
use rayon::prelude::*;
use std::sync::Arc;

const BTI_C: u32 = 0xd503_245f;
const RET: u32 = 0xd65f_03c0;
const DMB_ISH: u32 = 0xd503_3bbf;
const BR_X16: u32 = 0xd61f_0200;
/// Instructions of the longest body, `cas16` with `bti` and `dmb`, and some to spare.
const LONGEST: u64 = 20;
/// How the helpers' names begin.
const PREFIX: &str = "__aarch64_";

/// The body of an outlined helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// Its code.
    pub extent: Extent,
    /// libgcc's name without the prefix: `cas4_acq_rel`, `ldadd8_relax`, `swp1_sync`.
    pub name: Arc<str>,
}

impl Helper {
    /// The encoding of the LSE instruction, where that is all that the body does on a CPU that has LSE.
    pub fn only_instruction(&self, image: &Image<'_>) -> Option<u32> {
        let word = |index: i64| image.word_at(self.extent.start.offset(4 * index));
        let first = i64::from(word(0)? == BTI_C);
        let test = [word(first)?, word(first + 1)?, word(first + 2)?];
        // Callers know of x16: one that is in another register may be somebody's.
        let tests_lse = flag_register(test) == Some(16) && word(first + 4)? == RET;
        word(first + 3).filter(|_| tests_lse)
    }
}

/// A call of an outlined helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperCall {
    /// The `bl`, or the `b` of a tail call.
    pub from: Svma,
    /// The helper's name, as in [`Helper::name`].
    pub helper: Arc<str>,
    /// Whether it is a tail call.
    pub is_tail: bool,
    /// Whether the helper's body is in another file, and only its name known.
    pub is_external: bool,
}

/// All helper bodies, by address.
pub(super) fn find(image: &Image<'_>, program: &Program) -> Vec<Helper> {
    let lse = program.marks().filter(|mark| mark.class == Class::LseAtomic);
    lse.filter_map(|mark| body_around(image, image.svma(mark.at))).collect()
}

/// The branch that guards the LSE instruction at an address, where it is that of a helper.
pub(crate) fn guard_of(image: &Image<'_>, lse: Svma) -> Option<Svma> {
    let guard = lse.offset(-4);
    body_around(image, lse)
        .filter(|_| image.word_at(guard).and_then(tested_by_cbz_12).is_some())
        .map(|_| guard)
}

/// The helper body whose LSE instruction is at an address.
fn body_around(image: &Image<'_>, lse: Svma) -> Option<Helper> {
    let word = |at: Svma| image.word_at(at);
    let test = [word(lse.offset(-12))?, word(lse.offset(-8))?, word(lse.offset(-4))?];
    let is_tested = flag_register(test).is_some();
    // BOLT moves a body and writes a jump to it over the first three instructions of the old one.
    let moved = [-4, -8].into_iter().find(|&at| {
        let word = |offset: i64| word(lse.offset(at + offset)).unwrap_or_default();
        word(0) == BR_X16 && is_add_x16(word(-4)) && is_adrp_x16(word(-8))
    });
    if word(lse.offset(4))? != RET || !is_tested && moved.is_none() {
        return None;
    }
    let has_bti = word(lse.offset(-16)) == Some(BTI_C);
    let start = match moved {
        Some(at) => lse.offset(at - 8),
        None => lse.offset(if has_bti { -16 } else { -12 }),
    };
    let latest = Extent::sized(start, 4 * LONGEST).end;
    let mut end = lse.offset(8);
    let mut has_fallback = false;
    while word(end)? != RET {
        has_fallback |= is_exclusive(word(end)?);
        end = end.offset(4);
        if end >= latest {
            return None;
        }
    }
    if !has_fallback {
        return None;
    }
    let is_sync = word(end.offset(-4)) == Some(DMB_ISH);
    let insn = insn::decode(image.arch, image.bytes_at(lse)?, lse)?;
    Some(Helper { extent: Extent { start, end: end.offset(4) }, name: name(&insn, is_sync)? })
}

/// The register in which `adrp`, `ldrb`, `cbz` over the next two instructions test a flag: one that neither has an argument
/// nor must be kept for the caller.
fn flag_register([adrp, ldrb, cbz]: [u32; 3]) -> Option<u32> {
    let register = tested_by_cbz_12(cbz).filter(|register| (8..=17).contains(register))?;
    let is_loaded = ldrb & 0xffc0_03ff == 0x3940_0000 | register << 5 | register;
    (is_loaded && adrp & 0x9f00_001f == 0x9000_0000 | register).then_some(register)
}

/// The register of `cbz w…, +12`.
fn tested_by_cbz_12(word: u32) -> Option<u32> {
    (word & !0x1f == 0x3400_0060).then_some(word & 0x1f)
}

/// `adrp x16, page`
const fn is_adrp_x16(word: u32) -> bool {
    word & 0x9f00_001f == 0x9000_0010
}

/// `add x16, x16, #imm`
const fn is_add_x16(word: u32) -> bool {
    word & 0xffc0_03ff == 0x9100_0210
}

/// `ldxr`, `stxr`, `ldxp`, `stxp` and their like; `casp` shares the pairs' bits but the highest.
const fn is_exclusive(word: u32) -> bool {
    let is_pair = word & 0x0020_0000 != 0;
    word & 0x3f80_0000 == 0x0800_0000 && (!is_pair || word >> 31 == 1)
}

/// libgcc's name of the helper around an LSE instruction.
fn name(lse: &Insn, is_sync: bool) -> Option<Arc<str>> {
    let operation = match lse.operation {
        Operation::CompareSwap => "cas",
        Operation::Swap => "swp",
        Operation::FetchAdd => "ldadd",
        Operation::FetchOr => "ldset",
        Operation::FetchAndNot => "ldclr",
        Operation::FetchXor => "ldeor",
        _ => return None,
    };
    let order = match (is_sync, lse.ordering.acquire, lse.ordering.release) {
        (true, ..) => "sync",
        (_, false, false) => "relax",
        (_, true, false) => "acq",
        (_, false, true) => "rel",
        (_, true, true) => "acq_rel",
    };
    Some(format!("{operation}{}_{order}", lse.memory?.size).into())
}

/// All calls of helpers, by address.
pub(super) fn calls(image: &Image<'_>, program: &Program, helpers: &[Helper]) -> Vec<HelperCall> {
    let mut calls: Vec<HelperCall> = external_calls(image).collect();
    if !helpers.is_empty() {
        let entries = entries_of(image, program, helpers);
        let bounds = entries.first().zip(entries.last()).map(|(first, last)| first.0..=last.0);
        let helper_at = |to: CodeOffset| {
            // Nearly every call goes elsewhere, and helpers are next to each other.
            if !bounds.as_ref().is_some_and(|bounds| bounds.contains(&to)) {
                return None;
            }
            entries
                .binary_search_by_key(&to, |entry| entry.0)
                .ok()
                .and_then(|index| entries.get(index))
                .map(|entry| entry.1)
        };
        let call = |edge: Edge, is_tail: bool| {
            let helper = helper_at(edge.to)?.name.clone();
            Some(HelperCall { from: image.svma(edge.from), helper, is_tail, is_external: false })
        };
        calls.par_extend(program.chunks().par_iter().flat_map_iter(|chunk| {
            let direct = chunk.calls.iter().filter_map(|&edge| call(edge, false));
            direct.chain(chunk.jumps.iter().filter_map(|&edge| call(edge, true)))
        }));
        calls.extend(image.transfers.iter().filter_map(|transfer| {
            let TransferTarget::Here(to) = transfer.to else { return None };
            let edge = Edge { from: image.code_offset(transfer.from)?, to: image.code_offset(to)? };
            call(edge, !transfer.is_call)
        }));
    }
    calls.sort_by_key(|call| call.from);
    calls.dedup_by_key(|call| call.from);
    calls
}

/// Calls, in a relocatable object, of helpers that the linker will bring.
fn external_calls(image: &Image<'_>) -> impl Iterator<Item = HelperCall> {
    image.transfers.iter().filter_map(|transfer| match transfer.to {
        TransferTarget::Elsewhere(name) => Some(HelperCall {
            from: transfer.from,
            helper: name.strip_prefix(PREFIX).filter(|name| is_operation(name))?.into(),
            is_tail: !transfer.is_call,
            is_external: true,
        }),
        TransferTarget::Here(_) => None,
    })
}

/// Whether a function's name is an outlined helper's. Its body need not have an LSE path: those in Rust's
/// compiler-builtins had none from June 2023 to August 2025.
pub fn is_helper_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(is_operation)
}

/// Whether a name, without its prefix, is a helper's: not `have_lse_atomics`.
fn is_operation(name: &str) -> bool {
    ["cas", "swp", "ldadd", "ldclr", "ldeor", "ldset"].iter().any(|operation| {
        name.strip_prefix(operation).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Where calls of helpers go: the helpers' starts, and the veneers in front of them. Sorted by offset.
fn entries_of<'h>(
    image: &Image<'_>,
    program: &Program,
    helpers: &'h [Helper],
) -> Vec<(CodeOffset, &'h Helper)> {
    /// Bytes of the longest veneer, with a `bti` before it.
    const VENEER: u32 = 16;
    let direct = helpers.iter().filter_map(|helper| Some((image.code_offset(helper.extent.start)?, helper)));
    let small = program.functions().par_iter().filter(|function| function.end - function.start <= VENEER);
    let through_veneers = small.filter_map(|function| {
        let to = veneer_target(image, image.svma(function.start))?;
        let index = helpers.binary_search_by_key(&to, |helper| helper.extent.start).ok()?;
        Some((function.start, helpers.get(index)?))
    });
    let mut entries: Vec<(CodeOffset, &Helper)> = through_veneers.collect();
    entries.extend(direct);
    entries.sort_by_key(|entry| entry.0);
    entries
}

/// The destination of the veneer at an address: linkers put `adrp x16; add x16; br x16` on the path of calls that
/// reach too far.
fn veneer_target(image: &Image<'_>, at: Svma) -> Option<Svma> {
    let word = |at: Svma| image.word_at(at);
    let adrp = word(at).filter(|&word| is_adrp_x16(word))?;
    let (add, br) = (word(at.offset(4))?, word(at.offset(8))?);
    let is_veneer = is_add_x16(add) && br == BR_X16;
    let page = insn::decode(image.arch, &adrp.to_le_bytes(), at)?.imm?;
    is_veneer.then(|| Svma(page.cast_unsigned()).offset(i64::from(add >> 10 & 0xfff)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `adrp`, `ldrb` and `cbz` with a register each for the page, the base, the byte and the test.
    const fn test(page: u32, base: u32, byte: u32, tested: u32) -> [u32; 3] {
        [0x9000_0620 & !0x1f | page, 0x397a_9000 | base << 5 | byte, 0x3400_0060 | tested]
    }

    #[test]
    fn a_flag_is_tested_in_one_register_that_nobody_else_needs() {
        for register in 0..32 {
            let is_free = (8..=17).contains(&register);
            assert_eq!(
                flag_register(test(register, register, register, register)),
                is_free.then_some(register)
            );
        }
        for other in [test(9, 8, 8, 8), test(8, 9, 8, 8), test(8, 8, 9, 8), test(8, 8, 8, 9)] {
            assert_eq!(flag_register(other), None, "{other:x?}");
        }
        let [adrp, ldrb, _] = test(8, 8, 8, 8);
        // Over one instruction, on the 64-bit register, and `cbnz`.
        for cbz in [0x3400_0048, 0xb400_0068, 0x3500_0068] {
            assert_eq!(flag_register([adrp, ldrb, cbz]), None, "{cbz:x}");
        }
    }
}

//! Where the dynamic linker keeps what it learnt of the CPU, in `_rtld_global_ro`.
//!
//! In: the resolvers of a library that reads it. Out: the offset of its CPUID leaves. The offset changes with glibc's
//! version, and the library does not state it. But its resolvers test several bits of several of the leaves' words, and
//! only one offset makes features of all of them that resolvers test.

use crate::address::{Extent, Svma};
use crate::function::reach::file::foreign::import_of;
use crate::function::reach::file::references::Access;
use crate::function::reach::file::view::View;
use crate::insn::{self, Operation, Reg};
use deburr_cpu::query::{CpuidRegister, cpuid_bit};
use deburr_cpu::{Feature, FeatureSet};
use std::collections::{BTreeMap, BTreeSet};

/// The leaves come after a few dozen words of other things.
const OFFSETS: std::ops::Range<u64> = 0x20..0x600;
/// Minimum of bits that must agree.
const ENOUGH: usize = 4;

/// The offset of the leaves from the start of `_rtld_global_ro`, whose import's stand-in is `foreign`.
pub(crate) fn leaves_in_rtld(file: &View<'_, '_>, foreign: u64) -> Option<u64> {
    let (index, _) = import_of(foreign)?;
    let cell = file.linkage.imports.get(index)?.at;
    let tested = tested_bits(file, cell);
    let score = |leaves: u64| {
        let (mut hits, mut misses) = (0usize, 0usize);
        for &(offset, bit) in &tested {
            match meaning(offset.wrapping_sub(leaves), bit) {
                Some(true) => hits += 1,
                Some(false) => misses += 1,
                None => {}
            }
        }
        (hits, misses)
    };
    let candidates = OFFSETS.step_by(4).map(|leaves| (score(leaves), leaves));
    let best = candidates.max_by_key(|&((hits, misses), _)| (hits as i64) - 2 * (misses as i64))?;
    let ((hits, misses), leaves) = best;
    (hits >= ENOUGH && hits > 4 * misses).then_some(leaves)
}

/// Whether a bit of the usable words of leaf 1, 7 or 0x8000_0001 stands for a feature that variants of string and
/// mathematical functions are chosen by; `None` outside those words.
fn meaning(offset: u64, bit: u8) -> Option<bool> {
    use Feature::*;
    const CHOSEN_BY: FeatureSet = FeatureSet::of(&[
        SSSE3, SSE4_1, SSE4_2, AVX, AVX2, FMA, FMA4, BMI1, BMI2, LZCNT, MOVBE, POPCNT, RTM, AVX512F,
        AVX512VL, AVX512BW, AVX512DQ, AVX512ER, AVX512PF, XSAVE, OSXSAVE, SSE2,
    ]);
    let leaf = match offset / 32 {
        0 => 1,
        1 => 7,
        2 => 0x8000_0001,
        _ => return None,
    };
    let register = match offset % 32 {
        16 => CpuidRegister::Eax,
        20 => CpuidRegister::Ebx,
        24 => CpuidRegister::Ecx,
        28 => CpuidRegister::Edx,
        _ => return Some(false),
    };
    // ERMS and FSRM are no instruction set extensions, but tested all the same.
    let is_string = leaf == 7
        && (register == CpuidRegister::Ebx && bit == 9 || register == CpuidRegister::Edx && bit == 4);
    let feature = cpuid_bit(leaf, 0, register, u32::from(bit));
    Some(is_string || feature.is_some_and(|feature| CHOSEN_BY.contains(feature)))
}

/// The bits that functions test, of words that the pointer in a cell leads to, as byte offset of the word and bit in
/// it.
fn tested_bits(file: &View<'_, '_>, cell: Svma) -> BTreeSet<(u64, u8)> {
    let image = file.image;
    let mut tested = BTreeSet::new();
    for reference in file.references_to(&[Extent::sized(cell, 1)]) {
        let function = image.code_offset(reference.from).and_then(|at| file.program.function_at(at));
        let (Some(function), Access::Read) = (function, reference.access) else { continue };
        let extent = function.extent(image);
        let mut at = reference.from;
        let mut base: Option<Reg> = None;
        let mut words: BTreeMap<Reg, u64> = BTreeMap::new();
        while at < extent.end {
            let Some(insn) = image.bytes_at(at).and_then(|code| insn::decode(image.arch, code, at)) else {
                break;
            };
            at = insn.next();
            let offset = insn
                .memory
                .filter(|memory| memory.base.is_some() && memory.base == base && memory.index.is_none());
            let offset = offset.and_then(|memory| u64::try_from(memory.displacement).ok());
            if let (Operation::And | Operation::Test, Some(mask)) = (insn.operation, insn.imm) {
                let word = offset.or_else(|| insn.src[0].and_then(|reg| words.get(&reg)).copied());
                if let Some(word) = word {
                    let shift = if insn.high_byte { 8 } else { 0 };
                    for bit in (0..32u8).filter(|bit| mask as u64 >> bit & 1 != 0) {
                        let bit = bit + shift + (word % 4) as u8 * 8;
                        tested.insert((word & !3, bit));
                    }
                }
            }
            if let (Operation::BitTest, Some(bit), Some(reg)) = (insn.operation, insn.imm, insn.src[0])
                && let (Some(&word), Ok(bit)) = (words.get(&reg), u8::try_from(bit))
            {
                tested.insert((word, bit));
            }
            if let Some(dst) = insn.dst {
                words.remove(&dst);
                if insn.svma == reference.from {
                    base = Some(dst);
                } else if base == Some(dst) {
                    break;
                }
                if let Some(offset) =
                    offset.filter(|_| insn.memory.is_some_and(|memory| memory.read && memory.size == 4))
                {
                    words.insert(dst, offset);
                }
            }
        }
    }
    tested
}

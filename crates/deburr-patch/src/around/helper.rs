//! Patch stage: whether a function that looks like an outlined atomic helper is one.
//!
//! In: the helpers that `function::atomics` recognises by their instructions. Out: those whose LSE
//! instruction is all that a call does, whatever the flag is. The path without LSE is proven to compute the
//! same. The flag is one byte that helpers alone read and whose writer reads the hardware capabilities, and
//! no name contradicts. The shape is that of libgcc's `lse.S` and of compiler-rt's `outline_atomic_helpers`.

use super::flow::{Flow, edges};
use crate::prove::{Dead, Prover};
use crate::semantics::encode::NOP;
use crate::semantics::{Insn, decode, effects};
use deburr_core::address::CodeOffset;
use deburr_core::address::Svma;
use deburr_core::function::atomics::{Helper, is_helper_name};
use deburr_core::image::{Image, SymbolKind};
use deburr_core::insn::Operation;
use std::collections::HashMap;

const BTI_C: u32 = 0xd503_245f;
const DMB_ISH: u32 = 0xd503_3bbf;
const RET: u32 = 0xd65f_03c0;
/// `AT_HWCAP`, and the bit of `HWCAP_ATOMICS` in its value.
const AT_HWCAP: i64 = 16;
const ATOMICS_BIT: i64 = 8;
/// Instructions around the store of the flag among which its value comes about.
const AROUND_STORE: u32 = 4 * 64;

/// The instruction that does what a call of each helper does, by the helper's start; helpers in which
/// something is amiss have none.
pub(crate) fn instructions(flow: &Flow<'_, '_>, prover: &Prover, helpers: &[Helper]) -> HashMap<Svma, u32> {
    let flags: Vec<Option<Svma>> = helpers.iter().map(|helper| flag(flow.image, helper)).collect();
    let mut written: HashMap<Svma, bool> = HashMap::new();
    for &flag in flags.iter().flatten() {
        written.entry(flag).or_insert_with(|| is_set_from_capabilities(flow, flag));
    }
    let sound = helpers.iter().zip(flags).filter_map(|(helper, flag)| {
        let lse = helper.only_instruction(flow.image)?;
        let is_sound = *written.get(&flag?)?
            && !contradicts(flow.image, helper)
            && falls_back_alike(flow.image, prover, helper, lse);
        is_sound.then_some((helper.extent.start, lse))
    });
    sound.collect()
}

/// The byte that a helper tests.
fn flag(image: &Image<'_>, helper: &Helper) -> Option<Svma> {
    let first = if image.word_at(helper.extent.start)? == BTI_C { 4 } else { 0 };
    let adrp = helper.extent.start.offset(first);
    let page = deburr_core::insn::decode(image.arch, image.bytes_at(adrp)?, adrp)?;
    let page = page.imm.filter(|_| page.operation == Operation::Address)?;
    let load = image.word_at(adrp.offset(4))?;
    Some(Svma(page.cast_unsigned()).offset(i64::from(load >> 10 & 0xfff)))
}

/// Whether a symbol names the helper otherwise.
fn contradicts(image: &Image<'_>, helper: &Helper) -> bool {
    let start = helper.extent.start;
    let from = image.symbols.partition_point(|symbol| symbol.svma < start);
    let names = image.symbols.get(from..).unwrap_or_default().iter();
    let mut names = names
        .take_while(|symbol| symbol.svma == start)
        .filter(|symbol| matches!(symbol.kind, SymbolKind::Function | SymbolKind::Label))
        .peekable();
    // Linkers add suffixes to local copies, and fold helpers that are the same.
    let is_own = |name: &str| {
        is_helper_name(name)
            && name.get("__aarch64_".len()..).is_some_and(|name| name.starts_with(&*helper.name))
    };
    names.peek().is_some() && !names.any(|symbol| is_own(&symbol.name))
}

/// Whether the path without LSE computes what the instruction does. The instruction with the arithmetic of
/// that path around it is proven to do the same, except for x15 to x17, which a helper may clobber.
fn falls_back_alike(image: &Image<'_>, prover: &Prover, helper: &Helper, lse: u32) -> bool {
    let words = |from: Svma, to: Svma| -> Option<Vec<u32>> {
        let count = to.since(from)? / 4;
        (0..count).map(|index| image.word_at(from.offset(4 * index.cast_signed()))).collect()
    };
    let Some(body) = words(helper.extent.start, helper.extent.end) else { return false };
    let Some(arm) = body.windows(2).position(|pair| pair == [lse, RET]) else { return false };
    let Some((&RET, fallback)) = body.get(arm + 2..).and_then(<[u32]>::split_last) else { return false };
    // The barrier of `__sync` helpers: the LSE instruction in them has an order of its own, which calls get
    // already.
    let (fallback, is_sync) = match fallback.split_last() {
        Some((&DMB_ISH, rest)) => (rest, true),
        _ => (fallback, false),
    };
    let is_ordered = |lse: u32| match decode(lse) {
        Ok(Insn::Update { reference, .. } | Insn::CompareAndSwap { reference, .. }) => reference.acquire,
        Ok(Insn::CompareAndSwapPair { reference, .. }) => reference.acquire,
        _ => false,
    };
    if is_sync && !is_ordered(lse) {
        return false;
    }
    let Some(load) = fallback.iter().position(|&word| is_load_exclusive(word)) else { return false };
    let kept = |word: u32| match decode(word) {
        Ok(Insn::Branch { .. } | Insn::StoreExclusive { .. } | Insn::StoreExclusivePair { .. }) => NOP,
        _ => word,
    };
    let (first, rest) = fallback.split_at(load);
    let rest = rest.iter().skip(1).map(|&word| kept(word));
    let new: Vec<u32> = first.iter().copied().chain([lse]).chain(rest).collect();
    let end = fallback.len() as i64;
    let leaves_at_end = effects::exits(fallback).all(|exit| (0..=end).contains(&exit));
    let dead = Dead { exit: end, registers: 7 << 15 };
    leaves_at_end && prover.prove_arms(fallback, &new, &[dead]).is_ok()
}

fn is_load_exclusive(word: u32) -> bool {
    matches!(decode(word), Ok(Insn::LoadExclusive { .. } | Insn::LoadExclusivePair { .. }))
}

/// Whether all that writes a flag reads the hardware capabilities: a call with `AT_HWCAP`, and bit 8 of what
/// it returns.
fn is_set_from_capabilities(flow: &Flow<'_, '_>, flag: Svma) -> bool {
    let stores = stores_to(flow, flag);
    !stores.is_empty() && stores.into_iter().all(|at| reads_capabilities(flow, at))
}

/// The instructions that store a byte to an address which `adrp` and the store's own offset make.
fn stores_to(flow: &Flow<'_, '_>, flag: Svma) -> Vec<CodeOffset> {
    let low = (flag.0 & 0xfff) as u32;
    let mut found = Vec::new();
    for code in &flow.image.code {
        let words = code.bytes.as_chunks::<4>().0;
        for (index, word) in words.iter().enumerate() {
            let word = u32::from_le_bytes(*word);
            // strb w, [x, #low]
            if word & 0xffc0_0000 != 0x3900_0000 || word >> 10 & 0xfff != low {
                continue;
            }
            let at = code.at + 4 * index as u32;
            let base = word >> 5 & 31;
            let from = index.saturating_sub(AROUND_STORE as usize / 4);
            let page = (from..index).rev().find_map(|before| {
                let word = u32::from_le_bytes(*words.get(before)?);
                (word & 0x9f00_001f == 0x9000_0000 | base).then_some(code.at + 4 * before as u32)
            });
            let is_here = page
                .and_then(|page| flow.decode(page)?.imm)
                .is_some_and(|page| page.cast_unsigned() == flag.0 & !0xfff);
            if is_here {
                found.push(at);
            }
        }
    }
    found
}

/// Whether the code before a store calls something with `AT_HWCAP` and takes bit 8.
fn reads_capabilities(flow: &Flow<'_, '_>, store: CodeOffset) -> bool {
    let from = store.saturating_sub(AROUND_STORE);
    let before = || from.words_until(store).filter_map(|at| flow.decode(at));
    let names_capabilities =
        before().any(|insn| insn.operation == Operation::Move && insn.imm == Some(AT_HWCAP));
    let calls = from.words_until(store).any(|at| flow.word(at).is_some_and(edges::is_call));
    let takes_bit = before().any(|insn| match insn.operation {
        // ubfx #8, #1
        Operation::ExtractBits => insn.imm == Some(ATOMICS_BIT | 1 << 8),
        Operation::And | Operation::Test => insn.imm == Some(1 << ATOMICS_BIT) || insn.imm == Some(1),
        _ => false,
    });
    names_capabilities && calls && takes_bit
}

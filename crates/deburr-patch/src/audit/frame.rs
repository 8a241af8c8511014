//! Patch stage, audit: whether something may write a slot of a function's frame by another address than the slot's own.
//!
//! In: a function, and a slot as a load names it, from SP or x29. Out: whether an instruction makes an address of the frame
//! that is at or below the slot, or makes a lower one of an address above it, writes below or by an index, or moves SP in
//! the function's body. What has such an address is followed along the edges of the function, through registers and places
//! of the frame. An address made of the other base counts, as the distance of the two is not known here.

use super::fields::{self, Flow};
use super::graph::Graph;
use deburr_core::address::CodeOffset;

/// Bytes of a slot.
const SLOT: i64 = 8;
/// The registers that functions name their frames by.
const STACK: u32 = 31;
const FRAME: u32 = 29;

/// Registers that a callee keeps: x19 to x28 (AAPCS64, "General-purpose registers").
const KEPT: u32 = 0x1ff8_0000;

/// Whether an instruction of a function may write a slot by another address. `base`: SP or x29; `slot`: bytes from it.
pub(crate) fn may_be_reached(
    graph: &Graph<'_>,
    (start, end): (CodeOffset, CodeOffset),
    base: u32,
    slot: i64,
) -> bool {
    let places: Vec<CodeOffset> = start.words_until(end).collect();
    let Some(words) = places.iter().map(|at| graph.word(*at)).collect::<Option<Vec<u32>>>() else {
        return true;
    };
    let index = |at: CodeOffset| places.binary_search(&at).ok();
    let pads = graph.image.landing_pads.iter().filter_map(|&pad| index(graph.at(pad)?));
    let pads: Vec<usize> = pads.collect();
    let next = |from: usize| {
        let mut found = Vec::new();
        if let Some(&from) = places.get(from) {
            graph.successors(from, |to| found.push(index(to)));
        }
        found
    };
    is_reached(&words, &next, &pads, (base, slot))
}

/// The same of the instructions of a function. `next`: where control goes from each, `None` for out of the function; `pads`: where a
/// call that throws comes back.
fn is_reached(
    words: &[u32],
    next: &dyn Fn(usize) -> Vec<Option<usize>>,
    pads: &[usize],
    (base, slot): (u32, i64),
) -> bool {
    let prologue = words.iter().take_while(|word| fields::flow(**word) == Flow::Next).count();
    if words.iter().skip(prologue).any(|word| base == STACK && pushes(*word)) {
        return true;
    }
    let mut pending = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if named(*word) == base && stores_elsewhere(*word) {
            return true;
        }
        match made(*word) {
            Made::Nothing => {}
            Made::At { from, by, .. } if from == base && by >= slot + SLOT => pending.push(index),
            Made::At { .. } | Made::Unknown => return true,
        }
    }
    let mut held = vec![0_u32; words.len()];
    let mut saved: Vec<Place> = Vec::new();
    while let Some(index) = pending.pop() {
        let (Some(&word), Some(&before)) = (words.get(index), held.get(index)) else { return true };
        let Some(gained) = step(word, before) else { return true };
        let mut after = before & !fields::registers(word).kills | gained;
        if let Made::At { to, .. } = made(word) {
            after |= bit(to);
        }
        match put(word, before) {
            Put::Nothing => {}
            Put::At(place) if saved.contains(&place) => {}
            Put::At(place) => {
                saved.push(place);
                let loads = |word: &u32| loaded(*word).is_some() || loads_elsewhere(*word);
                let again = words.iter().enumerate().filter(|(_, word)| loads(word));
                pending.extend(again.map(|(at, _)| at));
            }
            Put::Unknown => return true,
        }
        let overlaps = |place: &Place, other: &Place| {
            place.base != other.base || place.at < other.at + other.size && other.at < place.at + place.size
        };
        let may_load = match loaded(word) {
            Some(place) => saved.iter().any(|other| overlaps(&place, other)),
            None => !saved.is_empty() && loads_elsewhere(word),
        };
        if may_load && is_of_vector(word) {
            return true;
        }
        if may_load {
            after |= fields::registers(word).writes & !bit(named(word));
        }
        let calls = matches!(fields::flow(word), Flow::Call(_) | Flow::IndirectCall);
        after &= if calls { KEPT } else { u32::MAX };
        let on = if calls { pads } else { &[] };
        for to in next(index).into_iter().chain(on.iter().map(|&pad| Some(pad))) {
            let Some(there) = to.and_then(|to| held.get_mut(to)) else {
                if after != 0 {
                    return true;
                }
                continue;
            };
            if after & !*there != 0 {
                *there |= after;
                pending.extend(to);
            }
        }
    }
    false
}

/// Bytes of the frame, from SP or x29.
#[derive(PartialEq, Eq)]
struct Place {
    base: u32,
    at: i64,
    size: i64,
}

/// Where an instruction puts one of some registers.
enum Put {
    Nothing,
    At(Place),
    /// Where it comes back unseen.
    Unknown,
}

fn put(word: u32, held: u32) -> Put {
    let is_general = word >> 25 & 5 == 4 && word & 0x0400_0000 == 0;
    let is_pair = word & 0x3a00_0000 == 0x2800_0000;
    let is_store = is_general && word & 0x0040_0000 == 0;
    let second = if is_pair { bit(word >> 10 & 31) } else { 0 };
    let is_held = (bit(word & 31) | second) & held != 0;
    // Four bytes of an address are none.
    let is_whole = if is_pair { word >> 31 == 1 } else { word >> 30 == 3 };
    let is_plain = fields::stored_at(word).is_some();
    match fields::stored_at(word).filter(|_| is_pointer(named(word))) {
        _ if !is_store || !is_held || is_plain && !is_whole => Put::Nothing,
        Some((at, size)) => Put::At(Place { base: named(word), at, size }),
        None => Put::Unknown,
    }
}

/// The bytes of the frame that an instruction loads registers from.
fn loaded(word: u32) -> Option<Place> {
    // Two bits tell a single store from a load and from one that extends the sign, and one bit a pair.
    let is_single = word & 0x3a00_0000 == 0x3800_0000;
    let kind = if is_single { 0x00c0_0000 } else { 0x0040_0000 };
    // Of vectors, one of the two is of the size.
    let kind = if is_of_vector(word) { 0x0040_0000 } else { kind };
    let is_load = word >> 25 & 5 == 4 && word & kind != 0 && is_pointer(named(word));
    let (at, size) = fields::stored_at(word & !kind).filter(|_| is_load)?;
    Some(Place { base: named(word), at, size })
}

/// Whether an instruction reads memory from SP or x29 on in another form than [`loaded`] reads.
fn loads_elsewhere(word: u32) -> bool {
    word >> 25 & 5 == 4
        && is_pointer(named(word))
        && loaded(word).is_none()
        && (fields::registers(word).writes != 0 || is_of_vector(word) && word & 0x0040_0000 != 0)
}

/// Whether an access to memory is of vector registers.
const fn is_of_vector(word: u32) -> bool {
    word & 0x0400_0000 != 0
}

/// What an instruction makes of SP or x29.
enum Made {
    Nothing,
    At { from: u32, by: i64, to: u32 },
    Unknown,
}

const fn bit(register: u32) -> u32 {
    if register < 31 { 1 << register } else { 0 }
}

/// The register at bit 5: a base, or a first operand.
const fn named(word: u32) -> u32 {
    word >> 5 & 31
}

const fn is_pointer(register: u32) -> bool {
    register == STACK || register == FRAME
}

/// Data processing with immediates and with registers.
const fn computes(word: u32) -> bool {
    matches!(word >> 25 & 15, 0b1000 | 0b1001 | 0b0101 | 0b1101)
}

/// `mov` of a register: the register that is moved.
fn moved(word: u32) -> Option<u32> {
    (word & 0xffe0_ffe0 == 0xaa00_03e0).then_some(word >> 16 & 31)
}

fn made(word: u32) -> Made {
    let to = word & 31;
    if let Some((from, by)) = fields::added(word) {
        let from = u32::from(from);
        return match is_pointer(from) && !is_pointer(to) {
            true => Made::At { from, by: by.cast_signed(), to },
            false => Made::Nothing,
        };
    }
    if moved(word) == Some(FRAME) {
        return Made::At { from: FRAME, by: 0, to };
    }
    // What moves the pointers themselves by an immediate is a prologue or an epilogue, or one that `pushes` judges.
    let is_of_immediate = word & 0x1f80_0000 == 0x1100_0000;
    let is_extended = word & 0x1fe0_0000 == 0x0b20_0000;
    let is_of_stack = (is_of_immediate || is_extended) && named(word) == STACK;
    let is_of_frame = computes(word) && fields::registers(word).reads & bit(FRAME) != 0;
    let compares = fields::registers(word).writes == 0 && to == 31 && word >> 29 & 1 == 1;
    let is_of_pointers = is_of_immediate && is_pointer(to);
    match (is_of_stack || is_of_frame) && !is_of_pointers && !compares {
        true => Made::Unknown,
        false => Made::Nothing,
    }
}

/// Whether SP moves down: `sub sp, sp`, and stores that do so first.
fn pushes(word: u32) -> bool {
    let is_sub = word & 0xff80_03ff == 0xd100_03ff || word & 0xffe0_03ff == 0xcb20_03ff;
    let is_before = word & 0x3b20_0c00 == 0x3800_0c00 || word & 0x3b80_0000 == 0x2980_0000;
    is_sub || is_before && named(word) == STACK && word & 0x0040_0000 == 0
}

/// Whether it stores by an index, or in another form than those that [`fields::stored_at`] reads.
fn stores_elsewhere(word: u32) -> bool {
    let is_vector = word & 0x0400_0000 != 0;
    let stores = word & 0x0040_0000 == 0 && (is_vector || word & 0x0080_0000 == 0);
    let is_indexed = word & 0x3b20_0c00 == 0x3820_0800 && stores;
    // Structures of vectors; exclusives, ordered stores, compare-and-swaps; atomics.
    let is_structure = word & 0xbe40_0000 == 0x0c00_0000;
    let is_ordered = word & 0x3f40_0000 == 0x0800_0000 || word & 0x3fa0_0000 == 0x08a0_0000;
    let is_atomic = word & 0x3f20_0c00 == 0x3820_0000;
    is_indexed || is_structure || is_ordered || is_atomic
}

/// The registers that an instruction gives an address above the slot, where some have one; `None`: it may make a lower one,
/// or write there.
fn step(word: u32, derived: u32) -> Option<u32> {
    let to = word & 31;
    let registers = fields::registers(word);
    if computes(word) {
        if registers.reads & derived == 0 || registers.writes == 0 {
            return Some(0);
        }
        let goes_up = fields::added(word).is_some() || moved(word).is_some();
        return (goes_up && !is_pointer(to)).then(|| bit(to));
    }
    // What a vector register holds is not followed.
    let is_vector = word >> 25 & 7 == 7;
    if is_vector && registers.reads & derived != 0 {
        return None;
    }
    let is_access = word >> 25 & 5 == 4;
    if !is_access || derived & bit(named(word)) == 0 {
        return Some(0);
    }
    let moves = registers.writes & bit(named(word)) != 0 && registers.kills & bit(named(word)) == 0;
    let is_kept = match fields::stored_at(word) {
        Some((offset, _)) => offset >= 0,
        None => !moves && !stores_elsewhere(word),
    };
    is_kept.then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sub sp, sp, #0x60`, some instructions, `bl`, `ldr x8, [sp, #24]`, `add sp, sp, #0x60`, `ret`.
    fn is_reached_by(words: &[u32]) -> bool {
        let (first, last) = ([0xd101_83ff], [0x9400_0100, 0xf940_0fe8, 0x9101_83ff, 0xd65f_03c0]);
        let words = [&first, words, &last].concat();
        let next = |index: usize| match fields::flow(words[index]) {
            Flow::Jump(by) => vec![index.checked_add_signed((by / 4) as isize)],
            Flow::Branch(by) => vec![index.checked_add_signed((by / 4) as isize), Some(index + 1)],
            Flow::Return | Flow::Stop => vec![],
            _ => vec![Some(index + 1)],
        };
        is_reached(&words, &next, &[], (STACK, 24))
    }

    #[test]
    fn an_address_at_or_below_the_slot_reaches_it_and_one_above_does_not() {
        assert!(!is_reached_by(&[0xf900_0fe0])); // str x0, [sp, #24]
        assert!(!is_reached_by(&[0x9100_83e1])); // add x1, sp, #32
        assert!(is_reached_by(&[0x9100_63e1])); // add x1, sp, #24
        assert!(is_reached_by(&[0x9100_43e1])); // add x1, sp, #16
        assert!(is_reached_by(&[0x9100_03e1])); // mov x1, sp
        assert!(is_reached_by(&[0xd100_43e1])); // sub x1, sp, #16
        assert!(is_reached_by(&[0x8b20_63e1])); // add x1, sp, x0
        assert!(is_reached_by(&[0xf820_6be1])); // str x1, [sp, x0]
        assert!(is_reached_by(&[0x9100_03fd, 0xaa1d_03e1])); // mov x29, sp; mov x1, x29
    }

    #[test]
    fn a_second_step_down_or_a_store_below_reaches_it() {
        let above = 0x9100_c3e1; // add x1, sp, #48
        assert!(!is_reached_by(&[above, 0x9100_4022])); // add x2, x1, #16
        assert!(!is_reached_by(&[above, 0xf900_0020])); // str x0, [x1]
        assert!(!is_reached_by(&[above, 0xf85e_8020])); // ldur x0, [x1, #-24]
        assert!(!is_reached_by(&[above, 0xeb00_003f])); // cmp x1, x0
        assert!(is_reached_by(&[above, 0xd100_6022])); // sub x2, x1, #24
        assert!(is_reached_by(&[above, 0x8b00_0022])); // add x2, x1, x0
        assert!(is_reached_by(&[above, 0xf81e_8020])); // stur x0, [x1, #-24]
        assert!(is_reached_by(&[above, 0xf81e_8c20])); // str x0, [x1, #-24]!
        assert!(is_reached_by(&[above, 0xf820_6822])); // str x2, [x1, x0]
        assert!(is_reached_by(&[above, 0xf85e_8c20])); // ldr x0, [x1, #-24]!
        // Through another register, and back in a loop.
        assert!(is_reached_by(&[0xf81e_8040, above, 0x9100_4022, 0x54ff_ffa1])); // stur x0, [x2, #-24]; …; add x2, x1, #16; b.ne
        assert!(!is_reached_by(&[0xf81e_8040, above, 0x9100_4022]));
        assert!(is_reached_by(&[above, 0xaa01_03e3, 0xd100_6062])); // mov x3, x1; sub x2, x3, #24
    }

    #[test]
    fn an_address_is_followed_through_the_frame_and_until_it_is_overwritten() {
        let above = 0x9100_c3e1; // add x1, sp, #48
        let below = 0xf81e_8020; // stur x0, [x1, #-24]
        assert!(!is_reached_by(&[above, 0xaa02_03e1, below])); // mov x1, x2
        assert!(!is_reached_by(&[above, 0x9400_0010, below])); // bl
        assert!(is_reached_by(&[above, 0xaa01_03f3, 0x9400_0010, 0xf81e_8260])); // mov x19, x1; bl; stur x0, [x19, #-24]
        assert!(!is_reached_by(&[above, 0xf900_23e1])); // str x1, [sp, #64]
        assert!(is_reached_by(&[above, 0xf900_23e1, 0xaa02_03e1, 0xf940_23e1, below])); // …; ldr x1, [sp, #64]
        assert!(!is_reached_by(&[above, 0xf900_23e1, 0xaa02_03e1, 0xf940_27e1, below])); // …; ldr x1, [sp, #72]
        assert!(is_reached_by(&[above, 0xf900_23e1, 0xaa02_03e1, 0xb980_43e1, below])); // …; ldrsw x1, [sp, #64]
        assert!(!is_reached_by(&[above, 0xf900_23e1, 0xaa02_03e1, 0xb980_4be1, below])); // …; ldrsw x1, [sp, #72]
        assert!(is_reached_by(&[above, 0xf900_23e1, 0xaa02_03e1, 0xf860_6be1, below])); // …; ldr x1, [sp, x0]
        assert!(is_reached_by(&[above, 0x2a01_03e2])); // mov w2, w1
        assert!(is_reached_by(&[above, 0x9e67_0020])); // fmov d0, x1
        assert!(is_reached_by(&[above, 0xf900_23e1, 0xfd40_23e0])); // …; ldr d0, [sp, #64]
        assert!(is_reached_by(&[above, 0xf900_23e1, 0x3dc0_13e0])); // …; ldr q0, [sp, #64]
        assert!(!is_reached_by(&[above, 0xf900_23e1, 0xfd40_27e0])); // …; ldr d0, [sp, #72]
        assert!(is_reached_by(&[above, 0xf900_0041])); // str x1, [x2]
        assert!(!is_reached_by(&[above, 0xb900_0041])); // str w1, [x2]
    }

    #[test]
    fn a_stack_pointer_that_moves_in_the_body_reaches_it() {
        let body = |word: u32| is_reached_by(&[0x9400_0010, word]);
        assert!(body(0xd100_43ff)); // sub sp, sp, #16
        assert!(body(0xcb20_63ff)); // sub sp, sp, x0
        assert!(body(0xf81f_0fe0)); // str x0, [sp, #-16]!
        assert!(!body(0x9101_83ff)); // add sp, sp, #0x60
        assert!(!body(0xa9bf_0420)); // stp x0, x1, [x1, #-16]!
        assert!(!is_reached_by(&[0xf81f_0fe0])); // str x0, [sp, #-16]!, in the prologue
    }
}

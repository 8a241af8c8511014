//! What a run of code names and does, without lifting it.
//!
//! An address is made by `adrp` and by what adds a distance to the page, often far apart. A register's last page is taken for the one
//! that is meant; each page that the function has put there before may be meant too, on a path that does not come by the last.

use super::page_of;
use crate::address::Svma;
use crate::insn::aarch64::fields::{adr_displacement, bits, signed};
use crate::insn::lifted::{Mention, MentionKind};

/// What is known of the pages in registers.
#[derive(Default)]
struct Pages {
    /// By register, those that were put there, the last at the end.
    all: [Vec<u64>; 32],
    /// Whether the last is still there.
    is_current: [bool; 32],
}

impl Pages {
    fn put(&mut self, register: u32, page: u64) {
        if let Some(pages) = self.all.get_mut(register as usize) {
            pages.retain(|known| *known != page);
            pages.push(page);
        }
        if let Some(is_current) = self.is_current.get_mut(register as usize) {
            *is_current = true;
        }
    }

    fn overwrite(&mut self, register: u32) {
        if let Some(is_current) = self.is_current.get_mut(register as usize) {
            *is_current = false;
        }
    }

    /// The places at a distance from the pages that a register may hold, and whether each is of the page that it holds.
    fn places(&self, register: u32, distance: u64) -> impl Iterator<Item = (u64, bool)> {
        let pages = self.all.get(register as usize).map(Vec::as_slice).unwrap_or_default();
        let is_current = self.is_current.get(register as usize).copied().unwrap_or_default();
        let last = pages.len().saturating_sub(1);
        pages
            .iter()
            .enumerate()
            .map(move |(index, page)| (page.wrapping_add(distance), is_current && index == last))
    }
}

/// Hands out what a run of code names and does.
pub(crate) fn mentions(code: &[u8], svma: Svma, mut found: impl FnMut(Mention)) {
    let mut pages = Pages::default();
    for (index, bytes) in code.as_chunks::<4>().0.iter().enumerate() {
        let word = u32::from_le_bytes(*bytes);
        let at = svma.offset(4 * index as i64);
        let mut add = |kind, place, bytes| found(Mention { at, kind, place, bytes });
        let target = |high, low| at.offset(4 * signed(word, high, low)).0;
        let d = bits(word, 4, 0);
        match bits(word, 28, 25) {
            0b1010 | 0b1011 => match word >> 26 {
                0b10_0101 => {
                    add(MentionKind::Called, target(25, 0), 0);
                    (0..=18).for_each(|register| pages.overwrite(register));
                }
                0b00_0101 => add(MentionKind::Jumped, target(25, 0), 0),
                _ if word >> 24 == 0x54 || bits(word, 30, 25) == 0b01_1010 => {
                    add(MentionKind::Jumped, target(23, 5), 0);
                }
                _ if bits(word, 30, 25) == 0b01_1011 => add(MentionKind::Jumped, target(18, 5), 0),
                // `br` and `ret`, with and without signatures; not `blr`.
                _ if word >> 25 == 0b110_1011 => match bits(word, 22, 21) {
                    1 => (0..=18).for_each(|register| pages.overwrite(register)),
                    _ => add(MentionKind::Left, 0, 0),
                },
                _ if word & 0xfff0_0000 == 0xd530_0000 => {
                    system_register(bits(word, 20, 5) as u16, |kind| add(kind, 0, 0));
                    pages.overwrite(d);
                }
                _ => {}
            },
            0b1000 if word >> 31 == 1 && bits(word, 24, 24) == 0 => pages.put(d, page_of(word, at)),
            0b1000 if bits(word, 24, 24) == 0 => {
                add(MentionKind::Taken, at.offset(adr_displacement(word)).0, 0);
                pages.overwrite(d);
            }
            // `add` of a number.
            0b1000 if word & 0xff80_0000 == 0x9100_0000 => {
                let distance = u64::from(bits(word, 21, 10)) << (12 * bits(word, 22, 22));
                for (place, is_current) in pages.places(bits(word, 9, 5), distance) {
                    let kind = if is_current { MentionKind::Taken } else { MentionKind::PerhapsTaken };
                    add(kind, place, 0);
                }
                pages.overwrite(d);
            }
            0b0100 | 0b0110 | 0b1100 | 0b1110 => {
                if let Some((place, bytes)) = literal(word, at) {
                    add(MentionKind::Used, place, bytes);
                    // A number of eight bytes may be an address.
                    let from = usize::try_from(place.wrapping_sub(svma.0)).unwrap_or(usize::MAX);
                    if let Some(number) = code.get(from..).and_then(<[u8]>::first_chunk) {
                        add(MentionKind::PerhapsTaken, u64::from_le_bytes(*number), 0);
                    }
                } else if let Some((distance, bytes)) = accessed(word) {
                    for (place, _) in pages.places(bits(word, 9, 5), distance) {
                        add(MentionKind::Used, place, bytes);
                    }
                }
                let is_general_load = bits(word, 26, 26) == 0 && bits(word, 23, 22) != 0;
                if is_general_load {
                    pages.overwrite(d);
                    if bits(word, 29, 27) == 0b101 {
                        pages.overwrite(bits(word, 14, 10));
                    }
                }
            }
            0b1001 | 0b1000 | 0b0101 | 0b1101 => pages.overwrite(d),
            _ => {}
        }
    }
}

/// Reports a read of a system register, if it identifies the CPU or finds the memory of the thread.
fn system_register(register: u16, mut add: impl FnMut(MentionKind)) {
    const THREAD: u16 = 0xde82;
    match register {
        _ if register & 0xff80 == 0xc000 => add(MentionKind::Queried),
        THREAD => add(MentionKind::ThreadUsed),
        _ => {}
    }
}

/// The place that an instruction loads from by its distance, and bytes.
fn literal(word: u32, at: Svma) -> Option<(u64, u16)> {
    let is_literal = word & 0x3b00_0000 == 0x1800_0000;
    is_literal.then(|| (at.offset(4 * signed(word, 23, 5)).0, 16))
}

/// The distance from the base of an access with one, and bytes.
fn accessed(word: u32) -> Option<(u64, u16)> {
    let is_vector = bits(word, 26, 26) == 1;
    match bits(word, 29, 27) {
        0b111 => {
            let scale = if is_vector && bits(word, 23, 23) == 1 { 4 } else { word >> 30 };
            let is_scaled = bits(word, 24, 24) == 1;
            let is_other = bits(word, 21, 21) == 1;
            match (is_scaled, is_other) {
                (true, _) => Some((u64::from(bits(word, 21, 10)) << scale, 1 << scale)),
                (_, false) if bits(word, 11, 10) != 1 => {
                    Some((signed(word, 20, 12).cast_unsigned(), 1 << scale))
                }
                (_, false) => Some((0, 1 << scale)),
                // Atomics.
                _ if bits(word, 11, 10) == 0 => Some((0, 1 << scale)),
                _ => None,
            }
        }
        0b101 => {
            let scale = if is_vector { 2 + (word >> 30) } else { 2 + (word >> 31) };
            let distance = signed(word, 21, 15) << scale;
            Some((if bits(word, 24, 23) == 1 { 0 } else { distance.cast_unsigned() }, 2 << scale))
        }
        0b011 => Some((signed(word, 20, 12).cast_unsigned(), 8)),
        0b001 => Some((0, if is_vector { 64 } else { 16 })),
        _ => None,
    }
}

//! Patch stage, audit: code → the addresses that it computes, in a straight line.
//!
//! In: some instructions. Out: what `adr`, `adrp` with one or more `add`, and in files that are loaded where
//! they say `movz` with `movk` make. A register keeps what it got until such an instruction overwrites it,
//! whatever is between: that finds too much, which costs a refusal. An address is certain where nothing
//! between may have written the register.

use super::fields::{self, added, address};
use deburr_core::image::Image;

/// Instructions for which a register is remembered.
pub(crate) const FAR: usize = 512;

/// What a register holds.
#[derive(Clone, Copy)]
struct Known {
    value: u64,
    /// Index of the instruction that began it.
    since: usize,
    is_page: bool,
    is_certain: bool,
}

/// An address of code or data that code computes.
#[derive(Clone, Copy)]
pub(crate) struct Computed {
    pub(crate) address: u64,
    pub(crate) is_certain: bool,
}

/// All addresses that instructions from an address on compute, of code or data.
pub(crate) fn addresses(
    image: &Image<'_>,
    start: deburr_core::address::Svma,
    words: &[[u8; 4]],
) -> Vec<Computed> {
    let mut known: [Option<Known>; 32] = [None; 32];
    let mut found = Vec::new();
    for (index, bytes) in words.iter().enumerate() {
        let word = u32::from_le_bytes(*bytes);
        // Immediates, bits 28 to 26: all others compute no constant.
        if word & 0x1c00_0000 != 0x1000_0000 {
            let writes = fields::registers(word).writes;
            for known in (0..).zip(&mut known).filter(|(number, _)| writes >> number & 1 != 0) {
                if let Some(known) = known.1 {
                    known.is_certain = false;
                }
            }
            continue;
        }
        let at = start.offset((index * 4) as i64).0;
        let to = (word & 31) as usize;
        let before = |register: usize| {
            known.get(register).copied().flatten().filter(|known| index - known.since <= FAR)
        };
        let is_page = word >> 31 == 1;
        let made = if let Some(value) = address(word, at) {
            Some(Known { value, since: index, is_page, is_certain: true })
        } else if let Some((from, by)) = added(word) {
            before(usize::from(from)).map(|from| Known {
                value: from.value.wrapping_add(by),
                is_page: false,
                ..from
            })
        } else if image.is_fixed
            && let Some(value) = fields::moved(word, before(to).map(|known| known.value))
        {
            let since = before(to).map_or(index, |known| known.since);
            let is_certain = before(to).is_none_or(|known| known.is_certain);
            Some(Known { value, since, is_page: false, is_certain })
        } else {
            None
        };
        let is_address = |known: &Known| !known.is_page;
        let address = made.as_ref().filter(|made| is_address(made));
        found.extend(address.map(|made| Computed { address: made.value, is_certain: made.is_certain }));
        if let Some(register) = known.get_mut(to) {
            *register = made;
        }
    }
    found
}

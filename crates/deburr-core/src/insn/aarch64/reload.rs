//! Whether a loop may load from the same place each time round, told by its words.
//!
//! In: the words of a short loop without stores and calls. Out: no, or maybe. Nearly all loops move a pointer or an
//! index, and this sorts them out at the price of a few bit operations a word (DDI 0487 C4.1).

use super::bits;

/// Whether no load of a loop's body uses a general register that an earlier round changed, as far as the words tell.
pub fn loads_in_place(code: &[u8]) -> bool {
    // Sets of general registers, by number.
    let (mut written, mut carried_in) = (0u32, 0u32);
    let mut loads = false;
    for bytes in code.as_chunks::<4>().0 {
        let word = u32::from_le_bytes(*bytes);
        let result = 1u32 << (word & 31);
        match bits(word, 28, 25) {
            0b1000 | 0b1001 => written |= result,
            // ccmp and ccmn have flags there.
            0b0101 | 0b1101 if word & 0x1fe0_0000 == 0x1a40_0000 => {}
            0b0101 | 0b1101 => written |= result,
            0b1010 | 0b1011 if word & 0xfff0_0000 == 0xd530_0000 => written |= result, // mrs
            0b1010 | 0b1011 => {}
            0b0100 | 0b1100 => {
                let Some(used) = places(word) else { return false };
                carried_in |= used & !written;
                written |= result;
                if bits(word, 29, 27) == 0b101 {
                    written |= 1 << bits(word, 14, 10);
                }
                loads = true;
            }
            // SIMD and floating point, SVE, SME.
            _ => return false,
        }
    }
    // Register 31 is the stack pointer or none.
    loads && carried_in & written & 0x7fff_ffff == 0
}

/// The registers that a load takes its address from; `None` where it moves them.
fn places(word: u32) -> Option<u32> {
    let base = 1 << bits(word, 9, 5);
    match (bits(word, 29, 27), bits(word, 24, 23)) {
        // A literal.
        (0b011, 0 | 1) => Some(0),
        // A pair, pre- or post-indexed.
        (0b101, 1 | 3) => None,
        (0b111, 0 | 1) if bits(word, 21, 21) == 1 => Some(base | 1 << bits(word, 20, 16)),
        (0b111, 0 | 1) if bits(word, 10, 10) == 1 => None,
        _ => Some(base),
    }
}

//! Whether a loop may load from the same place in each iteration, by its instruction words.
//!
//! In: the words of a short loop without stores and calls. Out: no, or maybe. Nearly all loops move a pointer or an
//! index, and this sorts them out at the price of a few bit operations a word (DDI 0487 C4.1).

use super::fields::{bits, signed};
use crate::insn::rounds::{Iteration, Set};

/// Whether no load of a loop's body uses a general register that an earlier iteration changed, as far as the words
/// show. Nor is anything but counters carried from iteration to iteration.
pub fn loads_in_place(code: &[u8]) -> bool {
    let (mut written, mut carried_in) = (0, 0);
    let mut loads = false;
    let mut iteration = Some(Iteration::new());
    let words = code.as_chunks::<4>().0;
    for (index, bytes) in words.iter().enumerate() {
        let word = u32::from_le_bytes(*bytes);
        let result = register(word, 0);
        match bits(word, 28, 25) {
            0b1000 | 0b1001 => {
                written |= result;
                let read = match word >> 23 & 7 {
                    // adr, adrp
                    0 | 1 => 0,
                    // movk keeps most of its register.
                    5 if word & 0x6000_0000 == 0x6000_0000 => result,
                    5 => 0,
                    _ => register(word, 5),
                };
                // add and sub of #1
                let counts = word & 0x1fff_fc00 == 0x1100_0400;
                iteration.iter_mut().for_each(|iteration| iteration.make(result, read, counts));
            }
            // ccmp and ccmn have flags there.
            0b0101 | 0b1101 if word & 0x1fe0_0000 == 0x1a40_0000 => {}
            0b0101 | 0b1101 => {
                written |= result;
                let read = match word {
                    // adc, rmif and the like; those of one source.
                    _ if word & 0x1fe0_0000 == 0x1a00_0000 => 0,
                    _ if word & 0x5fe0_0000 == 0x5ac0_0000 => register(word, 5),
                    // madd and the like
                    _ if word & 0x1f00_0000 == 0x1b00_0000 => {
                        register(word, 5) | register(word, 16) | register(word, 10)
                    }
                    _ => register(word, 5) | register(word, 16),
                };
                let is_copy = word & 0x7fe0_ffe0 == 0x2a00_03e0; // mov x0, x0
                iteration.iter_mut().for_each(|iteration| iteration.make(result, read, is_copy));
            }
            0b1010 | 0b1011 if word & 0xfff0_0000 == 0xd530_0000 => {
                // mrs
                written |= result;
                iteration.iter_mut().for_each(|iteration| iteration.make(result, 0, false));
            }
            0b1010 | 0b1011 => {
                let target = words_on(word).and_then(|on| index.checked_add_signed(on));
                if target.is_some_and(|target| 0 < target && target <= words.len()) {
                    // Where control meets again, registers hold one thing or another.
                    iteration = None;
                } else if iteration.is_some() && is_jump(word) {
                    // Nothing leads to the end.
                    return false;
                }
            }
            0b0100 | 0b1100 => {
                let Some(used) = places(word) else { return false };
                carried_in |= used & !written;
                let second = if bits(word, 29, 27) == 0b101 { register(word, 10) } else { 0 };
                written |= result | second;
                loads = true;
                // prfm and prfum have a number there.
                let is_prefetch = word & 0xffc0_0000 == 0xf980_0000 || word & 0xffc0_0000 == 0xf880_0000;
                if is_prefetch || bits(word, 29, 27) == 0b011 {
                    iteration = None;
                }
                iteration.iter_mut().for_each(|iteration| {
                    iteration.load(used);
                    iteration.make(result | second, used, false);
                });
            }
            // SIMD and floating point, SVE, SME.
            _ => return false,
        }
    }
    loads && carried_in & written == 0 && !iteration.is_some_and(Iteration::moves_on)
}

/// The set that holds the register which a word names from a bit on; register 31 is the stack pointer or none.
fn register(word: u32, low: u32) -> Set {
    1 << bits(word, low + 4, low) & 0x7fff_ffff
}

/// How many words on a direct jump or branch goes.
fn words_on(word: u32) -> Option<isize> {
    let words = match word >> 24 {
        0x14..=0x17 => signed(word, 25, 0),                      // b
        0x54 | 0x34 | 0x35 | 0xb4 | 0xb5 => signed(word, 23, 5), // b.cond, cbz, cbnz
        0x36 | 0x37 | 0xb6 | 0xb7 => signed(word, 18, 5),        // tbz, tbnz
        _ => return None,
    };
    isize::try_from(words).ok()
}

/// Whether control never goes on after a word: b, br, ret and the like.
const fn is_jump(word: u32) -> bool {
    word & 0xfc00_0000 == 0x1400_0000 || word & 0xfe00_0000 == 0xd600_0000
}

/// The registers that a load takes its address from; `None` where it moves them.
fn places(word: u32) -> Option<Set> {
    let base = register(word, 5);
    match (bits(word, 29, 27), bits(word, 24, 23)) {
        // A literal.
        (0b011, 0 | 1) => Some(0),
        // A pair, pre- or post-indexed.
        (0b101, 1 | 3) => None,
        (0b111, 0 | 1) if bits(word, 21, 21) == 1 => Some(base | register(word, 16)),
        (0b111, 0 | 1) if bits(word, 10, 10) == 1 => None,
        _ => Some(base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(words: &[u32]) -> bool {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        loads_in_place(&code)
    }

    const LOAD: u32 = 0xb940_0020; // ldr w0, [x1]
    const STEP: u32 = 0x1100_0442; // add w2, w2, #1
    const INDEXED: u32 = 0xf862_7860; // ldr x0, [x3, x2, lsl #3]

    #[test]
    fn a_test_of_one_place_may_wait() {
        assert!(waits(&[LOAD]));
        assert!(waits(&[LOAD, STEP]));
        // tbz w0, #0, over add w4, w4, w0
        assert!(waits(&[LOAD, 0x3600_0040, 0x0b00_0084]));
    }

    #[test]
    fn what_probes_or_sums_does_not_wait() {
        assert!(!waits(&[STEP, INDEXED]));
        // add x4, x3, #8; ldr x3, [x4]
        assert!(!waits(&[0x9100_2064, 0xf940_0083]));
        // add w4, w4, w0
        assert!(!waits(&[LOAD, 0x0b00_0084]));
        assert!(!waits(&[STEP]));
        // b: nothing leads to the end.
        assert!(!waits(&[LOAD, 0x1400_0040]));
    }

    #[test]
    fn words_are_what_their_comments_say() {
        let named = [
            (LOAD, "ldr w0, [x1]"),
            (STEP, "add w2, w2, #0x1"),
            (INDEXED, "ldr x0, [x3, x2, lsl #3]"),
            (0x3600_0040, "tbz w0, #0, "),
            (0x0b00_0084, "add w4, w4, w0"),
            (0x9100_2064, "add x4, x3, #0x8"),
            (0xf940_0083, "ldr x3, [x4]"),
            (0x1400_0040, "b "),
        ];
        for (word, start) in named {
            let text = crate::insn::aarch64::disassemble(&word.to_le_bytes(), crate::Svma(0)).unwrap();
            assert!(text.starts_with(start), "{word:08x}: {text}");
        }
    }
}

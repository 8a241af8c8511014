//! What moves through vector registers as a whole or by halves (DDI 0487 C4.1, Data Processing - Scalar Floating-Point and Advanced
//! SIMD). Scalars clear the rest of their register.

use super::{LAST, Lifter};
use crate::insn::aarch64::fields::bits;
use crate::insn::lifted::{Lane, Operation, VectorOperand};

impl Lifter {
    /// Returns whether the instruction is modelled.
    pub(super) fn vector_move(&mut self, word: u32) -> bool {
        let (d, n, m) = (bits(word, 4, 0) as u8, bits(word, 9, 5) as u8, bits(word, 20, 16) as u8);
        let (to, from) = (VectorOperand::Vector(d), VectorOperand::Vector(n));
        // The zero register has no number here.
        let is_zero = |number: u8| u32::from(number) == LAST;
        let general = |size: u8| VectorOperand::General { number: n, size };
        let general_to = |size: u8| VectorOperand::General { number: d, size };
        let half = |bit: u32| if bits(word, bit, bit) == 1 { Lane::High } else { Lane::Low };
        let operation = match word & 0xffff_fc00 {
            // fmov between registers.
            0x9e67_0000 if !is_zero(n) => Operation::MoveVector { to, from: general(8), size: 8 },
            0x1e27_0000 if !is_zero(n) => Operation::MoveVector { to, from: general(4), size: 4 },
            0x9e67_0000 | 0x1e27_0000 => Operation::ClearVector(d),
            0x9e66_0000 if !is_zero(d) => Operation::MoveVector { to: general_to(8), from, size: 8 },
            0x1e26_0000 if !is_zero(d) => Operation::MoveVector { to: general_to(4), from, size: 4 },
            0x1e60_4000 => Operation::MoveVector { to, from, size: 8 },
            0x1e20_4000 => Operation::MoveVector { to, from, size: 4 },
            0x9eae_0000 if !is_zero(d) => {
                Operation::ExtractLane { to: general_to(8), from: n, lane: Lane::High }
            }
            0x9eaf_0000 if !is_zero(n) => {
                Operation::InsertLane { to: d, rest: d, from: general(8), lane: Lane::High }
            }
            // umov, ins and dup of 64 bits.
            0x4e08_3c00 | 0x4e18_3c00 if !is_zero(d) => {
                Operation::ExtractLane { to: general_to(8), from: n, lane: half(20) }
            }
            0x4e08_1c00 | 0x4e18_1c00 if !is_zero(n) => {
                Operation::InsertLane { to: d, rest: d, from: general(8), lane: half(20) }
            }
            0x4e08_0c00 if !is_zero(n) => Operation::Duplicate { to: d, from: general(8) },
            0x4e08_0400 => Operation::Duplicate { to: d, from },
            0x5e08_0400 => Operation::MoveVector { to, from, size: 8 },
            // ins of a low half into either.
            0x6e08_0400 | 0x6e18_0400 => Operation::InsertLane { to: d, rest: d, from, lane: half(20) },
            _ if word & 0xffe0_fc00 == 0x4ea0_1c00 && m == n => Operation::MoveVector { to, from, size: 16 },
            _ if word & 0xffe0_fc00 == 0x0ea0_1c00 && m == n => Operation::MoveVector { to, from, size: 8 },
            _ if word & 0xffe0_fc00 == 0x4ec0_3800 => {
                let from = VectorOperand::Vector(m);
                Operation::InsertLane { to: d, rest: n, from, lane: Lane::High }
            }
            _ if is_zeroing(word) => Operation::ClearVector(d),
            _ => return false,
        };
        self.push(operation);
        true
    }
}

/// `movi` of zero in any form, and `eor` of a register with itself.
fn is_zeroing(word: u32) -> bool {
    let is_immediate_zero = bits(word, 18, 16) == 0 && bits(word, 9, 5) == 0;
    let is_immediate = word & 0x9ff8_0c00 == 0x0f00_0400;
    // Not `mvni`, `orr` and `bic`: of `cmode` the even ones below 12 move, and 14.
    let form = (bits(word, 29, 29), bits(word, 15, 12));
    let moves = matches!(form, (0, 0 | 2 | 4 | 6 | 8 | 10 | 14) | (1, 14));
    let is_same = bits(word, 20, 16) == bits(word, 9, 5);
    is_immediate && is_immediate_zero && moves || word & 0xbfe0_fc00 == 0x2e20_1c00 && is_same
}

//! Patch stage: what the code before a sequence says of the registers that it starts with.
//!
//! In: the instructions that run one after another before a load-exclusive. Out: from which bit on a register
//! holds zeros, and the address that a register was given. It holds where nothing enters between, which the
//! plan sees to.

use crate::prove::Given;
use crate::semantics::{Field, Insn, Logic, Operand, Register, Width, decode};
use deburr_core::address::Svma;
use deburr_core::image::Image;
use deburr_core::insn::{self, Flow, Reg};

/// Instructions that are looked at.
const FAR: i64 = 24;

/// Which instruction before `load` wrote a register last, and what that says of the register's high bits.
pub(crate) fn high_bits(image: &Image<'_>, load: Svma, register: Register) -> Option<(Svma, Given)> {
    let at = writer(image, load, register)?;
    let zero_from = zero_from(image.word_at(at)?, register)?;
    Some((at, Given { register: register.0, zero_from }))
}

/// The address in a register at `load`, where `adrp` and `add` made it.
pub(crate) fn address(image: &Image<'_>, load: Svma, register: Register) -> Option<Svma> {
    let add = writer(image, load, register)?;
    let Ok(Insn::AddSubtract { subtract: false, rn, operand: Operand::Value(low), .. }) =
        decode(image.word_at(add)?)
    else {
        return None;
    };
    let adrp = writer(image, add, rn)?;
    image.word_at(adrp).filter(|word| word & 0x9f00_0000 == 0x9000_0000)?;
    let page = insn::decode(image.arch, image.bytes_at(adrp)?, adrp)?.imm?;
    Some(Svma(page.cast_unsigned().wrapping_add(low)))
}

/// The last instruction before an address that wrote a register.
fn writer(image: &Image<'_>, from: Svma, register: Register) -> Option<Svma> {
    let number = Some(register.0).filter(|&number| number < 31)?;
    let before = (1..=FAR).map_while(|back| {
        let at = from.offset(-4 * back);
        // What goes elsewhere does not come to the next instruction, and a call may write anything.
        insn::decode(image.arch, image.bytes_at(at)?, at)
            .filter(|insn| matches!(insn.flow, Flow::Next | Flow::Branch(_)))
    });
    let mut writers = before.filter(|insn| insn.writes.contains(Reg::general(number)));
    Some(writers.next()?.svma)
}

/// From which bit on an instruction leaves zeros in the register that it writes.
fn zero_from(word: u32, register: Register) -> Option<u8> {
    let destination = (word & 31) as u8;
    if destination != register.0 {
        return None;
    }
    match decode(word) {
        Ok(Insn::Logical {
            width, logic: Logic::And, invert: false, operand: Operand::Value(mask), ..
        }) => return Some(length(mask, width)),
        Ok(Insn::Move { width, value, .. }) => return Some(length(value, width)),
        Ok(Insn::Bitfield { field: Field::Unsigned, immr, imms, width, .. }) => {
            let length = if imms >= immr { imms - immr + 1 } else { width.0 - immr + imms + 1 };
            return u8::try_from(length).ok();
        }
        Ok(_) => return None,
        Err(_) => {}
    }
    // Loads of general registers without a sign: every addressing mode, and LSE atomics; `ldarb`, `ldarh`,
    // `ldapr`.
    let is_load = word & 0x3ec0_0000 == 0x3840_0000
        || word & 0x3fff_fc00 == 0x08df_fc00
        || word & 0x3fff_fc00 == 0x38bf_c000;
    is_load.then(|| 8 << (word >> 30))
}

/// Bits of a value, as a register of a width holds it.
fn length(value: u64, width: Width) -> u8 {
    let held = if width.0 == 32 { value & 0xffff_ffff } else { value };
    (64 - held.leading_zeros()) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_and_masks_tell_how_far_they_reach() {
        let cases = [
            (0x3940_0021, Some(8)),  // ldrb w1, [x1]
            (0x7840_2421, Some(16)), // ldrh w1, [x1], #2
            (0x3861_6801, Some(8)),  // ldrb w1, [x0, x1]
            (0x08df_fc01, Some(8)),  // ldarb w1, [x0]
            (0x1200_1c01, Some(8)),  // and w1, w0, #0xff
            (0x5300_3c01, Some(16)), // uxth w1, w0
            (0x5280_0541, Some(6)),  // mov w1, #42
            (0x39c0_0021, None),     // ldrsb w1, [x1]
            (0x1100_0401, None),     // add w1, w0, #1
        ];
        for (word, bits) in cases {
            assert_eq!(zero_from(word, Register(1)), bits, "{word:08x}");
            assert_eq!(zero_from(word, Register(2)), None, "{word:08x}");
        }
    }
}

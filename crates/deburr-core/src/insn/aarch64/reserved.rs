//! Encodings that the decoder accepts by their opcode bits, but whose operands the architecture reserves.
//!
//! In: a word and its definition. Out: whether it is no instruction after all: unallocated sizes, shift amounts that do
//! not fit the register width, bitmask immediates without a pattern (DDI 0487, C4 and the `DecodeBitMasks` pseudocode).

use super::bits;
use disarm64_defn::defn::Insn as Definition;
use disarm64_defn::{InsnClass as C, InsnFeatureSet as F};

/// Whether [`is_reserved`] can hold for a word of this definition.
pub(super) fn may_be_reserved(definition: &Definition) -> bool {
    matches!(
        definition.class,
        C::ADDSUB_IMM
            | C::ADDSUB_SHIFT
            | C::ADDSUB_EXT
            | C::LOG_IMM
            | C::LOG_SHIFT
            | C::MOVEWIDE
            | C::BITFIELD
            | C::EXTRACT
            | C::LDST_POS
            | C::LDST_UNSCALED
            | C::LDST_IMM9
            | C::LDST_REGOFF
            | C::LDSTPAIR_OFF
            | C::LDSTPAIR_INDEXED
            | C::LDSTNAPAIR_OFFS
            | C::LOADLIT
            | C::ASISDLSE
            | C::ASISDLSEP
            | C::ASISDLSO
            | C::ASISDLSOP
            | C::IC_SYSTEM
            | C::FLOAT2FIX
    )
}

/// Whether the architecture reserves the word.
pub(super) fn is_reserved(word: u32, definition: &Definition) -> bool {
    let wide = word >> 31 == 1;
    let imm6 = bits(word, 15, 10);
    match definition.class {
        C::ADDSUB_IMM if definition.feature_set == F::V8 => bits(word, 23, 23) == 1,
        C::ADDSUB_SHIFT => bits(word, 23, 22) == 3 || !wide && imm6 >= 32,
        C::ADDSUB_EXT => bits(word, 12, 10) > 4 || bits(word, 23, 22) != 0,
        C::LOG_IMM => !is_bitmask(word),
        C::LOG_SHIFT => !wide && imm6 >= 32,
        C::MOVEWIDE => !wide && bits(word, 22, 22) == 1,
        C::BITFIELD => bits(word, 22, 22) != word >> 31 || !wide && (imm6 >= 32 || bits(word, 21, 21) == 1),
        C::EXTRACT => bits(word, 22, 22) != word >> 31 || !wide && imm6 >= 32,
        C::LDST_POS | C::LDST_UNSCALED | C::LDST_IMM9 if definition.feature_set == F::V8 => {
            is_vector_size_reserved(word)
        }
        C::LDST_REGOFF => bits(word, 14, 14) == 0 || is_vector_size_reserved(word),
        C::LDSTPAIR_OFF | C::LDSTPAIR_INDEXED | C::LDSTNAPAIR_OFFS if definition.feature_set == F::V8 => {
            word >> 30 == 3
        }
        C::LOADLIT => word >> 30 == 3 && bits(word, 26, 26) == 1,
        C::ASISDLSE | C::ASISDLSEP => is_structure_reserved(word),
        C::ASISDLSO | C::ASISDLSOP => is_element_reserved(word),
        // MSR and MRS name registers with op0 2 and 3 only.
        C::IC_SYSTEM => {
            matches!(definition.mnemonic, "msr" | "mrs") && word & 0x0010_0000 == 0 && !is_msr_immediate(word)
        }
        C::FLOAT2FIX => !wide && imm6 < 32,
        _ => false,
    }
}

/// MSR (immediate): CRn 4, Rt 31, and an allocated op2.
fn is_msr_immediate(word: u32) -> bool {
    word & 0xfff8_f01f == 0xd500_401f
}

/// SIMD&FP registers come in five sizes: 128 bits is size 00 with opc 1x, and the others have no opc 1x.
fn is_vector_size_reserved(word: u32) -> bool {
    bits(word, 26, 26) == 1 && bits(word, 23, 23) == 1 && word >> 30 != 0
}

/// Whether the immediate of a logical instruction is a pattern: `DecodeBitMasks` with `immediate` true.
fn is_bitmask(word: u32) -> bool {
    let (n, imms) = (bits(word, 22, 22), bits(word, 15, 10));
    if n == 1 {
        return word >> 31 == 1 && imms != 0x3f;
    }
    // The element size is the highest zero of imms; an element of all ones, or of one bit, is no pattern.
    let size = !imms & 0x3f;
    size > 1 && !size.is_power_of_two()
}

/// LD1-LD4 and ST1-ST4 of whole registers: 1D has no interleaved form.
fn is_structure_reserved(word: u32) -> bool {
    let interleaved = matches!(bits(word, 15, 12), 0 | 4 | 8);
    interleaved && bits(word, 11, 10) == 3 && bits(word, 30, 30) == 0
}

/// LD1-LD4 and ST1-ST4 of one element: bits of size and S that no element size uses.
fn is_element_reserved(word: u32) -> bool {
    let (scale, s, size) = (bits(word, 15, 14), bits(word, 12, 12), bits(word, 11, 10));
    match scale {
        1 => size & 1 == 1,
        2 => size & 2 == 2 || size == 1 && s == 1,
        _ => false,
    }
}

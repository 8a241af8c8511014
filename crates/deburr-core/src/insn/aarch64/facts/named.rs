//! Which registers an operand of the decoder's definitions names.
//!
//! In: a word and an operand of its definition. Out: the registers, as the tables of operands in DDI 0487 C4.1 number
//! them. Fields and constants are next to each other, pairs and lists go by their strides, ZA and ZT0 come with the
//! register that selects a slice.

use super::builder::{stack_form, zero_form};
use crate::insn::aarch64::fields::bits;
use crate::insn::{Reg, RegSet};
use disarm64_defn::InsnBitField as B;
use disarm64_defn::defn::{Insn as Definition, InsnOperand};
use disarm64_defn::{InsnOperandClass as Kind, InsnOperandKind as K};

/// The registers of one operand.
#[derive(Clone, Copy)]
pub(super) struct Named {
    /// The register, or the first of a list or pair; `None` also for the zero register.
    pub(super) first: Option<Reg>,
    /// The number in its field, which the register after it in a pair is found by.
    pub(super) number: Option<u32>,
    /// All of them.
    pub(super) all: RegSet,
    /// What is read in order to find them, whatever is done to them.
    pub(super) selectors: RegSet,
}

impl Named {
    fn one(reg: Option<Reg>) -> Named {
        Named { first: reg, number: None, all: reg.map_or(RegSet::EMPTY, set), selectors: RegSet::EMPTY }
    }

    /// `count` registers, `stride` apart.
    fn list(first: Reg, count: u8, stride: u8) -> Named {
        let all = (0..count).fold(RegSet::EMPTY, |all, n| all.with(first.following(n * stride)));
        Named { all, ..Named::one(Some(first)) }
    }

    /// A pair or a block of general registers, where register 31 is the zero register.
    fn block(first: u32, count: u32) -> Named {
        let all = (first..first + count).filter_map(general_below_31).fold(RegSet::EMPTY, RegSet::with);
        Named { all, ..Named::one(general_below_31(first)) }
    }

    fn selected_by(self, number: u32) -> Named {
        Named { selectors: set(Reg::general(number as u8)), ..self }
    }
}

fn set(reg: Reg) -> RegSet {
    RegSet::EMPTY.with(reg)
}

/// Blocks do not go on after register 31.
fn general_below_31(number: u32) -> Option<Reg> {
    (number < 31).then(|| Reg::general(number as u8))
}

/// The registers of an operand; `None` where it is no register. `before` is the number of the general register
/// before it.
pub(super) fn named(
    word: u32,
    definition: &Definition,
    operand: &InsnOperand,
    before: Option<u32>,
) -> Option<Named> {
    match operand.kind {
        K::PAIRREG | K::PAIRREG_OR_XZR => return Some(Named::one(general_below_31(before? + 1))),
        // The registers that are shifted or extended have no field of their own.
        K::Rm_SFT | K::Rm_EXT | K::Rm_LSL => return Some(Named::one(zero_form(bits(word, 20, 16)))),
        K::SME_PnT_Wm_imm => {
            let predicate = Reg::mask(bits(word, 8, 5) as u8);
            return Some(Named::one(Some(predicate)).selected_by(12 + bits(word, 17, 16)));
        }
        // pn8 to pn15
        K::SME_PNn3_INDEX1 | K::SME_PNn3_INDEX2 => {
            return Some(Named::one(Some(Reg::mask(8 + bits(word, 7, 5) as u8))));
        }
        K::SME_ZAda_1b | K::SME_ZAda_2b | K::SME_ZAda_3b | K::SME_list_of_64bit_tiles => {
            return Some(Named::one(Some(Reg::OTHER)));
        }
        K::SME_ZT0 | K::SME_ZT0_LIST | K::SME_ZT0_INDEX | K::SME_ZT0_INDEX_MUL_VL => {
            return Some(Named::one(Some(Reg::OTHER)));
        }
        // Advanced SIMD's lists have no field: up to four registers from Rt or Rn on.
        K::LVt | K::LVt_AL | K::LEt => return Some(Named::list(vector(bits(word, 4, 0)), 4, 1)),
        K::LVn | K::LVn_LUT => return Some(Named::list(vector(bits(word, 9, 5)), 4, 1)),
        _ => {}
    }
    if operand.class == Kind::ZA_ACCESS {
        return Some(Named::one(Some(Reg::OTHER)).selected_by(slice_register(word, operand.kind)));
    }
    let number = number(word, operand)?;
    match operand.class {
        Kind::INT_REG => Some(Named { number: Some(number), ..general(number, operand.kind) }),
        Kind::FP_REG | Kind::SIMD_REG | Kind::SISD_REG | Kind::SIMD_ELEMENT | Kind::SVE_REG => {
            Some(Named::one(Some(vector(number & element_mask(word, definition, operand.kind)))))
        }
        Kind::SVE_REGLIST => Some(list(number, operand.kind, definition.mnemonic)),
        Kind::PRED_REG => Some(Named::one(Some(Reg::mask(number as u8)))),
        _ => None,
    }
}

fn vector(number: u32) -> Reg {
    Reg::vector(number as u8)
}

fn general(number: u32, kind: K) -> Named {
    match kind {
        K::Rd_SP | K::Rn_SP | K::Rm_SP | K::Rt_SP | K::SVE_Rn_SP => Named::one(stack_form(number)),
        K::Rt_LS64 => Named::block(number, 8),
        _ => Named::one(zero_form(number)),
    }
}

/// The register that selects slices of ZA: w12 to w15 for tiles and for vectors of the whole array by `ldr` and `str`,
/// w8 to w11 for groups of vectors.
fn slice_register(word: u32, kind: K) -> u32 {
    let is_group = matches!(
        kind,
        K::SME_ZA_array_off1x4
            | K::SME_ZA_array_off2x2
            | K::SME_ZA_array_off2x4
            | K::SME_ZA_array_off3_0
            | K::SME_ZA_array_off3_5
            | K::SME_ZA_array_off3x2
    );
    (if is_group { 8 } else { 12 }) + bits(word, 14, 13)
}

/// Elements are of the low registers only where the index takes bits of the number.
fn element_mask(word: u32, definition: &Definition, kind: K) -> u32 {
    // Of words there are fewer, and their index leaves all five bits; where the size is no field, they are halves.
    let are_words = definition.mask >> 22 & 3 == 0 && bits(word, 23, 22) == 2;
    match kind {
        K::Em16 if !are_words => 15,
        K::SVE_Zm4_INDEX => 15,
        K::Em8 | K::SVE_Zm3_INDEX | K::SVE_Zm3_22_INDEX => 7,
        _ => 31,
    }
}

fn list(number: u32, kind: K, mnemonic: &str) -> Named {
    let (count, stride) = match kind {
        K::SME_Zdnx2 | K::SME_Znx2 | K::SME_Zmx2 | K::SME_Znx2_6_3 | K::SME_Zmx2_17_3 => (2, 1),
        K::SME_Znx2_BIT_INDEX | K::SME_Zmx2_INDEX_22 => (2, 1),
        K::SME_Ztx2_STRIDED => (2, 8),
        K::SME_Ztx4_STRIDED => (4, 4),
        K::SME_Pdx2 | K::SME_PdxN => return Named::list(Reg::mask(number as u8), 2, 1),
        // `ld3w` and the like; the others have one.
        K::SVE_ZtxN => match mnemonic.as_bytes().get(2) {
            Some(digit @ b'2'..=b'4') => (digit - b'0', 1),
            _ => (1, 1),
        },
        // Elsewhere the opcode has the count: up to four.
        _ => (4, 1),
    };
    Named::list(vector(number), count, stride)
}

/// The number of an operand's first register: its fields, from the highest on, and the constant bits among them.
fn number(word: u32, operand: &InsnOperand) -> Option<u32> {
    let (mut number, mut is_named) = (0, false);
    for field in operand.bit_fields {
        let (width, low) = (u32::from(field.width), u32::from(field.lsb));
        let (value, width) = match field.bitfield {
            B::CONST_0 | B::CONST_00 | B::CONST_01 | B::CONST_1 => (low, width),
            // The highest of five bits; one or two zeros follow it.
            B::SME_ZtT if operand.kind == K::SME_Ztx2_STRIDED => (bits(word, low, low) << 1, 2),
            B::SME_ZtT => (bits(word, low, low) << 2, 3),
            bitfield if is_register(bitfield) || is_part_of_zk(bitfield, operand.kind) => {
                is_named = true;
                (bits(word, (low + width.max(1) - 1).min(31), low), width)
            }
            _ => continue,
        };
        number = number << width | value;
    }
    is_named.then_some(number)
}

/// Zk of `ftmopa` is one of z20 to z23 and z28 to z31, by bits that are an index elsewhere.
fn is_part_of_zk(field: B, kind: K) -> bool {
    kind == K::SME_Zk_INDEX && matches!(field, B::SVE_i3l2 | B::imm2_10)
}

/// Whether a field holds the number of a register, or a part of one.
fn is_register(field: B) -> bool {
    matches!(
        field,
        B::Rd | B::Rn | B::Rm | B::Rt | B::Rt2 | B::Rs | B::Ra | B::LSE128_Rt | B::LSE128_Rt2
            | B::SVE_Zd | B::SVE_Zn | B::SVE_Zm_16 | B::SVE_Zm_5 | B::SVE_Za_16 | B::SVE_Za_5 | B::SVE_Zt
            | B::SVE_Vd | B::SVE_Vn | B::SVE_Vm | B::SVE_Rn | B::SVE_Rm
            // z0 to z7 and z0 to z15, next to an index in other bits
            | B::SVE_imm3 | B::SVE_imm4
            | B::SVE_Pd | B::SVE_Pn | B::SVE_Pm | B::SVE_Pt
            | B::SVE_Pg3 | B::SVE_Pg4_5 | B::SVE_Pg4_10 | B::SVE_Pg4_16
            | B::SME_Pm | B::SME_PNd3 | B::SME_Pdx2
            | B::SME_Zdn2 | B::SME_Zdn4 | B::SME_Zn2 | B::SME_Zn4 | B::SME_Zm | B::SME_Zm2 | B::SME_Zm4
            | B::SME_Zm17_3 | B::SME_Zn6_3 | B::SME_Zt2 | B::SME_Zt3
    )
}

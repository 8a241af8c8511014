//! Encodings that the decoder accepts by their opcode bits, but whose operands the architecture reserves.
//!
//! In: a word and its definition. Out: whether it is no instruction after all (DDI 0487, C4, C7, C8, and the
//! `DecodeBitMasks` pseudocode). Such words have a size or arrangement that the instruction does not have, a shift
//! amount that does not fit the register width, or a bitmask immediate without a pattern. What depends on the
//! definition alone, its [`Rule`], is worked out once per definition. Encodings newer than the tools at hand (see the
//! differential test) are checked against the rules of their class only.

use super::fields::bits;
use disarm64_defn::defn::Insn as Definition;
use disarm64_defn::{InsnClass as C, InsnFeatureSet as F, InsnOperandKind as K};

/// Which check a definition's words need: an index into [`CHECKS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule(u8);

impl Rule {
    /// The rule of that number.
    pub(super) const fn numbered(number: u8) -> Rule {
        Rule(number)
    }

    pub(super) const fn number(self) -> u8 {
        self.0
    }

    /// Whether the architecture reserves the word.
    pub(super) fn reserves(self, word: u32) -> bool {
        match CHECKS.get(usize::from(self.0)) {
            Some(Check::Patterns(patterns)) => patterns.iter().any(|(mask, value)| word & mask == *value),
            Some(Check::Function(reserves)) => reserves(word),
            None => false,
        }
    }
}

enum Check {
    /// Reserved where any (mask, value) fits.
    Patterns(&'static [(u32, u32)]),
    Function(fn(u32) -> bool),
}

macro_rules! rules {
    ($($name:ident = $check:expr,)*) => {
        impl Rule {
            rules!(@number 0u8, $($name)*);
        }
        static CHECKS: &[Check] = &[$($check,)*];
    };
    (@number $number:expr, $name:ident $($rest:ident)*) => {
        const $name: Rule = Rule($number);
        rules!(@number $number + 1, $($rest)*);
    };
    (@number $number:expr,) => {};
}

use Check::{Function, Patterns};

/// Bit 22 of a size, alone and with bit 23.
const SIZE_00: (u32, u32) = (0x00c0_0000, 0);
const SIZE_11: (u32, u32) = (0x00c0_0000, 0x00c0_0000);
/// Of 64-bit elements there is no vector of one: size 11, or sz 1, with Q 0.
const SIZE_11_SHORT: (u32, u32) = (0x40c0_0000, 0x00c0_0000);
const SZ_SHORT: (u32, u32) = (0x4040_0000, 0x0040_0000);
const BIT_23: (u32, u32) = (0x0080_0000, 0x0080_0000);
const BIT_22: (u32, u32) = (0x0040_0000, 0x0040_0000);
const NOT_BIT_22: (u32, u32) = (0x0040_0000, 0);
const NOT_BIT_23: (u32, u32) = (0x0080_0000, 0);
/// immh 0000 is the space of modified immediates.
const IMMH_0000: (u32, u32) = (0x0078_0000, 0);
/// immh 000x: no fixed-point number of bytes.
const IMMH_000X: (u32, u32) = (0x0060_0000, 0);
/// A 32-bit operation with bit 15, the highest of an amount or a position.
const SHORT_BIT_15: (u32, u32) = (0x8000_8000, 0x0000_8000);
/// sf and N, or sf and the size of a floating-point register, differ.
const SF_WITHOUT_22: (u32, u32) = (0x8040_0000, 0x8000_0000);
const BIT_22_WITHOUT_SF: (u32, u32) = (0x8040_0000, 0x0040_0000);
/// The scale of a fixed-point number exceeds 32 bits.
const SHORT_SCALE: (u32, u32) = (0x8000_8000, 0);
const IMM5_NONE: (u32, u32) = (0x000f_0000, 0);
const IMM5_DOUBLE_SHORT: (u32, u32) = (0x4007_0000, 0);
/// A shifted immediate of byte elements.
const SHIFTED_BYTES: (u32, u32) = (0x00c0_2000, 0x0000_2000);

rules! {
    NONE = Patterns(&[]),
    ADD_IMMEDIATE = Patterns(&[BIT_23]),
    ADD_SHIFTED = Patterns(&[SIZE_11, SHORT_BIT_15]),
    // An extension shifts by a maximum of 4, and bits 23 to 22 are 00.
    ADD_EXTENDED = Patterns(&[(0x1400, 0x1400), (0x1800, 0x1800), BIT_23, BIT_22]),
    LOGICAL_IMMEDIATE = Function(|word| !is_bitmask(word >> 31 == 1, bits(word, 22, 22), bits(word, 15, 10))),
    LOGICAL_SHIFTED = Patterns(&[SHORT_BIT_15]),
    MOVE_WIDE = Patterns(&[BIT_22_WITHOUT_SF]),
    BITFIELD = Patterns(&[SF_WITHOUT_22, BIT_22_WITHOUT_SF, SHORT_BIT_15, (0x8020_0000, 0x0020_0000)]),
    EXTRACT = Patterns(&[SF_WITHOUT_22, BIT_22_WITHOUT_SF, SHORT_BIT_15]),
    ACCESS = Function(is_vector_size_reserved),
    // The index is a word or a doubleword.
    ACCESS_INDEXED = Function(|word| bits(word, 14, 14) == 0 || is_vector_size_reserved(word)),
    PAIR = Patterns(&[(0xc000_0000, 0xc000_0000)]),
    LITERAL = Patterns(&[(0xc400_0000, 0xc400_0000)]),
    STRUCTURE = Function(is_structure_reserved),
    ELEMENT = Function(|word| is_element_reserved(word) || bits(word, 15, 14) == 3),
    REPLICATED = Function(is_element_reserved),
    // MSR and MRS name registers with op0 2 and 3 only.
    REGISTER = Function(|word| word & 0x0010_0000 == 0 && !is_msr_immediate(word)),
    // Pairs start at an even register.
    EVEN_PAIRS = Patterns(&[(1, 1), (0x0001_0000, 0x0001_0000)]),
    COPY = Function(|word| !are_copy_registers(word) || bits(word, 20, 16) == 31),
    SET = Function(|word| !are_copy_registers(word)),
    // Floating point: ptype 10 is none.
    SCALAR = Patterns(&[BIT_23]),
    SCALAR_FIXED = Patterns(&[BIT_23, SHORT_SCALE]),
    HALF_FIXED = Patterns(&[SHORT_SCALE]),
    MOVE_TO_GENERAL = Patterns(&[BIT_23, SF_WITHOUT_22, BIT_22_WITHOUT_SF]),
    // fcvt from a size to itself, and opc 10.
    CONVERT = Patterns(&[
        (0x0040_8000, 0), (0x0081_0000, 0x0081_0000), (0x00c0_0000, 0x0080_0000), (0x00c1_8000, 0x0040_8000),
    ]),
    // Advanced SIMD.
    UP_TO_32 = Patterns(&[SIZE_11]),
    ONLY_8 = Patterns(&[BIT_22, BIT_23]),
    UP_TO_16 = Patterns(&[BIT_23]),
    FROM_16_TO_32 = Patterns(&[SIZE_00, SIZE_11]),
    ONLY_32 = Patterns(&[BIT_22, NOT_BIT_23]),
    ONLY_64 = Patterns(&[NOT_BIT_22, NOT_BIT_23]),
    SZ_0 = Patterns(&[BIT_22]),
    SZ_1 = Patterns(&[NOT_BIT_22]),
    NO_SINGLE_64 = Patterns(&[SIZE_11_SHORT]),
    NO_SINGLE_DOUBLE = Patterns(&[SZ_SHORT]),
    COMPLEX = Patterns(&[SIZE_00, SIZE_11_SHORT]),
    COMPLEX_ELEMENT = Patterns(&[
        SIZE_00, SIZE_11, (0x00a0_0000, 0x00a0_0000), (0x4000_0800, 0x0000_0800), (0x4080_0000, 0x0080_0000),
    ]),
    FLOAT_ELEMENT = Patterns(&[(0x0060_0000, 0x0060_0000), SZ_SHORT]),
    SCALAR_ELEMENT = Patterns(&[(0x0060_0000, 0x0060_0000)]),
    ACROSS = Patterns(&[SIZE_11, (0x4080_0000, 0x0080_0000)]),
    FLOAT_ACROSS = Patterns(&[BIT_22, (0x4000_0000, 0)]),
    EXTRACT_VECTOR = Patterns(&[(0x4000_4000, 0x0000_4000)]),
    COPY_ELEMENT = Patterns(&[IMM5_NONE, IMM5_DOUBLE_SHORT]),
    COPY_SCALAR = Patterns(&[IMM5_NONE]),
    SIGNED_ELEMENT = Patterns(&[(0x0007_0000, 0), (0x4003_0000, 0)]),
    UNSIGNED_ELEMENT = Patterns(&[
        IMM5_DOUBLE_SHORT, (0x4001_0000, 0x4001_0000), (0x4002_0000, 0x4002_0000),
        (0x4004_0000, 0x4004_0000), (0x4008_0000, 0x4000_0000),
    ]),
    SHIFT = Patterns(&[IMMH_0000, SZ_SHORT]),
    SHIFT_NARROW = Patterns(&[IMMH_0000, BIT_22]),
    SHIFT_FIXED = Patterns(&[IMMH_000X, SZ_SHORT]),
    SCALAR_SHIFT = Patterns(&[NOT_BIT_22]),
    SCALAR_SHIFT_ANY = Patterns(&[IMMH_0000]),
    SCALAR_SHIFT_FIXED = Patterns(&[IMMH_000X]),
    // SVE.
    NO_BYTES = Patterns(&[SIZE_00]),
    SVE_IMMEDIATE = Patterns(&[SHIFTED_BYTES]),
    SVE_BITMASK = Function(|word| !is_bitmask(true, bits(word, 17, 17), bits(word, 10, 5))),
    SVE_INDEXED = Patterns(&[(0x001f_0000, 0)]),
    // No size among the bits that mark it.
    SVE_SHIFT_PREDICATED = Patterns(&[(0x00c0_0300, 0)]),
    SVE_SHIFT = Patterns(&[(0x00d8_0000, 0)]),
    SVE_SHIFT_LONG = Patterns(&[(0x0058_0000, 0)]),
    SVE_NARROW = Patterns(&[
        (0x0018_0000, 0x0018_0000), (0x0048_0000, 0x0048_0000), (0x0050_0000, 0x0050_0000), (0x0058_0000, 0),
    ]),
    SVE_LOGARITHM = Patterns(&[(0x0006_0000, 0)]),
    SVE_PREDICATE_SELECT = Patterns(&[(0x005c_0000, 0)]),
    // The index register is not the zero register, which is the form with an immediate.
    SVE_ACCESS = Patterns(&[(0x001f_0000, 0x001f_0000)]),
}

/// The rule of a definition.
pub(super) fn rule_of(definition: &Definition) -> Rule {
    let (class, set, name) = (definition.class, definition.feature_set, definition.mnemonic);
    match class {
        C::ADDSUB_IMM if set == F::V8 => Rule::ADD_IMMEDIATE,
        C::ADDSUB_SHIFT => Rule::ADD_SHIFTED,
        C::ADDSUB_EXT => Rule::ADD_EXTENDED,
        C::LOG_IMM => Rule::LOGICAL_IMMEDIATE,
        C::LOG_SHIFT => Rule::LOGICAL_SHIFTED,
        C::MOVEWIDE => Rule::MOVE_WIDE,
        C::BITFIELD => Rule::BITFIELD,
        C::EXTRACT => Rule::EXTRACT,
        C::LDST_POS | C::LDST_UNSCALED | C::LDST_IMM9 if set == F::V8 => Rule::ACCESS,
        C::LDST_REGOFF => Rule::ACCESS_INDEXED,
        C::LDSTPAIR_OFF | C::LDSTPAIR_INDEXED | C::LDSTNAPAIR_OFFS if set == F::V8 => Rule::PAIR,
        C::LOADLIT => Rule::LITERAL,
        C::ASISDLSE | C::ASISDLSEP => Rule::STRUCTURE,
        C::ASISDLSO | C::ASISDLSOP if name.ends_with('r') => Rule::REPLICATED,
        C::ASISDLSO | C::ASISDLSOP => Rule::ELEMENT,
        C::IC_SYSTEM if matches!(name, "msr" | "mrs") => Rule::REGISTER,
        C::LSE_ATOMIC if name.starts_with("casp") => Rule::EVEN_PAIRS,
        C::AARCH64_MISC if matches!(set, F::MOPS | F::MOPS_MEMTAG) => {
            if name.starts_with("cpy") {
                Rule::COPY
            } else {
                Rule::SET
            }
        }
        C::FLOAT2FIX if set == F::FP_F16 => Rule::HALF_FIXED,
        C::FLOAT2FIX => Rule::SCALAR_FIXED,
        C::FLOAT2INT if name == "fmov" && set == F::FP && !is_fixed(definition, 22) => Rule::MOVE_TO_GENERAL,
        C::FLOATDP1 if name == "fcvt" => Rule::CONVERT,
        C::FLOAT2INT
        | C::FLOATCCMP
        | C::FLOATCMP
        | C::FLOATDP1
        | C::FLOATDP2
        | C::FLOATDP3
        | C::FLOATIMM
        | C::FLOATSEL
            if set == F::FP && !is_fixed(definition, 23) =>
        {
            Rule::SCALAR
        }
        _ if is_advanced_simd(class) => of_vector(definition),
        _ => of_scalable(definition),
    }
}

fn is_advanced_simd(class: C) -> bool {
    matches!(
        class,
        C::ASIMDALL
            | C::ASIMDDIFF
            | C::ASIMDELEM
            | C::ASIMDEXT
            | C::ASIMDINS
            | C::ASIMDMISC
            | C::ASIMDPERM
            | C::ASIMDSAME
            | C::ASIMDSHF
            | C::ASISDDIFF
            | C::ASISDELEM
            | C::ASISDMISC
            | C::ASISDONE
            | C::ASISDPAIR
            | C::ASISDSAME
            | C::ASISDSHF
            | C::DOTPRODUCT
    )
}

/// Whether a bit of the word is part of the opcode.
fn is_fixed(definition: &Definition, bit: u32) -> bool {
    definition.mask >> bit & 1 == 1
}

/// The rules of Advanced SIMD: which elements an instruction has (DDI 0487 C7.2, `size`, `sz`, `immh` and `imm5`).
fn of_vector(definition: &Definition) -> Rule {
    let (class, set, name) = (definition.class, definition.feature_set, definition.mnemonic);
    let (q, sz, size) = (is_fixed(definition, 30), is_fixed(definition, 22), is_fixed(definition, 23));
    let is_half = matches!(set, F::SIMD_F16 | F::FP_16_V8_2A);
    let converts = name.contains("cvt");
    match class {
        C::DOTPRODUCT if set == F::DOTPROD => Rule::ONLY_32,
        C::ASIMDEXT => Rule::EXTRACT_VECTOR,
        C::ASIMDPERM => Rule::NO_SINGLE_64,
        C::ASIMDINS if name == "smov" => Rule::SIGNED_ELEMENT,
        C::ASIMDINS if name == "umov" => Rule::UNSIGNED_ELEMENT,
        C::ASIMDINS if !q => Rule::COPY_ELEMENT,
        C::ASIMDINS | C::ASISDONE => Rule::COPY_SCALAR,
        // `shl` to `fcvtzu`; of those filed under half precision some are of words and doublewords.
        C::ASIMDSHF if q => Rule::SHIFT_NARROW,
        C::ASIMDSHF if converts && !is_half => Rule::SHIFT_FIXED,
        C::ASIMDSHF => Rule::SHIFT,
        C::ASISDSHF if name.contains("shrn") || name.contains("shrun") => Rule::SHIFT_NARROW,
        C::ASISDSHF if converts && !is_half => Rule::SCALAR_SHIFT_FIXED,
        C::ASISDSHF if converts || matches!(name, "sqshl" | "sqshlu" | "uqshl") => Rule::SCALAR_SHIFT_ANY,
        C::ASISDSHF => Rule::SCALAR_SHIFT,
        _ if is_half || sz && name != "fcmla" => Rule::NONE,
        C::ASIMDALL if size => Rule::FLOAT_ACROSS,
        C::ASIMDALL => Rule::ACROSS,
        C::ASIMDDIFF | C::ASISDDIFF if name.starts_with("sqdm") => Rule::FROM_16_TO_32,
        C::ASIMDDIFF if name.starts_with("pmull") => Rule::NONE,
        C::ASIMDDIFF => Rule::UP_TO_32,
        C::ASIMDELEM if set == F::COMPNUM => Rule::COMPLEX_ELEMENT,
        C::ASIMDELEM if size => Rule::FLOAT_ELEMENT,
        C::ASISDELEM if size => Rule::SCALAR_ELEMENT,
        C::ASIMDELEM | C::ASISDELEM if matches!(set, F::SIMD | F::RDMA) => Rule::FROM_16_TO_32,
        C::ASIMDMISC if matches!(name, "urecpe" | "ursqrte") => Rule::SZ_0,
        C::ASIMDMISC | C::ASIMDSAME if size && !q => Rule::NO_SINGLE_DOUBLE,
        C::ASIMDMISC if size => Rule::NONE,
        C::ASIMDMISC if q => Rule::UP_TO_32,
        C::ASIMDMISC => match name {
            "cls" | "clz" | "rev64" | "sadalp" | "saddlp" | "uadalp" | "uaddlp" => Rule::UP_TO_32,
            "cnt" | "rev16" => Rule::ONLY_8,
            "rev32" => Rule::UP_TO_16,
            _ => Rule::NO_SINGLE_64,
        },
        C::ASIMDSAME | C::ASISDSAME if set == F::RDMA => Rule::FROM_16_TO_32,
        C::ASIMDSAME | C::ASISDSAME if matches!(name, "sqdmulh" | "sqrdmulh") => Rule::FROM_16_TO_32,
        C::ASIMDSAME if set == F::COMPNUM => Rule::COMPLEX,
        C::ASIMDSAME if size => Rule::NONE,
        C::ASIMDSAME => match name {
            "pmul" => Rule::ONLY_8,
            "mla" | "mls" | "mul" | "saba" | "sabd" | "uaba" | "uabd" | "shadd" | "uhadd" | "srhadd"
            | "urhadd" | "shsub" | "uhsub" | "smax" | "smaxp" | "umax" | "umaxp" | "smin" | "sminp"
            | "umin" | "uminp" => Rule::UP_TO_32,
            _ => Rule::NO_SINGLE_64,
        },
        C::ASISDMISC => match name {
            "abs" | "neg" | "cmeq" | "cmge" | "cmgt" | "cmle" | "cmlt" => Rule::ONLY_64,
            "sqxtn" | "sqxtun" | "uqxtn" => Rule::UP_TO_32,
            "fcvtxn" => Rule::SZ_1,
            _ => Rule::NONE,
        },
        C::ASISDPAIR if name == "addp" => Rule::ONLY_64,
        _ => Rule::NONE,
    }
}

/// The rules of SVE (DDI 0487 C8.2).
fn of_scalable(definition: &Definition) -> Rule {
    let (set, name) = (definition.feature_set, definition.mnemonic);
    match definition.class {
        C::SVE_SIZE_HSD => Rule::NO_BYTES,
        C::SVE_SIZE_HSD2 => Rule::SVE_LOGARITHM,
        C::SVE_SIZE_BHS => Rule::UP_TO_32,
        C::SVE_CPY => Rule::SVE_IMMEDIATE,
        // `add` to `uqsub`, and `dup`, with an immediate.
        C::SVE_SIZE_BHSD if matches!(definition.opcode & 0xfff8_e000, 0x2520_c000 | 0x2538_c000) => {
            if is_fixed(definition, 13) {
                Rule::NONE
            } else {
                Rule::SVE_IMMEDIATE
            }
        }
        C::SVE_LIMM => Rule::SVE_BITMASK,
        C::SVE_INDEX if set == F::SVE => Rule::SVE_INDEXED,
        C::SVE_SHIFT_PRED => Rule::SVE_SHIFT_PREDICATED,
        C::SVE_SHIFT_TSZ_BHSD | C::SVE_SHIFT_UNPRED => Rule::SVE_SHIFT,
        C::SVE_SHIFT_TSZ_HSD if set == F::SVE2 => Rule::SVE_SHIFT_LONG,
        C::SVE_SIZE_TSZ_BHS => Rule::SVE_NARROW,
        C::SME_PSEL => Rule::SVE_PREDICATE_SELECT,
        C::SVE_MISC if matches!(set, F::SVE | F::F64MM_SVE) && !name.starts_with("ldff1") => {
            let is_indexed = definition.operands.iter().any(|operand| {
                matches!(
                    operand.kind,
                    K::SVE_ADDR_RR
                        | K::SVE_ADDR_RR_LSL1
                        | K::SVE_ADDR_RR_LSL2
                        | K::SVE_ADDR_RR_LSL3
                        | K::SVE_ADDR_RX
                        | K::SVE_ADDR_RX_LSL1
                        | K::SVE_ADDR_RX_LSL2
                        | K::SVE_ADDR_RX_LSL3
                )
            });
            if is_indexed { Rule::SVE_ACCESS } else { Rule::NONE }
        }
        _ => Rule::NONE,
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

/// Whether N and imms are a pattern: `DecodeBitMasks` with `immediate` true.
fn is_bitmask(wide: bool, n: u32, imms: u32) -> bool {
    if n == 1 {
        return wide && imms != 0x3f;
    }
    // The element size is the highest zero of imms; an element of all ones, or of one bit, is no pattern.
    let size = !imms & 0x3f;
    size > 1 && !size.is_power_of_two()
}

/// LD1-LD4 and ST1-ST4 of whole registers: unallocated opcodes, and 1D has no interleaved form.
fn is_structure_reserved(word: u32) -> bool {
    match bits(word, 15, 12) {
        0 | 4 | 8 => bits(word, 11, 10) == 3 && bits(word, 30, 30) == 0,
        2 | 6 | 7 | 10 => false,
        _ => true,
    }
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

/// FEAT_MOPS: three different registers, of which destination and size are not the zero register.
fn are_copy_registers(word: u32) -> bool {
    let (d, s, n) = (bits(word, 4, 0), bits(word, 20, 16), bits(word, 9, 5));
    d != s && s != n && n != d && d != 31 && n != 31
}

//! The prefilter of the sweep: words that are settled by their upper bits.
//!
//! Bits 31 to 21 of a word pick a row. The row says for each value of bits 15 to 10 whether such words are *plain*.
//! These are instructions of the baseline, SIMD&FP included, that load, store, or compute, and name no address, or
//! transfer control by a direct or register branch. Other rows say how to treat the word. The rows follow the encoding
//! tables of DDI 0487 C4.1; tests and [`check_prefilter`] compare them with the full decoder.

use super::features::Group;
use super::summary::{Control, Summary, summarize};
use crate::insn::Class;

/// What a row says of words that it does not settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Query the full decoder.
    Full,
    Adr,
    Adrp,
    /// `ldr` from a PC-relative address.
    Literal,
    /// The space of hints and barriers.
    Hint,
    /// The spaces of `udf`, `brk` and `hlt`.
    Trap,
}

/// One row of the prefilter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// By the value of bits 15 to 10: whether the word is plain.
    pub(super) plain: u64,
    /// What to add to the counts for a plain word: SIMD&FP (low half), Advanced SIMD (high half).
    pub(super) counts: u64,
    /// Bits outside 31 to 21 and 15 to 10 that a plain word must have, and their value.
    pub(super) fixed: (u32, u32),
    /// By how much to shift a word left and then right for the signed displacement of a branch, in words.
    pub(super) shifts: (u8, u8),
    /// [`CALL`], [`JUMP`], [`CONDITIONAL`], or 0.
    pub(super) transfer: u8,
    pub(super) kind: Kind,
}

/// A set of values of bits 15 to 10, from patterns of `0`, `1` and `x`.
#[expect(clippy::indexing_slicing, reason = "evaluated while compiling, where a bad index is an error")]
const fn window(patterns: &[&str]) -> u64 {
    let mut set = 0;
    let mut i = 0;
    while i < patterns.len() {
        let (mask, fixed) = parse(patterns[i]);
        let mut value = 0;
        while value < 64 {
            if value & mask == fixed {
                set |= 1 << value;
            }
            value += 1;
        }
        i += 1;
    }
    set
}

/// A pattern as the mask of its fixed bits and their value.
#[expect(clippy::indexing_slicing, reason = "evaluated while compiling, where a bad index is an error")]
const fn parse(pattern: &str) -> (u32, u32) {
    let letters = pattern.as_bytes();
    let (mut mask, mut fixed) = (0, 0);
    let mut i = 0;
    while i < letters.len() {
        mask = mask << 1 | (letters[i] != b'x') as u32;
        fixed = fixed << 1 | (letters[i] == b'1') as u32;
        i += 1;
    }
    (mask, fixed)
}

const ALL: u64 = u64::MAX;
/// An amount below 32.
const SHORT: u64 = window(&["0xxxxx"]);
/// Every imms but those without a pattern; with N 1, and with N 0.
const WIDE_MASK: u64 = !window(&["111111"]);
const MASK: u64 = !window(&["11111x", "111101", "111011", "110111", "101111", "011111"]);
/// Unscaled; post- and pre-indexed.
const UNSCALED: u64 = window(&["xxxx00"]);
const INDEXED: u64 = window(&["xxxxx1"]);
/// A register offset with a word or doubleword index.
const OFFSET: u64 = window(&["x1xx10"]);

/// A call: always recorded.
pub(super) const CALL: u8 = 1;
/// An unconditional jump: recorded where it leaves its unit.
pub(super) const JUMP: u8 = 2;
/// A conditional one.
pub(super) const CONDITIONAL: u8 = 4;

const BASE: u64 = 0;
const FP: u64 = 1;
const ASIMD: u64 = 1 << 32;

const fn plain(plain: u64, counts: u64) -> Row {
    Row { plain, counts, fixed: (0, 0), shifts: (0, 0), transfer: 0, kind: Kind::Full }
}

const fn special(kind: Kind) -> Row {
    Row { kind, ..plain(0, BASE) }
}

/// A direct transfer whose displacement begins at bit `low` and has `width` bits; bit 4 of `b.cond` is clear.
const fn transfer(transfer: u8, low: u8, width: u8, fixed: (u32, u32)) -> Row {
    Row { shifts: (32 - low - width, 32 - width), transfer, fixed, ..plain(ALL, BASE) }
}

/// `br`, `blr`, `ret` without pointer authentication.
const REGISTER: Row = Row { fixed: (0x001f_001f, 0x001f_0000), ..plain(window(&["000000"]), BASE) };

/// The rows, by patterns of bits 31 to 21. Row 0 is for everything else.
const LIST: &[(&str, Row)] = &[
    ("xxxxxxxxxxx", special(Kind::Full)),
    // Data processing, immediate.
    ("1xx10000xxx", special(Kind::Adrp)),
    ("0xx10000xxx", special(Kind::Adr)),
    ("xxx100010xx", plain(ALL, BASE)),       // add, sub
    ("1xx1001001x", plain(WIDE_MASK, BASE)), // and, orr, eor, ands
    ("xxx1001000x", plain(MASK, BASE)),
    ("100100101xx", plain(ALL, BASE)), // movn, movz, movk
    ("110100101xx", plain(ALL, BASE)),
    ("111100101xx", plain(ALL, BASE)),
    ("0001001010x", plain(ALL, BASE)),
    ("0101001010x", plain(ALL, BASE)),
    ("0111001010x", plain(ALL, BASE)),
    ("1001001101x", plain(ALL, BASE)), // sbfm, bfm, ubfm
    ("1011001101x", plain(ALL, BASE)),
    ("1101001101x", plain(ALL, BASE)),
    ("00010011000", plain(SHORT, BASE)),
    ("00110011000", plain(SHORT, BASE)),
    ("01010011000", plain(SHORT, BASE)),
    ("10010011110", plain(ALL, BASE)), // extr
    ("00010011100", plain(SHORT, BASE)),
    // Data processing, register.
    ("1xx01010xxx", plain(ALL, BASE)), // and, bic, orr, orn, eor, eon, ands, bics
    ("0xx01010xxx", plain(SHORT, BASE)),
    ("1xx010110x0", plain(ALL, BASE)), // add, sub with a shifted register
    ("1xx01011100", plain(ALL, BASE)),
    ("0xx010110x0", plain(SHORT, BASE)),
    ("0xx01011100", plain(SHORT, BASE)),
    ("xxx01011001", plain(window(&["xxx0xx", "xxx100"]), BASE)), // with an extended register
    ("xxx11010000", plain(window(&["000000"]), BASE)),           // adc, sbc
    ("xx011010100", plain(window(&["xxxx0x"]), BASE)),           // csel, csinc, csinv, csneg
    ("x0011010110", plain(window(&["00001x", "0010xx"]), BASE)), // udiv, sdiv, lslv, lsrv, asrv, rorv
    ("x0011011000", plain(ALL, BASE)),                           // madd, msub
    ("10011011001", plain(ALL, BASE)),                           // smaddl, smsubl
    ("10011011101", plain(ALL, BASE)),                           // umaddl, umsubl
    ("10011011x10", plain(window(&["011111"]), BASE)),           // smulh, umulh
    // Branches and the system.
    ("100101xxxxx", transfer(CALL, 0, 26, (0, 0))),
    ("000101xxxxx", transfer(JUMP, 0, 26, (0, 0))),
    ("01010100xxx", transfer(CONDITIONAL, 5, 19, (0x10, 0))),
    ("x011010xxxx", transfer(CONDITIONAL, 5, 19, (0, 0))),
    ("x011011xxxx", transfer(CONDITIONAL, 5, 14, (0, 0))),
    ("11010110000", REGISTER),
    ("11010110001", REGISTER),
    ("11010110010", REGISTER),
    ("11010101000", special(Kind::Hint)),
    ("00000000000", special(Kind::Trap)), // udf
    ("11010100001", special(Kind::Trap)), // brk
    ("11010100010", special(Kind::Trap)), // hlt
    // Loads and stores of general registers.
    ("xx011x00xxx", special(Kind::Literal)),
    ("xx1110010xx", plain(ALL, BASE)), // str, ldr
    ("xx11100110x", plain(ALL, BASE)), // ldrsb, ldrsh, ldrsw, prfm
    ("0x11100111x", plain(ALL, BASE)),
    ("xx1110000x0", plain(ALL, BASE)), // stur, str, sttr and their loads
    ("0x111000100", plain(ALL, BASE)),
    ("10111000100", plain(ALL, BASE)),
    ("11111000100", plain(UNSCALED, BASE)), // prfum
    ("0x111000110", plain(ALL, BASE)),
    ("xx1110000x1", plain(OFFSET, BASE)),
    ("0x1110001x1", plain(OFFSET, BASE)),
    ("10111000101", plain(OFFSET, BASE)),
    ("x010100xxxx", plain(ALL, BASE)), // stp, ldp, stnp, ldnp
    ("0110100011x", plain(ALL, BASE)), // ldpsw
    ("0110100101x", plain(ALL, BASE)),
    ("0110100111x", plain(ALL, BASE)),
    // Loads and stores of SIMD&FP registers.
    ("xx1111010xx", plain(ALL, FP)),
    ("001111011xx", plain(ALL, FP)),
    ("xx1111000x0", plain(UNSCALED | INDEXED, FP)),
    ("001111001x0", plain(UNSCALED | INDEXED, FP)),
    ("xx1111000x1", plain(OFFSET, FP)),
    ("001111001x1", plain(OFFSET, FP)),
    ("x010110xxxx", plain(ALL, FP)),
    ("0110110xxxx", plain(ALL, FP)),
    // Scalar floating point, single and double.
    ("000111100x1", plain(window(&["0xxx10", "100010", "xxxxx1"]), FP)), // fmul … fnmul, fcsel, fccmp
    ("000111110xx", plain(ALL, FP)),                                     // fmadd, fmsub, fnmadd, fnmsub
    // Advanced SIMD: and, bic, orr, orn, eor, bsl, bit, bif.
    ("0xx01110xx1", plain(window(&["000111"]), ASIMD)),
];

/// The rows without their patterns.
#[expect(clippy::indexing_slicing, reason = "evaluated while compiling, where a bad index is an error")]
pub(super) static ROWS: [Row; 128] = {
    let mut rows = [special(Kind::Full); 128];
    let mut i = 0;
    while i < LIST.len() {
        rows[i] = LIST[i].1;
        i += 1;
    }
    rows
};

/// The number of the row for bits 31 to 21.
#[expect(clippy::indexing_slicing, reason = "evaluated while compiling, where a bad index is an error")]
pub(super) static ROW_OF: [u8; 2048] = {
    let mut numbers = [0; 2048];
    let mut i = 1;
    while i < LIST.len() {
        let (mask, fixed) = parse(LIST[i].0);
        let mut top = 0;
        while top < 2048 {
            if top & mask == fixed {
                assert!(numbers[top as usize] == 0, "two rows claim the same words");
                numbers[top as usize] = i as u8;
            }
            top += 1;
        }
        i += 1;
    }
    numbers
};

/// The row of a word.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "masked indices, below the lengths of the tables")]
pub(super) fn row(word: u32) -> &'static Row {
    // 2048 numbers for eleven bits, and 128 rows for seven: the bounds checks fall away.
    let number = ROW_OF[(word >> 21) as usize & 2047];
    &ROWS[number as usize & 127]
}

/// Whether a row settles the word as plain.
#[inline(always)]
pub(super) fn is_plain(row: &Row, word: u32) -> bool {
    (row.plain >> (word >> 10 & 63) & 1 != 0) & (word & row.fixed.0 == row.fixed.1)
}

/// What the sweep takes a word for without the full decoder; `None` where it needs it.
pub(super) fn settled(word: u32) -> Option<(Group, Control)> {
    let row = row(word);
    if is_plain(row, word) {
        let group = match row.counts {
            BASE => Group::Base,
            FP => Group::Fp,
            _ => Group::Asimd,
        };
        let control = match (row.transfer, row.shifts.1) {
            (CALL, _) => Control::Call26,
            (JUMP, _) => Control::Jump26,
            (CONDITIONAL, 13) => Control::Branch19,
            (CONDITIONAL, _) => Control::Branch14,
            _ if row.fixed.0 == 0 => Control::Next,
            _ => match word >> 21 & 3 {
                0 => Control::IndirectJump,
                1 => Control::IndirectCall,
                _ => Control::Return,
            },
        };
        return Some((group, control));
    }
    match row.kind {
        Kind::Adr | Kind::Adrp => Some((Group::Base, Control::Next)),
        Kind::Literal if word & 0xc400_0000 != 0xc400_0000 => {
            Some((if word & 0x0400_0000 == 0 { Group::Base } else { Group::Fp }, Control::Next))
        }
        _ => None,
    }
}

/// A word of which the prefilter and the full decoder say different things.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disagreement {
    /// The word.
    pub word: u32,
}

/// Compares the prefilter with the full decoder for the given words, and returns the first word on which they
/// disagree. With `0..=u32::MAX` it proves the prefilter (about a minute in release:
/// `cargo run --release -p deburr-core --example prefilter_aarch64`).
#[doc(hidden)]
pub fn check_prefilter(words: impl Iterator<Item = u32>) -> Result<u64, Disagreement> {
    let mut settled_words = 0;
    for word in words {
        let Some((group, control)) = settled(word) else { continue };
        settled_words += 1;
        let agrees = match summarize(word) {
            Some(Summary { group: full_group, class, control: full_control }) => {
                group == full_group
                    && control == full_control
                    && matches!(class, Class::Other | Class::Load | Class::Store)
            }
            None => false,
        };
        if !agrees {
            return Err(Disagreement { word });
        }
    }
    Ok(settled_words)
}

/// The rows as (mask, value) over whole words.
#[cfg(test)]
pub(super) fn rows_as_masks() -> impl Iterator<Item = (u32, u32)> {
    LIST.iter().skip(1).map(|(pattern, _)| {
        let (mask, fixed) = parse(pattern);
        (mask << 21, fixed << 21)
    })
}

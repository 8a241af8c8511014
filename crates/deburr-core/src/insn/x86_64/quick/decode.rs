//! An instruction by table: 16 bytes → what the sweep needs of it.

use super::entries::{by_fields, in_context};
use super::hot::{self, Hot, Kind, REX_ROW};
use super::layout::{
    BYTES, Context, EXTRA, INDEX, LOW_REGISTER, MEMORY, MODRM_SHIFT, NO_BROADCAST, NO_SOURCE, NO_ZEROING,
    RIP, SLOW, selector,
};

/// How many bytes [`quick`] reads.
pub(in super::super) const WINDOW: usize = 16;

/// Bytes of the longest instruction. SDM volume 2, 2.3.11.
const LONGEST: usize = 15;
/// How many legacy prefixes are read; then everything up to a displacement is within the window.
const PREFIXES: usize = 7;

/// An instruction that the table decides.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Quick {
    /// Its length in bytes.
    pub(in super::super) length: usize,
    /// What it is.
    pub(in super::super) kind: Kind,
    /// What its ModRM byte says, as far as its entry uses it.
    modrm: u32,
    /// Where its opcode ends.
    opcode_end: usize,
}

impl Quick {
    /// Whether it stores, calls or enters the system, as far as the sweep sees.
    pub(in super::super) fn acts(&self) -> bool {
        (self.kind.0 | self.modrm & MEMORY) & Kind::ACTS != 0
    }

    /// Its [`Kind::marks`].
    #[inline(always)]
    pub(in super::super) fn marks(&self) -> u32 {
        Kind(self.kind.0 | self.modrm & MEMORY).marks(false)
    }

    /// From its end to where it goes; of use only where it is a direct transfer of control.
    #[inline(always)]
    pub(in super::super) fn displacement(&self, window: &[u8; WINDOW]) -> i64 {
        if self.kind.any(Kind::SHORT) {
            i64::from(byte(window, self.opcode_end) as i8)
        } else {
            number(window, self.opcode_end)
        }
    }

    /// Whether it names a place relative to RIP.
    #[inline(always)]
    pub(in super::super) fn is_relative(&self) -> bool {
        self.modrm & RIP != 0
    }

    /// From its end to that place.
    #[inline(always)]
    pub(in super::super) fn place(&self, window: &[u8; WINDOW]) -> i64 {
        number(window, self.opcode_end + 1)
    }
}

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the mask keeps the index inside the array")]
fn byte(window: &[u8; WINDOW], at: usize) -> u8 {
    window[at & (WINDOW - 1)]
}

/// The signed 32-bit number at a place of the window.
#[inline(always)]
fn number(window: &[u8; WINDOW], at: usize) -> i64 {
    let bits = u128::from_le_bytes(*window) >> ((at & (WINDOW - 1)) * 8);
    i64::from(bits as i32)
}

/// Decodes the instruction at the start of the window; `None`, or [`Kind::SLOW`], where the table does not decide.
///
/// Both readings of the first byte, as an opcode and as REX, are looked up before one is selected.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "bytes are below the length of the table")]
pub(in super::super) fn quick(window: &[u8; WINDOW], hot: &Hot) -> Option<Quick> {
    let [first, second, third, ..] = *window;
    let [word, _] = window.as_chunks::<8>().0 else { return None };
    let word = u64::from_le_bytes(*word);
    let has_rex = word & 0xf0 == 0x40;
    let (plain, with_rex) = (hot.rows[usize::from(first)], hot.rows[REX_ROW + usize::from(second)]);
    let (one, two) = (u32::from(hot.modrm[usize::from(second)]), u32::from(hot.modrm[usize::from(third)]));
    let (plain_length, rex_length) = (1 + length(plain, one), 2 + length(with_rex, two));
    let mut entry = if has_rex { with_rex } else { plain };
    let mut bits = if has_rex { two } else { one };
    let mut rest = if has_rex { word >> 8 } else { word };
    let mut length_so_far = if has_rex { rex_length } else { plain_length };
    let mut opcode_end = 1 + usize::from(has_rex);
    if entry < hot::DECIDED {
        // With a prefix and an opcode of two bytes, and without a branch on each.
        let prefix = usize::from(hot.prefix[usize::from(first)]);
        rest = word >> (prefix & 8);
        let rex = usize::from(hot.rex[(rest & 0xff) as usize]);
        rest >>= rex & 8;
        let is_long = usize::from(rest as u8 == 0x0f);
        rest >>= is_long * 8;
        entry = hot.entry(prefix >> 4, rex >> 4, is_long, rest as u8);
        if entry < hot::DECIDED {
            return slowly(window, hot);
        }
        bits = u32::from(hot.modrm[usize::from((rest >> 8) as u8)]);
        opcode_end = (prefix >> 3 & 1) + (rex >> 3 & 1) + is_long + 1;
        length_so_far = opcode_end as u32 + length(entry, bits);
    }
    let modrm = bits & entry >> MODRM_SHIFT;
    let kind = hot.kind(entry, bits);
    let mut length = length_so_far as usize;
    if modrm & INDEX != 0 && rest & 0x07_0000 == 0x05_0000 {
        length = with_displacement(length);
    }
    Some(Quick { length, kind, modrm, opcode_end })
}

/// With the displacement that takes the place of a base. A call, and thus a branch, so that no other instruction waits for
/// the query.
#[cold]
#[inline(never)]
fn with_displacement(length: usize) -> usize {
    length + 4
}

/// The bytes after the opcode, without the displacement of an SIB byte without base.
#[inline(always)]
fn length(entry: u32, bits: u32) -> u32 {
    (entry & BYTES) + (bits & entry >> MODRM_SHIFT & EXTRA)
}

/// Decodes what has several prefixes, an opcode of three bytes, VEX or EVEX, or a length that depends on ModRM otherwise.
#[inline(never)]
fn slowly(window: &[u8; WINDOW], hot: &Hot) -> Option<Quick> {
    let (entry, opcode_end) = unusual(window)?;
    let modrm = byte(window, opcode_end);
    let entry = by_fields(entry, selector(modrm));
    if entry & SLOW != 0 {
        return None;
    }
    let modrm = hot.bits(modrm) & entry >> MODRM_SHIFT & 0x3f;
    let no_base = modrm & INDEX != 0 && byte(window, opcode_end + 1) & 7 == 5;
    let length =
        opcode_end + (entry & BYTES) as usize + (modrm & EXTRA) as usize + if no_base { 4 } else { 0 };
    (length <= LONGEST).then_some(Quick { length, kind: hot.kind_of(entry), modrm, opcode_end })
}

/// The entry of an instruction with legacy prefixes, with an opcode of several bytes, or with VEX or EVEX, and where its
/// opcode ends. Of an entry for VEX or EVEX its limits are kept.
fn unusual(window: &[u8; WINDOW]) -> Option<(u32, usize)> {
    let (mut prefix, mut at) = (0, 0);
    loop {
        let this = match byte(window, at) {
            0x66 => 1,
            0xf3 => 2,
            0xf2 => 3,
            // Segments.
            0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 => prefix,
            _ => break,
        };
        // Which of two different ones counts is left to iced-x86.
        if prefix != 0 && this != prefix || at == PREFIXES {
            return None;
        }
        (prefix, at) = (this, at + 1);
    }
    let mut opcode = byte(window, at);
    if at == 0 && matches!(opcode, 0xc4 | 0xc5 | 0x62) {
        return vector(window);
    }
    let mut rex = 0;
    if opcode & 0xf0 == 0x40 {
        rex = 1 + usize::from(opcode >> 3 & 1);
        at += 1;
        opcode = byte(window, at);
    }
    let mut map = 0;
    if opcode == 0x0f {
        (opcode, at) = (byte(window, at + 1), at + 1);
        map = match opcode {
            0x38 => 2,
            0x3a => 3,
            _ => 1,
        };
        if map > 1 {
            (opcode, at) = (byte(window, at + 1), at + 1);
        }
    }
    let entry = in_context(Context::Legacy { map, prefix, rex }, opcode);
    (entry & SLOW == 0).then_some((entry, at + 1))
}

/// The same with VEX or EVEX.
fn vector(window: &[u8; WINDOW]) -> Option<(u32, usize)> {
    let [first, second, third, fourth, ..] = window.map(usize::from);
    let (context, at, exceeds) = match first {
        0xc5 => {
            let context = Context::Vex { map: 1, prefix: second & 3, wide: 0, length: second >> 2 & 1 };
            (context, 2, exceeded(second >> 3 & 15 != 15, second & 0x80 == 0))
        }
        0xc4 => {
            let map = second & 31;
            if !(1..=3).contains(&map) {
                return None;
            }
            let context = Context::Vex { map, prefix: third & 3, wide: third >> 7, length: third >> 2 & 1 };
            (context, 3, exceeded(third >> 3 & 15 != 15, second & 0x80 == 0))
        }
        _ => {
            let (map, length) = (second & 15, fourth >> 5 & 3);
            let is_known = matches!(map, 1 | 2 | 3 | 5 | 6) && third & 4 != 0 && length < 3;
            let zeroes = fourth & 0x80 != 0;
            if !is_known || zeroes && fourth & 7 == 0 {
                return None;
            }
            let context = Context::Evex { map, prefix: third & 3, wide: third >> 7, length };
            let has_source = third >> 3 & 15 != 15 || fourth & 8 == 0;
            let exceeds = exceeded(has_source, second & 0x90 != 0x90)
                | if zeroes { NO_ZEROING } else { 0 }
                | if fourth & 0x10 != 0 { NO_BROADCAST } else { 0 };
            (context, 4, exceeds)
        }
    };
    let entry = in_context(context, byte(window, at));
    (entry & (SLOW | exceeds) == 0).then_some((entry, at + 1))
}

fn exceeded(has_source: bool, is_high: bool) -> u32 {
    (if has_source { NO_SOURCE } else { 0 }) | if is_high { LOW_REGISTER } else { 0 }
}

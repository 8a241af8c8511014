//! The part of the table that most instructions need, laid out for speed: opcodes of one and two bytes, with up to one
//! legacy prefix and REX.
//!
//! In: the table, and the facts of codes. Out: [`Hot`], built at first use. A row's entry is as in `layout`, except for
//! its upper half: the number of a [`Kind`], or of 16, and in bits 12 to 15 the mask of the fields of ModRM that are added
//! to it. An entry below [`DECIDED`] decides nothing.

use std::collections::HashMap;
use std::sync::LazyLock;

use iced_x86::Code;

use super::super::features::{CODES, CodeFacts, TABLE};
use super::entries::{by_fields, in_context};
use super::layout::{BYTES, CODE_SHIFT, Context, HAS_MODRM, MODRM, SHORT, SLOW, TO_MEMORY, selector};

/// Entries below it do not decide: kind 0 is none.
pub(super) const DECIDED: u32 = 1 << CODE_SHIFT;
/// Where the entries of one-byte opcodes after REX begin.
pub(super) const REX_ROW: usize = 256;
/// Rows: by the mandatory prefix, by whether the opcode has two bytes, and by REX: none, any, with W, without.
const ROWS: usize = 32;
const KINDS: usize = 4096;

/// What the sweep needs of an instruction, in one number: flags, the possible classes from bit 9, and the group in the
/// upper byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Kind(pub(in super::super) u32);

impl Kind {
    /// Not decided by the table.
    pub(in super::super) const SLOW: u32 = 1;
    pub(in super::super) const CALL: u32 = 1 << 1;
    pub(in super::super) const JUMP: u32 = 1 << 2;
    pub(in super::super) const BRANCH: u32 = 1 << 3;
    pub(in super::super) const ABOVE_BASELINE: u32 = 1 << 4;
    pub(in super::super) const ACTS: u32 = 1 << 5;
    pub(in super::super) const VECTOR: u32 = 1 << 6;
    pub(in super::super) const SCALAR: u32 = 1 << 7;
    /// Of a transfer of control: its displacement has 8 bits.
    pub(in super::super) const SHORT: u32 = 1 << 8;
    const CLASSES: u32 = 9;
    /// The classes before it are distinguished by the full decoder only.
    const FIRST_CLASS: u32 = 3;

    /// The facts of a code, as far as they fit: all but the classes `Other`, `Load` and `Store`.
    pub(in super::super) fn of(facts: CodeFacts) -> Kind {
        let flag = |fact, flag| if facts.any(fact) { flag } else { 0 };
        Kind(
            u32::from(facts.group()) << 24
                | Self::wanting(facts.classes())
                | flag(CodeFacts::INVALID, Self::SLOW)
                | flag(CodeFacts::CALL, Self::CALL)
                | flag(CodeFacts::JUMP, Self::JUMP)
                | flag(CodeFacts::BRANCH, Self::BRANCH)
                | flag(CodeFacts::ABOVE_BASELINE, Self::ABOVE_BASELINE)
                | flag(CodeFacts::ACTS, Self::ACTS)
                | flag(CodeFacts::VECTOR, Self::VECTOR)
                | flag(CodeFacts::SCALAR, Self::SCALAR),
        )
    }

    /// The mask that selects the kinds that may be of a wanted class.
    pub(in super::super) fn wanting(classes: u64) -> u32 {
        (classes as u32 >> Self::FIRST_CLASS & 0x3fff) << Self::CLASSES
    }

    /// What matters for loops, in three bits: 1 acts, 2 computes on vectors, 4 on single numbers.
    #[inline(always)]
    pub(in super::super) const fn marks(self, acts: bool) -> u32 {
        (self.0 / Self::ACTS) & 7 | acts as u32
    }

    /// Whether any bit of the mask is set.
    #[inline(always)]
    pub(in super::super) const fn any(self, mask: u32) -> bool {
        self.0 & mask != 0
    }

    /// The feature group's number.
    #[inline(always)]
    pub(in super::super) const fn group(self) -> usize {
        (self.0 >> 24) as usize
    }
}

/// The tables; see the file's head.
pub(in super::super) struct Hot {
    pub(super) rows: [u32; ROWS * 256],
    kinds: [u32; KINDS],
    /// By a code of iced-x86.
    codes: [u32; CODES],
    /// As [`MODRM`], and what [`selector`] says, from bit 8.
    pub(super) modrm: [u16; 256],
    /// By a first byte: 8 for a legacy prefix; from bit 4 the number of a mandatory one.
    pub(super) prefix: [u8; 256],
    /// By the next byte: 8 for REX; from bit 4 2 with W, and 3 without.
    pub(super) rex: [u8; 256],
}

/// Built in some hundred microseconds.
pub(in super::super) static HOT: LazyLock<Box<Hot>> = LazyLock::new(build);

impl Hot {
    /// The entry of an opcode by what precedes it.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the mask keeps the index inside the array")]
    pub(super) fn entry(&self, prefix: usize, rex: usize, is_long: usize, opcode: u8) -> u32 {
        self.rows[(row(prefix, rex, is_long) << 8 | usize::from(opcode)) & (ROWS * 256 - 1)]
    }

    /// The kind of an entry, with the bits of the ModRM byte after it.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the mask keeps the index inside the array")]
    pub(super) fn kind(&self, entry: u32, bits: u32) -> Kind {
        Kind(self.kinds[((entry >> CODE_SHIFT) + (bits >> 8 & entry >> 12)) as usize & (KINDS - 1)])
    }

    /// What a ModRM byte says.
    #[expect(clippy::indexing_slicing, reason = "bytes are below the length of the table")]
    pub(super) fn bits(&self, modrm: u8) -> u32 {
        u32::from(self.modrm[usize::from(modrm)])
    }

    /// The kind of an entry of the table, without what ModRM shows.
    #[expect(clippy::indexing_slicing, reason = "the mask keeps the index inside the array")]
    pub(super) fn kind_of(&self, entry: u32) -> Kind {
        if entry & SLOW != 0 {
            return Kind(Kind::SLOW);
        }
        let kind = Kind(self.codes[(entry >> CODE_SHIFT) as usize & (CODES - 1)]);
        let is_short = kind.any(Kind::CALL | Kind::JUMP | Kind::BRANCH) && entry & SHORT != 0;
        Kind(kind.0 | if is_short { Kind::SHORT } else { 0 })
    }
}

/// The number of a row; the first two are those of one-byte opcodes alone and after REX.
#[inline(always)]
const fn row(prefix: usize, rex: usize, is_long: usize) -> usize {
    prefix << 3 | is_long << 2 | rex
}

#[expect(clippy::indexing_slicing, reason = "all indices are below the lengths of the tables")]
fn build() -> Box<Hot> {
    let mut hot = Box::new(Hot {
        rows: [0; ROWS * 256],
        kinds: [Kind::SLOW; KINDS],
        codes: [Kind::SLOW; CODES],
        modrm: [0; 256],
        prefix: [0; 256],
        rex: [0; 256],
    });
    for code in Code::values() {
        hot.codes[code as usize] = Kind::of(TABLE.facts(code)).0;
    }
    for byte in 0..=255u8 {
        hot.modrm[usize::from(byte)] = u16::from(MODRM[usize::from(byte)]) | (selector(byte) as u16) << 8;
        hot.prefix[usize::from(byte)] = match byte {
            0x66 => 8 | 1 << 4,
            0xf3 => 8 | 2 << 4,
            0xf2 => 8 | 3 << 4,
            0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 => 8,
            _ => 0,
        };
        hot.rex[usize::from(byte)] = match byte {
            0x40..=0x47 => 8 | 3 << 4,
            0x48..=0x4f => 8 | 2 << 4,
            _ => 0,
        };
    }
    let mut kinds = Kinds { all: vec![Kind::SLOW], known: HashMap::new(), entries: HashMap::new() };
    for (prefix, map, rex, opcode) in opcodes() {
        let entry = in_context(Context::Legacy { map, prefix, rex }, opcode);
        let rex = if rex == 1 { 3 } else { rex };
        hot.rows[row(prefix, rex, map) << 8 | usize::from(opcode)] = kinds.entry(&hot, entry);
    }
    // After any REX: what W changes is looked up again.
    for opcode in 0..256 {
        let [wide, narrow] = [row(0, 2, 0), row(0, 3, 0)].map(|row| hot.rows[row << 8 | opcode]);
        hot.rows[REX_ROW + opcode] = if wide == narrow { wide } else { 0 };
    }
    for (kind, known) in hot.kinds.iter_mut().zip(&kinds.all) {
        *kind = *known;
    }
    debug_assert!(kinds.all.len() <= KINDS);
    hot
}

/// Every prefix, map, REX and opcode of the rows.
fn opcodes() -> impl Iterator<Item = (usize, usize, usize, u8)> {
    (0..24usize).flat_map(|at| (0..=255).map(move |opcode| (at / 6, at / 3 % 2, at % 3, opcode)))
}

/// The kinds so far.
struct Kinds {
    all: Vec<u32>,
    known: HashMap<Vec<u32>, usize>,
    /// The entries of rows so far, by those of the table: few differ.
    entries: HashMap<u32, u32>,
}

impl Kinds {
    /// The entry of a row for an entry of the table.
    fn entry(&mut self, hot: &Hot, entry: u32) -> u32 {
        if let Some(known) = self.entries.get(&entry) {
            return *known;
        }
        let made = self.make(hot, entry);
        self.entries.insert(entry, made);
        made
    }

    /// The same, where it is met first; 0 where the 16 by ModRM differ in length.
    fn make(&mut self, hot: &Hot, entry: u32) -> u32 {
        let fields: [u32; 16] = std::array::from_fn(|selector| by_fields(entry, selector));
        let decided = || fields.iter().filter(|field| **field & SLOW == 0);
        let Some(first) = decided().next() else { return 0 };
        let shape = first & (BYTES | HAS_MODRM);
        if decided().any(|field| field & (BYTES | HAS_MODRM) != shape) {
            return 0;
        }
        // Whether memory is written is in the row where it is so for all, and else in the kinds for memory.
        let to_memory = if decided().all(|field| field & TO_MEMORY != 0) { TO_MEMORY } else { 0 };
        let mut kinds: Vec<u32> = fields.iter().map(|field| hot.kind_of(*field).0).collect();
        if to_memory == 0 {
            for (kind, field) in kinds.iter_mut().zip(&fields).take(8) {
                *kind |= if field & (TO_MEMORY | SLOW) == TO_MEMORY { Kind::ACTS } else { 0 };
            }
        }
        let mask = if kinds.iter().all(|kind| Some(kind) == kinds.first()) { 0 } else { 0xf000 };
        kinds.truncate(if mask == 0 { 1 } else { 16 });
        let number = *self.known.entry(kinds).or_insert_with_key(|kinds| {
            self.all.extend(kinds);
            self.all.len() - kinds.len()
        });
        (number as u32) << CODE_SHIFT | mask | shape | to_memory
    }
}

//! Compares the decoder by table with iced-x86: on made-up instructions, on real code from every byte, and as whole sweeps.
//!
//! In: bytes. Out: how many instructions the table decides, or the first on which the two disagree. What the table leaves
//! to iced-x86 is not compared: there is nothing to be wrong.

use super::quick::{HOT, Hot, Kind, WINDOW, quick, truth};
use super::sweep::{sweep, sweep_with};
use crate::address::{CodeOffset, Svma};
use crate::insn::sweep::{Interest, Loops, Sweep, Wants};
use crate::insn::{Class, ClassSet};

/// An instruction of which the table and iced-x86 say different things.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disagreement {
    /// The bytes from its start.
    pub bytes: [u8; WINDOW],
}

/// Whether the table decides the instruction; an error if it decides wrongly.
fn compare(bytes: [u8; WINDOW], hot: &Hot) -> Result<u64, Disagreement> {
    let Some(found) = quick(&bytes, hot).filter(|found| !found.kind.any(Kind::SLOW)) else { return Ok(0) };
    let Some((_, truth)) = truth(&bytes) else { return Err(Disagreement { bytes }) };
    let goes = found.kind.any(Kind::JUMP | Kind::BRANCH | Kind::CALL);
    let target = goes.then(|| found.displacement(&bytes));
    let place = found.is_relative().then(|| found.place(&bytes));
    let said = (found.length, found.acts(), target, place);
    // What the entry and ModRM say of both is in `said`.
    let rest = |kind: Kind| kind.0 & !(Kind::ACTS | Kind::SHORT);
    let agrees = said == (truth.length, truth.acts, truth.target, truth.place)
        && rest(found.kind) == rest(Kind::of(truth.facts));
    if agrees { Ok(1) } else { Err(Disagreement { bytes }) }
}

/// Compares at every offset of some bytes, where instructions begin and where they do not.
#[doc(hidden)]
pub fn check_everywhere(bytes: &[u8]) -> Result<u64, Disagreement> {
    let hot = &HOT;
    let windows = bytes.windows(WINDOW).filter_map(|window| window.first_chunk());
    windows.map(|window| compare(*window, hot)).sum()
}

/// Compares on every `step`th of the made-up instructions, from number `start`. Without steps they are some sixteen
/// thousand million: all opcodes of all maps, after none, one and two of the legacy prefixes and REX, after VEX with all its
/// fields and after a sample of the fields of EVEX, with all ModRM bytes, several SIB bytes, and numbers that look like
/// prefixes. Source: SDM volume 2, chapter 2.
#[doc(hidden)]
pub fn check_opcodes(start: u64, step: u64) -> Result<u64, Disagreement> {
    let hot = &HOT;
    let mut total = 0;
    for family in FAMILIES {
        let mut at = start;
        while at < family.count {
            total += compare((family.make)(at), hot)?;
            at += step;
        }
    }
    Ok(total)
}

/// Instructions that are made up in the same manner, by number.
struct Family {
    count: u64,
    make: fn(u64) -> [u8; WINDOW],
}

const FAMILIES: [Family; 5] = [
    Family { count: STRINGS * 18 * 4 * 256 * 256 * 8, make: legacy },
    Family { count: 256 * 256 * 256 * 8, make: short_vex },
    Family { count: 256 * 256 * 256 * 256, make: vex },
    Family { count: 64 * 256 * 256 * 8 * 8 * 8, make: evex },
    Family { count: 1 << 28, make: mixed },
];

const PREFIXES: [u8; 11] = [0x66, 0xf3, 0xf2, 0x2e, 0x3e, 0x26, 0x36, 0x64, 0x65, 0x67, 0xf0];
/// None, each prefix, and each pair, the second of which is repeated to the length of padding.
const STRINGS: u64 = 1 + 11 + 121 * 2;

/// Takes the digits of a number, the lowest first.
struct Digits(u64);

impl Digits {
    fn take(&mut self, base: u64) -> u64 {
        let digit = self.0 % base;
        self.0 /= base;
        digit
    }

    fn byte(&mut self) -> u8 {
        self.take(256) as u8
    }
}

/// Bytes in the order written; what does not fit is left out.
struct Bytes {
    bytes: [u8; WINDOW],
    length: usize,
}

impl Bytes {
    fn new() -> Bytes {
        Bytes { bytes: [0; WINDOW], length: 0 }
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    /// Adds what follows ModRM: an SIB byte and numbers.
    fn end(mut self, variant: u64) -> [u8; WINDOW] {
        const SIBS: [u8; 4] = [0x25, 0x04, 0xe5, 0x58];
        let looks_like_prefixes = [0xf2, 0x66, 0x0f, 0x48, 0xc4, 0xe1, 0x67, 0xf0, 0x62, 0x80];
        self.push(SIBS.get(variant as usize & 3).copied().unwrap_or_default());
        for number in looks_like_prefixes {
            self.push(if variant & 4 == 0 { number } else { 0x11 });
        }
        while self.length < WINDOW {
            self.push(0x90);
        }
        self.bytes
    }
}

fn prefix(number: u64) -> u8 {
    PREFIXES.get(number as usize % PREFIXES.len()).copied().unwrap_or_default()
}

/// Legacy prefixes, REX and its faults, and all opcodes.
fn legacy(number: u64) -> [u8; WINDOW] {
    let mut digits = Digits(number);
    let (variant, modrm, opcode, map) = (digits.take(8), digits.byte(), digits.byte(), digits.take(4));
    let (rex, string) = (digits.take(18), digits.take(STRINGS));
    let mut bytes = Bytes::new();
    match string.checked_sub(12) {
        None if string == 0 => {}
        None => bytes.push(prefix(string - 1)),
        Some(pair) => {
            bytes.push(prefix(pair / 2 / 11));
            let times = if pair % 2 == 0 { 1 } else { 2 + number % 7 };
            (0..times).for_each(|_| bytes.push(prefix(pair / 2 % 11)));
        }
    }
    match rex {
        0 => {}
        // A REX prefix that does not come last counts for nothing.
        17 => [0x48, prefix(number % 11)].into_iter().for_each(|byte| bytes.push(byte)),
        _ => bytes.push(0x3f + rex as u8),
    }
    let escapes: &[u8] = match map {
        0 => &[],
        1 => &[0x0f],
        2 => &[0x0f, 0x38],
        _ => &[0x0f, 0x3a],
    };
    escapes.iter().chain(&[opcode, modrm]).for_each(|byte| bytes.push(*byte));
    bytes.end(variant)
}

fn short_vex(number: u64) -> [u8; WINDOW] {
    let mut digits = Digits(number);
    let variant = digits.take(8);
    let [modrm, opcode, second] = [digits.byte(), digits.byte(), digits.byte()];
    let mut bytes = Bytes::new();
    [0xc5, second, opcode, modrm].into_iter().for_each(|byte| bytes.push(byte));
    bytes.end(variant)
}

fn vex(number: u64) -> [u8; WINDOW] {
    let mut digits = Digits(number);
    let [modrm, opcode, third, second] = [digits.byte(), digits.byte(), digits.byte(), digits.byte()];
    let mut bytes = Bytes::new();
    [0xc4, second, third, opcode, modrm].into_iter().for_each(|byte| bytes.push(byte));
    bytes.end(scattered(number) % 8)
}

/// All maps, mandatory prefixes, W, L'L, b and opcodes; the other fields at random, twice in three near what is common.
fn evex(number: u64) -> [u8; WINDOW] {
    let mut digits = Digits(number);
    let (sample, modrm, opcode) = (digits.take(64), digits.byte(), digits.byte());
    let (last, wide_and_prefix, map) = (digits.take(8) as u8, digits.take(8) as u8, digits.take(8) as u8);
    let random = scattered(number).to_le_bytes();
    let [mut first, mut second, mut third, variant, rare, ..] = random;
    if sample % 3 != 0 {
        (first, second, third) = (first | 0xf0, second | 0x78, third & 0x80 | 8);
    }
    if rare % 16 != 0 {
        (first, second) = (first & !8, second | 4);
    }
    let first = first & 0xf8 | map;
    let second = second & 0x7c | wide_and_prefix >> 2 << 7 | wide_and_prefix & 3;
    let third = third & 0x8f | last << 4;
    let mut bytes = Bytes::new();
    [0x62, first, second, third, opcode, modrm].into_iter().for_each(|byte| bytes.push(byte));
    bytes.end(u64::from(variant))
}

/// Prefixes before VEX, EVEX and XOP, and bytes at random.
fn mixed(number: u64) -> [u8; WINDOW] {
    let random = scattered(number).to_le_bytes();
    let more = scattered(!number).to_le_bytes();
    let mut bytes = Bytes::new();
    let [kind, first, second, ..] = random;
    if kind & 1 != 0 {
        bytes.push(prefix(u64::from(first)));
    }
    if kind & 2 != 0 {
        bytes.push(0x40 | second & 15);
    }
    match kind >> 2 & 7 {
        0 => bytes.push(0xc4),
        1 => bytes.push(0xc5),
        2 => bytes.push(0x62),
        3 => bytes.push(0x8f),
        4 => bytes.push(0x0f),
        _ => {}
    }
    more.into_iter().chain(random).for_each(|byte| bytes.push(byte));
    bytes.end(number)
}

/// A number in which every bit depends on all of the given one (the finaliser of SplitMix64).
fn scattered(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Sweeps some code by table and by iced-x86 alone, in units and for wants that `choice` selects, and says whether all
/// that is found is the same.
#[doc(hidden)]
pub fn check_sweep(code: &[u8], choice: u64) -> bool {
    let classes = match choice & 7 {
        0 | 1 => ClassSet::EMPTY,
        2 => ClassSet::of(&[Class::SpinHint, Class::LockedAtomic, Class::FeatureQuery]),
        3 => ClassSet::of(&[Class::Load, Class::Trap]),
        _ => ClassSet(choice >> 40 & !7),
    };
    let loops = [Loops::None, Loops::Quiet, Loops::All, Loops::All];
    let loops = loops.get(choice as usize >> 3 & 3).copied().unwrap_or_default();
    let wants = Wants { classes, loops, computing: choice >> 5 & 1 != 0 };
    let at = if choice >> 6 & 1 != 0 { 0 } else { 0x1000 };
    let far = choice >> 7 & 1 != 0;
    let code_length = if far { u32::MAX } else { at + code.len() as u32 };
    let [mut one, mut other] = [Sweep::default(), Sweep::default()];
    let (mut start, mut random) = (0, choice);
    while let Some(rest) = code.get(start..).filter(|rest| !rest.is_empty()) {
        random = scattered(random);
        let limit = (random as usize % if random >> 32 & 3 == 0 { 12 } else { 400 } + 1).min(rest.len());
        let length = if random >> 34 & 3 == 0 { limit / 2 } else { limit };
        let interest = Interest {
            wants,
            code_base: Svma(0),
            code_length: CodeOffset(code_length),
            conditional_exits: random >> 36 & 1 == 0,
        };
        let from = CodeOffset(at + start as u32);
        let end = sweep(rest, length, limit, from, &interest, &mut one);
        if sweep_with(rest, &[], length, limit, from, &interest, &mut other) != end {
            return false;
        }
        start = ((end.0 - at) as usize).max(start + 1);
    }
    one == other
}

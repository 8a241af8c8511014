//! Makes the table from iced-x86: every opcode in every context, tried with many operands.
//!
//! In: nothing but iced-x86 and [`CodeFacts`]. Out: the text of `table.rs`. An opcode gets one entry if all that was
//! tried agrees with it, 16 entries if it agrees for each mode and register field of ModRM, and otherwise goes to
//! iced-x86.

use std::collections::HashMap;
use std::fmt::Write;

use iced_x86::Code;

use super::super::features::{CodeFacts, TABLE};
use super::layout::{
    BY_MODRM, BYTES, CODE_SHIFT, Context, HAS_MODRM, INDEX, LOW_REGISTER, MODRM, NEAR, NO_BROADCAST,
    NO_SOURCE, NO_ZEROING, SHORT, SLOW, TO_MEMORY, selector,
};
use super::truth::{Truth, truth};

/// The 16 entries that ModRM selects from.
type Group = [u32; 16];

/// The bytes before the opcode, and what they say that an entry may exclude.
struct Head {
    bytes: Vec<u8>,
    exceeds: u32,
}

/// The bytes of `table.rs`: rows of entries by context, in runs, and the entries by ModRM.
#[doc(hidden)]
pub fn quick_table() -> String {
    let representatives = representatives();
    let mut groups: Vec<Group> = Vec::new();
    let mut rows: Vec<Vec<u32>> = Vec::new();
    let mut row_of = Vec::new();
    for context in Context::all() {
        let heads = heads(context);
        let row: Vec<u32> =
            (0..=255).map(|opcode| entry(context, &heads, opcode, &representatives, &mut groups)).collect();
        let number = rows.iter().position(|known| *known == row).unwrap_or_else(|| {
            rows.push(row);
            rows.len() - 1
        });
        row_of.push(number as u32);
    }
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for entry in rows.iter().flatten() {
        match runs.last_mut() {
            Some((count, last)) if last == entry => *count += 1,
            _ => runs.push((1, *entry)),
        }
    }
    text(&row_of, rows.len(), &runs, &groups)
}

fn text(row_of: &[u32], rows: usize, runs: &[(u32, u32)], groups: &[Group]) -> String {
    let mut text = String::from(
        "//! Written by `cargo xtask x86-tables` from what iced-x86 decodes: see `generate`.\n// tidy: table\n\n",
    );
    let mut list = |doc: &str, name: &str, kind: &str, items: &[String]| {
        let _ = write!(text, "/// {doc}\n#[rustfmt::skip]\npub(super) static {name}: {kind} = [");
        let mut column = usize::MAX;
        for item in items {
            if column.saturating_add(item.len() + 2) > 118 {
                text.push_str("\n    ");
                column = 4;
            }
            let _ = write!(text, "{item}, ");
            column += item.len() + 2;
        }
        text.push_str("\n];\n\n");
    };
    let items: Vec<String> = row_of.iter().map(u32::to_string).collect();
    list("The row of each context.", "ROW_OF", &format!("[u8; {}]", items.len()), &items);
    let items: Vec<String> = runs.iter().map(|(count, entry)| format!("({count}, {entry:#x})")).collect();
    list(
        "The entries of all rows, each with how often it follows.",
        "RUNS",
        &format!("[(u16, u32); {}]", items.len()),
        &items,
    );
    let items: Vec<String> = groups.iter().flatten().map(|entry| format!("{entry:#x}")).collect();
    list(
        "Entries by the mode and register field of ModRM, 16 after 16.",
        "BY_FIELDS",
        &format!("[u32; {}]", items.len()),
        &items,
    );
    let _ = write!(text, "/// How many rows there are.\npub(super) const ROWS: usize = {rows};\n");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

/// The first code with the same facts, for each code.
fn representatives() -> Vec<u16> {
    let mut first: HashMap<u64, u16> = HashMap::new();
    Code::values().map(|code| *first.entry(TABLE.facts(code).number()).or_insert(code as u16)).collect()
}

/// What the bytes before the opcode can be.
fn heads(context: Context) -> Vec<Head> {
    match context {
        Context::Legacy { map, prefix, rex } => {
            let escape: &[u8] = match map {
                0 => &[],
                1 => &[0x0f],
                2 => &[0x0f, 0x38],
                _ => &[0x0f, 0x3a],
            };
            let prefix: &[u8] = match prefix {
                0 => &[],
                1 => &[0x66],
                2 => &[0xf3],
                _ => &[0xf2],
            };
            let rexes: Vec<Vec<u8>> = match rex {
                0 => vec![vec![]],
                _ => (0..8).map(|bits| vec![0x38 + 8 * rex as u8 + bits]).collect(),
            };
            let head = |rex: Vec<u8>| Head { bytes: [prefix, &rex, escape].concat(), exceeds: 0 };
            rexes.into_iter().map(head).collect()
        }
        Context::Vex { map, prefix, wide, length } => {
            let last = (length << 2 | prefix) as u8;
            let mut heads = Vec::new();
            for bits in 0..128u8 {
                let (extension, source) = (bits >> 4, bits & 15);
                let exceeds = limit(NO_SOURCE, source != 15) | limit(LOW_REGISTER, extension & 4 == 0);
                let second = (wide as u8) << 7 | source << 3 | last;
                heads.push(Head { bytes: vec![0xc4, extension << 5 | map as u8, second], exceeds });
                if map == 1 && wide == 0 && extension & 3 == 3 {
                    heads.push(Head { bytes: vec![0xc5, extension >> 2 << 7 | source << 3 | last], exceeds });
                }
            }
            heads
        }
        Context::Evex { map, prefix, wide, length } => {
            // Each field alone, and a sample of their combinations.
            let alone = (0..16).map(|bits| bits << 12 ^ 0xf000);
            let alone = alone.chain((0..32).map(|bits| bits << 5 ^ 0x1e0 | 0xf000)).chain(0..32);
            let mixed = (0..160u32).map(|at| at.wrapping_mul(0x9e37_79b1) >> 15);
            alone.chain(mixed).map(|bits| evex(bits, map, prefix, wide, length)).collect()
        }
    }
}

/// An EVEX prefix. From bit 0: aaa, b, z, then V'vvvv inverted, R' and RXB inverted.
fn evex(bits: u32, map: usize, prefix: usize, wide: usize, length: usize) -> Head {
    let [mask, broadcast, zeroing] = [bits & 7, bits >> 3 & 1, bits >> 4 & 1];
    let (source, extension) = (bits >> 5 & 31 ^ 31, bits >> 10 & 15 ^ 15);
    let zeroing = zeroing & u32::from(mask != 0);
    let first = (extension & 7) << 5 | (extension >> 3) << 4 | map as u32;
    let second = (wide as u32) << 7 | (source & 15) << 3 | 4 | prefix as u32;
    let third = zeroing << 7 | (length as u32) << 5 | broadcast << 4 | (source >> 4) << 3 | mask;
    let exceeds = limit(NO_SOURCE, source != 31)
        | limit(LOW_REGISTER, extension & 0b1100 != 0b1100)
        | limit(NO_ZEROING, zeroing != 0)
        | limit(NO_BROADCAST, broadcast != 0);
    Head { bytes: vec![0x62, first as u8, second as u8, third as u8], exceeds }
}

fn limit(limit: u32, exceeds: bool) -> u32 {
    if exceeds { limit } else { 0 }
}

/// The entry of one opcode.
fn entry(
    context: Context,
    heads: &[Head],
    opcode: u8,
    representatives: &[u16],
    groups: &mut Vec<Group>,
) -> u32 {
    if reads_on(context, opcode) {
        return SLOW;
    }
    let limits = limits(heads, opcode);
    let Some(limits) = limits else { return SLOW };
    let heads: Vec<&Head> = heads.iter().filter(|head| head.exceeds & limits == 0).collect();
    let mut agreements = [Agreement::Open; 16];
    let is_legacy = matches!(context, Context::Legacy { .. });
    for head in heads {
        for (operands, modrm) in operands(is_legacy) {
            if let Some(agreement) = agreements.get_mut(selector(modrm)) {
                agreement.add(head, opcode, &operands, modrm);
            }
        }
    }
    let group: Group = entries(agreements, representatives)
        .map(|entry| if entry & SLOW == 0 { entry | limits } else { entry });
    match group {
        [first, ..] if group.iter().all(|entry| *entry == first) => first,
        _ => {
            let number = groups.iter().position(|known| *known == group).unwrap_or_else(|| {
                groups.push(group);
                groups.len() - 1
            });
            // What is known before the fields are.
            let common = group.iter().fold(u32::MAX, |common, entry| common & entry);
            (number as u32) << CODE_SHIFT | BY_MODRM | limits | common & HAS_MODRM
        }
    }
}

/// Prefixes, escapes, opcodes whose last byte decides, and moves of an absolute address.
fn reads_on(context: Context, opcode: u8) -> bool {
    let Context::Legacy { map, .. } = context else { return false };
    match map {
        0 => matches!(
            opcode,
            0x0f | 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x62 | 0x64..=0x67 | 0xa0..=0xa3 | 0xc4 | 0xc5 | 0x8f | 0xf0 | 0xf2 | 0xf3
        ),
        1 => matches!(opcode, 0x0f | 0x38 | 0x3a),
        _ => false,
    }
}

/// What VEX and EVEX prefixes must not say for an opcode to be decided; `None` where nothing is an instruction.
fn limits(heads: &[Head], opcode: u8) -> Option<u32> {
    let all: Vec<u8> = (0..=255).filter(|modrm| matches!(modrm & 7, 1 | 5)).collect();
    let tried = |head: &Head| -> Vec<Option<Truth>> {
        all.iter().map(|modrm| probe(head, opcode, &[*modrm; 12]).map(|(_, truth)| truth)).collect()
    };
    let plain = heads.iter().find(|head| head.exceeds == 0)?;
    let expected = tried(plain);
    if expected.iter().all(Option::is_none) {
        return None;
    }
    let exceeded = |limit: u32| {
        let mut alone = heads.iter().filter(|head| head.exceeds == limit);
        alone.any(|head| tried(head) != expected)
    };
    Some(
        [NO_SOURCE, LOW_REGISTER, NO_ZEROING, NO_BROADCAST]
            .into_iter()
            .filter(|limit| exceeded(*limit))
            .sum(),
    )
}

fn probe(head: &Head, opcode: u8, operands: &[u8]) -> Option<(u16, Truth)> {
    truth(&[head.bytes.as_slice(), &[opcode], operands].concat())
}

/// What to try after an opcode, and its ModRM byte.
fn operands(is_legacy: bool) -> impl Iterator<Item = (Vec<u8>, u8)> {
    const SIBS: [u8; 5] = [0x24, 0x05, 0x25, 0xa0, 0xed];
    const REST: [[u8; 10]; 2] = [[0x11; 10], [0xf2, 0x66, 0x0f, 0xc4, 0xf0, 0x82, 0x93, 0xa4, 0xb5, 0xc6]];
    let all = (0..=255u8).filter(move |modrm| is_legacy || *modrm >= 0xc0 || matches!(modrm & 7, 1 | 4 | 5));
    all.flat_map(|modrm| {
        let has_sib = modrm < 0xc0 && modrm & 7 == 4;
        let sibs = if has_sib { &SIBS[..] } else { &SIBS[..1] };
        sibs.iter()
            .flat_map(move |sib| REST.iter().map(move |rest| ([&[modrm, *sib], &rest[..]].concat(), modrm)))
    })
}

/// Whether all that was tried of one mode and register field is of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agreement {
    /// Nothing was tried.
    Open,
    /// As an entry says that reads a ModRM byte, and as one says that reads none.
    Of { code: u16, acts: bool, with_modrm: Option<u32>, without: Option<u32> },
    /// It is not.
    Broken,
}

impl Agreement {
    fn add(&mut self, head: &Head, opcode: u8, operands: &[u8], modrm: u8) {
        if *self == Agreement::Broken {
            return;
        }
        let Some((code, truth)) = probe(head, opcode, operands) else {
            *self = Agreement::Broken;
            return;
        };
        let [with_modrm, without] = shapes(&truth, head.bytes.len() + 1, operands, modrm);
        match *self {
            Agreement::Of { code: first, acts, with_modrm: old_with, without: old_without }
                if facts(first) == truth.facts && acts == truth.acts =>
            {
                let [with_modrm, without] = [(old_with, with_modrm), (old_without, without)]
                    .map(|(old, new)| old.filter(|_| old == new));
                *self = Agreement::Of { code: first, acts, with_modrm, without };
            }
            Agreement::Open => *self = Agreement::Of { code, acts: truth.acts, with_modrm, without },
            _ => *self = Agreement::Broken,
        }
    }
}

/// The layouts that agree with an instruction: with a ModRM byte, and without.
fn shapes(truth: &Truth, opcode_end: usize, operands: &[u8], modrm: u8) -> [Option<u32>; 2] {
    let rest = (truth.length - opcode_end) as u32;
    let bits = u32::from(MODRM.get(usize::from(modrm)).copied().unwrap_or_default());
    let no_base = bits & INDEX != 0 && operands.get(1).is_some_and(|sib| sib & 7 == 5);
    let extra = (bits & 7) + if no_base { 4 } else { 0 };
    let place = (modrm & 0xc7 == 5).then(|| number(operands, 1));
    let with_modrm =
        (rest > extra && truth.target.is_none() && truth.place == place).then(|| (rest - extra) | HAS_MODRM);
    let is_action = truth.acts && !truth.facts.any(CodeFacts::ACTS);
    let without = (truth.place.is_none() && !is_action).then_some(rest);
    let without = match truth.target {
        None => without,
        Some(to) if rest == 1 && to == operands.first().map_or(0, |byte| i64::from(*byte as i8)) => {
            without.map(|rest| rest | SHORT)
        }
        Some(to) if rest == 4 && to == number(operands, 0) => without.map(|rest| rest | NEAR),
        Some(_) => None,
    };
    [with_modrm, without]
}

/// The 32-bit number at a place of the operands.
fn number(operands: &[u8], at: usize) -> i64 {
    let bytes = operands.get(at..).and_then(|rest| rest.first_chunk());
    i64::from(bytes.map_or(0, |bytes| i32::from_le_bytes(*bytes)))
}

fn facts(code: u16) -> CodeFacts {
    Code::try_from(usize::from(code)).map(|code| TABLE.facts(code)).unwrap_or_default()
}

/// The entries of the 16 modes and register fields.
fn entries(agreements: [Agreement; 16], representatives: &[u16]) -> Group {
    let code_bits = |code: u16| {
        u32::from(representatives.get(usize::from(code)).copied().unwrap_or_default()) << CODE_SHIFT
    };
    if let [Agreement::Of { code, acts, without: Some(without), .. }, ..] = agreements
        && agreements.iter().all(|agreement| {
            matches!(agreement, Agreement::Of { code: other, acts: also, without: Some(shape), .. }
                if facts(*other) == facts(code) && *also == acts && *shape == without)
        })
    {
        return [code_bits(code) | without; 16];
    }
    let mut group = [SLOW; 16];
    for (at, entry) in group.iter_mut().enumerate() {
        let Some(Agreement::Of { code, acts, with_modrm: Some(shape), .. }) = agreements.get(at) else {
            continue;
        };
        if shape & BYTES == 0 || facts(*code).any(CodeFacts::INVALID) {
            continue;
        }
        let facts = facts(*code);
        // What a register operand does not show is as for memory, so that one entry does for both.
        let acts = match agreements.get(at & 7) {
            Some(Agreement::Of { acts, .. }) => *acts,
            _ => *acts,
        };
        let to_memory = acts && facts.any(CodeFacts::MAY_STORE) && !facts.any(CodeFacts::ACTS);
        *entry = code_bits(*code) | shape | if to_memory { TO_MEMORY } else { 0 };
    }
    group
}

//! Cyclic redundancy checks by table: where the tables of CRC-32 and CRC-32C are, which code computes with them, and
//! whether the file has instructions that would do.
//!
//! In: data, code and what links them. Out: [`Table`] and [`User`]. Both polynomials are those that hardware knows,
//! least significant bit first: CRC-32 of IEEE 802.3 (zlib, PNG, Ethernet) and CRC-32C of Castagnoli (iSCSI, SCTP, RFC
//! 3720).

use crate::address::{Extent, Svma};
use crate::function::block::Graph;
use crate::function::reach::file::references::search_once;
use crate::function::{Function, Program};
use crate::image::linkage::Data;
use crate::image::{Image, Linkage};
use crate::insn::{self, FeatureGroup, Insn, Operation, Reg, RegSet};
use deburr_cpu::{Arch, Feature, FeatureSet};
use std::collections::BTreeMap;

/// Entries of a table, one for each byte.
const ENTRIES: usize = 256;
/// Maximum number of tables in a row, one for each byte that is taken at a time.
const SLICES: usize = 16;
/// What multiplies polynomials, by which any CRC is computed.
const MULTIPLIES: FeatureSet = FeatureSet::of(&[
    Feature::PCLMULQDQ,
    Feature::VPCLMULQDQ,
    Feature::FEAT_PMULL,
    Feature::FEAT_SVE_PMULL128,
]);

/// What is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Polynomial {
    /// CRC-32.
    Ieee,
    /// CRC-32C.
    Castagnoli,
}

impl Polynomial {
    /// Both.
    pub const ALL: [Polynomial; 2] = [Polynomial::Ieee, Polynomial::Castagnoli];

    /// `CRC-32` or `CRC-32C`.
    pub const fn name(self) -> &'static str {
        match self {
            Polynomial::Ieee => "CRC-32",
            Polynomial::Castagnoli => "CRC-32C",
        }
    }

    /// Its coefficients, the highest power in the lowest bit.
    const fn reversed(self) -> u32 {
        match self {
            Polynomial::Ieee => 0xedb8_8320,
            Polynomial::Castagnoli => 0x82f6_3b78,
        }
    }

    /// The remainder of one byte.
    fn entry(self, byte: u8) -> u32 {
        let step = |rest: u32, _| if rest & 1 == 0 { rest >> 1 } else { rest >> 1 ^ self.reversed() };
        (0..8).fold(byte.into(), step)
    }

    /// The feature of an architecture that computes it: an instruction for it, or else a multiplication of polynomials.
    pub const fn feature(self, arch: Arch) -> Feature {
        match (arch, self) {
            (Arch::X86_64, Polynomial::Castagnoli) => Feature::SSE4_2,
            (Arch::X86_64, Polynomial::Ieee) => Feature::PCLMULQDQ,
            (Arch::Aarch64, _) => Feature::FEAT_CRC32,
        }
    }
}

/// A table in data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Of what.
    pub polynomial: Polynomial,
    /// Where it is, with those that follow it for further bytes.
    pub extent: Extent,
    /// Bytes that can be taken at a time.
    pub slices: usize,
}

/// The tables in some data. Any entry except the first shows by its highest byte which it is, since those of all
/// entries differ. So a few bytes are examined as often as the shortest table is long.
pub fn tables(data: &[Data<'_>]) -> Vec<Table> {
    /// Bytes that hold an entry other than the first, wherever entries begin and whichever size they have.
    const PROBE: usize = 20;
    let kinds = Polynomial::ALL.map(Remainders::of);
    let mut found = Vec::new();
    for run in data {
        for from in (0..run.bytes.len()).step_by(ENTRIES * 4 - PROBE) {
            let rest = run.bytes.get(from..).unwrap_or_default();
            let probe = rest.get(..PROBE).unwrap_or(rest);
            for (at, word) in (from..).zip(probe.windows(4).filter_map(<[u8]>::first_chunk)) {
                let word = u32::from_le_bytes(*word);
                for kind in kinds.iter().filter(|kind| kind.has(word)) {
                    found.extend(kind.table_around(run, at, word));
                }
            }
        }
    }
    found.sort_by_key(|table: &Table| (table.extent, table.polynomial));
    found.dedup();
    found
}

/// The remainders of one polynomial.
struct Remainders {
    polynomial: Polynomial,
    /// By byte.
    all: [u32; ENTRIES],
    /// Those of other bytes than zero, by their highest byte, which no two share.
    by_highest: [u32; ENTRIES],
}

impl Remainders {
    fn of(polynomial: Polynomial) -> Remainders {
        let mut remainders = Remainders { polynomial, all: [0; ENTRIES], by_highest: [0; ENTRIES] };
        for (entry, byte) in remainders.all.iter_mut().zip(0..=u8::MAX) {
            *entry = polynomial.entry(byte);
            if let Some(slot) = remainders.by_highest.get_mut((*entry >> 24) as usize) {
                *slot = *entry;
            }
        }
        remainders
    }

    /// Whether 4 bytes are an entry, other than zero.
    fn has(&self, word: u32) -> bool {
        word != 0 && self.by_highest.get((word >> 24) as usize) == Some(&word)
    }

    /// The table in some data that has an entry at a place.
    fn table_around(&self, run: &Data<'_>, at: usize, entry: u32) -> Option<Table> {
        let place = self.all.iter().position(|&remainder| remainder == entry)?;
        // A `long` of older sources takes eight bytes.
        [4usize, 8].into_iter().find_map(|size| {
            let start = at.checked_sub(place * size)?;
            let slices = slices(run.bytes.get(start..)?, size, &self.all)?;
            let svma = run.extent.start.offset(i64::try_from(start).ok()?);
            let length = slices * ENTRIES * size;
            Some(Table { polynomial: self.polynomial, extent: Extent::sized(svma, length as u64), slices })
        })
    }
}

/// How many tables bytes begin with, of entries that are so many bytes long. Each except the first has the remainders
/// of the one before with eight zero bits after them.
fn slices(bytes: &[u8], size: usize, remainders: &[u32]) -> Option<usize> {
    let entry = |index: usize| {
        let bytes = bytes.get(index * size..)?.get(..size)?;
        let (low, high) = bytes.split_first_chunk::<4>()?;
        high.iter().all(|&byte| byte == 0).then(|| u32::from_le_bytes(*low))
    };
    let mut expected = remainders.to_vec();
    let mut count = 0;
    while count < SLICES
        && (0..ENTRIES).all(|byte| entry(count * ENTRIES + byte) == expected.get(byte).copied())
    {
        count += 1;
        for rest in &mut expected {
            let low = remainders.get((*rest & 0xff) as usize).copied().unwrap_or(0);
            *rest = *rest >> 8 ^ low;
        }
    }
    (count > 0).then_some(count)
}

/// A function that computes with a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The first instruction that refers to the table.
    pub at: Insn,
    /// The table.
    pub table: Table,
    /// The instructions that look entries up, by address: those whose address is made elsewhere, once each.
    pub lookups: Vec<Svma>,
}

/// The functions that compute with some tables, one for each polynomial of each.
pub fn users(image: &Image<'_>, linkage: &Linkage<'_>, program: &Program, tables: &[Table]) -> Vec<User> {
    // Code refers to a table, or to a cell that holds its address.
    let table_at = |svma: Svma| tables.iter().find(|table| table.extent.contains(svma));
    let cells = linkage.cells.iter().filter(|cell| table_at(cell.to).is_some());
    let mut ranges: Vec<Extent> = tables.iter().map(|table| table.extent).collect();
    ranges.extend(cells.map(|cell| Extent::sized(cell.at, 8)));
    ranges.sort_unstable();
    let mut by_function: BTreeMap<_, (&Function, Vec<(Svma, &Table)>)> = BTreeMap::new();
    for reference in search_once(image, linkage, program, &ranges) {
        let to = linkage.cell(reference.to).unwrap_or(reference.to);
        let function = image.code_offset(reference.from).and_then(|at| program.function_at(at));
        let (Some(function), Some(table)) = (function, table_at(to)) else { continue };
        let key = (function.start, table.polynomial);
        by_function.entry(key).or_insert((function, Vec::new())).1.push((reference.from, table));
    }
    let users = by_function.into_values().filter_map(|(function, mut references)| {
        references.sort_unstable_by_key(|&(from, _)| from);
        let graph = Graph::of(image, program, function, references.first()?.0);
        let insns: Vec<&Insn> = graph.blocks.iter().flat_map(|block| &block.insns).collect();
        let mixes = insns.iter().any(|insn| shifts_a_byte_out(image, insn));
        let mut found: Option<User> = None;
        for (from, table) in references.into_iter().filter(|_| mixes) {
            let first = insns.partition_point(|insn| insn.next() <= from);
            let Some((rest, at)) = insns.get(first..).and_then(|rest| Some((rest, **rest.first()?))) else {
                continue;
            };
            let Some(lookup) = lookup(rest) else { continue };
            let user = found.get_or_insert(User { at, table: *table, lookups: Vec::new() });
            user.lookups.push(lookup);
        }
        found
    });
    users.collect()
}

/// Whether an instruction takes the lowest byte away from what remains, as all do whose lowest bit is the highest
/// power. The same table is used with shifts to the left, too: a sum of its own that no instruction computes.
fn shifts_a_byte_out(image: &Image<'_>, insn: &Insn) -> bool {
    match (insn.operation, image.arch) {
        (Operation::ShiftRight, _) => insn.imm == Some(8),
        (Operation::Xor, Arch::Aarch64) => {
            // eor w0, w0, w0, lsr #8
            image.word_at(insn.svma).is_some_and(|word| word & 0x7fe0_fc00 == 0x4a40_2000)
        }
        _ => false,
    }
}

/// The first instruction that looks an entry up at the address that the first of all makes or loads, or accesses. What
/// hands out the table has none, nor what counts from it to other data.
fn lookup(insns: &[&Insn]) -> Option<Svma> {
    /// Bytes of an entry that are read at least.
    const LEAST: u16 = 4;
    let is_lookup = |insn: &Insn| insn.memory.filter(|memory| memory.read && memory.size >= LEAST);
    let (first, rest) = insns.split_first()?;
    // mov eax, [rax * 4 + table]
    if is_lookup(first).is_some_and(|memory| memory.index.is_some()) {
        return Some(first.svma);
    }
    let mut held = first.dst.map_or(RegSet::EMPTY, |dst| RegSet::EMPTY.with(dst));
    for insn in rest {
        if held == RegSet::EMPTY {
            break;
        }
        let is_held = |reg: Option<Reg>| reg.is_some_and(|reg| held.contains(reg));
        let memory = is_lookup(insn).filter(|memory| memory.index.is_some());
        if memory.is_some_and(|memory| is_held(memory.base) || is_held(memory.index)) {
            return Some(insn.svma);
        }
        let Some(dst) = insn.dst else { continue };
        let is_copy = insn.operation == Operation::Move && insn.memory.is_none() && is_held(insn.src[0]);
        held = if is_copy { held.with(dst) } else { held.without(dst) };
    }
    None
}

/// Whether anything in the file computes a CRC of a polynomial by instructions, or may do so by multiplying.
pub fn has_instructions(image: &Image<'_>, program: &Program, polynomial: Polynomial) -> bool {
    let features = |group: FeatureGroup| insn::features_of(image.arch, group);
    let groups = || program.group_counts().map(|(group, _)| features(group));
    if groups().any(|features| !features.intersection(MULTIPLIES).is_empty()) {
        return true;
    }
    let (feature, is_crc): (_, fn(&[u8], Polynomial) -> bool) = match image.arch {
        Arch::X86_64 => (Feature::SSE4_2, is_crc_x86_64),
        Arch::Aarch64 => (Feature::FEAT_CRC32, is_crc_aarch64),
    };
    let mut hits = program.hits_by_function().flat_map(|(_, hits)| hits);
    hits.any(|hit| {
        features(hit.group).contains(feature)
            && image.bytes_at(image.svma(hit.at)).is_some_and(|code| is_crc(code, polynomial))
    })
}

/// `crc32`, SDM volume 2: F2, other prefixes, 0F 38 F0 or F1. It knows Castagnoli's polynomial alone.
fn is_crc_x86_64(code: &[u8], polynomial: Polynomial) -> bool {
    let is_prefix = |byte: &u8| matches!(byte, 0x40..=0x4f | 0x64 | 0x65 | 0x66 | 0x67 | 0xf2 | 0xf3);
    let length = code.iter().take(15).take_while(|&byte| is_prefix(byte)).count();
    let Some((prefixes, [0x0f, 0x38, 0xf0 | 0xf1, ..])) = code.split_at_checked(length) else { return false };
    polynomial == Polynomial::Castagnoli && prefixes.contains(&0xf2)
}

/// `crc32b` to `crc32x` and `crc32cb` to `crc32cx`; bit 12 selects the polynomial.
fn is_crc_aarch64(code: &[u8], polynomial: Polynomial) -> bool {
    let word = code.first_chunk::<4>().map(|word| u32::from_le_bytes(*word));
    word.is_some_and(|word| match polynomial {
        Polynomial::Ieee => word & 0x7fe0_f000 == 0x1ac0_4000, // crc32b w0, w0, w0
        Polynomial::Castagnoli => word & 0x7fe0_f000 == 0x1ac0_5000, // crc32cb w0, w0, w0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(polynomial: Polynomial, size: usize, slices: usize) -> Vec<u8> {
        let first: Vec<u32> = (0..=u8::MAX).map(|byte| polynomial.entry(byte)).collect();
        let mut slice = first.clone();
        let mut bytes = Vec::new();
        for _ in 0..slices {
            for rest in &mut slice {
                bytes.extend(u64::from(*rest).to_le_bytes().get(..size).unwrap());
                *rest = *rest >> 8 ^ first.get((*rest & 0xff) as usize).unwrap();
            }
        }
        bytes
    }

    fn found(bytes: &[u8]) -> Vec<(Polynomial, u64, u64, usize)> {
        let extent = Extent::sized(Svma(0x1000), bytes.len() as u64);
        let data = Data {
            extent,
            bytes,
            is_writable: false,
            is_constant: true,
            is_offset_table: false,
            is_unwind: false,
        };
        let tables = tables(&[data]).into_iter();
        tables.map(|it| (it.polynomial, it.extent.start.0, it.extent.len(), it.slices)).collect()
    }

    /// The first entries as zlib's `crc32.h` and RFC 3720's appendix have them.
    #[test]
    fn entries_are_the_published_ones() {
        let first = |polynomial: Polynomial| [0, 1, 2, 255].map(|byte| polynomial.entry(byte));
        assert_eq!(first(Polynomial::Ieee), [0, 0x7707_3096, 0xee0e_612c, 0x2d02_ef8d]);
        assert_eq!(first(Polynomial::Castagnoli), [0, 0xf26b_8303, 0xe13b_70f7, 0xad7d_5351]);
    }

    #[test]
    fn tables_of_all_widths_are_found_wherever_they_lie() {
        for polynomial in Polynomial::ALL {
            for (size, slices) in [(4, 1), (4, 8), (8, 1), (8, 4)] {
                for before in [0, 3, 4, 40] {
                    let mut bytes = vec![7; before];
                    bytes.extend(table(polynomial, size, slices));
                    bytes.extend([9; 3]);
                    let length = (slices * size * 256) as u64;
                    assert_eq!(found(&bytes), [(polynomial, 0x1000 + before as u64, length, slices)]);
                }
            }
        }
    }

    #[test]
    fn tables_that_end_early_or_have_another_entry_are_none() {
        let whole = table(Polynomial::Ieee, 4, 1);
        assert_eq!(found(whole.get(..1020).unwrap()), []);
        let mut other = whole.clone();
        *other.get_mut(700).unwrap() ^= 1;
        assert_eq!(found(&other), []);
        assert_eq!(found(whole.get(4..).unwrap()), []);
    }

    #[test]
    fn instructions_are_distinguished_by_their_polynomial() {
        // crc32 eax, byte ptr [rdi]; crc32 rax, rcx; movbe eax, [rdi]
        let crc = [&[0xf2, 0x0f, 0x38, 0xf0, 0x07][..], &[0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xc1]];
        assert!(crc.iter().all(|code| is_crc_x86_64(code, Polynomial::Castagnoli)));
        assert!(crc.iter().all(|code| !is_crc_x86_64(code, Polynomial::Ieee)));
        assert!(!is_crc_x86_64(&[0x0f, 0x38, 0xf0, 0x07], Polynomial::Castagnoli));
        let is_crc = |word: u32, polynomial| is_crc_aarch64(&word.to_le_bytes(), polynomial);
        // crc32x w0, w0, x2 and crc32cx w0, w0, x2
        for (word, polynomial) in [(0x9ac2_4c00, Polynomial::Ieee), (0x9ac2_5c00, Polynomial::Castagnoli)] {
            assert_eq!(
                Polynomial::ALL.map(|it| is_crc(word, it)),
                Polynomial::ALL.map(|it| it == polynomial)
            );
        }
    }
}

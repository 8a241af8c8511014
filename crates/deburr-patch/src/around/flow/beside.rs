//! Patch stage: instructions beside code.
//!
//! In: an image, and the addresses that its code makes or relocations have. Out: [`Beside`]: the words that may run although they are in
//! no section of code, and what they make, add and lead to. Control can come to them from code or through an address, over nothing
//! but instructions.

use super::distances::Distances;
use super::edges;
use super::made::Maker;
use deburr_core::address::{CodeOffset, Svma};
use deburr_core::image::{Image, Linkage, executable_beside_code, functions_beside_code};
use deburr_core::insn;
use std::collections::HashSet;

/// The instructions beside code.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// By address.
    rows: Vec<Row>,
    distances: Distances,
}

/// Instructions one after another.
#[derive(Debug)]
struct Row {
    start: Svma,
    words: Vec<[u8; 4]>,
    /// Whether it leads to a jump whose target is computed.
    may_jump: bool,
}

/// Bytes that are mapped executable, and which of their words may run.
struct Region<'a> {
    start: Svma,
    bytes: &'a [u8],
    /// One bit a word.
    runs: Vec<u64>,
}

impl Beside {
    /// Follows all code beside the code of a file. `named`: the addresses that code makes or relocations have.
    pub(crate) fn of(image: &Image<'_>, named: &[u64]) -> Beside {
        let regions = executable_beside_code(image).into_iter();
        let mut regions: Vec<Region<'_>> = regions.map(|(start, bytes)| Region::new(start, bytes)).collect();
        if regions.is_empty() {
            return Beside::default();
        }
        let mut pending = entries(image, named);
        pending.retain(|at| at.0 % 4 == 0 && regions.iter().any(|region| region.contains(*at)));
        let starts = pending.clone();
        while let Some(at) = pending.pop() {
            let Some(region) = regions.iter_mut().find(|region| region.contains(at)) else { continue };
            let Some(word) = region.add(image, at) else { continue };
            pending.extend(edges::distance(word).map(|distance| at.offset(distance)));
            if edges::falls_through(word) {
                pending.push(at.offset(4));
            }
        }
        let mut rows: Vec<Row> = regions.iter().flat_map(Region::rows).collect();
        rows.sort_unstable_by_key(|row| row.start);
        rows.dedup_by_key(|row| row.start);
        let mut beside = Beside { rows, distances: Distances::default() };
        beside.follow_to_jumps();
        let word = |at: Svma| beside.word_that_jumps(at);
        let starts: Vec<Svma> = starts.into_iter().filter(|&at| word(at).is_some()).collect();
        beside.distances = Distances::of(image, &starts, word);
        beside
    }

    /// All words, each after its address.
    pub(crate) fn words(&self) -> impl Iterator<Item = (Svma, u32)> + '_ {
        self.rows.iter().flat_map(|row| {
            let places = (0i64..).map(|index| row.start.offset(4 * index));
            places.zip(row.words.iter().map(|word| u32::from_le_bytes(*word)))
        })
    }

    /// Whether control may come from one of them to a word of some kind.
    pub(crate) fn leads_to(&self, at: Svma, is_kind: fn(u32) -> bool) -> bool {
        let (mut pending, mut seen) = (vec![at], HashSet::from([at]));
        while let Some(at) = pending.pop() {
            let Some(word) = self.word(at) else { continue };
            if is_kind(word) {
                return true;
            }
            let next = edges::falls_through(word).then_some(at.offset(4));
            let to = edges::distance(word).map(|distance| at.offset(distance));
            pending.extend(next.into_iter().chain(to).filter(|to| seen.insert(*to)));
        }
        false
    }

    /// The word at an address, in a row that leads to a computed jump.
    fn word_that_jumps(&self, at: Svma) -> Option<u32> {
        let row = self.rows.get(self.row_of(at)?)?;
        self.word(at).filter(|_| row.may_jump)
    }

    fn word(&self, at: Svma) -> Option<u32> {
        let row = self.rows.get(self.row_of(at)?)?;
        let index = usize::try_from(at.since(row.start)? / 4).ok()?;
        row.words.get(index).map(|word| u32::from_le_bytes(*word))
    }

    /// The addresses that they make, each after the instruction that makes it.
    pub(crate) fn made(&self, image: &Image<'_>) -> Vec<(Svma, Svma)> {
        let mut found = Vec::new();
        for row in &self.rows {
            Maker::new(image).read(row.start, &row.words, |at, to| found.push((at, to)));
        }
        found
    }

    /// The constants, in bytes, that a jump adds to a pointer.
    pub(crate) fn distances(&self) -> &Distances {
        &self.distances
    }

    /// Where in code a jump may begin to compute its target: all that is made in the rows that lead to one.
    pub(crate) fn bases(&self, image: &Image<'_>) -> Vec<CodeOffset> {
        /// Addresses of which each may be a table, and each its base.
        const TABLES: usize = 64;
        let mut made: Vec<Svma> = Vec::new();
        for row in self.rows_that_jump() {
            Maker::new(image).read(row.start, &row.words, |_, to| made.push(to));
        }
        made.sort_unstable();
        made.dedup();
        let tables = made.iter().take(TABLES).filter(|at| image.code_at(**at).is_none());
        let led = tables
            .flat_map(|&table| made.iter().take(TABLES).flat_map(move |&base| led_to(image, table, base)));
        let led: Vec<Svma> = led.collect();
        made.iter().chain(&led).filter_map(|&to| image.code_offset(to)).collect()
    }

    fn rows_that_jump(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.may_jump)
    }

    /// Finds the rows that lead to a jump whose target is computed.
    fn follow_to_jumps(&mut self) {
        // Each row after those that lead to it.
        let mut led: Vec<(usize, usize)> = Vec::new();
        for (at, word) in self.words() {
            let to = edges::distance(word).and_then(|distance| self.row_of(at.offset(distance)));
            led.extend(to.zip(self.row_of(at)).filter(|(to, from)| to != from));
        }
        led.sort_unstable();
        led.dedup();
        let jumps = |row: &Row| row.words.iter().any(|word| is_computed_jump(u32::from_le_bytes(*word)));
        let mut pending: Vec<usize> =
            self.rows.iter().enumerate().filter(|(_, row)| jumps(row)).map(|(index, _)| index).collect();
        while let Some(index) = pending.pop() {
            let Some(row) = self.rows.get_mut(index) else { continue };
            if std::mem::replace(&mut row.may_jump, true) {
                continue;
            }
            let from = led.partition_point(|&(to, _)| to < index);
            let leads = led.iter().skip(from).take_while(|&&(to, _)| to == index);
            pending.extend(leads.map(|&(_, from)| from));
        }
    }

    /// The row that an address is in.
    fn row_of(&self, at: Svma) -> Option<usize> {
        let index = self.rows.partition_point(|row| row.start <= at).checked_sub(1)?;
        let row = self.rows.get(index)?;
        at.since(row.start).is_some_and(|from| from < 4 * row.words.len() as u64).then_some(index)
    }
}

impl<'a> Region<'a> {
    fn new(start: Svma, bytes: &'a [u8]) -> Region<'a> {
        // A row's words are at addresses that 4 divides.
        let skipped = (start.0.wrapping_neg() & 3) as usize;
        let bytes = bytes.get(skipped..).unwrap_or_default();
        Region { start: start.offset(skipped as i64), bytes, runs: vec![0; bytes.len() / 256 + 1] }
    }

    fn contains(&self, at: Svma) -> bool {
        at.since(self.start).is_some_and(|from| from < (self.bytes.len() & !3) as u64)
    }

    /// Takes in the word at an address; nothing, where it is in already or no instruction.
    fn add(&mut self, image: &Image<'_>, at: Svma) -> Option<u32> {
        let from = usize::try_from(at.since(self.start)?).ok()?;
        let bytes = self.bytes.get(from..)?;
        let word = u32::from_le_bytes(*bytes.first_chunk()?);
        let (bits, bit) = (self.runs.get_mut(from / 256)?, 1_u64 << (from / 4 % 64));
        if *bits & bit != 0 || insn::decode(image.arch, bytes, at).is_none() {
            return None;
        }
        *bits |= bit;
        Some(word)
    }

    /// Its words that may run, in rows.
    fn rows(&self) -> Vec<Row> {
        let words = self.bytes.as_chunks::<4>().0;
        let may_run =
            |index: usize| self.runs.get(index / 64).is_some_and(|bits| bits >> (index % 64) & 1 != 0);
        let mut found: Vec<Row> = Vec::new();
        for (index, word) in words.iter().enumerate().filter(|(index, _)| may_run(*index)) {
            let at = self.start.offset(4 * index as i64);
            match found.last_mut().filter(|row| row.start.offset(4 * row.words.len() as i64) == at) {
                Some(row) => row.words.push(*word),
                None => found.push(Row { start: at, words: vec![*word], may_jump: false }),
            }
        }
        found
    }
}

/// Where control may come to what is beside code: from branches of code, through exports and symbols, and through addresses.
fn entries(image: &Image<'_>, named: &[u64]) -> Vec<Svma> {
    let branches = image.code.iter().flat_map(|code| {
        let places = (0i64..).map(|index| code.extent.start.offset(4 * index));
        let words = code.bytes.as_chunks::<4>().0;
        places
            .zip(words)
            .filter_map(|(at, word)| Some(at.offset(edges::distance(u32::from_le_bytes(*word))?)))
    });
    let linkage = Linkage::parse(image);
    let exports = linkage.named_exports.iter().map(|export| export.at);
    let entries = branches.filter(|&to| image.code_at(to).is_none());
    let named = named.iter().map(|&to| Svma(to));
    entries.chain(exports).chain(named).chain(functions_beside_code(image)).collect()
}

/// Jumps and calls through registers, and what may be the address of a return.
fn is_computed_jump(word: u32) -> bool {
    edges::is_indirect_jump(word) || edges::is_indirect_call(word) || edges::computes_return(word)
}

/// Where the offsets of 4 and 8 bytes lead that may be in a table at a place, from a base.
fn led_to(image: &Image<'_>, table: Svma, base: Svma) -> Vec<Svma> {
    /// Elements of a table.
    const MOST: usize = 256;
    let Some(run) = image.loaded.iter().find(|run| run.extent.contains(table)) else {
        return Vec::new();
    };
    let from = table.since(run.extent.start).and_then(|from| usize::try_from(from).ok());
    let bytes = from.and_then(|from| run.bytes.get(from..)).unwrap_or_default();
    let is_code = |to: &Svma| image.code_at(*to).is_some();
    let short = bytes.as_chunks::<4>().0.iter().map(|it| base.offset(i64::from(i32::from_le_bytes(*it))));
    let long = bytes.as_chunks::<8>().0.iter().map(|it| base.offset(i64::from_le_bytes(*it)));
    short.take(MOST).take_while(is_code).chain(long.take(MOST).take_while(is_code)).collect()
}

//! Patch stage: how control goes through a file.
//!
//! In: an image and its program. Out: a [`Flow`]. It has every edge that is known, direct or through a table;
//! which calls come back; which jumps may go anywhere; and what data or the loader has the address of. All
//! queries about the surroundings of a site starts here.
//!
//! | file | answers |
//! |---|---|
//! | `derived` | where a function's addresses of its own frame go |
//! | `edges` | where control comes to a place from |
//! | `indirect` | where indirect jumps go |
//! | `made` | which addresses code makes |
//! | `returns` | which calls come back |
//! | `slots` | which instructions write a slot of a frame |

mod derived;
pub(crate) mod edges;
mod indirect;
pub(crate) mod made;
mod returns;
mod slots;

use super::beside::words_beside_code;
use deburr_core::address::CodeOffset;
use deburr_core::address::Svma;
use deburr_core::function::Program;
use deburr_core::image::{Code, Described, Describer, Image, described};
use deburr_core::insn::sweep::ReferenceKind;
use deburr_core::insn::{self, Insn};
use edges::Edges;
use indirect::Indirect;
use made::{Maker, addresses_named};
use rayon::prelude::*;
use returns::Returns;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

/// How control goes through a file.
pub(crate) struct Flow<'f, 'a> {
    pub(crate) image: &'f Image<'a>,
    pub(crate) program: &'f Program,
    returns: Returns,
    pub(crate) edges: Edges,
    indirect: Indirect,
    /// Indirect jumps of unknown target, by the function that they are in; the first also of the calls.
    unknown: HashMap<Option<usize>, Unknown>,
    /// Places whose address a relocation, the loader or code has, sorted.
    pointed_to: Vec<CodeOffset>,
    /// All addresses that code makes or that relocations have, sorted.
    named: OnceLock<Vec<u64>>,
    /// Words beside code that may run, by address.
    beside: OnceLock<BTreeMap<u64, u32>>,
    /// Instructions that others know by their addresses.
    described: OnceLock<Vec<Described>>,
}

/// Indirect transfers of one function whose targets are not known.
#[derive(Debug, Default)]
struct Unknown {
    /// The first of all.
    first: Option<CodeOffset>,
    jumps: Vec<CodeOffset>,
}

impl<'f, 'a> Flow<'f, 'a> {
    /// Reads all code of a file.
    pub(crate) fn of(image: &'f Image<'a>, program: &'f Program) -> Flow<'f, 'a> {
        let returns = Returns::find(image, program);
        let named = image.pointers.iter().chain(&image.entries).filter_map(|&to| image.code_offset(to));
        let made = program.references().filter(|reference| reference.kind == ReferenceKind::Address);
        let mut pointed_to: Vec<CodeOffset> = named.chain(made.map(|reference| reference.to)).collect();
        pointed_to.sort_unstable();
        pointed_to.dedup();
        let named = OnceLock::new();
        let (indirect, edges) = Indirect::resolve(image, program, &returns, &pointed_to, &named);
        let unknown = HashMap::new();
        let mut flow = Flow {
            image,
            program,
            returns,
            edges,
            indirect,
            unknown,
            pointed_to,
            named,
            beside: OnceLock::new(),
            described: OnceLock::new(),
        };
        for &jump in &flow.indirect.unknown {
            let unknown = flow.unknown.entry(program.whole_index_at(jump)).or_default();
            unknown.first.get_or_insert(jump);
            if flow.image.word_at(image.svma(jump)).is_some_and(edges::is_indirect_jump) {
                unknown.jumps.push(jump);
            }
        }
        for &(base, jump) in &flow.indirect.bases {
            flow.unknown.entry(program.whole_index_at(base)).or_default().first.get_or_insert(jump);
        }
        for base in flow.bases_beside() {
            flow.unknown.entry(program.whole_index_at(base)).or_default().first.get_or_insert(base);
        }
        flow
    }

    pub(crate) fn word(&self, at: CodeOffset) -> Option<u32> {
        self.image.word_at(self.image.svma(at))
    }

    pub(crate) fn decode(&self, at: CodeOffset) -> Option<Insn> {
        let at = self.image.svma(at);
        insn::decode(self.image.arch, self.image.bytes_at(at)?, at)
    }

    /// Whether control can go on from an instruction to the one after it.
    pub(crate) fn falls_through(&self, at: CodeOffset) -> bool {
        self.returns.falls_through(self.image, at)
    }

    /// Whether data, the loader or code has the address of a place.
    pub(crate) fn is_pointed_to(&self, at: CodeOffset) -> bool {
        self.pointed_to.binary_search(&at).is_ok()
    }

    /// Whether control may come to a place: it is not known to be data, or control can reach the data.
    pub(crate) fn may_run(&self, at: CodeOffset) -> bool {
        !self.program.is_data(at) || self.edges.reach_data(at)
    }

    /// Whether the entry of a procedure linkage table at a place has an instruction that stops a path.
    pub(crate) fn is_stopped_in_linkage(&self, start: CodeOffset, stops: &impl Fn(&Insn) -> bool) -> bool {
        /// Instructions of the longest entry.
        const LONGEST: u32 = 6;
        let is_linkage = |code: &Code<'_>| code.name.starts_with(".plt") || code.name == ".iplt";
        if !self.image.code_at(self.image.svma(start)).is_some_and(is_linkage) {
            return false;
        }
        let mut insns = (0..LONGEST).map_while(|index| self.decode(start + 4 * index));
        let until = |insn: &Insn| insn.flow == insn::Flow::Next;
        insns.by_ref().take_while(until).any(|insn| stops(&insn))
    }

    /// Code in pieces, each with the instructions before it that its addresses may begin with.
    pub(crate) fn pieces(&self) -> impl ParallelIterator<Item = (Svma, &'a [[u8; 4]])> + use<'a> {
        made::pieces(self.image).into_par_iter()
    }

    /// Words that may run and are in no section of code, by address.
    pub(crate) fn words_beside_code(&self) -> &BTreeMap<u64, u32> {
        self.beside.get_or_init(|| {
            let named = self.named.get_or_init(|| addresses_named(self.image));
            words_beside_code(self.image, named)
        })
    }

    /// Words beside code in rows, each with its first address.
    fn rows_beside(&self) -> Vec<(Svma, Vec<[u8; 4]>)> {
        let words: Vec<(u64, u32)> = self.words_beside_code().iter().map(|(&at, &word)| (at, word)).collect();
        let rows = words.chunk_by(|before, after| before.0 + 4 == after.0);
        let bytes = |row: &[(u64, u32)]| row.iter().map(|(_, word)| word.to_le_bytes()).collect();
        rows.filter_map(|row| Some((Svma(row.first()?.0), bytes(row)))).collect()
    }

    /// The addresses that words beside code make, each after the instruction that makes it.
    pub(crate) fn made_beside(&self) -> Vec<(Svma, Svma)> {
        let mut found = Vec::new();
        for (start, words) in self.rows_beside() {
            Maker::new(self.image).read(start, &words, |at, to| found.push((at, to)));
        }
        found
    }

    /// The rows of words beside code that lead to a jump which is not resolved.
    fn rows_that_jump(&self) -> Vec<(Svma, Vec<[u8; 4]>)> {
        let rows = self.rows_beside();
        let jumps = |bytes: &[u8; 4]| {
            let word = u32::from_le_bytes(*bytes);
            let is_indirect = edges::is_indirect_jump(word) || edges::is_indirect_call(word);
            is_indirect || indirect::computes_return(word)
        };
        let mut may_jump: Vec<bool> = rows.iter().map(|(_, words)| words.iter().any(jumps)).collect();
        if !may_jump.contains(&true) {
            return Vec::new();
        }
        // Row by row, what leads to one that may.
        let row_of = |at: Svma| rows.partition_point(|(start, _)| *start <= at).checked_sub(1);
        loop {
            let leads = |index: usize, (start, words): &(Svma, Vec<[u8; 4]>)| {
                let targets = (0i64..).zip(words).filter_map(|(at, word)| {
                    Some(start.offset(4 * at).offset(edges::distance(u32::from_le_bytes(*word))?))
                });
                let mut rows = targets.filter_map(row_of).filter(|to| *to != index);
                rows.any(|to| may_jump.get(to) == Some(&true))
            };
            let more: Vec<usize> =
                (0..).zip(&rows).filter(|(index, row)| leads(*index, row)).map(|(index, _)| index).collect();
            let before = may_jump.iter().filter(|it| **it).count();
            for index in more {
                if let Some(it) = may_jump.get_mut(index) {
                    *it = true;
                }
            }
            if may_jump.iter().filter(|it| **it).count() == before {
                break;
            }
        }
        let rows = rows.into_iter().zip(may_jump);
        rows.filter(|(_, may)| *may).map(|(row, _)| row).collect()
    }

    /// The distances, in bytes, that a jump beside code may add to a pointer: what such rows add to registers, once or twice.
    pub(crate) fn distances_beside(&self) -> Vec<(i64, Svma)> {
        let mut found = Vec::new();
        for (start, words) in self.rows_that_jump() {
            let added = added_to_pointers(&words);
            let twice = added
                .iter()
                .enumerate()
                .flat_map(|(at, one)| added.iter().skip(at + 1).map(move |other| one + other));
            let once = added.iter().copied();
            found.extend(once.chain(twice).filter(|by| by % 4 == 0 && *by != 0).map(|by| (by, start)));
        }
        found.sort_unstable();
        found.dedup_by_key(|(by, _)| *by);
        found
    }

    /// Where in code a jump beside it may begin to compute its target: all that is made in the rows that lead to such a jump.
    fn bases_beside(&self) -> Vec<CodeOffset> {
        /// Addresses of which each may be a table, and each its base.
        const TABLES: usize = 64;
        let mut made: Vec<Svma> = Vec::new();
        for (start, words) in &self.rows_that_jump() {
            Maker::new(self.image).read(*start, words, |_, to| made.push(to));
        }
        made.sort_unstable();
        made.dedup();
        let tables = made.iter().take(TABLES).filter(|at| self.image.code_at(**at).is_none());
        let led = tables
            .flat_map(|&table| made.iter().take(TABLES).flat_map(move |&base| self.led_to(table, base)));
        let led: Vec<Svma> = led.collect();
        made.iter().chain(&led).filter_map(|&to| self.image.code_offset(to)).collect()
    }

    /// Where the offsets of 4 and 8 bytes lead that may be in a table at a place, from a base.
    fn led_to(&self, table: Svma, base: Svma) -> Vec<Svma> {
        /// Elements of a table.
        const MOST: usize = 256;
        let Some(run) = self.image.loaded.iter().find(|run| run.extent.contains(table)) else {
            return Vec::new();
        };
        let from = table.since(run.extent.start).and_then(|from| usize::try_from(from).ok());
        let bytes = from.and_then(|from| run.bytes.get(from..)).unwrap_or_default();
        let is_code = |to: &Svma| self.image.code_at(*to).is_some();
        let short = bytes.as_chunks::<4>().0.iter().map(|it| base.offset(i64::from(i32::from_le_bytes(*it))));
        let long = bytes.as_chunks::<8>().0.iter().map(|it| base.offset(i64::from_le_bytes(*it)));
        short.take(MOST).take_while(is_code).chain(long.take(MOST).take_while(is_code)).collect()
    }

    /// Instructions that the file tells others of, by address.
    pub(crate) fn described(&self) -> &[Described] {
        self.described.get_or_init(|| described(self.image))
    }

    /// Where others read registers while the program runs.
    pub(crate) fn probes(&self) -> impl Iterator<Item = CodeOffset> + '_ {
        let probes = self.described().iter().filter(|described| described.by == Describer::Probe);
        probes.filter_map(|probe| self.image.code_offset(probe.extent.start))
    }

    /// The distances, in bytes, that jumps add to pointers from memory, from their callers or from callees; with such a jump.
    pub(crate) fn distances_from_pointers(&self) -> &[(i64, Svma)] {
        &self.indirect.distances
    }

    /// Places whose address a relocation, the loader or code has, sorted.
    pub(crate) fn pointed_to(&self) -> &[CodeOffset] {
        &self.pointed_to
    }

    /// The jumps of unknown target in the function around a place.
    pub(crate) fn unknown_jumps(&self, at: CodeOffset) -> &[CodeOffset] {
        if self.unknown.is_empty() {
            return &[];
        }
        self.unknown.get(&self.program.whole_index_at(at)).map_or(&[], |unknown| &unknown.jumps)
    }

    /// The first indirect jump or call of unknown target in the function around a place.
    pub(crate) fn unknown_jump_near(&self, at: Svma) -> Option<Svma> {
        let at = self.image.code_offset(at)?;
        let unknown = self.unknown.get(&self.program.whole_index_at(at))?;
        unknown.first.map(|jump| self.image.svma(jump))
    }

    /// The known targets of an indirect jump.
    pub(crate) fn targets_of(&self, jump: CodeOffset) -> &[(CodeOffset, CodeOffset)] {
        self.indirect.from(jump)
    }
}

/// What instructions in a row add to registers other than what the row itself has made of `adr` or `adrp`.
fn added_to_pointers(words: &[[u8; 4]]) -> Vec<i64> {
    let mut found = Vec::new();
    // Registers that hold what the row has made.
    let mut made = 0_u32;
    for word in words.iter().map(|word| u32::from_le_bytes(*word)) {
        let (to, from) = (1_u32 << (word & 31), 1_u32 << (word >> 5 & 31));
        let is_address = word & 0x1f00_0000 == 0x1000_0000;
        match edges::added(word) {
            Some(_) if made & from != 0 => made |= to,
            None if is_address => made |= to,
            added => {
                found.extend(added);
                // A pair has its second register there.
                made &= !(to | 1 << (word >> 10 & 31));
            }
        }
    }
    found
}

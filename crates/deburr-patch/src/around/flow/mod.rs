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
//! | `places` | sets of places |
//! | `returns` | which calls come back |
//! | `slots` | which instructions write a slot of a frame |

mod beside;
mod derived;
mod distances;
pub(crate) mod edges;
mod indirect;
pub(crate) mod made;
mod places;
mod returns;
mod slots;

pub(crate) use places::Places;

use beside::Beside;
use deburr_core::address::CodeOffset;
use deburr_core::address::Svma;
use deburr_core::function::Program;
use deburr_core::image::{Code, Described, Describer, Image, described};
use deburr_core::insn::sweep::ReferenceKind;
use deburr_core::insn::{self, Insn};
use edges::Edges;
use indirect::Indirect;
use made::addresses_named;
use rayon::prelude::*;
use returns::Returns;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// How control goes through a file.
pub(crate) struct Flow<'f, 'a> {
    pub(crate) image: &'f Image<'a>,
    pub(crate) program: &'f Program,
    returns: Returns,
    pub(crate) edges: Edges,
    indirect: Indirect,
    /// Indirect jumps of unknown target, by the function that they are in; the first also of the calls.
    unknown: FxHashMap<Option<usize>, Unknown>,
    /// Places whose address a relocation, the loader or code has, sorted.
    pointed_to: Vec<CodeOffset>,
    /// All addresses that code makes or that relocations have, sorted.
    named: OnceLock<Vec<u64>>,
    beside: OnceLock<Beside>,
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
        let unknown = FxHashMap::default();
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
        for base in flow.beside().bases(image) {
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
    pub(crate) fn is_stopped_in_linkage(&self, start: CodeOffset, stops: &dyn Fn(&Insn) -> bool) -> bool {
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

    /// The instructions beside code.
    pub(crate) fn beside(&self) -> &Beside {
        self.beside
            .get_or_init(|| Beside::of(self.image, self.named.get_or_init(|| addresses_named(self.image))))
    }

    /// The branches and calls of code to instructions beside it from which control may come to a word of some kind there.
    pub(crate) fn branches_beside(&self, is_kind: fn(u32) -> bool) -> Vec<CodeOffset> {
        let leads = |at: CodeOffset, word: u32| {
            let to = edges::distance(word).map(|distance| self.image.svma(at).offset(distance));
            to.is_some_and(|to| self.image.code_at(to).is_none() && self.beside().leads_to(to, is_kind))
        };
        let words =
            self.image.code.iter().flat_map(|code| code.at.words().zip(code.bytes.as_chunks::<4>().0));
        words.filter(|(at, word)| leads(*at, u32::from_le_bytes(**word))).map(|(at, _)| at).collect()
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

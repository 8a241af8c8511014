//! Patch stage: what the file around a site says against writing there.
//!
//! In: an image and its program. Out: [`Surroundings`], which answers for each site whether something enters it but at its
//! start, which registers are dead after it, who relies on the monitor that it arms, and what else a barrier orders. Each
//! answer may refuse too much, never too little; what it assumes is written in `docs/fix.md`, *Assumptions*.
//!
//! | module | answers |
//! |---|---|
//! | `edges` | where control comes to a place from |
//! | `indirect` | where indirect jumps go |
//! | `backward` | from where control may come to some instructions |
//! | `entries` | what enters some instructions |
//! | `liveness` | whether anything relies on what a register held |
//! | `after_call` | whether anything relies on what the call of a helper leaves |
//! | `monitor` | who relies on the monitor that a load-exclusive arms |
//! | `barrier` | whether anything needs a barrier but the atomic beside it |
//! | `helper` | whether a helper is one |
//! | `returns` | which calls come back |
//! | `before` | what the code before a sequence says of its registers |
//! | `obstacle` | the reasons |

mod after_call;
mod backward;
mod barrier;
pub(crate) mod before;
mod edges;
mod entries;
pub(crate) mod helper;
mod indirect;
mod liveness;
mod monitor;
mod obstacle;
mod returns;

pub use obstacle::{Detail, Obstacle};

use crate::candidate::exclusive;
use crate::semantics::{Insn as Decoded, Register, Test, decode};
use deburr_core::address::CodeOffset;
use deburr_core::address::{Extent, Svma};
use deburr_core::function::Program;
use deburr_core::image::{Code, Image};
use deburr_core::insn::sweep::ReferenceKind;
use deburr_core::insn::{self, Insn};
use edges::Edges;
use entries::Entries;
use indirect::Indirect;
use liveness::Liveness;
use monitor::Monitor;
use returns::Returns;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// Instructions around a sequence in which nothing may use the monitor as a source of events.
const NEAR: i64 = 24;

/// What the file around its sites says; each part is made when it is first asked for.
pub(crate) struct Surroundings<'f, 'a> {
    image: &'f Image<'a>,
    program: &'f Program,
    flow: OnceLock<Flow<'f, 'a>>,
    monitor: OnceLock<Monitor>,
    liveness: Liveness,
    ordered: OnceLock<Option<Svma>>,
}

/// An obstacle, and where it is.
pub(crate) type Found = (Obstacle, Option<Detail>);

impl<'f, 'a> Surroundings<'f, 'a> {
    pub(crate) fn of(image: &'f Image<'a>, program: &'f Program) -> Surroundings<'f, 'a> {
        Surroundings {
            image,
            program,
            flow: OnceLock::new(),
            monitor: OnceLock::new(),
            liveness: Liveness::default(),
            ordered: OnceLock::new(),
        }
    }

    pub(crate) fn flow(&self) -> &Flow<'f, 'a> {
        self.flow.get_or_init(|| Flow::of(self.image, self.program))
    }

    /// What enters some runs of instructions.
    pub(crate) fn entries(&self, runs: Vec<Extent>) -> Entries {
        Entries::find(self.flow(), runs)
    }

    /// Whether a sequence may leave another value in x`number` where it is left at a place. `is_new`: the sequence itself does
    /// not write the register.
    pub(crate) fn is_dead(&self, at: Svma, number: u8, is_new: bool) -> bool {
        self.liveness.is_dead(self.flow(), at, number, is_new)
    }

    /// Whether nothing after a call reads a register that the call of a helper would have overwritten.
    pub(crate) fn is_free_of_call(&self, after: Svma) -> bool {
        after_call::is_free(self.flow(), after)
    }

    /// Whether something in the file is ordered by barriers only.
    pub(crate) fn needs_barriers(&self) -> Option<Found> {
        let found = *self.ordered.get_or_init(|| barrier::needs_barriers(self.image));
        found.map(|at| (Obstacle::Ordered, Some(Detail::At(at))))
    }

    /// The obstacle to a run of instructions that only its first may be entered at. `exclusives`: the
    /// instructions, where they are a sequence of exclusives.
    pub(crate) fn obstacle(&self, run: Extent, closed: Extent, exclusives: Option<&[u32]>) -> Option<Found> {
        let (image, program) = (self.image, self.program);
        let is_code = |at: Svma| image.code_offset(at).is_some_and(|at| !program.is_data(at));
        if ![run.start, run.end.offset(-4)].into_iter().all(is_code) {
            return Some((Obstacle::Data, None));
        }
        let touches = |other: &Extent| other.start < run.end && run.start < other.end;
        if image.writable_code.iter().any(touches) {
            return Some((Obstacle::Writable, None));
        }
        if closed.len() > 4 {
            if let Some(jump) = self.flow().unknown_jump_near(closed.start) {
                return Some((Obstacle::UnknownJump, Some(Detail::At(jump))));
            }
            if image.unread_tables.iter().any(|function| function.contains(closed.start)) {
                return Some((Obstacle::Entered, Some(Detail::Unwind)));
            }
        }
        exclusives.and_then(|words| self.exclusive_obstacle(run, words))
    }

    fn exclusive_obstacle(&self, run: Extent, words: &[u32]) -> Option<Found> {
        let image = self.image;
        let first = run.start.offset(-4 * NEAR);
        let mut near = (0..words.len() as i64 + 2 * NEAR).map(|at| first.offset(4 * at));
        if let Some(at) = near.find(|&at| image.word_at(at).is_some_and(monitor::is_event)) {
            return Some((Obstacle::Event, Some(Detail::At(at))));
        }
        let is_constant = |at: Svma| image.constants.iter().any(|(extent, _)| extent.contains(at));
        let base = words.first().and_then(|word| match decode(*word).ok()? {
            Decoded::LoadExclusive { reference, .. } | Decoded::LoadExclusivePair { reference, .. } => {
                Some(reference.base)
            }
            _ => None,
        });
        let address = base.and_then(|base| before::address(image, run.start, base));
        if let Some(address) = address.filter(|&address| is_constant(address)) {
            return Some((Obstacle::ReadOnly, Some(Detail::At(address))));
        }
        let exits = exclusive::exits(words).map(|exit| run.start.offset(4 * exit));
        let monitor = self.monitor.get_or_init(|| Monitor::of(self.flow()));
        let needed = monitor.needed_at(self.flow(), exits.filter(|exit| !run.contains(*exit)));
        needed.map(|obstacle| (obstacle, None))
    }
}

/// How control goes through a file.
pub(crate) struct Flow<'f, 'a> {
    pub(crate) image: &'f Image<'a>,
    pub(crate) program: &'f Program,
    returns: Returns,
    edges: Edges,
    indirect: Indirect,
    /// Indirect jumps of unknown target, by the function that they are in; the first also of the calls.
    unknown: HashMap<Option<usize>, Unknown>,
    /// Places whose address a relocation, the loader or code has, sorted.
    pointed_to: Vec<CodeOffset>,
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
        let (indirect, edges) = Indirect::resolve(image, program, &returns);
        let (unknown, pointed_to) = (HashMap::new(), Vec::new());
        let mut flow = Flow { image, program, returns, edges, indirect, unknown, pointed_to };
        for &jump in &flow.indirect.unknown {
            let unknown = flow.unknown.entry(program.whole_index_at(jump)).or_default();
            unknown.first.get_or_insert(jump);
            if flow.image.word_at(image.svma(jump)).is_some_and(edges::is_indirect_jump) {
                unknown.jumps.push(jump);
            }
        }
        let named = image.pointers.iter().chain(&image.entries).filter_map(|&to| image.code_offset(to));
        let made = program.references().filter(|reference| reference.kind == ReferenceKind::Address);
        flow.pointed_to = named.chain(made.map(|reference| reference.to)).collect();
        flow.pointed_to.sort_unstable();
        flow.pointed_to.dedup();
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
    fn is_pointed_to(&self, at: CodeOffset) -> bool {
        self.pointed_to.binary_search(&at).is_ok()
    }

    /// Whether control may come to a place: it is not known to be data, or control can reach the data.
    fn may_run(&self, at: CodeOffset) -> bool {
        !self.program.is_data(at) || self.edges.reach_data(at)
    }

    /// Whether the entry of a procedure linkage table at a place has an instruction that stops a path.
    fn is_stopped_in_linkage(&self, start: CodeOffset, stops: &impl Fn(&Insn) -> bool) -> bool {
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

    /// The jumps of unknown target in the function around a place.
    fn unknown_jumps(&self, at: CodeOffset) -> &[CodeOffset] {
        if self.unknown.is_empty() {
            return &[];
        }
        self.unknown.get(&self.program.whole_index_at(at)).map_or(&[], |unknown| &unknown.jumps)
    }

    /// The first indirect jump or call of unknown target in the function around a place.
    fn unknown_jump_near(&self, at: Svma) -> Option<Svma> {
        let at = self.image.code_offset(at)?;
        let unknown = self.unknown.get(&self.program.whole_index_at(at))?;
        unknown.first.map(|jump| self.image.svma(jump))
    }

    /// The known targets of an indirect jump.
    fn targets_of(&self, jump: CodeOffset) -> &[(CodeOffset, CodeOffset)] {
        self.indirect.from(jump)
    }
}

/// Whether control comes from an address to a load-exclusive with only arithmetic on the path: no load that would
/// wait for another value, no call, no barrier, and nothing new to compare with.
pub(crate) fn comes_back(image: &Image<'_>, from: Svma, load: Svma, expected: Option<Register>) -> bool {
    /// Instructions that a compiler writes between a failed comparison and the next try.
    const SHORT: usize = 12;
    let mut pending = vec![from];
    let mut seen = HashSet::new();
    while let Some(at) = pending.pop() {
        if at == load {
            return true;
        }
        if seen.len() >= SHORT || !seen.insert(at) {
            continue;
        }
        match image.word_at(at).map(decode) {
            Some(Ok(Decoded::Branch { test: Test::Always, offset })) => pending.push(at.offset(4 * offset)),
            Some(Ok(Decoded::Branch { offset, .. })) => pending.extend([at.offset(4 * offset), at.offset(4)]),
            Some(Ok(Decoded::Move { .. } | Decoded::ClearExclusive)) => pending.push(at.offset(4)),
            Some(Ok(insn)) if insn.destination().is_some_and(|register| Some(register) != expected) => {
                pending.push(at.offset(4));
            }
            _ => {}
        }
    }
    false
}

//! Patch stage: what the file around a site says against writing there.
//!
//! In: an image and its program. Out: [`Surroundings`]. It answers for each site whether something enters it
//! except at its start, which registers are dead after it, who relies on its monitor, and what else a barrier
//! orders. Each answer may refuse too much, never too little; `docs/reference/fix.md`, *Assumptions*, says what it
//! assumes.
//!
//! | file | answers |
//! |---|---|
//! | `flow/` | where control goes, and where it comes from |
//! | `backward` | from where control may come to some instructions |
//! | `entries` | what enters some instructions |
//! | `beside`, `distances` | which words run that are in no section of code, what jumps there add to pointers |
//! | `liveness` | whether anything relies on what a register held |
//! | `after_call` | whether anything relies on what the call of a helper leaves |
//! | `monitor` | who relies on the monitor that a load-exclusive arms |
//! | `barrier` | whether anything needs a barrier except the atomic next to it |
//! | `helper` | whether a helper is one |
//! | `before` | what the code before a sequence says of its registers |
//! | `spinning` | whether a compare-and-swap tries again at once where it fails |
//! | `obstacle` | the reasons |

mod after_call;
mod backward;
mod barrier;
pub(crate) mod before;
mod entries;
mod flow;
pub(crate) mod helper;
mod liveness;
mod monitor;
mod obstacle;
mod spinning;

pub use obstacle::{Detail, Obstacle};
pub(crate) use spinning::comes_back;

use crate::semantics::{Insn, decode, effects};
use after_call::AfterCall;
use deburr_core::address::{Extent, Svma};
use deburr_core::function::Program;
use deburr_core::image::Image;
use entries::Entries;
use flow::Flow;
use liveness::Liveness;
use monitor::Monitor;
use obstacle::Found;
use std::sync::OnceLock;

/// Instructions around a sequence in which nothing may use the monitor as a source of events.
const NEAR: i64 = 24;

/// What the file around its sites says; each part is computed by its first query.
pub(crate) struct Surroundings<'f, 'a> {
    image: &'f Image<'a>,
    program: &'f Program,
    flow: OnceLock<Flow<'f, 'a>>,
    monitor: OnceLock<Monitor>,
    liveness: Liveness,
    after_call: OnceLock<AfterCall>,
    ordered: OnceLock<Option<Svma>>,
}

impl<'f, 'a> Surroundings<'f, 'a> {
    pub(crate) fn of(image: &'f Image<'a>, program: &'f Program) -> Surroundings<'f, 'a> {
        Surroundings {
            image,
            program,
            flow: OnceLock::new(),
            monitor: OnceLock::new(),
            liveness: Liveness::default(),
            after_call: OnceLock::new(),
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

    /// Whether a sequence may leave another value in x`number` where it is left at a place. `is_new`: the
    /// sequence itself does not write the register.
    pub(crate) fn is_dead(&self, at: Svma, number: u8, is_new: bool) -> bool {
        self.liveness.is_dead(self.flow(), at, number, is_new)
    }

    /// Whether nothing after a call reads a register that the call of a helper would have overwritten.
    pub(crate) fn is_free_of_call(&self, after: Svma) -> bool {
        self.after_call.get_or_init(|| AfterCall::of(self.flow())).is_free(self.flow(), after)
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
        let whole = Extent { start: run.start.min(closed.start), end: run.end.max(closed.end) };
        if let Some(described) = self.flow().described().iter().find(|it| it.extent.overlaps(whole)) {
            return Some((Obstacle::Described, Some(Detail::At(described.extent.start))));
        }
        if closed.len() > 4 {
            if let Some(jump) = self.flow().unknown_jump_near(closed.start) {
                return Some((Obstacle::UnknownJump, Some(Detail::At(jump))));
            }
            if let Some(jump) = self.flow().beside().distances().unknown {
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
            Insn::LoadExclusive { reference, .. } | Insn::LoadExclusivePair { reference, .. } => {
                Some(reference.base)
            }
            _ => None,
        });
        let address = base.and_then(|base| before::address(image, run.start, base));
        if let Some(address) = address.filter(|&address| is_constant(address)) {
            return Some((Obstacle::ReadOnly, Some(Detail::At(address))));
        }
        let exits = effects::exits(words).map(|exit| run.start.offset(4 * exit));
        let monitor = self.monitor.get_or_init(|| Monitor::of(self.flow()));
        let needed = monitor.needed_at(self.flow(), exits.filter(|exit| !run.contains(*exit)));
        needed.map(|obstacle| (obstacle, None))
    }
}

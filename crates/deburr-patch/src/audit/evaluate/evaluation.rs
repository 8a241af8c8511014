//! Patch stage, audit, evaluate: both sides, from all states.
//!
//! In: an [`Evaluation`]. Out: the registers that differ, by exit, or the first [`Fact`] that does. The new side runs first:
//! its last try says what the old one finds in memory. Where a store-exclusive fails, the old side alone runs once more.

use super::compare::compare;
use super::machine::{Machine, Run, Seen, Side};
use super::operation::Place;
use super::program::Program;
use super::question::{Effort, Known, Manner, Need};
use super::states::{States, World};
use crate::subject::Fact;
use std::collections::BTreeMap;

/// Both sides, and what is known where they begin.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Evaluation {
    pub(crate) old: Program,
    pub(crate) new: Program,
    pub(crate) manner: Manner,
    pub(crate) known: Vec<Known>,
}

/// What was found, exits as in the evaluation.
pub(crate) type Answer = Result<BTreeMap<Place, u32>, Fact>;

/// The exits of an evaluation, which counts them from 1.
pub(crate) struct Exits(Vec<i64>);

impl Exits {
    fn number(&mut self, exit: i64) -> i64 {
        let known = self.0.iter().position(|known| *known == exit);
        let index = known.unwrap_or_else(|| {
            self.0.push(exit);
            self.0.len() - 1
        });
        index as i64 + 1
    }

    /// Needs at the exits of the code.
    pub(crate) fn restore(&self, found: BTreeMap<Place, u32>, length: usize) -> Vec<Need> {
        let exit = |place: Place| match place {
            Place::End => Some(length as i64),
            Place::At(number) => self.0.get(usize::try_from(number - 1).ok()?).copied(),
            Place::Inside(_) => None,
        };
        let needs =
            found.into_iter().filter_map(|(place, registers)| Some(Need { exit: exit(place)?, registers }));
        let mut needs: Vec<Need> = needs.collect();
        needs.sort_unstable();
        needs
    }
}

impl Evaluation {
    pub(crate) fn new([old, new]: [Program; 2], manner: Manner, known: &[Known]) -> (Evaluation, Exits) {
        let mut evaluation = Evaluation { old, new, manner, known: known.to_vec() };
        let mut exits = Exits(Vec::new());
        for program in [&mut evaluation.old, &mut evaluation.new] {
            // The first instruction stays what it is.
            program.for_each_exit(|exit| *exit = if *exit == 0 { 0 } else { exits.number(*exit) });
        }
        (evaluation, exits)
    }

    /// Tries as many states as an effort has.
    pub(crate) fn answer(&self, effort: Effort) -> Answer {
        let mut states = States::new([&self.old, &self.new], &self.known);
        let (mut found, mut seen) = (BTreeMap::new(), [Seen::default(); 2]);
        let boundary = states.boundary().min(effort.boundary);
        for _ in 0..boundary {
            let world = states.next_boundary(boundary);
            self.try_one(world, &mut seen, &mut found)?;
        }
        for _ in 0..effort.random {
            self.try_one(states.next_random(), &mut seen, &mut found)?;
        }
        let mut more = 0..effort.more;
        while !seen.iter().all(Seen::is_complete) {
            more.next().ok_or(Fact::Untried)?;
            self.try_one(states.next_random(), &mut seen, &mut found)?;
        }
        match seen[0].stores.count_ones() {
            1 => Ok(found),
            0 if self.manner == Manner::Loads => Ok(found),
            _ => Err(Fact::Stores),
        }
    }

    /// Runs both sides from one state.
    fn try_one(
        &self,
        world: &World,
        [seen_old, seen_new]: &mut [Seen; 2],
        found: &mut BTreeMap<Place, u32>,
    ) -> Result<(), Fact> {
        let new = Machine::new(world, Side::New, self.manner, seen_new).run(&self.new)?;
        self.check(&new)?;
        // What the last try found is what the old instructions find.
        let mut same = world.clone();
        same.memory = new.access.map_or(world.memory, |access| access.found);
        let old_side = |may_fail: bool| Side::Old { may_fail };
        let old = Machine::new(&same, old_side(false), self.manner, seen_old).run(&self.old)?;
        self.check(&old)?;
        let registers = compare(&old, &new, self.manner)?;
        if registers != 0 && old.is_back() {
            return Err(Fact::Retry);
        }
        if registers != 0 {
            *found.entry(old.leaves_to).or_default() |= registers;
        }
        if world.failures > 0 && self.manner != Manner::Loads {
            self.try_failing(world, seen_old)?;
        }
        Ok(())
    }

    /// What every run must have.
    fn check(&self, run: &Run) -> Result<(), Fact> {
        if run.access.is_none() && run.loads.is_empty() {
            return Err(Fact::NoAccess);
        }
        // What is known where they begin need not be true where they begin again.
        if run.is_back() && !self.known.is_empty() {
            return Err(Fact::Endless);
        }
        Ok(())
    }

    /// That a store-exclusive which fails leads to another try, and this one does what a first one does; or that the code
    /// leaves with nothing stored.
    fn try_failing(&self, world: &World, seen: &mut Seen) -> Result<(), Fact> {
        let run = Machine::new(world, Side::Old { may_fail: true }, self.manner, seen).run(&self.old)?;
        let Some(access) = run.access.filter(|_| !run.gave_up) else { return Ok(()) };
        let mut same = world.clone();
        same.memory = access.found;
        let first = Machine::new(&same, Side::Old { may_fail: false }, self.manner, seen).run(&self.old)?;
        // Whatever the failed try has left in registers that this one does not write, the status above all, stays there.
        let registers = (0..).zip(run.registers.iter().zip(&first.registers));
        let mut others = registers.filter(|(number, _)| run.left_over >> number & 1 == 0);
        let is_same = run.leaves_to == first.leaves_to
            && first.access.is_some_and(|first| first.stored == access.stored)
            && run.flags == first.flags
            && others.all(|(_, (after, first))| after == first);
        if is_same { Ok(()) } else { Err(Fact::Retry) }
    }
}

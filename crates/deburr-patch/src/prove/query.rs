//! Patch stage: whether two sequences do the same, over all states.
//!
//! In: a [`Query`], the operations of both sequences and what is known around them. Out: a [`Proof`] or a
//! [`Refusal`]. Both sequences run symbolically from one initial state; for each two paths that a state can
//! take together, one literal says whether anything differs. It is false by construction, or a search decides
//! it.

use super::bits::{FALSE, Graph, Lit, TRUE, Word};
use super::dependence::{LOADED, Sources};
use super::given::{Dead, Given};
use super::path::{AccessKind, Initial, Path, Paths, Value};
use super::refusal::{Difference, Proof, Refusal, Side, State};
use super::run::{LONGEST, run};
use super::search::{Answer, search, value_of};
use crate::semantics::{Insn, Step, decode, plain_load};

/// All that an answer depends on.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Query {
    /// The old sequence, followed by the new one, as long.
    pub(crate) steps: Vec<Step>,
    pub(crate) kind: AccessKind,
    pub(crate) given: Vec<Given>,
    pub(crate) dead: Vec<Dead>,
}

impl Query {
    pub(crate) fn new(
        old: &[u32],
        new: &[u32],
        kind: AccessKind,
        given: &[Given],
        dead: &[Dead],
    ) -> Result<Query, Refusal> {
        if old.is_empty() || old.len() != new.len() {
            return Err(Refusal::Length);
        }
        if old.len() > LONGEST {
            return Err(Refusal::TooLarge);
        }
        let mut steps = Vec::with_capacity(2 * old.len());
        steps.extend(old.iter().map(|word| decode(*word)));
        let guess = |word: u32| plain_load(word).filter(|_| kind == AccessKind::Retry);
        steps.extend(new.iter().map(|word| guess(*word).map_or_else(|| decode(*word), Ok)));
        // What no instruction names is of no account.
        let narrows = |given: &&Given| given.zero_from < 64 && is_named(&steps, given.register);
        let given = given.iter().filter(narrows).copied().collect();
        // Back at the first instruction both must be in one state again, in all registers.
        let is_exit = |dead: &&Dead| !(0..old.len() as i64).contains(&dead.exit);
        let dead = dead.iter().filter(is_exit).copied().collect();
        Ok(Query { steps, kind, given, dead })
    }

    /// Instructions of either sequence.
    pub(crate) fn length(&self) -> usize {
        self.steps.len() / 2
    }

    pub(crate) fn answer(&self) -> Result<Proof, Refusal> {
        let (old, new) = self.steps.split_at_checked(self.length()).ok_or(Refusal::Length)?;
        let mut graph = Graph::new();
        let initial = Initial::new(
            &mut graph,
            &self.given,
            if self.kind == AccessKind::Loads { loads(old).max(loads(new)) } else { 0 },
        );
        let old = run(&mut graph, &initial, old, Side::Old, self.kind)?;
        let new = match self.kind {
            AccessKind::Retry => retried(&mut graph, &initial, new)?,
            _ => run(&mut graph, &initial, new, Side::New, self.kind)?,
        };
        for (run, side) in [(&old, Side::Old), (&new, Side::New)] {
            let idle = |path: &Path| {
                let none = path.access.is_none() && path.loads.is_empty();
                none && !matches!(search(&graph, path.condition), Answer::Never)
            };
            if run.paths.iter().any(idle) {
                return Err(Refusal::NoAccess { side });
            }
        }
        if self.kind != AccessKind::Loads && old.stores != 1 {
            return Err(Refusal::StoreExclusives(old.stores));
        }
        let pairs = || old.paths.iter().flat_map(|old| new.paths.iter().map(move |new| (old, new)));
        let mut searched = false;
        for (first, second) in pairs() {
            searched |= self.compare(&mut graph, &initial, first, second)?;
        }
        if matches!(self.kind, AccessKind::Atomic | AccessKind::Retry) {
            pairs().try_for_each(|(old, new)| self.compare_order(&mut graph, &initial, old, new))?;
        }
        let accesses = || old.paths.iter().filter_map(|path| path.access.as_ref());
        Ok(Proof {
            size: accesses().next().map_or(8, |access| (access.bits / 8) as u8),
            acquire: accesses().any(|access| access.acquire),
            release: accesses().any(|access| access.release),
            searched,
        })
    }

    /// That nothing differs where both paths are taken. Gives whether folding left that open.
    fn compare(&self, graph: &mut Graph, initial: &Initial, old: &Path, new: &Path) -> Result<bool, Refusal> {
        let both = graph.and(old.condition, new.condition);
        let differences = differences(graph, old, new, self.dead_at(old.at));
        let any = differences.iter().fold(FALSE, |any, (_, lit)| graph.or(any, *lit));
        let goal = graph.and(both, any);
        if graph.full() {
            return Err(Refusal::TooLarge);
        }
        match search(graph, goal) {
            Answer::Never => Ok(goal != FALSE),
            Answer::Undecided => Err(Refusal::Undecided),
            Answer::Sometimes(values) => {
                let shown = differences.iter().find(|(_, lit)| value_of(&values, *lit));
                let difference = shown.map_or(Difference::Exit, |(difference, _)| *difference);
                let state = Box::new(state(initial, &values));
                Err(Refusal::Different { difference, state })
            }
        }
    }
}

impl Query {
    /// That no dependency is lost where both paths are taken.
    fn compare_order(
        &self,
        graph: &mut Graph,
        initial: &Initial,
        old: &Path,
        new: &Path,
    ) -> Result<(), Refusal> {
        let Some(difference) = lost_dependence(old, new, self.dead_at(old.at)) else { return Ok(()) };
        let both = graph.and(old.condition, new.condition);
        match search(graph, both) {
            Answer::Never => Ok(()),
            Answer::Undecided => Err(Refusal::Undecided),
            Answer::Sometimes(values) => {
                Err(Refusal::Different { difference, state: Box::new(state(initial, &values)) })
            }
        }
    }

    /// The registers that are dead at an exit.
    fn dead_at(&self, exit: i64) -> u32 {
        let dead = self.dead.iter().filter(|dead| dead.exit == exit);
        dead.fold(0, |all, dead| all | dead.registers)
    }
}

/// The paths of a try that succeeds, from any state that a try may begin in.
fn retried(graph: &mut Graph, initial: &Initial, steps: &[Step]) -> Result<Paths, Refusal> {
    let first = Initial { guess: graph.input_word(), ..initial.clone() };
    // What a try leaves changed is anything where the next one begins.
    let mut any = first.clone();
    for path in failures(graph, &first, steps)? {
        for (slot, (before, after)) in
            any.registers.iter_mut().zip(first.registers.iter().zip(&path.registers))
        {
            if before != after {
                *slot = graph.input_word();
            }
        }
        for (slot, (before, after)) in any.flags.iter_mut().zip(first.flags.iter().zip(&path.flags)) {
            if before != after {
                *slot = graph.input();
            }
        }
    }
    // From there no try changes more. So by induction all begin in one of these states.
    for path in failures(graph, &any, steps)? {
        let registers = first.registers.iter().zip(&any.registers).zip(&path.registers);
        let flags = first.flags.iter().zip(&any.flags).zip(&path.flags);
        let keeps = registers.into_iter().all(|((first, any), after)| any != first || after == first);
        if !keeps || !flags.into_iter().all(|((first, any), after)| any != first || after == first) {
            return Err(Refusal::Retry);
        }
    }
    // It succeeds where the guess was right.
    let right = Initial { guess: initial.cell[0], ..any };
    let paths = run(graph, &right, steps, Side::New, AccessKind::Retry)?;
    match paths.paths.iter().any(|path| path.fails) {
        true => Err(Refusal::Retry),
        false => Ok(paths),
    }
}

/// The paths of a try that does not succeed; all of them lead back to the first instruction.
fn failures(graph: &mut Graph, initial: &Initial, steps: &[Step]) -> Result<Vec<Path>, Refusal> {
    let mut paths = run(graph, initial, steps, Side::New, AccessKind::Retry)?.paths;
    paths.retain(|path| path.fails && !matches!(search(graph, path.condition), Answer::Never));
    match paths.iter().all(|path| path.at == 0) {
        true => Ok(paths),
        false => Err(Refusal::Retry),
    }
}

/// Whether an instruction names a register, 0 to 30.
fn is_named(steps: &[Step], number: u8) -> bool {
    let names = |insn: &Insn| {
        let (mut insn, mut found) = (*insn, false);
        insn.for_each_register(|register| found |= register.0 == number);
        found
    };
    number <= 30 && steps.iter().flatten().any(names)
}

/// The maximum of plain loads on one path through the sequence.
fn loads(steps: &[Step]) -> usize {
    let loads = |step: &Step| match step {
        Ok(Insn::Load { .. } | Insn::LoadAndAdd { .. }) => 1,
        Ok(Insn::LoadPair { .. }) => 2,
        _ => 0,
    };
    steps.iter().map(loads).sum()
}

/// What may differ where both paths are taken, and when it does; what never does is left out, and so is what
/// is dead.
fn differences(graph: &mut Graph, old: &Path, new: &Path, dead: u32) -> Vec<(Difference, Lit)> {
    let mut found = vec![
        (Difference::Exit, Lit::constant(old.at != new.at)),
        (Difference::Barriers, Lit::constant((&old.before, &old.after) != (&new.before, &new.after))),
    ];
    if let (Some(old), Some(new)) = (&old.access, &new.access) {
        found.extend([
            (Difference::Size, Lit::constant(old.bits != new.bits)),
            (Difference::Address, unlike(graph, &old.address, &new.address)),
            (Difference::Stored, Lit::constant(old.stored != new.stored)),
            (Difference::Memory, unlike_values(graph, &old.value, &new.value)),
            (Difference::Acquire, Lit::constant(old.acquire && !new.acquire)),
            (Difference::Release, Lit::constant(old.release && !new.release)),
        ]);
    } else if old.access.is_some() || new.access.is_some() {
        found.push((Difference::Stored, TRUE));
    }
    found.push((Difference::Loads, Lit::constant(old.loads.len() != new.loads.len())));
    for (old, new) in old.loads.iter().zip(&new.loads) {
        found.push((Difference::Address, unlike(graph, old, new)));
    }
    for (number, (old, new)) in (0_u8..).zip(old.registers.iter().zip(&new.registers)) {
        let difference = match number {
            31 => Difference::StackPointer,
            _ if dead >> number & 1 != 0 => continue,
            _ => Difference::Register(number),
        };
        found.push((difference, unlike(graph, old, new)));
    }
    for (old, new) in old.flags.iter().zip(&new.flags) {
        found.push((Difference::Flags, graph.xor(*old, *new)));
    }
    found.retain(|(_, lit)| *lit != FALSE);
    found
}

/// What the old sequence orders by a dependency and the new one does not.
fn lost_dependence(old: &Path, new: &Path, dead: u32) -> Option<Difference> {
    let ordered = if new.orders_what_follows() { LOADED } else { Sources::default() };
    let is_kept = |old: Sources, new: Sources| old.without(ordered).are_in(new);
    let (old, new) = (&old.dependence, &new.dependence);
    if !is_kept(old.control, new.control) {
        return Some(Difference::ControlDependency);
    }
    if !is_kept(old.flags, new.flags) {
        return Some(Difference::FlagsDependency);
    }
    let mut registers = (0_u8..31).zip(old.registers.iter().zip(&new.registers));
    let lost = registers.find(|(number, (old, new))| dead >> number & 1 == 0 && !is_kept(**old, **new));
    lost.map(|(number, _)| Difference::Dependency(number))
}

fn unlike(graph: &mut Graph, a: &Word, b: &Word) -> Lit {
    if a == b { FALSE } else { !graph.equal(a, b) }
}

fn unlike_values(graph: &mut Graph, a: &Value, b: &Value) -> Lit {
    a.iter().zip(b).fold(FALSE, |any, (a, b)| {
        let unlike = unlike(graph, a, b);
        graph.or(any, unlike)
    })
}

fn state(initial: &Initial, values: &[bool]) -> State {
    let word =
        |word: &Word| word.bits().rev().fold(0, |all, lit| all << 1 | u64::from(value_of(values, lit)));
    let registers = initial.registers.map(|register| word(&register));
    State {
        registers: std::array::from_fn(|number| registers.get(number).copied().unwrap_or(0)),
        sp: registers.last().copied().unwrap_or(0),
        nzcv: initial.flags.iter().fold(0, |all, lit| all << 1 | u8::from(value_of(values, *lit))),
        memory: initial.cell.iter().rev().fold(0, |all, half| all << 64 | u128::from(word(half))),
        loads: initial.loads.iter().map(word).collect(),
    }
}

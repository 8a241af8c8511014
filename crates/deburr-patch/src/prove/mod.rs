//! Patch stage: whether one sequence of words may stand in another's place.

pub(crate) mod bits;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod templates;

use crate::prove::bits::{FALSE, Graph, Lit, TRUE, Word};
use crate::prove::run::{Initial, Kind, LONGEST, Path, Value, Ways, run};
use crate::prove::search::{Answer, search, value_of};
use crate::semantics::{Insn, Step, decode, plain_load};
use std::fmt;

/// What was shown: on every way through both sequences one access, and the same of everything else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// Bytes of the access: 1, 2, 4, 8 or 16.
    pub size: u8,
    /// Whether the old sequence loads with acquire semantics; so does the new one.
    pub acquire: bool,
    /// Whether the old sequence stores with release semantics; so does the new one.
    pub release: bool,
    /// Whether folding left something to the solver.
    pub searched: bool,
}

/// One of the two sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// As it is: load-exclusive and store-exclusive.
    Old,
    /// What is to replace it: one single-copy atomic.
    New,
}

/// Why an instruction cannot be part of a proof.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// Not among the instructions that are understood, unallocated, or constrained unpredictable.
    Unknown,
    /// A memory access that is not the sequence's one: plain, a second, or of the other sequence's kind; or an encoding of one
    /// that is unallocated or unpredictable.
    Access,
    /// A call, or an exception that something else handles.
    Call,
    /// `wfe`, `sevl` and their like: the monitor may be an event source.
    Event,
    /// A barrier between load-exclusive and store-exclusive, or among plain loads.
    Barrier,
    /// A store-exclusive without its load-exclusive: none before it, `clrex` between, or another address or size.
    Unpaired,
    /// The zero register as an atomic's destination: it loses acquire semantics, and is no load to `dmb ishld`.
    ZeroDestination,
    /// A word that is reached twice.
    Endless,
}

/// What differs between the two sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Difference {
    /// Where the sequence is left.
    Exit,
    /// The address of the access, or of a plain load.
    Address,
    /// How many plain loads there are.
    Loads,
    /// The size of the access.
    Size,
    /// Whether anything is stored.
    Stored,
    /// What memory holds afterwards.
    Memory,
    /// The old sequence acquires, the new one does not.
    Acquire,
    /// The old sequence releases, the new one does not.
    Release,
    /// The barriers before or after the access.
    Barriers,
    /// A general register, 0 to 30.
    Register(u8),
    /// The stack pointer.
    StackPointer,
    /// N, Z, C or V.
    Flags,
}

/// A state in which both sequences begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// x0 to x30.
    pub registers: [u64; 31],
    /// The stack pointer.
    pub sp: u64,
    /// N, Z, C, V in bits 3 to 0.
    pub nzcv: u8,
    /// What memory holds at the address of the access, low bits first.
    pub memory: u128,
    /// What the plain loads read, the first first; two of them may contradict each other where they read the same place.
    pub loads: Vec<u64>,
}

/// What is known of a register where a sequence begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Given {
    /// Its number, 0 to 30.
    pub register: u8,
    /// Its bits from this one on are zero.
    pub zero_from: u8,
}

/// Registers that nothing reads any more where the sequences are left at one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dead {
    /// Where, in words from the sequence's first; a place inside the sequence is none.
    pub exit: i64,
    /// Bit n is xn, up to x30.
    pub registers: u32,
}

/// Why the replacement is not proven. All of them mean: leave the code as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The two are empty or not equally long.
    Length,
    /// More words, ways through them or nodes than the prover takes.
    TooLarge,
    /// An instruction that a proof cannot hold.
    Instruction {
        /// Where it stands.
        side: Side,
        /// Its index in words.
        index: usize,
        /// What is wrong with it.
        cause: Cause,
    },
    /// A way through a sequence accesses no memory.
    NoAccess {
        /// Which sequence.
        side: Side,
    },
    /// Not one store-exclusive lies on the ways through the old sequence, but so many.
    StoreExclusives(usize),
    /// The sequences differ, first of all in this.
    Different {
        /// In what.
        difference: Difference,
        /// Where it shows.
        state: Box<State>,
    },
    /// A compare-and-swap that fails does not lead back to the first word, with all that is read from there on as it was.
    Retry,
    /// The solver's bound was reached.
    Undecided,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refusal::Length => write!(f, "the sequences are empty or not equally long"),
            Refusal::TooLarge => write!(f, "the sequences are too large"),
            Refusal::Instruction { side, index, cause } => {
                let side = if *side == Side::Old { "old" } else { "new" };
                write!(f, "word {index} of the {side} sequence: {cause}")
            }
            Refusal::NoAccess { side: Side::Old } => {
                write!(f, "the old sequence can be passed without an access")
            }
            Refusal::NoAccess { side: Side::New } => {
                write!(f, "the new sequence can be passed without an access")
            }
            Refusal::StoreExclusives(count) => write!(f, "{count} store-exclusives instead of one"),
            Refusal::Different { difference, .. } => write!(f, "the sequences differ in {difference}"),
            Refusal::Retry => write!(f, "a retry does not begin as the first try did"),
            Refusal::Undecided => write!(f, "not decided within the bound"),
        }
    }
}

impl std::error::Error for Refusal {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Cause::Unknown => "not an instruction that is understood",
            Cause::Access => "a memory access other than the one",
            Cause::Call => "a call",
            Cause::Event => "waits for an event or sends one",
            Cause::Barrier => "a barrier among the accesses",
            Cause::Unpaired => "a store-exclusive without its load-exclusive",
            Cause::ZeroDestination => "the zero register as an atomic's destination",
            Cause::Endless => "reached twice",
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Difference::Exit => f.write_str("where they are left"),
            Difference::Address => f.write_str("the address of the access"),
            Difference::Loads => f.write_str("the number of loads"),
            Difference::Size => f.write_str("the size of the access"),
            Difference::Stored => f.write_str("whether they store"),
            Difference::Memory => f.write_str("what memory holds afterwards"),
            Difference::Acquire => f.write_str("acquire semantics"),
            Difference::Release => f.write_str("release semantics"),
            Difference::Barriers => f.write_str("the barriers"),
            Difference::Register(number) => write!(f, "x{number}"),
            Difference::StackPointer => f.write_str("the stack pointer"),
            Difference::Flags => f.write_str("the flags"),
        }
    }
}

/// Whether `new` may stand where `old` does.
///
/// Both are A64 words at the same addresses, entered at the first; where they are left counts from there. `old` holds one
/// load-exclusive and one store-exclusive, `new` one single-copy atomic on each way through it.
///
/// ```
/// use deburr_patch::{Difference, Refusal, prove};
///
/// let old = [
///     0x885ffc02, // ldaxr w2, [x0]
///     0x0b010043, // add   w3, w2, w1
///     0x8804fc03, // stlxr w4, w3, [x0]
///     0x35ffffa4, // cbnz  w4, #-12
/// ];
/// let mut new = [
///     0xb8e10002, // ldaddal w1, w2, [x0]
///     0x0b010043, // add     w3, w2, w1
///     0x2a1f03e4, // mov     w4, wzr
///     0xd503201f, // nop
/// ];
/// assert_eq!(prove(&old, &new)?.size, 4);
///
/// // Without the letter that makes it a release:
/// new[0] = 0xb8a10002; // ldadda w1, w2, [x0]
/// assert!(matches!(prove(&old, &new), Err(Refusal::Different { difference: Difference::Release, .. })));
/// # Ok::<(), Refusal>(())
/// ```
pub fn prove(old: &[u32], new: &[u32]) -> Result<Proof, Refusal> {
    prove_with(old, new, &[], &[])
}

/// As [`prove`], over the states only in which what is given holds. A way back to the first word is refused then: what was
/// known may not hold there.
///
/// # Errors
/// [`Refusal`], where the replacement is not shown to do the same.
pub fn prove_given(old: &[u32], new: &[u32], given: &[Given]) -> Result<Proof, Refusal> {
    prove_with(old, new, given, &[])
}

/// As [`prove_given`], where some registers are dead besides: they are not compared where the sequences are left at that
/// exit.
///
/// # Errors
/// [`Refusal`], where the replacement is not shown to do the same.
pub fn prove_with(old: &[u32], new: &[u32], given: &[Given], dead: &[Dead]) -> Result<Proof, Refusal> {
    Question::new(old, new, Kind::Atomic, given, dead)?.answer()
}

/// As [`prove`], for sequences of plain loads and no other access.
///
/// Both load from the same addresses in the same order, what each load reads is the same, and so is everything else. Of the
/// plain loads `ldur`, post-indexed `ldr` and `ldp` of 64-bit registers are understood, the last from SP only. Where a load
/// faults, registers and SP may already hold what they do behind the sequence; and by memory tagging (FEAT_MTE2) the
/// post-indexed load checks the tag of SP, which one with an offset from SP does not.
///
/// ```
/// use deburr_patch::prove_loads;
///
/// let old = [
///     0xa97ffbfd, // ldp x29, x30, [sp, #-8]
///     0x9100c3ff, // add sp, sp, #48
/// ];
/// let new = [
///     0xf85f83fd, // ldur x29, [sp, #-8]
///     0xf84307fe, // ldr  x30, [sp], #48
/// ];
/// assert!(prove_loads(&old, &new).is_ok());
/// ```
///
/// # Errors
/// [`Refusal`], where the replacement is not shown to do the same.
pub fn prove_loads(old: &[u32], new: &[u32]) -> Result<Proof, Refusal> {
    Question::new(old, new, Kind::Loads, &[], &[])?.answer()
}

/// As [`prove_with`], where `new` tries a compare-and-swap until it succeeds.
///
/// `new` loads once with a plain `ldr`, `ldrh` or `ldrb`, and with the same base and size compares what it loaded, all of it,
/// and swaps. The load may read anything: it is a guess, of which only the compare-and-swap says whether it was right. Where
/// it was not, `new` goes back to its first word, and of the registers and flags it has changed there only such as it writes
/// again before it reads them; shown with any values in them. Where it was right the two are compared as ever. What is
/// assumed is what is of store-exclusives: at some time it succeeds.
///
/// ```
/// use deburr_patch::prove_retrying;
///
/// let old = [
///     0x885f7c02, // ldxr  w2, [x0]
///     0x0a010043, // and   w3, w2, w1
///     0x2a2303e3, // mvn   w3, w3
///     0x88047c03, // stxr  w4, w3, [x0]
///     0x35ffff84, // cbnz  w4, #-16
///     0xd503201f, 0xd503201f, 0xd503201f, 0xd503201f, // nop
/// ];
/// let new = [
///     0xb9400002, // ldr   w2, [x0]
///     0x0a010043, // and   w3, w2, w1
///     0x2a2303e3, // mvn   w3, w3
///     0x2a0203e4, // mov   w4, w2
///     0x88a47c03, // cas   w4, w3, [x0]
///     0x4a040042, // eor   w2, w2, w4
///     0x35ffff42, // cbnz  w2, #-24
///     0x2a0403e2, // mov   w2, w4
///     0x2a1f03e4, // mov   w4, wzr
/// ];
/// assert!(prove_retrying(&old, &new, &[]).is_ok());
/// ```
///
/// # Errors
/// [`Refusal`], where the replacement is not shown to do the same.
pub fn prove_retrying(old: &[u32], new: &[u32], dead: &[Dead]) -> Result<Proof, Refusal> {
    Question::new(old, new, Kind::Retry, &[], dead)?.answer()
}

/// All that an answer depends on.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Question {
    /// The old sequence, and behind it the new one, as long.
    pub(crate) steps: Vec<Step>,
    pub(crate) kind: Kind,
    pub(crate) given: Vec<Given>,
    pub(crate) dead: Vec<Dead>,
}

impl Question {
    pub(crate) fn new(
        old: &[u32],
        new: &[u32],
        kind: Kind,
        given: &[Given],
        dead: &[Dead],
    ) -> Result<Question, Refusal> {
        if old.is_empty() || old.len() != new.len() {
            return Err(Refusal::Length);
        }
        if old.len() > LONGEST {
            return Err(Refusal::TooLarge);
        }
        let mut steps = Vec::with_capacity(2 * old.len());
        steps.extend(old.iter().map(|word| decode(*word)));
        let guess = |word: u32| plain_load(word).filter(|_| kind == Kind::Retry);
        steps.extend(new.iter().map(|word| guess(*word).map_or_else(|| decode(*word), Ok)));
        // What no word names is of no account.
        let tells = |given: &&Given| given.zero_from < 64 && is_named(&steps, given.register);
        let given = given.iter().filter(tells).copied().collect();
        // Back at the first word both must be in one state again, in all registers.
        let is_exit = |dead: &&Dead| !(0..old.len() as i64).contains(&dead.exit);
        let dead = dead.iter().filter(is_exit).copied().collect();
        Ok(Question { steps, kind, given, dead })
    }

    /// Words of either sequence.
    pub(crate) fn length(&self) -> usize {
        self.steps.len() / 2
    }

    pub(crate) fn answer(&self) -> Result<Proof, Refusal> {
        let (old, new) = self.steps.split_at_checked(self.length()).ok_or(Refusal::Length)?;
        let mut graph = Graph::new();
        let initial = Initial::new(
            &mut graph,
            &self.given,
            if self.kind == Kind::Loads { loads(old).max(loads(new)) } else { 0 },
        );
        let old = run(&mut graph, &initial, old, Side::Old, self.kind)?;
        let new = match self.kind {
            Kind::Retry => retried(&mut graph, &initial, new)?,
            _ => run(&mut graph, &initial, new, Side::New, self.kind)?,
        };
        for (ways, side) in [(&old, Side::Old), (&new, Side::New)] {
            let idle = |path: &Path| {
                let none = path.access.is_none() && path.loads.is_empty();
                none && !matches!(search(&graph, path.condition), Answer::Never)
            };
            if ways.paths.iter().any(idle) {
                return Err(Refusal::NoAccess { side });
            }
        }
        if self.kind != Kind::Loads && old.stores != 1 {
            return Err(Refusal::StoreExclusives(old.stores));
        }
        let mut searched = false;
        for (first, second) in
            old.paths.iter().flat_map(|first| new.paths.iter().map(move |new| (first, new)))
        {
            searched |= self.compare(&mut graph, &initial, first, second)?;
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
        let dead = self.dead.iter().filter(|dead| dead.exit == old.at);
        let dead = dead.fold(0, |all, dead| all | dead.registers);
        let differences = differences(graph, old, new, dead);
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

/// The ways of a try that succeeds, from any state that a try may begin in.
fn retried(graph: &mut Graph, initial: &Initial, steps: &[Step]) -> Result<Ways, Refusal> {
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
    let ways = run(graph, &right, steps, Side::New, Kind::Retry)?;
    match ways.paths.iter().any(|path| path.fails) {
        true => Err(Refusal::Retry),
        false => Ok(ways),
    }
}

/// The ways of a try that does not succeed; all of them lead back to the first word.
fn failures(graph: &mut Graph, initial: &Initial, steps: &[Step]) -> Result<Vec<Path>, Refusal> {
    let mut paths = run(graph, initial, steps, Side::New, Kind::Retry)?.paths;
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

/// How many plain loads one way through the sequence has at most.
fn loads(steps: &[Step]) -> usize {
    let loads = |step: &Step| match step {
        Ok(Insn::Load { .. } | Insn::LoadAndAdd { .. }) => 1,
        Ok(Insn::LoadPair { .. }) => 2,
        _ => 0,
    };
    steps.iter().map(loads).sum()
}

/// What may differ where both paths are taken, and when it does; what never does is left out, and so is what is dead.
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

//! Patch stage: whether one sequence of words may stand in another's place.

use super::bits::{FALSE, Graph, Lit, TRUE, Word};
use super::run::{Initial, LONGEST, Path, run};
use super::search::{Answer, search, value_of};
use std::fmt;

/// What was shown: on every way through both sequences one access, and the same of everything else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// Bytes of the access: 1, 2, 4 or 8.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// Not among the instructions that are understood, unallocated, or constrained unpredictable.
    Unknown,
    /// A memory access that is not the sequence's one: plain, paired, a second, or of the other sequence's kind.
    Access,
    /// A call, or an exception that something else handles.
    Call,
    /// `wfe`, `sevl` and their like: the monitor may be an event source.
    Event,
    /// A barrier between load-exclusive and store-exclusive.
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
    /// The address of the access.
    Address,
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
    pub memory: u64,
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
            Cause::Barrier => "a barrier between the exclusives",
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
/// use deburr_core::patch::{Difference, Refusal, prove};
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
    prove_given(old, new, &[])
}

/// What is known of a register where a sequence begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Given {
    /// Its number, 0 to 30.
    pub register: u8,
    /// Its bits from this one on are zero.
    pub zero_from: u8,
}

/// As [`prove`], over the states only in which what is given holds.
///
/// # Errors
/// [`Refusal`], where the replacement is not shown to do the same.
pub fn prove_given(old: &[u32], new: &[u32], given: &[Given]) -> Result<Proof, Refusal> {
    if old.is_empty() || old.len() != new.len() {
        return Err(Refusal::Length);
    }
    if old.len() > LONGEST {
        return Err(Refusal::TooLarge);
    }
    let mut graph = Graph::new();
    let initial = Initial::new(&mut graph, given);
    let old = run(&mut graph, &initial, old, Side::Old)?;
    let new = run(&mut graph, &initial, new, Side::New)?;
    for (ways, side) in [(&old, Side::Old), (&new, Side::New)] {
        let idle =
            |path: &Path| path.access.is_none() && !matches!(search(&graph, path.condition), Answer::Never);
        if ways.paths.iter().any(idle) {
            return Err(Refusal::NoAccess { side });
        }
    }
    if old.stores != 1 {
        return Err(Refusal::StoreExclusives(old.stores));
    }
    let mut searched = false;
    for first in &old.paths {
        for second in &new.paths {
            let both = graph.and(first.condition, second.condition);
            let differences = differences(&mut graph, first, second);
            let any = differences.iter().fold(FALSE, |any, (_, lit)| graph.or(any, *lit));
            let goal = graph.and(both, any);
            if graph.full() {
                return Err(Refusal::TooLarge);
            }
            searched |= goal != FALSE;
            match search(&graph, goal) {
                Answer::Never => {}
                Answer::Undecided => return Err(Refusal::Undecided),
                Answer::Sometimes(values) => {
                    let shown = differences.iter().find(|(_, lit)| value_of(&values, *lit));
                    let difference = shown.map_or(Difference::Exit, |(difference, _)| *difference);
                    let state = Box::new(state(&initial, &values));
                    return Err(Refusal::Different { difference, state });
                }
            }
        }
    }
    let accesses = || old.paths.iter().filter_map(|path| path.access.as_ref());
    Ok(Proof {
        size: accesses().next().map_or(0, |access| (access.bits / 8) as u8),
        acquire: accesses().any(|access| access.acquire),
        release: accesses().any(|access| access.release),
        searched,
    })
}

/// What may differ where both paths are taken, and when it does; what never does is left out.
fn differences(graph: &mut Graph, old: &Path, new: &Path) -> Vec<(Difference, Lit)> {
    let mut found = vec![
        (Difference::Exit, Lit::constant(old.at != new.at)),
        (Difference::Barriers, Lit::constant((&old.before, &old.after) != (&new.before, &new.after))),
    ];
    if let (Some(old), Some(new)) = (&old.access, &new.access) {
        found.extend([
            (Difference::Size, Lit::constant(old.bits != new.bits)),
            (Difference::Address, unlike(graph, &old.address, &new.address)),
            (Difference::Stored, Lit::constant(old.stored != new.stored)),
            (Difference::Memory, unlike(graph, &old.value, &new.value)),
            (Difference::Acquire, Lit::constant(old.acquire && !new.acquire)),
            (Difference::Release, Lit::constant(old.release && !new.release)),
        ]);
    } else {
        found.push((Difference::Stored, TRUE));
    }
    for (number, (old, new)) in (0_u8..).zip(old.registers.iter().zip(&new.registers)) {
        let difference = match number {
            31 => Difference::StackPointer,
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

fn state(initial: &Initial, values: &[bool]) -> State {
    let word =
        |word: &Word| word.bits().rev().fold(0, |all, lit| all << 1 | u64::from(value_of(values, lit)));
    let registers = initial.registers.map(|register| word(&register));
    State {
        registers: std::array::from_fn(|number| registers.get(number).copied().unwrap_or(0)),
        sp: registers.last().copied().unwrap_or(0),
        nzcv: initial.flags.iter().fold(0, |all, lit| all << 1 | u8::from(value_of(values, *lit))),
        memory: word(&initial.cell),
    }
}

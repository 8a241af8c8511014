//! One linear pass over code: the only time that every instruction is examined.
//!
//! In: the bytes of one *unit* (a run of code between two places where an instruction is known to begin).
//! Out: counts by feature group, the instructions above the baseline, direct calls, jumps that leave the
//! unit, references into code, and the instructions whose class some rule wants. Everything that needs
//! more facts decodes again, in the few places that matter.

use super::{Class, ClassSet, FeatureGroup};
use crate::address::{CodeOffset, Svma};

/// An instruction that needs features above its architecture's first level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureHit {
    /// Where it is.
    pub at: CodeOffset,
    /// What it needs.
    pub group: FeatureGroup,
}

/// A direct transfer of control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The call or jump.
    pub from: CodeOffset,
    /// Its target.
    pub to: CodeOffset,
}

/// How an instruction refers to a place in code without going there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceKind {
    /// Reads that many bytes there: `ldr x0, =…`, `mov rax, [rip+…]`.
    Load(u16),
    /// Makes its address: `adr`, `lea rax, [rip+…]`. (`adrp` alone names no place.)
    Address,
}

/// A reference from code to a place in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The instruction that refers.
    pub from: CodeOffset,
    /// The place.
    pub to: CodeOffset,
    /// How it is used.
    pub kind: ReferenceKind,
}

/// An instruction whose class a rule wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Where it is.
    pub at: CodeOffset,
    /// What it is.
    pub class: Class,
}

/// Which short loops the pass notes. Each kind includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Loops {
    /// None.
    #[default]
    None,
    /// Those in which nothing is stored and nothing is called.
    Quiet,
    /// All.
    All,
}

/// Maximum number of bytes from a short loop's first instruction to the jump that closes it.
pub const SHORT_LOOP: u32 = 128;

/// A direct jump or branch back within one unit, over at most [`SHORT_LOOP`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackEdge {
    /// The jump.
    pub from: CodeOffset,
    /// Its target, at or before it; on x86-64 not always where an instruction begins.
    pub to: CodeOffset,
    /// Whether nothing between the two stores to memory (atomics count, too), calls, or enters the system.
    pub is_quiet: bool,
}

/// Maximum number of bytes from the first instruction of a loop that computes to the jump that closes it.
pub const COMPUTING_LOOP: u32 = 1024;

/// A direct jump or branch back within one unit, over at most [`COMPUTING_LOOP`] bytes, among which is arithmetic on
/// vectors or on floating-point numbers, or a multiplication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputingLoop {
    /// The jump.
    pub from: CodeOffset,
    /// Its target, before it; on x86-64 not always where an instruction begins.
    pub to: CodeOffset,
    /// Whether there seems to be arithmetic on vectors.
    pub is_vector: bool,
}

/// What rules want noted of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wants {
    /// The classes to mark.
    pub classes: ClassSet,
    /// The short loops to note.
    pub loops: Loops,
    /// Whether to note loops that compute.
    pub computing: bool,
}

impl Wants {
    /// Classes alone.
    pub const fn classes(classes: ClassSet) -> Wants {
        Wants { classes, loops: Loops::None, computing: false }
    }

    /// What either wants.
    #[must_use]
    pub fn union(self, other: Wants) -> Wants {
        Wants {
            classes: self.classes.union(other.classes),
            loops: self.loops.max(other.loops),
            computing: self.computing || other.computing,
        }
    }
}

/// What the pass is to find.
#[derive(Debug, Clone, Copy)]
pub struct Interest {
    /// What else to note.
    pub wants: Wants,
    /// The address of code offset 0, for page-relative addresses (`adrp`).
    pub code_base: Svma,
    /// The length of all code in bytes: a target at or beyond it is not in code and is not recorded.
    pub code_length: CodeOffset,
    /// Whether jumps that leave the unit are recorded as well as calls. Unconditional jumps always are;
    /// conditional ones only if `conditional_exits`.
    pub conditional_exits: bool,
}

/// What the pass found. One value collects many units.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sweep {
    /// Bytes that decoded.
    pub decoded: u64,
    /// Bytes that did not.
    pub undecoded: u64,
    /// Instructions per feature group, indexed by group.
    pub groups: Vec<u64>,
    /// Instructions above the architecture's first level, in order.
    pub hits: Vec<FeatureHit>,
    /// Direct calls, in order of `from`.
    pub calls: Vec<Edge>,
    /// Direct jumps and branches that leave their unit, in order of `from`.
    pub jumps: Vec<Edge>,
    /// References from code into code.
    pub references: Vec<Reference>,
    /// Instructions whose class is wanted, in order.
    pub marks: Vec<Mark>,
    /// Short loops of the kind requested, in order of `from`.
    pub back_edges: Vec<BackEdge>,
    /// Loops that compute, where they are requested, in order of `from`.
    pub computing_loops: Vec<ComputingLoop>,
    /// Starts of undecodable runs, in order, at most one per run.
    pub undecodable: Vec<CodeOffset>,
}

impl Sweep {
    /// Makes it empty again, but keeps the memory of its lists.
    pub fn clear(&mut self) {
        let Sweep {
            decoded,
            undecoded,
            groups,
            hits,
            calls,
            jumps,
            references,
            marks,
            back_edges,
            computing_loops,
            undecodable,
        } = self;
        (*decoded, *undecoded) = (0, 0);
        groups.clear();
        hits.clear();
        calls.clear();
        jumps.clear();
        references.clear();
        marks.clear();
        back_edges.clear();
        computing_loops.clear();
        undecodable.clear();
    }
}

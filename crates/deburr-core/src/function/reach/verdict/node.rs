//! What edges lead to and come from: functions, objects in data, and code outside.

use crate::address::{CodeOffset, Svma};
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::verdict::kind::GuardKind;
use deburr_cpu::FeatureSet;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;

/// Something that edges lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Node {
    /// The function that begins, or is jumped into, there.
    Function(CodeOffset),
    /// The object in data that begins there.
    Data(u64),
}

/// Where an edge begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The loader.
    Root,
    /// A caller in another file.
    Export {
        /// Whether others are meant to call it: the name is not exported by accident of how C++, or a module that its
        /// host enters by fixed names, is linked.
        is_interface: bool,
    },
    /// A caller in another file that has chosen the function for the CPU, by its name.
    Offer {
        /// What such CPUs have.
        features: FeatureSet,
    },
    /// In a function, or in data.
    Node(Node),
}

/// An edge into a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IncomingEdge {
    pub from: Source,
    /// The call, jump, reference or cell.
    pub at: Svma,
    /// What is proven there, beyond what is where `from` begins.
    pub proof: Proof,
    /// Whether control takes it, rather than an address.
    pub is_certain: bool,
    /// Whether it is an address that was not seen to go anywhere, or one of several that something chooses among.
    pub is_loose: bool,
    pub kind: GuardKind,
    /// The branch that proved it.
    pub check: Option<Svma>,
}

/// Functions by where they begin, with what the CPU is known to have whenever they are entered: the user states it.
pub type Stated = FxHashMap<CodeOffset, FeatureSet>;

/// By function, each entry with the code that can run after it.
pub(crate) type Entries = BTreeMap<CodeOffset, Vec<(CodeOffset, Vec<Range<CodeOffset>>)>>;

/// Whether an instruction can run after an entry.
pub(crate) fn leads_to(ranges: Option<&[Range<CodeOffset>]>, at: CodeOffset) -> bool {
    ranges.is_none_or(|ranges| ranges.iter().any(|range| range.contains(&at)))
}

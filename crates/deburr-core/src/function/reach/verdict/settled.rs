//! What is known of the CPU where each node begins, as [`super::net`] finds it. What is known repeats, and is kept once.

use crate::address::CodeOffset;
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::verdict::node::{Node, Stated};
use crate::insn::sweep::FeatureHit;
use deburr_cpu::FeatureSet;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What is known of the CPU where a node begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Known {
    /// For certain.
    pub proven: FeatureSet,
    /// If each test that was not followed had proven everything.
    pub possible: FeatureSet,
}

impl Known {
    pub(super) fn root() -> Known {
        Known { proven: FeatureSet::EMPTY, possible: FeatureSet::EMPTY }
    }

    pub(super) fn after(self, proof: Proof) -> Known {
        Known {
            proven: self.proven.union(proof.features),
            possible: if proof.is_doubtful { FeatureSet::ALL } else { self.possible.union(proof.features) },
        }
    }

    pub(super) fn meet(self, other: Known) -> Known {
        Known {
            proven: self.proven.intersection(other.proven),
            possible: self.possible.intersection(other.possible),
        }
    }
}

/// How a node is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Entry {
    /// By control flow alone.
    pub certain: Option<Known>,
    /// By an address that went somewhere after a check.
    pub checked: Option<Known>,
    /// By an address that went somewhere without one.
    pub bare: bool,
    /// By a caller in another file that may have queried the CPU, or by an address whose use is not followed.
    pub doubtful: bool,
}

impl Entry {
    /// Reached in either way: the upper bound of both.
    pub(super) fn join(self, other: Entry) -> Entry {
        let either = |left: Option<Known>, right: Option<Known>| match left.zip(right) {
            Some((left, right)) => Some(left.meet(right)),
            None => left.or(right),
        };
        Entry {
            certain: either(self.certain, other.certain),
            checked: either(self.checked, other.checked),
            bare: self.bare || other.bare,
            doubtful: self.doubtful || other.doubtful,
        }
    }

    /// The same, where the user states that some features are there whenever the node is reached.
    pub(super) fn stating(self, features: FeatureSet) -> Entry {
        let stating = |known: Known| Known {
            proven: known.proven.union(features),
            possible: known.possible.union(features),
        };
        let bare = (self.bare || self.doubtful).then(Known::root);
        let checked = match (self.checked, bare) {
            (Some(checked), Some(bare)) => Some(checked.meet(bare)),
            (checked, bare) => checked.or(bare),
        };
        Entry { certain: self.certain.map(stating), checked: checked.map(stating), ..Entry::default() }
    }
}

/// What is known where each node begins, and the exported functions that others call as they like.
#[derive(Debug)]
pub(crate) struct Settled {
    /// By number, sorted.
    pub(super) nodes: Vec<Node>,
    pub(super) entries: Vec<Numbered>,
    pub(super) knowns: Knowns,
    pub(super) roots: BTreeSet<Node>,
    /// By function, its instructions that need more than what is permitted; found on request.
    pub(super) hits: OnceLock<BTreeMap<CodeOffset, Vec<FeatureHit>>>,
}

impl Settled {
    /// How a node is reached; `None` for one without edges.
    pub(super) fn entry(&self, node: Node) -> Option<Entry> {
        let number = self.nodes.binary_search(&node).ok()?;
        Some(self.knowns.entry(self.entries.get(number).copied()?))
    }
}

/// The number of nothing.
pub(super) const NONE: u32 = u32::MAX;
/// An [`Entry`], with what is known by its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbered {
    pub certain: u32,
    pub checked: u32,
    pub bare: bool,
    pub doubtful: bool,
}

impl Default for Numbered {
    fn default() -> Numbered {
        Numbered { certain: NONE, checked: NONE, bare: false, doubtful: false }
    }
}

/// All that is known somewhere, each once.
#[derive(Debug, Default)]
pub(super) struct Knowns {
    all: Vec<Known>,
    numbers: FxHashMap<Known, u32>,
}

impl Knowns {
    fn get(&self, number: u32) -> Option<Known> {
        self.all.get(number as usize).copied()
    }

    fn number(&mut self, known: Option<Known>) -> u32 {
        let Some(known) = known else { return NONE };
        *self.numbers.entry(known).or_insert_with(|| {
            self.all.push(known);
            self.all.len() as u32 - 1
        })
    }

    pub(super) fn entry(&self, entry: Numbered) -> Entry {
        let Numbered { certain, checked, bare, doubtful } = entry;
        Entry { certain: self.get(certain), checked: self.get(checked), bare, doubtful }
    }

    pub(super) fn numbered(&mut self, entry: Entry) -> Numbered {
        let Entry { certain, checked, bare, doubtful } = entry;
        Numbered { certain: self.number(certain), checked: self.number(checked), bare, doubtful }
    }
}

/// The last that was settled, with what it was settled for.
#[derive(Debug, Default)]
pub(crate) struct LastSettled(Mutex<Option<Settling>>);

/// What is permitted, what the user states, and what follows.
type Settling = (FeatureSet, Stated, Arc<Settled>);

impl LastSettled {
    /// What is settled for the same, or what is made now.
    pub(super) fn get(
        &self,
        permitted: FeatureSet,
        stated: &Stated,
        settle: impl FnOnce() -> Settled,
    ) -> Arc<Settled> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match last.as_ref() {
            Some((same, of, settled)) if *same == permitted && of == stated => settled.clone(),
            _ => {
                let settled = Arc::new(settle());
                *last = Some((permitted, stated.clone(), settled.clone()));
                settled
            }
        }
    }
}

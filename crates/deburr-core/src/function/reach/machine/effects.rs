//! What running a function shows, and the sink that its instructions write it to.

use crate::address::{CodeOffset, Svma};
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::state::State;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::view::View;
use crate::function::reach::machine::memory::Argument;
use crate::insn::Insn;
use deburr_cpu::FeatureSet;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// What is known at a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockFacts {
    /// Its first instruction.
    pub start: CodeOffset,
    /// What tests in this function have proven on every path to it; `None`: no path leads there.
    pub proof: Option<Proof>,
    /// The last branch that proved something.
    pub check: Option<Svma>,
    /// A test on every path to it that was not followed.
    pub doubt: Option<Svma>,
    /// Whether the run stopped before it was settled what is known here.
    pub is_cut: bool,
}

/// Something that a function stores where others find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Where.
    pub at: u64,
    /// In how many bytes.
    pub width: u8,
    /// What, with what is proven there.
    pub value: Value,
    /// Features that are missing there.
    pub absent: FeatureSet,
}

/// What becomes of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum UseKind {
    /// Called or jumped to.
    Called,
    /// Stored in the word at an address.
    Stored(u64),
    /// Returned.
    Returned,
    /// Stored elsewhere, or passed on.
    LetOut,
}

/// An address of this file that a function lets out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    /// The address, of code or of data.
    pub address: Svma,
    /// Where.
    pub from: Svma,
    /// What becomes of it.
    pub kind: UseKind,
    /// What is proven where it is used.
    pub proof: Proof,
    /// The last branch that proved something.
    pub check: Option<Svma>,
}

/// What running a function shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    /// Its blocks, by address.
    pub blocks: Vec<BlockFacts>,
    /// What is known at jumps out of the function, when they are taken, by the jump.
    pub exits: Vec<(CodeOffset, BlockFacts)>,
    /// Offsets in structures of unknown place at which it stores flags after a check.
    pub fields: BTreeSet<i64>,
    /// The arguments in which it gives others what says something of the CPU.
    pub arguments: BTreeSet<(CodeOffset, Argument)>,
    /// The arguments in which it gives others a constant, and whether that is zero. Only on request.
    pub constants: BTreeSet<(CodeOffset, Argument, bool)>,
    /// What it stores in words of known place.
    pub stores: Vec<Stored>,
    /// Addresses that it lets out.
    pub uses: Vec<Use>,
    /// What it returns.
    pub returned: Value,
    /// What all of this depends on.
    pub inputs: Inputs,
}

/// What a run of a function used of what is known of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    /// The words that it loaded, by address and width in bytes.
    pub words: BTreeSet<(u64, u8)>,
    /// The functions that it called without running them.
    pub callees: BTreeSet<CodeOffset>,
}

impl Facts {
    /// What is known when control leaves from an offset.
    pub(crate) fn leaving(&self, at: CodeOffset) -> Option<&BlockFacts> {
        let exit = self.exits.binary_search_by_key(&at, |exit| exit.0).ok();
        exit.and_then(|index| self.exits.get(index)).map(|(_, facts)| facts).or_else(|| self.at(at))
    }

    /// What is known at an offset.
    pub(crate) fn at(&self, at: CodeOffset) -> Option<&BlockFacts> {
        let after = self.blocks.partition_point(|block| block.start <= at);
        self.blocks.get(after.checked_sub(1)?)
    }
}

/// The sink of one function's run.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) facts: Facts,
    /// The place of each among the facts' uses.
    used: FxHashMap<(Svma, Svma, UseKind), usize>,
    /// The words that it has loaded, by address and width in bytes.
    pub(crate) words: RefCell<BTreeSet<(u64, u8)>>,
}

impl Effects {
    /// Records the addresses of this file among a value's constants.
    pub(crate) fn let_out(
        &mut self,
        file: &View<'_, '_>,
        value: &Value,
        insn: &Insn,
        kind: UseKind,
        state: &State,
    ) {
        for &(address, proof) in value.choices() {
            if file.is_place(Svma(address)) {
                let proof = proof.union(state.proof());
                let check = state.check.or(Some(insn.svma)).filter(|_| !proof.is_empty());
                let address = Svma(address);
                let place = *self.used.entry((address, insn.svma, kind)).or_insert(self.facts.uses.len());
                match self.facts.uses.get_mut(place) {
                    // The block has run before, with less known of the paths to it.
                    Some(known) => known.proof = known.proof.intersection(proof),
                    None => self.facts.uses.push(Use { address, from: insn.svma, kind, proof, check }),
                }
            }
        }
    }
}

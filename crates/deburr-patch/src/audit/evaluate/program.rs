//! Patch stage, audit, evaluate: instructions at their places → operations whose branches have targets.
//!
//! In: the instructions of one side, where they are, and how many they replace. Out: a [`Program`], or the [`Fact`] that
//! an instruction is not understood. Instructions in added space are read where they are: nothing is moved.

use super::operation::{Operation, Place};
use super::table::operation;
use crate::subject::Fact;

/// Instructions of one side; sets of them have 64 bits.
pub(crate) const MAX_OPERATIONS: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Program {
    pub(crate) operations: Vec<Operation>,
    /// Where control goes after the last.
    pub(crate) next: Place,
}

impl Program {
    /// `first`: where they begin, in instructions from the first of `replaced` ones.
    pub(crate) fn new(words: &[u32], first: i64, replaced: usize) -> Result<Program, Fact> {
        if words.is_empty() || words.len() > MAX_OPERATIONS {
            return Err(Fact::TooLong);
        }
        let end = i64::try_from(replaced).map_err(|_| Fact::TooLong)?;
        let place = |at: i64| match usize::try_from(at.wrapping_sub(first)) {
            Ok(inside) if inside < words.len() => Place::Inside(inside),
            _ if at == end => Place::End,
            _ => Place::At(at),
        };
        let operations: Option<Vec<Operation>> = words
            .iter()
            .zip(first..)
            .map(|(word, at)| operation(*word, |offset| place(at.wrapping_add(offset))))
            .collect();
        let next = place(first.wrapping_add(words.len() as i64));
        Ok(Program { operations: operations.ok_or(Fact::Instruction)?, next })
    }

    /// Shows every target outside of the program, in order; `change` may put another one in its place.
    pub(crate) fn for_each_exit(&mut self, mut change: impl FnMut(&mut i64)) {
        for operation in &mut self.operations {
            if let Operation::Branch { to: Place::At(at), .. } = operation {
                change(at);
            }
        }
        if let Place::At(at) = &mut self.next {
            change(at);
        }
    }

    pub(crate) fn has(&self, wanted: impl Fn(&Operation) -> bool) -> bool {
        self.operations.iter().any(wanted)
    }
}

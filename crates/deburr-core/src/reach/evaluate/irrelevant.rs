//! Opaque calls: of large functions that are irrelevant ([`crate::reach::demand`]).
//!
//! An irrelevant function computes nothing that the CPU decides. A call of it has the effects of a call of another file's function: it may
//! read and write all that it is handed, and the data that it names. It is evaluated nevertheless if it is handed something relevant, as a
//! closure or a table of functions.

use super::control::Leaving;
use super::limits::MAX_CARRIED;
use super::run::{Returned, Run};
use super::state::{State, Written};
use crate::engine::solver::NodeId;
use crate::reach::demand::Irrelevant;
use crate::reach::memory::Escape;
use crate::reach::value::pool::Value;
use crate::reach::value::region::{THREAD_BASE, context_of, frame_offset, region};
use rustc_hash::FxHashSet;

impl Run<'_, '_, '_> {
    /// The function of a call, if the call is opaque: neither the function nor what it is handed is relevant.
    pub(super) fn irrelevant(&mut self, node: NodeId, function: u64, state: &State) -> Option<Irrelevant> {
        let irrelevant = self.demand.irrelevant(self.file, function)?;
        let read = self.arguments_of(function, 0);
        let mut pending: Vec<u64> = Vec::new();
        for &number in self.abi.arguments.iter().filter(|&&number| read >> number & 1 == 1) {
            pending.extend(self.pool.addresses(state.register(number)));
        }
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        while let Some(address) = pending.pop() {
            let object = self.pool.places.object(address);
            if !seen.insert(object) {
                continue;
            }
            if seen.len() > MAX_CARRIED || self.is_relevant_address(address) {
                return None;
            }
            for value in self.held(node, state, address) {
                pending.extend(self.pool.addresses(value));
            }
        }
        Some(irrelevant)
    }

    /// Whether an address is relevant by itself.
    fn is_relevant_address(&self, address: u64) -> bool {
        match region(address) {
            Some(_) => false,
            None if self.pool.places.is_code(address) => self.demand.is_relevant(self.file, address),
            None => self.demand.is_relevant_object(self.pool.places.object(address)),
        }
    }

    /// The values that were stored in the object that an address is in.
    fn held(&self, node: NodeId, state: &State, address: u64) -> Vec<Value> {
        let Some(context) = context_of(address) else {
            let object = self.pool.places.object(address);
            let words = self.memory.words_of(&self.pool, address);
            let stored = words.iter().flat_map(|&word| self.memory.stored(word));
            return stored.chain(self.memory.stored_somewhere(object)).collect();
        };
        let start = frame_offset(address);
        let end = self.object_end(start, context);
        let is_inside = |offset: i32| (start..end).contains(&offset);
        let mut values: Vec<Value> = Vec::new();
        if self.own_offset(node, address).is_some() {
            values.extend(state.slots.iter().filter(|slot| is_inside(slot.0)).map(|slot| slot.2));
        }
        let words = self.memory.frame_words(address).iter().filter(|word| is_inside(frame_offset(**word)));
        values.extend(words.flat_map(|&word| self.memory.stored(word)));
        let effects = state.effects.iter().filter(|it| context_of(it.at) == Some(context));
        values.extend(effects.map(|it| it.value));
        values
    }

    /// Calls such a function. Returns its results, if it may come back.
    pub(super) fn call_irrelevant(
        &mut self,
        from: Leaving<'_>,
        (function, irrelevant): (u64, Irrelevant),
        state: &mut State,
    ) -> Option<Returned> {
        self.expose_data(irrelevant.number);
        let read = self.arguments_of(function, 0);
        let anything = Value::TOP.opened(irrelevant.is_open);
        for &number in self.abi.arguments.iter().filter(|&&number| read >> number & 1 == 1) {
            let argument = state.register(number);
            self.hand_over(from, state, (argument, anything), self.whole_certainty(from).escape());
        }
        self.lose_stack_arguments(from.node, state);
        self.clobber_more(from.context, self.abi.caller_saved);
        self.throw(from, state);
        let certainty = from.certainty;
        irrelevant.returns.then(|| Returned {
            values: [anything; 2],
            clobbers: self.abi.caller_saved,
            certainty,
            through: None,
            written: Written::anything(),
            words: Vec::new(),
        })
    }

    /// Code that is not followed gets an argument, and may write to what that leads to.
    pub(super) fn hand_over(
        &mut self,
        from: Leaving<'_>,
        state: &mut State,
        (argument, anything): (Value, Value),
        how: Escape,
    ) {
        self.leak_value(argument);
        self.escape(argument, how);
        self.overwrite(from.node, state, (argument, anything), None);
        if self.pool.as_constant(argument).is_none_or(|at| context_of(at).is_some()) {
            self.share_value(argument);
        }
    }

    /// A function that is not evaluated reads and writes the data that it names.
    pub(super) fn expose_data(&mut self, function: u32) {
        let mut exposed = std::mem::take(&mut self.exposed);
        let data = self.demand.data_of(function, &mut exposed);
        self.exposed = exposed;
        self.extra_cost += (data.words.len() + data.taken.len()) as u64;
        for word in data.words {
            self.expose_word(word);
        }
        let thread = data.has_thread.then_some(THREAD_BASE);
        for place in data.taken.into_iter().chain(thread) {
            // The addresses that it holds before any code runs lead to nothing relevant.
            self.escape_contents(place, Escape::Foreign);
        }
    }

    /// A function that is not evaluated reads and writes a word.
    fn expose_word(&mut self, word: u64) {
        if self.memory.expose_word(&self.pool, word) {
            self.escape_stored(word, Escape::Foreign);
        }
    }
}

//! Calls of functions that the question is not about: see [`crate::reach::demand`].
//!
//! Such a function computes nothing that the CPU decides. A call of it is what a call of another file's function is: it may read and
//! write all that it is handed, and the data that it names. Where it is handed something that leads back to the question, as a closure
//! or a table, it is evaluated.

use super::control::Leaving;
use super::limits::MAX_CARRIED;
use super::run::{Certainty, Returned, Run};
use super::state::{ARGUMENTS, CALLER_SAVED, State};
use crate::engine::solver::NodeId;
use crate::reach::demand::Beside;
use crate::reach::memory::Escape;
use crate::reach::value::pool::Value;
use crate::reach::value::region::{THREAD_BASE, context_of, frame_offset, region};
use rustc_hash::FxHashSet;

impl Run<'_, '_, '_> {
    /// The function of a call, if the question is neither about it nor about what it is handed.
    pub(super) fn beside(&mut self, node: NodeId, function: u64, state: &State) -> Option<Beside> {
        let beside = self.demand.beside(self.file, function).filter(|it| it.is_large)?;
        let read = self.arguments_of(function, 0);
        let mut pending: Vec<u64> = Vec::new();
        for number in ARGUMENTS.into_iter().filter(|&number| read >> number & 1 == 1) {
            pending.extend(self.pool.addresses(state.register(number)));
        }
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        while let Some(address) = pending.pop() {
            let object = self.pool.places.object(address);
            if !seen.insert(object) {
                continue;
            }
            if seen.len() > MAX_CARRIED || self.leads_back(address) {
                return None;
            }
            for value in self.held(node, state, address) {
                pending.extend(self.pool.addresses(value));
            }
        }
        Some(beside)
    }

    /// Whether the question is about an address itself.
    fn leads_back(&self, address: u64) -> bool {
        match region(address) {
            Some(_) => false,
            None if self.pool.places.is_code(address) => self.demand.asks(self.file, address),
            None => self.demand.asks_object(self.pool.places.object(address)),
        }
    }

    /// What was stored in the object that an address is in.
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

    /// Calls such a function. Returns what comes back, if anything does.
    pub(super) fn call_beside(
        &mut self,
        from: Leaving<'_>,
        (function, beside): (u64, Beside),
        state: &mut State,
    ) -> Option<Returned> {
        self.show_data(beside.number);
        let read = self.arguments_of(function, 0);
        let anything = Value::TOP.opened(beside.is_open);
        let how = match from.certainty {
            Certainty::Certain => Escape::Foreign,
            Certainty::Doubtful => Escape::Lost,
        };
        for number in ARGUMENTS.into_iter().filter(|&number| read >> number & 1 == 1) {
            let argument = state.register(number);
            self.hand_over(from, state, (argument, anything), how);
        }
        self.lose_stack_arguments(from.node, state);
        self.clobber_more(from.context, CALLER_SAVED);
        self.throw(from, state);
        let certainty = from.certainty;
        beside.returns.then_some(Returned { values: [anything; 2], clobbers: CALLER_SAVED, certainty })
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
    pub(super) fn show_data(&mut self, function: u32) {
        let mut shown = std::mem::take(&mut self.shown);
        let data = self.demand.data_of(function, &mut shown);
        self.shown = shown;
        self.extra_cost += (data.words.len() + data.taken.len()) as u64;
        for word in data.words {
            self.show_word(word);
        }
        let thread = data.has_thread.then_some(THREAD_BASE);
        for place in data.taken.into_iter().chain(thread) {
            self.show_object(self.pool.places.object(place));
        }
    }

    /// Code that is not followed reads and writes a word, and nothing beside it.
    fn show_word(&mut self, word: u64) {
        if self.memory.show_word(&self.pool, word) {
            self.escape_stored(word, Escape::Foreign);
        }
    }

    /// The same of an object. What that holds from the start leads nowhere that the question is about.
    fn show_object(&mut self, object: u64) {
        if self.memory.escaped.get(&object).is_some_and(|known| *known >= Escape::Foreign) {
            return;
        }
        self.memory.escaped.insert(object, Escape::Foreign);
        self.memory.wake_readers(&self.pool, object);
        if let Some(value) = self.memory.stored_somewhere(object) {
            self.escape(value, Escape::Foreign);
        }
        for word in self.memory.words_of(&self.pool, object).to_vec() {
            self.escape_stored(word, Escape::Foreign);
        }
    }
}

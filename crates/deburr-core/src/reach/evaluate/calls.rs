//! Control between functions: calls, what comes back, and what is thrown.

use super::control::Leaving;
use crate::reach::abi::bits;

use super::limits::{MAX_EFFECTS, MAX_WORD_CHANGES};
use super::run::{Certainty, ContextId, Returned, Run};
use super::state::{Effect, Merging, State, Written, merge_effects, merge_words};
use crate::engine::solver::NodeId;
use crate::reach::knowledge::{Behaviour, behaviour};
use crate::reach::memory::Escape;
use crate::reach::memory::file::Target;
use crate::reach::value::pool::{Shape, Value};
use crate::reach::value::region::{Region, context_of, frame_offset, import_of, region};

/// Bytes above the stack pointer that are looked through for addresses which a callee finds there.
const STACK_ARGUMENTS: i32 = 128;

/// What calls return and store is joined by steps that end.
const WIDENING: Merging = Merging { widens: true, is_doubt: false };

/// Whether a function of another file calls nothing of this one, and writes to no word of its data but where it is told to.
fn is_quiet(name: &str) -> bool {
    use Behaviour as B;
    matches!(
        behaviour(name),
        Some(
            B::Inert
                | B::ComparesTexts
                | B::Allocates
                | B::AllocatesZeros
                | B::AllocatesSurely
                | B::Copies
                | B::Fills
                | B::Clears
                | B::TakesGuard
                | B::ReleasesGuard
                | B::AnswersLeaf
                | B::ReadsAuxiliary
                | B::ReadsEnvironment
                | B::FindsThreadMemory
                | B::FindsThreadOffset
        )
    )
}

impl Run<'_, '_, '_> {
    /// Calls known targets.
    pub(super) fn call(
        &mut self,
        from: Leaving<'_>,
        targets: &[Target],
        next: Option<u64>,
        mut state: State,
    ) {
        self.leak_arguments(&state);
        if let Some(link) = self.abi.link.filter(|_| next.is_some()) {
            state.set(link, Value::TOP);
        }
        let mut returned: Option<Returned> = None;
        for &target in targets {
            let result = match target {
                Target::Code(function) => {
                    self.call_code(from, (function, next), targets.len() == 1, &mut state)
                }
                Target::Word(word) => {
                    let word = self.pool.constant(word);
                    let value = self.load(from.node, &state, word, 8);
                    self.call_value(from, value, next, state.clone());
                    None
                }
            };
            returned = self.joined(returned, result);
        }
        if let Some(returned) = returned {
            self.after(from, returned, next, state);
        }
    }

    fn joined(&mut self, one: Option<Returned>, other: Option<Returned>) -> Option<Returned> {
        let (one, other) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (one, other) => return one.or(other),
        };
        let [low, high] = one.values;
        let values =
            [self.pool.join(low, other.values[0], false), self.pool.join(high, other.values[1], false)];
        let certainty = one.certainty.max(other.certainty);
        let (mut written, mut words) = (one.written, one.words);
        written.add_all(&other.written);
        merge_words(&mut words, &other.words, &mut self.pool, Merging::default());
        let through = one.through.filter(|_| one.through == other.through);
        let clobbers = one.clobbers | other.clobbers;
        Some(Returned { values, clobbers, certainty, through, written, words })
    }

    fn leak_arguments(&mut self, state: &State) {
        for &number in self.abi.arguments {
            self.leak_value(state.register(number));
        }
    }

    /// Calls a function of the file. Returns what comes back, if anything does.
    fn call_code(
        &mut self,
        from: Leaving<'_>,
        (function, next): (u64, Option<u64>),
        is_only: bool,
        state: &mut State,
    ) -> Option<Returned> {
        if let Some(irrelevant) = self.irrelevant(from.node, function, state) {
            return self.call_irrelevant(from, (function, irrelevant), state);
        }
        let call = u64::from(from.context) << 48 ^ from.block.exit_at.0;
        let wanted = self.results_read(from.context, next);
        let callee = self.enter(function, state, from.certainty, call);
        self.want_results(callee, wanted);
        let context = self.contexts.get_mut(callee as usize)?;
        context.callers.insert(from.node);
        let (returned, clobbers, throws) = (context.returned, context.clobbers, context.throws);
        let certain = |is_sure| if is_sure { from.certainty } else { Certainty::Doubtful };
        let (certainty, thrown_certainty) = (certain(context.surely_returns), certain(context.surely_throws));
        let reads_stack = context.reads_stack;
        let (written, words) = (context.written.clone(), context.returned_words.clone().unwrap_or_default());
        self.note_written(from.context, &written);
        let context = self.contexts.get(callee as usize)?;
        let effects = if returned.is_some() { context.effects.clone() } else { Vec::new() };
        let thrown = if throws { context.thrown.clone() } else { Vec::new() };
        if reads_stack {
            self.lose_stack_arguments(from.node, state);
        }
        if throws {
            let mut state = state.clone();
            for effect in thrown {
                self.apply(from, &mut state, Effect { is_certain: false, ..effect });
            }
            self.throw(Leaving { certainty: thrown_certainty, ..from }, &state);
        }
        for effect in effects {
            let is_certain = effect.is_certain && is_only;
            self.apply(from, state, Effect { is_certain, ..effect });
        }
        self.clobber_more(from.context, clobbers);
        let through = Some(callee);
        returned.map(|values| Returned { values, clobbers, certainty, through, written, words })
    }

    /// A callee finds values on the stack where it is not followed which.
    pub(super) fn lose_stack_arguments(&mut self, node: NodeId, state: &State) {
        let top = self
            .pool
            .as_constant(state.register(self.abi.stack_pointer))
            .and_then(|top| self.own_offset(node, top));
        let low = top.unwrap_or(i32::MIN);
        let high = low.saturating_add(STACK_ARGUMENTS);
        let passed: Vec<Value> =
            state.slots.iter().filter(|slot| (low..high).contains(&slot.0)).map(|slot| slot.2).collect();
        for value in passed {
            self.share_value(value);
            self.escape(value, Escape::Lost);
        }
    }

    /// What a callee has stored in a caller's frame.
    fn apply(&mut self, from: Leaving<'_>, state: &mut State, effect: Effect) {
        if context_of(effect.at) == Some(from.context) {
            let offset = frame_offset(effect.at);
            let value = match effect.is_certain {
                true => effect.value,
                false => {
                    let old = state.load(&mut self.pool, offset, effect.size);
                    self.pool.join(old, effect.value, false)
                }
            };
            state.store(&mut self.pool, offset, effect.size, value);
        } else if state.effects.len() < MAX_EFFECTS {
            state.affect(&mut self.pool, effect);
        } else if let Some(context) = context_of(effect.at) {
            self.share_context(context);
        }
    }

    /// Calls what a value may be.
    pub(super) fn call_value(&mut self, from: Leaving<'_>, value: Value, next: Option<u64>, state: State) {
        match self.pool.shape(value).clone() {
            Shape::Bottom => {
                if let Some(node) = self.nodes.get_mut(from.node as usize) {
                    node.is_stuck = true;
                }
            }
            Shape::Numbers(numbers) => {
                let certainty = match value.is_open() && numbers.len() > 1 {
                    true => Certainty::Doubtful,
                    false => from.certainty,
                };
                let from = Leaving { certainty, ..from };
                let targets = self.targets_of(value).unwrap_or_default();
                if !targets.is_empty() {
                    self.call(from, &targets, next, state.clone());
                }
                let imports: Vec<&str> = numbers
                    .iter()
                    .filter_map(|&number| self.file.imports.get(import_of(number)?).copied())
                    .collect();
                for name in imports {
                    self.call_import(from, name, next, state.clone());
                }
                let is_other = |&&number: &&u64| {
                    matches!(region(number), Some(Region::Heap | Region::Frame | Region::Thread))
                };
                if numbers.iter().filter(is_other).count() > 0 {
                    self.call_unknown(from, Value::LOST, next, state);
                }
            }
            _ => self.call_unknown(from, value, next, state),
        }
    }

    fn call_import(&mut self, from: Leaving<'_>, name: &str, next: Option<u64>, mut state: State) {
        let clobbers = self.clobbered_by(name);
        if let Some(count) = self.passed(name, |number| self.pool.as_constant(state.register(number))) {
            // What other registers still hold is not handed on.
            let others = self.abi.arguments.iter().skip(count).filter(|&&number| clobbers >> number & 1 == 1);
            others.for_each(|&number| state.set(number, Value::TOP));
        }
        self.leak_arguments(&state);
        self.clobber_more(from.context, clobbers);
        if let Some(values) = self.import(from, name, &mut state) {
            let certainty = from.certainty;
            let written = if is_quiet(name) { Written::default() } else { Written::anything() };
            let returned =
                Returned { values, clobbers, certainty, through: None, written, words: Vec::new() };
            self.after(from, returned, next, state);
        }
    }

    /// The registers that a function of another file may change.
    pub(super) fn clobbered_by(&self, name: &str) -> u64 {
        match behaviour(name) {
            Some(Behaviour::FindsThreadOffset) => 1 << self.abi.results[0] | bits(self.abi.link.as_slice()),
            _ => self.abi.caller_saved,
        }
    }

    /// Calls something that is not known. Functions whose address went out of sight are roots already.
    fn call_unknown(&mut self, from: Leaving<'_>, value: Value, next: Option<u64>, mut state: State) {
        let how = if value.is_doubt() { Escape::Lost } else { self.whole_certainty(from).escape() };
        for &number in self.abi.arguments {
            let argument = state.register(number);
            self.hand_over(from, &mut state, (argument, Value::TOP.opened(true)), how);
        }
        self.lose_stack_arguments(from.node, &state);
        self.clobber_more(from.context, self.abi.caller_saved);
        self.throw(from, &state);
        let result = if value.is_doubt() { Value::LOST } else { Value::TOP };
        let certainty = from.certainty;
        let (clobbers, written) = (self.abi.caller_saved, Written::anything());
        let returned =
            Returned { values: [result; 2], clobbers, certainty, through: None, written, words: Vec::new() };
        self.after(from, returned, next, state);
    }

    /// Control comes back from a call, or leaves the function with what the call returns.
    fn after(&mut self, from: Leaving<'_>, returned: Returned, next: Option<u64>, mut state: State) {
        // A context says at the end whether it comes back; several that are called by one pointer are taken as they are now.
        let is_settled_later = returned.through.is_some();
        let way =
            self.way(if is_settled_later { from.certainty } else { returned.certainty }, returned.through);
        let from = Leaving { certainty: returned.certainty, ..from };
        self.clobber_more(from.context, returned.clobbers);
        self.note_written(from.context, &returned.written);
        state.forget_written(&returned.written);
        state.words = self.carried_words(&state);
        for &(at, size, value) in &returned.words {
            state.know_word(at, size, value);
        }
        let Some(next) = next else {
            self.returned(from, returned.values, &state);
            return;
        };
        state.forget(returned.clobbers & self.abi.caller_saved, Value::TOP, &Written::default());
        // A callee of the same file may leave a register alone that the ABI lets it change.
        for (number, value) in self.abi.results.into_iter().zip(returned.values) {
            if returned.clobbers >> number & 1 == 1 {
                state.set(number, value);
            }
        }
        self.flow_by(from.context, next, &state, (way, from.certainty));
    }

    /// Which results are read where a call comes back; what a tail call returns is its caller's.
    fn results_read(&mut self, context: ContextId, next: Option<u64>) -> [bool; 2] {
        let Some(it) = self.contexts.get(context as usize) else { return [true; 2] };
        let (function, wanted) = (it.function, it.wanted);
        next.map_or(wanted, |next| {
            let live = self.live_in(function, next);
            let live = self.live_registers(live, wanted);
            self.abi.results.map(|number| live >> number & 1 == 1)
        })
    }

    /// Somebody reads what a function returns.
    pub(super) fn want_results(&mut self, context: ContextId, wanted: [bool; 2]) {
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        let all = [it.wanted[0] || wanted[0], it.wanted[1] || wanted[1]];
        if std::mem::replace(&mut it.wanted, all) != all {
            self.enqueue_context(context);
        }
    }

    /// A function returns.
    pub(super) fn returned(&mut self, from: Leaving<'_>, values: [Value; 2], state: &State) {
        let context = from.context;
        if let Some(node) = self.nodes.get_mut(from.node as usize) {
            node.returns = true;
        }
        // What is returned on a doubtful path depends on the doubt.
        let is_doubtful = self.whole_certainty(from) != Certainty::Certain;
        let wanted = self.contexts.get(context as usize).map_or([true; 2], |it| it.wanted);
        // What nobody reads is whatever the registers happened to hold.
        let read =
            |(value, is_read): (Value, bool)| if is_read { value.opened(is_doubtful) } else { Value::BOTTOM };
        let values = [read((values[0], wanted[0])), read((values[1], wanted[1]))];
        let is_outside = |effect: &Effect| context_of(effect.at) != Some(context);
        let effects: Vec<Effect> = state.effects.iter().copied().filter(is_outside).collect();
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        let (old, mut own) = (it.returned, std::mem::take(&mut it.effects));
        let new = match old {
            None => values,
            Some([low, high]) => {
                [self.pool.join(low, values[0], true), self.pool.join(high, values[1], true)]
            }
        };
        let has_changed = match old {
            None => {
                own = effects;
                true
            }
            Some(_) => merge_effects(&mut own, &effects, &mut self.pool, WIDENING),
        };
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        it.effects = own;
        let known = self.carried_words(state);
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        let has_changed = match &mut it.returned_words {
            Some(words) => {
                let changed = merge_words(words, &known, &mut self.pool, WIDENING);
                it.word_changes += u32::from(changed);
                if it.word_changes > MAX_WORD_CHANGES {
                    words.clear();
                }
                changed || has_changed
            }
            None => {
                it.returned_words = Some(known);
                true
            }
        };
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        let is_surer = !is_doubtful && !std::mem::replace(&mut it.surely_returns, true);
        if !has_changed && !is_surer && old == Some(new) {
            return;
        }
        it.returned = Some(new);
        let (resolves, is_outside) = (it.resolves.clone(), it.returns_outside);
        for word in resolves {
            self.memory.store(&mut self.pool, word, 8, new[0]);
        }
        if is_outside {
            self.escape(new[0], Escape::Foreign);
        }
        self.leak_value(new[0]);
        self.wake_callers(context);
    }

    /// A callee may throw: control comes to the landing pad, or leaves the function.
    pub(super) fn throw(&mut self, from: Leaving<'_>, state: &State) {
        match self.file.landing_pad(from.block.exit_at.0) {
            Some(pad) => {
                let mut state = state.clone();
                state.forget(self.abi.caller_saved, Value::TOP, &Written::anything());
                self.flow(from.context, pad, &state, from.certainty);
            }
            None => {
                let is_sure = self.whole_certainty(from) == Certainty::Certain;
                let Some(it) = self.contexts.get_mut(from.context as usize) else { return };
                let mut changed = !std::mem::replace(&mut it.throws, true);
                changed |= is_sure && !std::mem::replace(&mut it.surely_throws, true);
                let mut thrown = std::mem::take(&mut it.thrown);
                changed |= merge_effects(&mut thrown, &state.effects, &mut self.pool, WIDENING);
                if let Some(it) = self.contexts.get_mut(from.context as usize) {
                    it.thrown = thrown;
                }
                if changed {
                    self.wake_callers(from.context);
                }
            }
        }
    }
}

//! What functions of other files do, by [`knowledge`](crate::reach::knowledge): to memory, to what they are handed, and whether
//! they come back.
//!
//! A function that no row is about may write to all that it is handed the address of, keep the address, call what it leads to,
//! and throw.

use super::control::Leaving;
use super::run::Run;
use super::state::State;
use crate::insn::operations::Arithmetic;
use crate::reach::knowledge::{self, Behaviour, behaviour};
use crate::reach::memory::Escape;
use crate::reach::value::pool::{Bits, Shape, Value};
use crate::reach::value::region;
use deburr_cpu::Arch;

/// The signal of an instruction that the CPU does not have.
const SIGILL: u64 = 4;

impl Run<'_, '_, '_> {
    /// Calls an import. Returns what comes back, if anything does.
    pub(super) fn import(&mut self, from: Leaving<'_>, name: &str, state: &mut State) -> Option<[Value; 2]> {
        let argument = |place: usize| state.register(self.abi.argument(place));
        let [first, second, third, fourth] = [0, 1, 2, 3].map(argument);
        let top = [self.told; 2];
        let Some(behaviour) = behaviour(name) else { return Some(self.unknown_import(from, name, state)) };
        match behaviour {
            Behaviour::Ends => None,
            Behaviour::Throws => {
                self.hand_out(from, name, state);
                self.throw(from, state);
                None
            }
            Behaviour::Inert => Some(top),
            Behaviour::ComparesTexts => Some([self.compared_texts(first, second), Value::TOP]),
            Behaviour::Writes => {
                for (place, &number) in self.abi.arguments.iter().enumerate() {
                    let (argument, bytes) = (state.register(number), self.extent(name, place, state));
                    self.escape_bytes(argument, Escape::Foreign, bytes);
                    self.overwrite(from.node, state, (argument, self.told), bytes);
                }
                Some(top)
            }
            Behaviour::Reads => {
                for (place, &number) in self.abi.arguments.iter().enumerate() {
                    let bytes = self.extent(name, place, state);
                    self.escape_bytes(state.register(number), Escape::Foreign, bytes);
                }
                Some(top)
            }
            Behaviour::Allocates | Behaviour::AllocatesZeros | Behaviour::AllocatesSurely => {
                let base = self.allocation(from);
                if behaviour == Behaviour::AllocatesZeros {
                    self.memory.zeroed.insert(base);
                }
                let may_fail = behaviour != Behaviour::AllocatesSurely;
                let numbers = if may_fail { vec![0, base] } else { vec![base] };
                Some([self.pool.one_of(numbers), Value::TOP])
            }
            Behaviour::AllocatesInto => {
                let base = self.allocation(from);
                let base = self.pool.constant(base);
                self.store(from.node, state, first, 8, base);
                Some(top)
            }
            Behaviour::Reallocates => {
                let base = self.allocation(from);
                self.escape(first, Escape::Lost);
                let base = self.pool.constant(base);
                let address = self.pool.constant(0);
                let moved = self.pool.join(base, first, false);
                self.store(from.node, state, moved, 8, Value::LOST);
                Some([self.pool.join(moved, address, false), Value::TOP])
            }
            Behaviour::Copies => {
                let length = self.pool.as_constant(third);
                self.copy(from.node, state, (first, second), length);
                let end = self.pool.compute(Arithmetic::Add, first, third, 8);
                Some([if name.contains("mempcpy") { end } else { first }, Value::TOP])
            }
            Behaviour::Fills => {
                let byte = self.pool.truncate(second, 1);
                let length = self.pool.as_constant(third);
                self.fill(from.node, state, (first, byte), length);
                Some([first, Value::TOP])
            }
            Behaviour::Clears => {
                let zero = self.pool.constant(0);
                let length = self.pool.as_constant(second);
                self.fill(from.node, state, (first, zero), length);
                Some(top)
            }
            Behaviour::CallsSecondOnce => {
                self.call_back(from, second, None);
                let zero = self.pool.constant(0);
                Some([zero, Value::TOP])
            }
            Behaviour::CallsFirstLater => {
                self.share_value(second);
                self.call_back(from, first, Some(second));
                let zero = self.pool.constant(0);
                Some([zero, Value::TOP])
            }
            Behaviour::StartsThread => {
                self.share_value(fourth);
                self.call_back(from, third, Some(fourth));
                self.overwrite(from.node, state, (first, Value::TOP), Some(8));
                Some(top)
            }
            Behaviour::StartsMain => {
                // The count of arguments is not negative.
                let count = self.pool.intern(Shape::Bits(Bits::between(0, i32::MAX as u64)));
                // Behind the environment lies the auxiliary vector, which on Arm says what the CPU has.
                let environment = Value::TOP.opened(self.arch() == Arch::Aarch64);
                for address in self.pool.addresses(first) {
                    self.root(address, from.certainty, &[count, self.outside, environment]);
                }
                for place in 3..6 {
                    let function = state.register(self.abi.argument(place));
                    self.escape(function, Escape::Foreign);
                }
                if self.pool.addresses(first).is_empty() {
                    self.escape(first, Escape::Foreign);
                }
                None
            }
            Behaviour::TakesGuard => Some([self.pool.one_of(vec![0, 1]), Value::TOP]),
            Behaviour::ReleasesGuard => {
                let one = self.pool.constant(1);
                self.store(from.node, state, first, 1, one);
                Some(top)
            }
            Behaviour::ComesBackTwice => {
                // What the frame holds at the second time is what it held when that was decided.
                for slot in &mut state.slots {
                    slot.2 = self.pool.join(slot.2, Value::LOST, false);
                }
                Some(top)
            }
            Behaviour::AnswersLeaf => {
                let address = self.glibc_leaf(first);
                Some([address, Value::TOP])
            }
            Behaviour::CallsSystem => {
                let numbers = (self.pool.as_constant(first), self.pool.as_constant(third));
                let waits = matches!(numbers, (Some(number), Some(operation))
                    if knowledge::only_waits(self.arch(), number, operation));
                Some(if waits { top } else { self.unknown_import(from, name, state) })
            }
            Behaviour::HandlesSignal => {
                self.handles_illegal |= self.pool.as_constant(first).is_none_or(|signal| signal == SIGILL);
                Some(self.unknown_import(from, name, state))
            }
            Behaviour::Anything | Behaviour::FindsCode | Behaviour::CallsInParallel => {
                Some(self.unknown_import(from, name, state))
            }
            Behaviour::ReadsEnvironment if self.model.has_no_environment() => {
                let zero = self.pool.constant(0);
                Some([zero, Value::TOP])
            }
            Behaviour::ReadsEnvironment => Some(top),
            Behaviour::ReadsAuxiliary if self.arch() == Arch::Aarch64 => {
                let entry = self.pool.as_constant(first);
                Some([self.model.auxiliary(&mut self.pool, entry), Value::TOP])
            }
            Behaviour::ReadsAuxiliary => {
                let is_open = self.pool.as_constant(first).is_none_or(knowledge::is_of_the_cpu);
                Some([Value::TOP.opened(is_open); 2])
            }
            Behaviour::FindsThreadOffset => {
                let offset = self.pool.as_constant(first).and_then(|at| self.file.thread_offset(at));
                Some([offset.map_or(Value::TOP, |offset| self.pool.constant(offset)), Value::TOP])
            }
            Behaviour::FindsThreadMemory => Some([self.thread_memory(from, state, first), Value::TOP]),
        }
    }

    /// What a comparison of texts returns: zero where they are the same. What depends on the CPU makes the result depend on it.
    fn compared_texts(&mut self, one: Value, other: Value) -> Value {
        let open = one.is_doubt() || other.is_doubt();
        let texts = |run: &Self, value: Value| -> Option<Vec<Vec<u8>>> {
            let Shape::Numbers(places) = run.pool.shape(value) else { return None };
            // A null pointer ends the program.
            let places = places.iter().filter(|&&place| region::is_mapped(place));
            places.map(|&place| run.file.text(place)).collect()
        };
        let (Some(left), Some(right)) = (texts(self, one), texts(self, other)) else {
            return Value::TOP.opened(open);
        };
        let is_same = left.iter().any(|text| right.contains(text));
        let differs = left.iter().any(|text| right.iter().any(|it| it != text));
        let mut result = Value::BOTTOM;
        if is_same {
            result = self.pool.constant(0);
        }
        if differs {
            let other = self.pool.intern(Shape::Bits(Bits::between(1, u32::MAX.into())));
            result = self.pool.join(result, other, false);
        }
        if result.is_bottom() { Value::TOP.opened(open) } else { result.opened(open) }
    }

    fn allocation(&mut self, from: Leaving<'_>) -> u64 {
        let number = self.allocations.len() as u32;
        *self.allocations.entry((from.context, from.block.exit_at.0)).or_insert_with(|| region::heap(number))
    }

    /// All arguments go to code of another file.
    fn hand_out(&mut self, from: Leaving<'_>, name: &str, state: &State) {
        for (place, &number) in self.abi.arguments.iter().enumerate() {
            let bytes = self.extent(name, place, state);
            self.escape_bytes(state.register(number), self.whole_certainty(from).escape(), bytes);
        }
    }

    /// How many bytes of what an argument points to a function gets to, if that is known.
    fn extent(&self, name: &str, place: usize, state: &State) -> Option<i32> {
        let extent = knowledge::extent(name, place)?;
        let count = match extent.times {
            Some(place) => self.pool.as_constant(state.register(self.abi.argument(place.into())))?,
            None => 1,
        };
        u64::from(extent.bytes).checked_mul(count)?.try_into().ok()
    }

    /// A function that nothing is known of.
    fn unknown_import(&mut self, from: Leaving<'_>, name: &str, state: &mut State) -> [Value; 2] {
        self.hand_out(from, name, state);
        // The C library's functions that have no row say nothing of the CPU.
        let anything =
            self.told.opened(!knowledge::is_silent(name) || behaviour(name) == Some(Behaviour::FindsCode));
        for (place, &number) in self.abi.arguments.iter().enumerate() {
            let (argument, bytes) = (state.register(number), self.extent(name, place, state));
            if matches!(self.pool.shape(argument), Shape::Within(_))
                || !self.pool.addresses(argument).is_empty()
            {
                self.overwrite(from.node, state, (argument, anything), bytes);
            }
        }
        let is_c = name.starts_with("Py") || name.starts_with("_Py");
        if !is_c {
            self.throw(from, state);
        }
        [anything; 2]
    }

    /// Code of another file calls a function that it is handed.
    fn call_back(&mut self, from: Leaving<'_>, function: Value, argument: Option<Value>) {
        if self.targets_of(function).is_none() {
            self.escape(function, Escape::Foreign);
            return;
        }
        for address in self.pool.addresses(function) {
            if self.pool.places.is_code(address) {
                self.root(address, from.certainty, argument.as_slice());
            }
        }
    }

    /// The words that glibc shows of a leaf, in an object of their own.
    fn glibc_leaf(&mut self, index: Value) -> Value {
        let Some(index) = self.pool.as_constant(index) else { return Value::LOST };
        let next = self.allocations.len() as u32;
        let base = *self.allocations.entry((u32::MAX, index)).or_insert_with(|| region::heap(next));
        let words = self.model.glibc_leaf(&mut self.pool, index);
        for (offset, value) in (0..).step_by(4).zip(words) {
            // What the CPU says, then what can be used of it.
            self.memory.store(&mut self.pool, base + offset, 4, value);
            self.memory.store(&mut self.pool, base + 16 + offset, 4, value);
        }
        self.pool.constant(base)
    }

    /// What the loader hands to a resolver: on AArch64 what the system shows of the CPU, and where more of it is.
    pub(super) fn resolver_arguments(&mut self) -> Vec<Value> {
        if self.arch() != Arch::Aarch64 {
            return Vec::new();
        }
        let next = self.allocations.len() as u32;
        let base = *self.allocations.entry((u32::MAX, 0)).or_insert_with(|| region::heap(next));
        let words = self.model.resolver_words(&mut self.pool);
        for (offset, value) in (0..).step_by(8).zip(words) {
            self.memory.store(&mut self.pool, base + offset, 8, value);
        }
        let first = self.model.resolver_word(&mut self.pool);
        vec![first, self.pool.constant(base)]
    }

    /// Where a variable of a thread is.
    fn thread_memory(&mut self, from: Leaving<'_>, state: &State, index: Value) -> Value {
        let above = self.pool.plus(index, 8);
        let module = self.load(from.node, state, index, 8);
        let offset = self.load(from.node, state, above, 8);
        let address = match (self.pool.as_constant(module), self.pool.as_constant(offset)) {
            (Some(module), Some(offset)) => self.file.thread_address(module, offset),
            _ => None,
        };
        address.map_or(Value::TOP, |address| self.pool.constant(address))
    }
}

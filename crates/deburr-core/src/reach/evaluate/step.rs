//! The transfer function of one operation.

use super::limits::MAX_COPIED;
use super::run::Run;
use super::state::{Holder, State};
use crate::engine::solver::NodeId;
use crate::insn::operations::{
    Arithmetic, Clobbered, Condition, Lane, Nzcv, Operand, Operation, Test, VECTORS, VectorOperand,
};
use crate::reach::memory::Escape;
use crate::reach::value::arithmetic::mask;
use crate::reach::value::condition::{Comparison, Flags, Outcomes};
use crate::reach::value::pool::Value;
use deburr_cpu::Arch;

const ACCUMULATOR: u8 = 0;
const COUNTER: u8 = 1;
const DATA: u8 = 2;
const BASE: u8 = 3;
const SOURCE: u8 = 6;
const TARGET: u8 = 7;

impl Run<'_, '_, '_> {
    /// Runs one operation on a state.
    pub(super) fn step(&mut self, node: NodeId, state: &mut State, operation: &Operation) {
        match operation {
            Operation::Move { to, from } => {
                let value = self.read(node, state, from);
                let origin = self.origin(node, state, (to, from));
                self.write(node, state, to, value);
                if let Some((number, origin)) = origin {
                    state.set_origin(number, origin);
                }
            }
            Operation::MoveSigned { to, from } => {
                let value = self.read(node, state, from);
                let value = self.pool.extend(value, from.size(), to.size());
                self.write(node, state, to, value);
            }
            Operation::TakeAddress { to, size, address } => {
                let value = self.address(state, address);
                self.note_taken(node, *to, value);
                let value = self.pool.truncate(value, *size);
                state.set(*to, value);
            }
            Operation::Clear(to) => {
                let zero = self.pool.constant(0);
                state.set(*to, zero);
                state.set_flags(Flags::Result(zero, 8));
            }
            Operation::Compare { left, right } => self.compare(node, state, left, right),
            Operation::CompareIf { condition, left, right, otherwise } => {
                self.compare_if(node, state, *condition, (left, right), *otherwise);
            }
            Operation::Test { left, right } => self.test(node, state, left, right),
            Operation::TestBit { value, bit } => self.test_bit(node, state, value, bit),
            Operation::SetIf { condition, to } => {
                let outcomes = self.pool.outcomes(*condition, state.flags);
                let value = self.as_number(outcomes);
                self.write(node, state, to, value);
            }
            Operation::Select { condition, to, then, otherwise, change } => {
                self.select(node, state, (*condition, to), (then, otherwise), *change);
            }
            Operation::Push(from) => {
                let value = self.read(node, state, from);
                let top = self.pool.plus(state.register(self.abi.stack_pointer), 8_u64.wrapping_neg());
                state.set(self.abi.stack_pointer, top);
                self.store(node, state, top, 8, value);
            }
            Operation::Pop(to) => {
                let value = self.pop(node, state);
                self.write(node, state, to, value);
            }
            Operation::Leave => {
                state.set(self.abi.stack_pointer, state.register(self.abi.frame_pointer));
                let value = self.pop(node, state);
                state.set(self.abi.frame_pointer, value);
            }
            Operation::CpuId => {
                let leaf = self.pool.truncate(state.register(ACCUMULATOR), 4);
                let subleaf = self.pool.truncate(state.register(COUNTER), 4);
                let answer = self.model.cpuid(&mut self.pool, leaf, subleaf);
                for (register, value) in [ACCUMULATOR, BASE, COUNTER, DATA].into_iter().zip(answer) {
                    state.set(register, value);
                }
            }
            Operation::ReadSystem { to, register } => {
                let value = self.model.system_register(&mut self.pool, *register);
                state.set(*to, value);
            }
            Operation::ReadExtendedControl => {
                let [low, high] = self.model.xgetbv(&mut self.pool);
                state.set(ACCUMULATOR, low);
                state.set(DATA, high);
            }
            Operation::FillMemory(size) => self.fill_memory(node, state, *size),
            Operation::CopyMemory(size) => self.copy_memory(node, state, *size),
            Operation::Other(clobbered) => self.clobber(node, state, clobbered),
            Operation::MoveVector { .. }
            | Operation::InsertLane { .. }
            | Operation::ExtractLane { .. }
            | Operation::Duplicate { .. }
            | Operation::ClearVector(_) => self.vector_step(node, state, operation),
            _ => self.compute_step(node, state, operation),
        }
    }

    /// The register that a move leaves with the same as a place in memory, which it loads or stores, and that place with its size. It is
    /// asked before the move: `ldr x0, [x0]` overwrites what finds the place.
    fn origin(
        &mut self,
        node: NodeId,
        state: &State,
        (to, from): (&Operand, &Operand),
    ) -> Option<(u8, Option<(Holder, u8)>)> {
        let (register, place) = match (to, from) {
            (Operand::Register { .. }, Operand::Memory(_)) => (to, from),
            (Operand::Memory(_), Operand::Register { .. }) => (from, to),
            _ => return None,
        };
        let Operand::Register { number, size: 4 | 8 } = register else { return None };
        // Of what is extended when it is loaded, the rest of the register is not there.
        let is_whole = register.size() == place.size();
        let holder = if is_whole { self.holder(node, state, place) } else { None };
        Some((*number, holder.map(|holder| (holder, register.size()))))
    }

    fn pop(&mut self, node: NodeId, state: &mut State) -> Value {
        let top = state.register(self.abi.stack_pointer);
        let value = self.load(node, state, top, 8);
        let above = self.pool.plus(top, 8);
        state.set(self.abi.stack_pointer, above);
        value
    }

    /// Notes that the address of an object in the own frame is taken.
    fn note_taken(&mut self, node: NodeId, to: u8, value: Value) {
        let offset = self.pool.as_constant(value).and_then(|address| self.own_offset(node, address));
        let context = self.context_of_node(node);
        if let Some(offset) = offset.filter(|_| to != self.abi.stack_pointer && to != self.abi.frame_pointer)
            && let Some(it) = self.contexts.get_mut(context as usize)
            && !it.taken.contains(&offset)
        {
            it.taken.push(offset);
        }
    }

    /// The value of an operand where a condition holds.
    fn as_compared(&mut self, state: &State, operand: &Operand, holds: Condition, value: Value) -> Value {
        match (state.compared, operand) {
            (Some((holder, by)), Operand::Register { number, size })
                if holder == Holder::Register(*number) && by.size <= *size =>
            {
                self.pool.narrowed_by(value, holds, by)
            }
            _ => value,
        }
    }

    /// The number that a condition is: 0, 1 or one of them.
    fn as_number(&mut self, outcomes: Outcomes) -> Value {
        let numbers = [(outcomes.may_fail, 0), (outcomes.may_hold, 1)];
        let numbers = numbers.into_iter().filter(|it| it.0).map(|it| it.1).collect();
        let is_doubt = outcomes.is_both() && outcomes.is_doubt;
        self.pool.one_of(numbers).opened(is_doubt)
    }

    /// Where an operand is, for what a branch on it tells.
    fn holder(&mut self, node: NodeId, state: &State, operand: &Operand) -> Option<Holder> {
        match operand {
            Operand::Register { number, .. } => Some(Holder::Register(*number)),
            Operand::Memory(address) => {
                let at = self.address(state, address);
                let at = self.pool.as_constant(at)?;
                let word = || self.is_own_word(at).then_some(Holder::Word(at));
                self.own_offset(node, at).map(Holder::Slot).or_else(word)
            }
            _ => None,
        }
    }

    fn compare(&mut self, node: NodeId, state: &mut State, left: &Operand, right: &Operand) {
        let size = common_size(left, right);
        let (one, other) = (self.read(node, state, left), self.read(node, state, right));
        let other = self.pool.truncate(other, size);
        state.set_flags(Flags::Difference(one, other, size));
        // A constant is on the right; of a minimum, such as of a level from the environment and the CPU's, either side may be known.
        let (held, with, is_right) = match (self.pool.is_few(one), self.pool.is_few(other)) {
            (_, true) => (left, other, false),
            (true, false) => (right, self.pool.truncate(one, size), true),
            (false, false) => return,
        };
        let holder = self.holder(node, state, held);
        state.compared = holder.map(|holder| (holder, Comparison { with, size, is_right }));
    }

    fn test(&mut self, node: NodeId, state: &mut State, left: &Operand, right: &Operand) {
        let size = common_size(left, right);
        let (one, other) = (self.read(node, state, left), self.read(node, state, right));
        let is_same = left == right;
        let result = if is_same { one } else { self.pool.compute(Arithmetic::And, one, other, size) };
        state.set_flags(self.logical(result, size));
        if is_same {
            let (holder, with) = (self.holder(node, state, left), self.pool.constant(0));
            state.compared = holder.map(|holder| (holder, Comparison { with, size, is_right: false }));
        }
    }

    /// Flags after a logical operation. What they say of a borrow differs: it is clear on x86-64, and set on A64.
    fn logical(&self, result: Value, size: u8) -> Flags {
        match self.arch() {
            Arch::X86_64 => Flags::Result(result, size),
            Arch::Aarch64 => Flags::Sign(result, size),
        }
    }

    fn select(
        &mut self,
        node: NodeId,
        state: &mut State,
        (condition, to): (Condition, &Operand),
        (then, otherwise): (&Operand, &Operand),
        change: Option<Arithmetic>,
    ) {
        let outcomes = self.pool.outcomes(condition, state.flags);
        let mut value = Value::BOTTOM;
        let may_be_given = |holds| state.flags.may_be_given(Test::Flags(condition), holds);
        let (is_given, is_other_given) = (may_be_given(condition), may_be_given(condition.negated()));
        if outcomes.may_fail {
            value = self.read(node, state, otherwise);
            if !is_other_given {
                value = self.as_compared(state, otherwise, condition.negated(), value);
            }
            if let Some(kind) = change {
                let one = self.pool.constant(1);
                value = self.pool.compute(kind, value, one, to.size());
            }
        }
        if outcomes.may_hold {
            let mut moved = self.read(node, state, then);
            if !is_given {
                moved = self.as_compared(state, then, condition, moved);
            }
            value = self.pool.join(value, moved, false);
        }
        let is_doubt = outcomes.is_both() && outcomes.is_doubt;
        self.write(node, state, to, value.opened(is_doubt));
    }

    fn compare_if(
        &mut self,
        node: NodeId,
        state: &mut State,
        condition: Condition,
        (left, right): (&Operand, &Operand),
        otherwise: Nzcv,
    ) {
        let outcomes = self.pool.outcomes(condition, state.flags);
        let size = common_size(left, right);
        self.compare(node, state, left, right);
        let Flags::Difference(one, other, _) = state.flags else { return };
        let one = one.opened(outcomes.is_both() && outcomes.is_doubt);
        if outcomes.is_none() {
            state.set_flags(Flags::Unknown(Value::BOTTOM));
        } else if !outcomes.may_hold {
            let zero = self.pool.constant(0);
            state.set_flags(Flags::Given(zero, otherwise));
        } else if outcomes.may_fail {
            // What is compared is still known where only the comparison can have an outcome.
            state.flags = Flags::Either(one, other, size, otherwise);
        }
    }

    fn test_bit(&mut self, node: NodeId, state: &mut State, value: &Operand, bit: &Operand) {
        let size = value.size();
        // In memory a bit number in a register reaches beyond the operand.
        let is_far = matches!((value, bit), (Operand::Memory(_), Operand::Register { .. }));
        let tested = if is_far { Value::LOST } else { self.read(node, state, value) };
        let bit = self.read(node, state, bit);
        let limit = self.pool.constant(u64::from(size) * 8 - 1);
        let bit = self.pool.compute(Arithmetic::And, bit, limit, 8);
        let shifted = self.pool.compute(Arithmetic::ShiftRight, tested, bit, size);
        let one = self.pool.constant(1);
        let carry = self.pool.compute(Arithmetic::And, shifted, one, 8);
        state.set_flags(Flags::Carry(carry));
    }

    fn compute_step(&mut self, node: NodeId, state: &mut State, operation: &Operation) {
        match operation {
            Operation::Compute { kind, to, left, right, sets_flags } => {
                self.compute(node, state, (*kind, to), (left, right), *sets_flags);
            }
            Operation::MultiplyAdd { to, added, left, right, is_sub } => {
                let (one, other) = (self.read(node, state, left), self.read(node, state, right));
                let added = self.read(node, state, added);
                let product = self.pool.compute(Arithmetic::Multiply, one, other, to.size());
                let kind = if *is_sub { Arithmetic::Sub } else { Arithmetic::Add };
                let value = self.pool.compute(kind, added, product, to.size());
                self.write(node, state, to, value);
            }
            Operation::MoveBits { to, from, low, to_low, width, keeps_rest } => {
                self.move_bits(node, state, (to, from), (*low, *to_low, *width), *keeps_rest);
            }
            Operation::WithCarry { is_sub, to, from } => {
                let carry = self.pool.outcomes(Condition::BELOW, state.flags);
                let carry = self.as_number(carry);
                let (one, other) = (self.read(node, state, to), self.read(node, state, from));
                let kind = if *is_sub { Arithmetic::Sub } else { Arithmetic::Add };
                let size = to.size();
                let first = match *is_sub && to == from {
                    true => self.pool.constant(0),
                    false => self.pool.compute(kind, one, other, size),
                };
                let result = self.pool.compute(kind, first, carry, size);
                state.set_flags(Flags::Sign(result, size));
                self.write(node, state, to, result);
            }
            Operation::ShiftDouble { is_left, to, from, count } => {
                let count = self.read(node, state, count);
                self.shift_double(node, state, (*is_left, to, from), count);
            }
            Operation::Unary { kind, to } => {
                let value = self.read(node, state, to);
                let zero = self.pool.constant(0);
                let result = self.pool.compute(*kind, value, zero, to.size());
                if *kind == Arithmetic::Negate {
                    state.set_flags(Flags::Difference(zero, value, to.size()));
                }
                self.write(node, state, to, result);
            }
            Operation::Step { is_sub, to } => {
                let value = self.read(node, state, to);
                let one = self.pool.constant(1);
                let kind = if *is_sub { Arithmetic::Sub } else { Arithmetic::Add };
                let result = self.pool.compute(kind, value, one, to.size());
                state.set_flags(Flags::Sign(result, to.size()));
                self.write(node, state, to, result);
            }
            Operation::CountBits { kind, to, from } => {
                let value = self.read(node, state, from);
                let zero = self.pool.constant(0);
                let result = self.pool.compute(*kind, value, zero, from.size());
                let tested = if *kind == Arithmetic::CountBits { result } else { value };
                state.set_flags(Flags::Sign(tested, from.size()));
                self.write(node, state, to, result);
            }
            Operation::Exchange { left, right } => {
                let (one, other) = (self.read(node, state, left), self.read(node, state, right));
                self.write(node, state, left, other);
                self.write(node, state, right, one);
            }
            Operation::Fetch { kind, to, by, old, sets_flags } => {
                let (one, other) = (self.read(node, state, to), self.read(node, state, by));
                let size = to.size();
                let new = kind.map_or(other, |kind| self.pool.compute(kind, one, other, size));
                if *sets_flags {
                    state.set_flags(Flags::Sum(one, other, size));
                }
                let at = match (self.arch(), to) {
                    // The register that held the address may be overwritten by what was there.
                    (Arch::Aarch64, Operand::Memory(address)) => Some(self.address(state, address)),
                    _ => None,
                };
                self.write(node, state, old, one);
                match at {
                    Some(at) => self.store(node, state, at, size, new),
                    None => self.write(node, state, to, new),
                }
            }
            Operation::StoreExclusive { status, to, from } => {
                let old = self.read(node, state, to);
                let new = self.read(node, state, from);
                let value = self.pool.join(new, old, false);
                self.write(node, state, to, value);
                let outcome = self.pool.one_of(vec![0, 1]);
                state.set(*status, outcome);
            }
            Operation::CompareExchange { to, from, expected, sets_flags } => {
                self.compare_exchange(node, state, (to, from), *expected, *sets_flags);
            }
            Operation::ExtendAccumulator(size) => {
                let value = self.pool.extend(state.register(ACCUMULATOR), *size, size * 2);
                let to = Operand::Register { number: ACCUMULATOR, size: size * 2 };
                self.write(node, state, &to, value);
            }
            Operation::SpreadSign(size) => {
                let bits = self.pool.constant(u64::from(*size) * 8 - 1);
                let value = state.register(ACCUMULATOR);
                let value = self.pool.compute(Arithmetic::ShiftRightSigned, value, bits, *size);
                self.write(node, state, &Operand::Register { number: DATA, size: *size }, value);
            }
            _ => {}
        }
    }

    fn shift_double(
        &mut self,
        node: NodeId,
        state: &mut State,
        (is_left, to, from): (bool, &Operand, &Operand),
        count: Value,
    ) {
        use Arithmetic as A;
        let size = to.size();
        let width = u64::from(size) * 8;
        let (one, other) = (self.read(node, state, to), self.read(node, state, from));
        // The processor looks at as many bits of the count as a shift of the operand needs.
        let bits = self.pool.as_constant(count).map(|count| count & (width.max(32) - 1));
        let result = match bits {
            Some(0) => return,
            Some(bits) if bits < width => {
                let (here, there) =
                    if is_left { (A::ShiftLeft, A::ShiftRight) } else { (A::ShiftRight, A::ShiftLeft) };
                let (near, far) = (self.pool.constant(bits), self.pool.constant(width - bits));
                let kept = self.pool.compute(here, one, near, size);
                let added = self.pool.compute(there, other, far, size);
                self.pool.compute(A::Or, kept, added, size).opened(count.is_open())
            }
            _ => {
                self.lose_value(one);
                self.lose_value(other);
                Value::LOST
            }
        };
        state.set_flags(Flags::Sign(result, size));
        self.write(node, state, to, result);
    }

    /// Moves a field of one operand to another.
    fn move_bits(
        &mut self,
        node: NodeId,
        state: &mut State,
        (to, from): (&Operand, &Operand),
        (low, to_low, width): (u8, u8, u8),
        keeps_rest: bool,
    ) {
        use Arithmetic as A;
        let size = to.size();
        let value = self.read(node, state, from);
        let field = u64::MAX >> (64 - u32::from(width.clamp(1, 64)));
        let [low, up, field_here, rest] =
            [low.into(), to_low.into(), field, !(field << to_low)].map(|number| self.pool.constant(number));
        let shifted = self.pool.compute(A::ShiftRight, value, low, size);
        let taken = self.pool.compute(A::And, shifted, field_here, size);
        let mut result = self.pool.compute(A::ShiftLeft, taken, up, size);
        if keeps_rest {
            let old = self.read(node, state, to);
            let old = self.pool.compute(A::And, old, rest, size);
            result = self.pool.compute(A::Or, old, result, size);
        }
        self.write(node, state, to, result);
    }

    fn compute(
        &mut self,
        node: NodeId,
        state: &mut State,
        (kind, to): (Arithmetic, &Operand),
        (left, right): (&Operand, &Operand),
        sets_flags: bool,
    ) {
        use Arithmetic as A;
        if let (A::SetBit | A::ClearBit | A::FlipBit, Operand::Memory(address), Operand::Register { .. }) =
            (kind, to, right)
        {
            // A bit number in a register reaches beyond the operand.
            let at = self.address(state, address);
            let places = self.pool.addresses(at);
            let anywhere = self.pool.within(places.into_iter());
            self.store(node, state, anywhere, 1, Value::TOP);
            state.set_flags(Flags::Unknown(Value::LOST));
            return;
        }
        let size = to.size();
        let (one, other) = (self.read(node, state, left), self.read(node, state, right));
        let other = self.pool.truncate(other, size);
        let result = match kind {
            A::SetBit | A::ClearBit | A::FlipBit => {
                let limit = self.pool.constant(u64::from(size) * 8 - 1);
                let bit = self.pool.compute(A::And, other, limit, 8);
                self.pool.compute(kind, one, bit, size)
            }
            // All bits set, whatever it was.
            A::Or if self.pool.as_constant(other) == Some(mask(size)) => other,
            _ => self.pool.compute(kind, one, other, size),
        };
        if !sets_flags {
            self.write(node, state, to, result);
            return;
        }
        state.set_flags(match kind {
            A::Add => Flags::Sum(one, other, size),
            A::Sub => Flags::Difference(one, other, size),
            A::And | A::Or | A::Xor => self.logical(result, size),
            // A count of zero leaves the flags alone.
            A::ShiftLeft | A::ShiftRight | A::ShiftRightSigned
                if self.pool.as_constant(other).is_some_and(|count| count != 0) =>
            {
                Flags::Sign(result, size)
            }
            _ => Flags::Unknown(Value::TOP.opened(one.is_doubt() || other.is_doubt())),
        });
        self.write(node, state, to, result);
    }

    fn compare_exchange(
        &mut self,
        node: NodeId,
        state: &mut State,
        (to, from): (&Operand, &Operand),
        register: u8,
        sets_flags: bool,
    ) {
        let size = to.size();
        let old = self.read(node, state, to);
        let expected = self.pool.truncate(state.register(register), size);
        let outcomes = self.pool.outcomes(Condition::EQUAL, Flags::Difference(old, expected, size));
        let new = self.read(node, state, from);
        if outcomes.may_hold {
            // Another thread may have been first.
            let value = if matches!(to, Operand::Memory(_)) { self.pool.join(new, old, false) } else { new };
            self.write(node, state, to, value);
        }
        let one = self.pool.constant(1);
        if sets_flags {
            state.set_flags(match (outcomes.is_none(), outcomes.may_hold) {
                (true, _) => Flags::Unknown(Value::BOTTOM),
                (_, false) => Flags::Result(one, 4),
                (_, true) => Flags::Unknown(Value::TOP.opened(old.is_doubt())),
            });
        }
        let value = self.pool.join(expected, old, false);
        // On A64 the rest of the register becomes zero.
        let size = if sets_flags { size } else { size.max(4) };
        self.write(node, state, &Operand::Register { number: register, size }, value);
    }

    fn fill_memory(&mut self, node: NodeId, state: &mut State, size: u8) {
        let (to, count) = (state.register(TARGET), state.register(COUNTER));
        let value = self.pool.truncate(state.register(ACCUMULATOR), size);
        let length = self.pool.as_constant(count).map(|count| count.saturating_mul(size.into()));
        self.fill(node, state, (to, value), length);
        self.after_string(state, length, &[TARGET]);
    }

    fn copy_memory(&mut self, node: NodeId, state: &mut State, size: u8) {
        let (to, from) = (state.register(TARGET), state.register(SOURCE));
        let count = state.register(COUNTER);
        let length = self.pool.as_constant(count).map(|count| count.saturating_mul(size.into()));
        self.copy(node, state, (to, from), length);
        self.after_string(state, length, &[TARGET, SOURCE]);
    }

    /// A repeated instruction has moved its pointers, and counted down.
    fn after_string(&mut self, state: &mut State, length: Option<u64>, pointers: &[u8]) {
        let length = length.filter(|&length| length <= MAX_COPIED);
        let length = length.map_or(Value::TOP, |length| self.pool.constant(length));
        for &pointer in pointers {
            let moved = self.pool.compute(Arithmetic::Add, state.register(pointer), length, 8);
            state.set(pointer, moved);
        }
        let zero = self.pool.constant(0);
        state.set(COUNTER, zero);
    }

    /// An instruction that is not modelled: what it moves is lost, and so is what it makes of known numbers.
    fn clobber(&mut self, node: NodeId, state: &mut State, clobbered: &Clobbered) {
        let (mut open, mut has_known) = (false, false);
        for number in 0..VECTORS {
            if clobbered.read >> number & 1 == 1 {
                let value = state.register(number);
                open |= value.is_doubt();
                has_known |= !value.is_any();
                self.lose_value(value);
            }
            if clobbered.read >> (VECTORS + number) & 1 == 1 {
                for value in state.vector(number) {
                    open |= value.is_doubt();
                    has_known |= !value.is_any();
                    self.lose_value(value);
                }
            }
        }
        if let Some((address, size)) = clobbered.loaded {
            let at = self.address(state, &address);
            for offset in (0..u64::from(size)).step_by(8) {
                let there = self.pool.plus(at, offset);
                let length = (u64::from(size) - offset).min(8) as u8;
                let value = self.load(node, state, there, length);
                open |= value.is_doubt();
                self.lose_value(value);
            }
        }
        let lost = if has_known { Value::LOST } else { Value::TOP.opened(open) };
        if let Some((address, size)) = clobbered.stored {
            let at = self.address(state, &address);
            for offset in (0..u64::from(size)).step_by(8) {
                let there = self.pool.plus(at, offset);
                let length = (u64::from(size) - offset).min(8) as u8;
                self.store(node, state, there, length, lost);
            }
        }
        for number in 0..VECTORS {
            if clobbered.written >> number & 1 == 1 {
                state.set(number, lost);
            }
            if clobbered.written >> (VECTORS + number) & 1 == 1 {
                state.set_vector(number, [lost; 2]);
            }
        }
        if clobbered.flags {
            state.set_flags(Flags::Unknown(lost));
        }
    }

    fn lose_value(&mut self, value: Value) {
        self.share_value(value);
        self.escape(value, Escape::Lost);
    }

    fn vector_step(&mut self, node: NodeId, state: &mut State, operation: &Operation) {
        match operation {
            Operation::MoveVector { to, from, size } => {
                let value = self.read_vector(node, state, from, *size);
                self.write_vector(node, state, to, *size, value);
            }
            Operation::InsertLane { to, rest, from, lane } => {
                let [value, _] = self.read_vector(node, state, from, 8);
                let [low, high] = state.vector(*rest);
                state.set_vector(*to, if *lane == Lane::Low { [value, high] } else { [low, value] });
            }
            Operation::ExtractLane { to, from, lane } => {
                let [low, high] = state.vector(*from);
                let value = if *lane == Lane::Low { low } else { high };
                self.write_vector(node, state, to, 8, [value, Value::TOP]);
            }
            Operation::Duplicate { to, from } => {
                let [value, _] = self.read_vector(node, state, from, 8);
                state.set_vector(*to, [value; 2]);
            }
            Operation::ClearVector(to) => {
                let zero = self.pool.constant(0);
                state.set_vector(*to, [zero; 2]);
            }
            _ => {}
        }
    }

    fn read_vector(&mut self, node: NodeId, state: &State, from: &VectorOperand, size: u8) -> [Value; 2] {
        let zero = self.pool.constant(0);
        match from {
            VectorOperand::Vector(number) => {
                let [low, high] = state.vector(*number);
                if size < 16 { [self.pool.truncate(low, size), zero] } else { [low, high] }
            }
            VectorOperand::General { number, size } => {
                [self.pool.truncate(state.register(*number), *size), zero]
            }
            VectorOperand::Memory(address) => {
                let at = self.address(state, address);
                let low = self.load(node, state, at, size.min(8));
                if size < 16 {
                    return [low, zero];
                }
                // What lies further on is moved as well, and not followed.
                for offset in (16..u64::from(size)).step_by(8) {
                    let there = self.pool.plus(at, offset);
                    let value = self.load(node, state, there, 8);
                    self.lose_value(value);
                }
                let above = self.pool.plus(at, 8);
                [low, self.load(node, state, above, 8)]
            }
        }
    }

    fn write_vector(
        &mut self,
        node: NodeId,
        state: &mut State,
        to: &VectorOperand,
        size: u8,
        [low, high]: [Value; 2],
    ) {
        match to {
            VectorOperand::Vector(number) => state.set_vector(*number, [low, high]),
            VectorOperand::General { number, size } => {
                self.write(node, state, &Operand::Register { number: *number, size: *size }, low);
            }
            VectorOperand::Memory(address) => {
                let at = self.address(state, address);
                let low = self.pool.truncate(low, size.min(8));
                self.store(node, state, at, size.min(8), low);
                for offset in (8..u64::from(size)).step_by(8) {
                    let there = self.pool.plus(at, offset);
                    let value = if offset == 8 { high } else { Value::LOST };
                    self.store(node, state, there, 8, value);
                }
            }
        }
    }
}

/// How many bytes of two operands are compared; the zero register of A64 is a number on the left.
fn common_size(left: &Operand, right: &Operand) -> u8 {
    if matches!(left, Operand::Immediate(_)) { right.size() } else { left.size() }
}

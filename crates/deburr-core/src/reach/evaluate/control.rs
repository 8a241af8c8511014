//! Where control goes from a block, with what is known on each edge.

use super::arguments;
use super::run::{Certainty, ContextId, Run};
use super::state::{Holder, State};
use crate::address::Svma;
use crate::engine::solver::NodeId;
use crate::insn::operations::{Arithmetic, Block, Condition, Exit, Operand, Operation, Test};
use crate::reach::memory::file::Target;
use crate::reach::value::condition::{Comparison, Flags, Outcomes};
use crate::reach::value::pool::{Shape, Value};
use crate::reach::value::region::{frame, is_mapped, region};

/// A block that is left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaving<'b> {
    pub node: NodeId,
    pub context: ContextId,
    pub block: &'b Block,
    /// How sure the way out is, once control is in the block.
    pub certainty: Certainty,
}

/// What a branch tests.
struct Tested {
    outcomes: Outcomes,
    /// The condition on what is compared under which it is taken.
    condition: Condition,
    compared: Option<(Holder, Comparison)>,
}

impl Run<'_, '_, '_> {
    /// Evaluates a block from its state. Returns what that cost.
    pub(super) fn evaluate_block(&mut self, node: NodeId) -> u64 {
        let Some(it) = self.nodes.get_mut(node as usize) else { return 1 };
        it.is_stuck = false;
        it.bottoms.clear();
        let (mut state, at, context) = (it.state.clone(), it.at, it.context);
        let block = self.file.block(at);
        let mut written = 0;
        let is_entry = self.contexts.get(context as usize).is_some_and(|it| it.function == at);
        // A return may enter what was pushed.
        let makes_room = is_entry && block.exit != Exit::Return;
        for (_, operation) in &block.operations {
            match operation {
                Operation::Push(Operand::Register { number, .. })
                    if makes_room && self.abi.undefined & !written & 1 << number != 0 =>
                {
                    // Such a push only makes room on the stack.
                    let top = self.pool.plus(state.register(self.abi.stack_pointer), 8_u64.wrapping_neg());
                    state.set(self.abi.stack_pointer, top);
                }
                _ => self.step(node, &mut state, operation),
            }
            written |= arguments::writes(operation);
        }
        self.clobber_more(context, written);
        self.publish_stores(context, &state);
        let cost =
            4 + block.operations.len() as u64 / 2 + (state.slots.len() + state.effects.len()) as u64 / 4;
        self.leave(Leaving { node, context, block: &block, certainty: Certainty::Certain }, state);
        cost
    }

    /// How sure it is that control leaves a block so: the block may be a doubt itself.
    pub(super) fn whole_certainty(&self, from: Leaving<'_>) -> Certainty {
        from.certainty.min(self.current_certainty())
    }

    /// A context may write some more registers.
    pub(super) fn clobber_more(&mut self, context: ContextId, written: u64) {
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        let more = it.clobbers | written & self.abi.caller_saved;
        if std::mem::replace(&mut it.clobbers, more) != more {
            self.wake_callers(context);
        }
    }

    fn stick(&mut self, node: NodeId) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.is_stuck = true;
        }
    }

    fn leave(&mut self, from: Leaving<'_>, state: State) {
        match from.block.exit {
            Exit::Next(next) => self.flow(from.context, next.0, &state, from.certainty),
            Exit::Jump(target) => self.go(from, target.0, state),
            Exit::Branch { test, target, next } => self.branch(from, test, (target.0, next.0), state),
            Exit::JumpIndirect(target) => self.jump_indirect(from, &target, state),
            Exit::Call { target, next } => {
                let target = self.file.target(target.0);
                self.call(from, &[target], Some(next.0), state);
            }
            Exit::CallIndirect { target, next } => {
                let value = self.read_called(from.node, &state, &target);
                self.call_value(from, value, Some(next.0), state);
            }
            Exit::Return => self.return_or_jump(from, state),
            Exit::Stop => {}
        }
    }

    fn branch(&mut self, from: Leaving<'_>, test: Test, (target, next): (u64, u64), state: State) {
        let Tested { outcomes, condition, compared } = self.tested(&state, test);
        if outcomes.is_none() {
            self.stick(from.node);
            return;
        }
        let is_doubt = outcomes.is_both() && outcomes.is_doubt;
        let certainty = if is_doubt { Certainty::Doubtful } else { from.certainty };
        let Outcomes { may_hold, may_fail, .. } = outcomes;
        let edges = [(may_hold, target, condition), (may_fail, next, condition.negated())];
        for (_, to, holds) in edges.into_iter().filter(|edge| edge.0) {
            let mut state = state.clone();
            let compared = compared.filter(|_| !state.flags.may_be_given(test, holds));
            if self.narrow(from.node, &mut state, (compared, holds)) {
                self.go(Leaving { certainty, ..from }, to, state);
            }
        }
    }

    /// What a branch tests.
    fn tested(&mut self, state: &State, test: Test) -> Tested {
        let (number, size, bit, is_negated) = match test {
            Test::Flags(condition) => {
                let outcomes = self.pool.outcomes(condition, state.flags);
                return Tested { outcomes, condition, compared: state.compared };
            }
            Test::Zero { number, size, bit, is_negated } => (number, size, bit, is_negated),
        };
        let zero = self.pool.constant(0);
        let mut value = self.pool.truncate(state.register(number), size);
        let sign = size * 8 - 1;
        if let Some(bit) = bit {
            let bit = self.pool.constant(1 << bit);
            value = self.pool.compute(Arithmetic::And, value, bit, size);
        }
        let sided = |condition: Condition| if is_negated { condition.negated() } else { condition };
        let outcomes = self.pool.outcomes(sided(Condition::EQUAL), Flags::Difference(value, zero, size));
        let condition =
            sided(if bit == Some(sign) { Condition::NEGATIVE.negated() } else { Condition::EQUAL });
        let by = Comparison { with: zero, size, is_right: false };
        let compared = bit.is_none_or(|bit| bit == sign).then_some((Holder::Register(number), by));
        Tested { outcomes, condition, compared }
    }

    /// Narrows what a branch has compared. Returns false where no number is left.
    fn narrow(
        &mut self,
        node: NodeId,
        state: &mut State,
        (compared, holds): (Option<(Holder, Comparison)>, Condition),
    ) -> bool {
        let Some((holder, by)) = compared.filter(|_| holds != Condition::UNKNOWN) else {
            return true;
        };
        if let Holder::Register(register) = holder {
            let value = state.register(register);
            let narrowed = self.pool.narrowed_by(value, holds, by);
            let origin = state.origin(register).filter(|origin| origin.1 == by.size);
            if let Some(register) = state.registers.get_mut(usize::from(register)) {
                *register = narrowed;
            }
            if narrowed.is_bottom() && !value.is_bottom() {
                return false;
            }
            // Where it was loaded from holds the same, unless others have written there.
            if let Some((place, _)) = origin {
                self.narrow_place(node, state, place, (holds, by));
            }
            return true;
        }
        self.narrow_place(node, state, holder, (holds, by))
    }

    /// The same of a place in memory.
    fn narrow_place(
        &mut self,
        node: NodeId,
        state: &mut State,
        place: Holder,
        (holds, by): (Condition, Comparison),
    ) -> bool {
        let (compared, origins, size) = (state.compared, state.origins.clone(), by.size);
        match place {
            Holder::Register(_) => {}
            Holder::Word(at) => {
                let there = self.pool.constant(at);
                let value = self.load(node, state, there, size);
                let narrowed = self.pool.narrowed_by(value, holds, by);
                if narrowed.is_bottom() && !value.is_bottom() {
                    return false;
                }
                if !narrowed.is_bottom() && !value.is_any() {
                    state.know_word(at, size, narrowed);
                }
            }
            Holder::Slot(slot) => {
                let value = state.load(&mut self.pool, slot, size);
                let narrowed = self.pool.narrowed_by(value, holds, by);
                if !value.is_bottom() && !narrowed.is_bottom() {
                    state.store(&mut self.pool, slot, size, narrowed);
                }
            }
        }
        // Nothing was stored: it is only known better.
        (state.compared, state.origins) = (compared, origins);
        true
    }

    /// A jump: inside the function, or a tail call.
    pub(super) fn go(&mut self, from: Leaving<'_>, target: u64, state: State) {
        let function = self.contexts.get(from.context as usize).map_or(0, |it| it.function);
        let owner = self.file.function(target);
        if owner == function || owner != target || !self.is_at_entry(from.context, &state) {
            self.flow(from.context, target, &state, from.certainty);
            return;
        }
        let target = self.file.target(target);
        self.call(from, &[target], None, state);
    }

    /// Whether the stack pointer is where it was at the entry: a jump out of the function is then a call.
    fn is_at_entry(&self, context: ContextId, state: &State) -> bool {
        self.pool.as_constant(state.register(self.abi.stack_pointer)) == Some(frame(context))
    }

    fn jump_indirect(&mut self, from: Leaving<'_>, target: &Operand, state: State) {
        let value = self.read(from.node, &state, target);
        match self.pool.shape(value).clone() {
            Shape::Bottom => self.stick(from.node),
            Shape::Numbers(numbers) => {
                let certainty =
                    if value.is_open() && numbers.len() > 1 { Certainty::Doubtful } else { from.certainty };
                let from = Leaving { certainty, ..from };
                for &number in numbers.iter().filter(|&&number| is_mapped(number)) {
                    if region(number).is_none() && self.pool.places.is_code(number) {
                        self.go(from, number, state.clone());
                    } else {
                        let value = self.pool.constant(number);
                        self.call_value(from, value, None, state.clone());
                    }
                }
            }
            _ if self.is_at_entry(from.context, &state) && !is_table(from.block) => {
                self.call_value(from, value, None, state);
            }
            _ => {
                // A table that is not understood: every place of the function that nothing else leads to.
                let function = self.contexts.get(from.context as usize).map_or(0, |it| it.function);
                let certainty = if value.is_doubt() { Certainty::Doubtful } else { from.certainty };
                for target in self.file.orphans(function) {
                    self.flow(from.context, target, &state, certainty);
                }
            }
        }
    }

    /// A return, or a jump to an address that the function itself has pushed: retpolines enter their target so.
    fn return_or_jump(&mut self, from: Leaving<'_>, mut state: State) {
        let stack_pointer = self.abi.stack_pointer;
        let linked = self.abi.link.map(|link| state.register(link));
        if let Some(target) = linked.filter(|&target| self.has_code(target)) {
            self.call_value(from, target, None, state);
            return;
        }
        let top = state.register(stack_pointer);
        let pushed = if linked.is_none() { self.pushed(from, &state, top) } else { None };
        let Some((target, above)) = pushed else {
            let values = self.abi.results.map(|number| state.register(number));
            self.returned(from, values, &state);
            return;
        };
        state.set(stack_pointer, above);
        // Where several targets share a thunk, which of them this path means is a doubt.
        let is_one = self.pool.as_constant(target).is_some();
        // The next pushed address of code is where the target returns to.
        let next = self.pushed(from, &state, above).and_then(|(next, after)| {
            let next = self.pool.as_constant(next).filter(|&next| self.pool.places.is_code(next))?;
            state.set(stack_pointer, after);
            Some(next)
        });
        self.call_value(from, target.opened(!is_one), next, state);
    }

    /// Whether a value may be an address of the file's code.
    fn has_code(&self, value: Value) -> bool {
        self.pool.addresses(value).iter().any(|&address| self.pool.places.is_code(address))
    }

    /// What the function has stored at the top of the stack, and the address above; `None` where it has stored nothing there.
    fn pushed(&mut self, from: Leaving<'_>, state: &State, top: Value) -> Option<(Value, Value)> {
        let offset = self.own_offset(from.node, self.pool.as_constant(top)?)?;
        let value = state.load(&mut self.pool, offset, 8);
        (!value.is_bottom()).then(|| (value, self.pool.plus(top, 8)))
    }

    /// What a called word leads to.
    pub(super) fn targets_of(&mut self, value: Value) -> Option<Vec<Target>> {
        match self.pool.shape(value).clone() {
            Shape::Numbers(numbers) => {
                let code = numbers.iter().copied().filter(|&number| self.pool.places.is_code(number));
                Some(code.map(|number| self.file.target(number)).collect())
            }
            _ => None,
        }
    }
}

/// Whether a block takes its target out of a table: an offset, or an address by an index.
pub(super) fn is_table(block: &Block) -> bool {
    let is_indexed =
        |operand: &Operand| matches!(operand, Operand::Memory(address) if address.index.is_some());
    let loads = block
        .operations
        .iter()
        .any(|(_, operation)| matches!(operation, Operation::MoveSigned { from, .. } if is_indexed(from)));
    match block.exit {
        Exit::JumpIndirect(target) if loads || is_indexed(&target) => true,
        // On A64: `add x1, x1, x0, lsl #2; br x1`, where the offset was loaded without a sign.
        Exit::JumpIndirect(Operand::Register { number, .. }) => {
            let makes = |operation: &&(Svma, Operation)| arguments::writes(&operation.1) >> number & 1 == 1;
            let last = block.operations.iter().rev().find(makes).map(|it| it.1);
            let is_scaled = |operand: Operand| matches!(operand, Operand::Changed { .. });
            matches!(last, Some(Operation::Compute { kind: Arithmetic::Add, right, .. }) if is_scaled(right))
        }
        _ => loads,
    }
}

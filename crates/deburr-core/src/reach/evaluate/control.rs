//! Where control goes from a block, with what is known on each edge.

use super::arguments;
use super::run::{Certainty, ContextId, Run};
use super::state::{Holder, State};
use crate::engine::solver::NodeId;
use crate::insn::operations::{Block, Condition, Exit, Operand, Operation};
use crate::reach::memory::file::Target;
use crate::reach::value::condition::{Comparison, Outcomes};
use crate::reach::value::pool::{Shape, Value};
use crate::reach::value::region::{frame, is_mapped, region};

/// A block that is left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaving<'b> {
    pub node: NodeId,
    pub context: ContextId,
    pub block: &'b Block,
    pub certainty: Certainty,
}

/// Registers without a value at a function's entry, as bits: rax and r11. A push of one only makes room on the stack.
const UNDEFINED: u32 = 1 | 1 << 11;

/// The stack pointer's register.
const STACK_POINTER: u8 = 4;

impl Run<'_, '_, '_> {
    /// Evaluates a block from its state. Returns what that cost.
    pub(super) fn evaluate_block(&mut self, node: NodeId) -> u64 {
        let Some(it) = self.nodes.get_mut(node as usize) else { return 1 };
        it.is_stuck = false;
        it.bottoms.clear();
        let (mut state, at, context, certainty) = (it.state.clone(), it.at, it.context, it.certainty);
        let block = self.file.block(at);
        let mut written = 0;
        let is_entry = self.contexts.get(context as usize).is_some_and(|it| it.function == at);
        // A return may enter what was pushed.
        let makes_room = is_entry && block.exit != Exit::Return;
        for (_, operation) in &block.operations {
            match operation {
                Operation::Push(Operand::Register { number, .. })
                    if makes_room && UNDEFINED & !written & 1 << number != 0 =>
                {
                    let top = self.pool.plus(state.register(STACK_POINTER), 8_u64.wrapping_neg());
                    state.set(STACK_POINTER, top);
                }
                _ => self.step(node, &mut state, operation),
            }
            written |= arguments::writes(operation);
        }
        self.clobber_more(context, written);
        self.publish_stores(context, &state);
        let cost =
            4 + block.operations.len() as u64 / 2 + (state.slots.len() + state.effects.len()) as u64 / 4;
        self.leave(Leaving { node, context, block: &block, certainty }, state);
        cost
    }

    /// A context may write some more registers.
    pub(super) fn clobber_more(&mut self, context: ContextId, written: u32) {
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        let more = it.clobbers | written & super::state::CALLER_SAVED;
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
            Exit::Branch { condition, target, next } => {
                self.branch(from, condition, (target.0, next.0), state);
            }
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

    fn branch(&mut self, from: Leaving<'_>, condition: Condition, (target, next): (u64, u64), state: State) {
        let outcomes = self.pool.outcomes(condition, state.flags);
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
            if self.narrow(from.node, &mut state, holds) {
                self.go(Leaving { certainty, ..from }, to, state);
            }
        }
    }

    /// Narrows what a branch has compared. Returns false where no number is left.
    fn narrow(&mut self, node: NodeId, state: &mut State, holds: Condition) -> bool {
        let Some((holder, by)) = state.compared.filter(|_| holds != Condition::UNKNOWN) else {
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
        let (compared, origins, size) = (state.compared, state.origins, by.size);
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
        self.pool.as_constant(state.register(4)) == Some(frame(context))
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
        let Some((target, above)) = self.pushed(from, &state, state.register(STACK_POINTER)) else {
            let values = [state.register(0), state.register(2)];
            self.returned(from, values, &state);
            return;
        };
        state.set(STACK_POINTER, above);
        // Where several targets share a thunk, which of them this path means is a doubt.
        let is_one = self.pool.as_constant(target).is_some();
        // The next pushed address of code is where the target returns to.
        let next = self.pushed(from, &state, above).and_then(|(next, after)| {
            let next = self.pool.as_constant(next).filter(|&next| self.pool.places.is_code(next))?;
            state.set(STACK_POINTER, after);
            Some(next)
        });
        self.call_value(from, target.opened(!is_one), next, state);
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
    loads || matches!(block.exit, Exit::JumpIndirect(target) if is_indexed(&target))
}

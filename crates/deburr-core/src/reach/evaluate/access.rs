//! Loads and stores: of the function's own frame by place, of everything else in [`Memory`](crate::reach::memory::Memory).

use super::limits::{FRAME_REACH, MAX_EFFECTS, MAX_FRAME_OBJECT};
use super::run::{Certainty, ContextId, Escaped, Run};
use super::state::{Effect, Holder, Slot, State, Word, Written};
use crate::engine::solver::NodeId;
use crate::insn::operations::{Address, Arithmetic, Operand};
use crate::reach::memory::Escape;
use crate::reach::value::pool::{Shape, Value};
use crate::reach::value::region::{Region, THREAD_BASE, context_of, frame, frame_offset, is_mapped, region};

impl Run<'_, '_, '_> {
    pub(super) fn context_of_node(&self, node: NodeId) -> ContextId {
        self.nodes.get(node as usize).map_or(0, |it| it.context)
    }

    fn is_doubtful(&self, node: NodeId) -> bool {
        self.nodes.get(node as usize).is_some_and(|it| it.certainty != Certainty::Certain)
    }

    /// The offset of an address in the frame of the node's own function.
    pub(super) fn own_offset(&self, node: NodeId, address: u64) -> Option<i32> {
        (context_of(address)? == self.context_of_node(node)).then(|| frame_offset(address))
    }

    /// The address of a memory operand.
    pub(super) fn address(&mut self, state: &State, operand: &Address) -> Value {
        let start = if operand.is_thread { THREAD_BASE } else { 0 };
        let mut value = self.pool.constant(operand.displacement.wrapping_add(start));
        if let Some(base) = operand.base {
            value = match operand.displacement.wrapping_add(start) {
                0 => state.register(base),
                _ => self.pool.compute(Arithmetic::Add, state.register(base), value, 8),
            };
        }
        if let Some(index) = operand.index {
            // A shift keeps it known that the low bits are clear.
            let scale = self.pool.constant(operand.scale.trailing_zeros().into());
            let index = match operand.is_index_signed {
                true => self.pool.extend(state.register(index), operand.index_bytes, 8),
                false => self.pool.truncate(state.register(index), operand.index_bytes),
            };
            let scaled = match operand.scale {
                1 => index,
                _ => self.pool.compute(Arithmetic::ShiftLeft, index, scale, 8),
            };
            value = self.pool.compute(Arithmetic::Add, value, scaled, 8);
        }
        value
    }

    /// Reads an operand.
    pub(super) fn read(&mut self, node: NodeId, state: &State, operand: &Operand) -> Value {
        match operand {
            Operand::Register { number, size } => self.pool.truncate(state.register(*number), *size),
            Operand::HighByte(number) => {
                let eight = self.pool.constant(8);
                let shifted = self.pool.compute(Arithmetic::Extract, state.register(*number), eight, 8);
                self.pool.truncate(shifted, 1)
            }
            Operand::Immediate(number) => self.pool.constant(*number),
            Operand::Changed { taken: (number, bytes), is_signed, shift, count, is_inverted, size } => {
                let value = state.register(*number);
                let value = match is_signed {
                    true => self.pool.extend(value, *bytes, *size),
                    false => self.pool.truncate(value, *bytes),
                };
                let (count, zero) = (self.pool.constant((*count).into()), self.pool.constant(0));
                let shifted = self.pool.compute(*shift, value, count, *size);
                match is_inverted {
                    true => self.pool.compute(Arithmetic::Not, shifted, zero, *size),
                    false => shifted,
                }
            }
            Operand::Memory(address) => {
                let at = self.address(state, address);
                self.load(node, state, at, address.size)
            }
        }
    }

    /// Reads an address that is called: from the word that it is in, or that a register was loaded from, if that begins as one.
    pub(super) fn read_called(&mut self, node: NodeId, state: &State, target: &Operand) -> Value {
        let mut open = false;
        let place = match target {
            Operand::Memory(address) => {
                let at = self.address(state, address);
                open = at.is_open();
                self.pool.as_constant(at)
            }
            Operand::Register { number, .. } => match state.origin(*number) {
                Some((Holder::Word(at), 8)) => Some(at),
                _ => None,
            },
            _ => None,
        };
        match place.filter(|&at| self.file.begins_as_address(at) && state.word(at, 8).is_none()) {
            Some(at) => {
                let value = self.memory.load_called(self.file, &mut self.pool, at, node);
                self.as_seen(at, value).opened(open)
            }
            None => self.read(node, state, target),
        }
    }

    /// Writes an operand; writes of 32 bits clear the rest of a register, narrower ones do not.
    pub(super) fn write(&mut self, node: NodeId, state: &mut State, operand: &Operand, value: Value) {
        let size = operand.size();
        match operand {
            Operand::Register { number, size: 8 } => state.set(*number, value),
            Operand::Register { number, size: 4 } => {
                let value = self.pool.truncate(value, 4);
                state.set(*number, value);
            }
            Operand::Register { number, .. } => {
                let kept = self.pool.constant(!crate::reach::value::arithmetic::mask(size));
                let value = self.pool.truncate(value, size);
                self.insert(state, *number, kept, value);
            }
            Operand::HighByte(number) => {
                let (kept, eight) = (self.pool.constant(!0xff00), self.pool.constant(8));
                let value = self.pool.truncate(value, 1);
                let value = self.pool.compute(Arithmetic::ShiftLeft, value, eight, 8);
                self.insert(state, *number, kept, value);
            }
            Operand::Immediate(_) | Operand::Changed { .. } => {}
            Operand::Memory(address) => {
                let at = self.address(state, address);
                let value = self.pool.truncate(value, address.size);
                self.store(node, state, at, address.size, value);
            }
        }
    }

    fn insert(&mut self, state: &mut State, number: u8, kept: Value, value: Value) {
        // An address whose low bytes are overwritten leads nowhere: a result of one byte is made in whatever the register held.
        let old = state.register(number);
        let old = if self.pool.addresses(old).is_empty() { old } else { Value::TOP.opened(old.is_open()) };
        let rest = self.pool.compute(Arithmetic::And, old, kept, 8);
        let value = self.pool.compute(Arithmetic::Or, rest, value, 8);
        state.set(number, value);
    }

    /// Loads up to eight bytes.
    pub(super) fn load(&mut self, node: NodeId, state: &State, at: Value, size: u8) -> Value {
        let size = size.min(8);
        let open = at.is_open();
        let loaded = match self.pool.shape(at).clone() {
            Shape::Bottom => Value::BOTTOM,
            Shape::Lost => Value::LOST,
            Shape::Top => self.outside,
            Shape::Bits(_) => Value::LOST,
            Shape::Numbers(numbers) => {
                let mut listed = Vec::new();
                let mut result = Value::BOTTOM;
                let is_one = numbers.len() == 1;
                for &number in &numbers {
                    // What is loaded by a null pointer ends the program.
                    if !is_mapped(number) {
                        result = if is_one { self.outside } else { result };
                        continue;
                    }
                    let value = self.load_at(node, state, number, size);
                    match self.pool.as_constant(value) {
                        Some(constant) if !value.is_open() => listed.push(constant),
                        _ => result = self.pool.join(result, value, false),
                    }
                }
                if !listed.is_empty() {
                    let listed = self.pool.one_of(listed);
                    result = self.pool.join(result, listed, false);
                }
                result
            }
            Shape::Within(objects) => {
                let mut result = Value::BOTTOM;
                for &object in &objects {
                    let value = self.load_somewhere(node, state, object, size);
                    result = self.pool.join(result, value, false);
                }
                if result.is_bottom() {
                    self.wait_for(node, &objects);
                }
                if objects.iter().any(|object| self.memory.forced.contains(&(object & !7))) {
                    result = self.pool.join(result, Value::LOST, false);
                }
                result
            }
        };
        self.pool.truncate(loaded, size).opened(open)
    }

    /// The node reads words that nothing has been seen to store to.
    fn wait_for(&mut self, node: NodeId, addresses: &[u64]) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.bottoms.extend(addresses.iter().map(|at| at & !7));
        }
    }

    /// Loads from one address.
    fn load_at(&mut self, node: NodeId, state: &State, at: u64, size: u8) -> Value {
        if let Some(offset) = self.own_offset(node, at) {
            let value = state.load(&mut self.pool, offset, size);
            let context = self.context_of_node(node);
            if offset >= 0 {
                self.note_stack_read(context, offset);
                return if value.is_bottom() { Value::LOST } else { value };
            }
            let value = match value.is_bottom() {
                true => self.smeared(context, offset, size),
                false => value,
            };
            let value = self.with_others(node, context, offset, value, (at, size));
            if value.is_bottom() {
                self.wait_for(node, &[at]);
                if self.memory.forced.contains(&(at & !7)) {
                    return Value::LOST;
                }
            }
            return value;
        }
        if let Some(effect) =
            state.effects.iter().find(|it| (it.at, it.size, it.is_certain) == (at, size, true))
        {
            return effect.value;
        }
        let mut value = self.memory.load(self.file, &mut self.pool, at, size, node);
        if let Some(known) = state.word(at, size).filter(|_| self.is_own_word(at)) {
            return known;
        }
        if let Some(context) = context_of(at) {
            let other = self.smeared(context, frame_offset(at), size);
            value = self.pool.join(value, other, false);
        }
        let value = self.as_seen(at, value);
        if value.is_bottom() {
            self.wait_for(node, &[at]);
        }
        value
    }

    /// What was stored at an unknown offset of the frame and may be at a place.
    fn smeared(&mut self, context: ContextId, offset: i32, size: u8) -> Value {
        let all = self.contexts.get(context as usize).map(|it| it.smeared.as_slice()).unwrap_or_default();
        let here = all.iter().filter(|it| it.0 < offset + i32::from(size) && offset < it.1);
        let here: Vec<(Value, u8)> = here.map(|it| (it.2, it.3)).collect();
        here.into_iter().fold(Value::BOTTOM, |sum, (value, length)| {
            let is_same = length == size || value.is_any();
            let value = if is_same { value } else { Value::LOST.opened(value.is_open()) };
            self.pool.join(sum, value, false)
        })
    }

    /// Notes a store at an unknown offset of an object in a frame.
    fn smear(&mut self, context: ContextId, (start, end): (i32, i32), size: u8, value: Value) {
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        let known = it.smeared.iter_mut().find(|known| known.0 == start && known.3 == size);
        let changed = match known {
            Some(known) => {
                let joined = self.pool.join(known.2, value, true);
                let changed = (known.1, known.2) != (end.max(known.1), joined);
                (known.1, known.2) = (end.max(known.1), joined);
                changed
            }
            None => {
                it.smeared.push((start, end, value, size));
                true
            }
        };
        if changed {
            self.memory.wake_frame(frame(context));
            self.enqueue_context(context);
            if let Some(escape) = self.frame_escape(context, start) {
                self.escape(value, escape);
            }
        }
    }

    /// A word of the own frame, with what others may have stored there.
    fn with_others(
        &mut self,
        node: NodeId,
        context: ContextId,
        offset: i32,
        value: Value,
        (at, size): (u64, u8),
    ) -> Value {
        if !self.contexts.get(context as usize).is_some_and(|it| it.is_shared) {
            return value;
        }
        let other = self.memory.load(self.file, &mut self.pool, at, size, node);
        let value = self.pool.join(value, other, false);
        let other = self.smeared(context, offset, size);
        let value = self.pool.join(value, other, false);
        let seen = self.as_escaped(self.frame_escape(context, offset), value);
        // Where the object ends is a guess: what the function has stored itself may be another variable.
        let is_doubt = !value.is_bottom() && seen != value && !self.is_surely_escaped(context, offset);
        seen.opened(is_doubt)
    }

    /// Whether the object that went out of sight begins at an offset of a frame, or is known to reach it.
    fn is_surely_escaped(&self, context: ContextId, offset: i32) -> bool {
        let escaped = self.contexts.get(context as usize).map(|it| it.escaped.as_slice()).unwrap_or_default();
        escaped.iter().any(|it| {
            let end = it.bytes.map_or(it.start.saturating_add(1), |bytes| it.start.saturating_add(bytes));
            (it.start..end).contains(&offset)
        })
    }

    /// How far the object of a frame went that an offset is in.
    pub(super) fn frame_escape(&self, context: ContextId, offset: i32) -> Option<Escape> {
        let it = self.contexts.get(context as usize)?;
        let near = it
            .escaped
            .iter()
            .filter(|escaped| (escaped.start..self.escaped_end(**escaped, context)).contains(&offset));
        near.map(|escaped| escaped.how).max()
    }

    /// Where an object ends that went out of sight.
    pub(super) fn escaped_end(&self, escaped: Escaped, context: ContextId) -> i32 {
        match escaped.bytes {
            Some(bytes) => escaped.start.saturating_add(bytes),
            None => self.object_end(escaped.start, context),
        }
    }

    /// What is loaded from an object that others may write to.
    fn as_seen(&mut self, at: u64, value: Value) -> Value {
        let escape = match context_of(at) {
            Some(context) => {
                let is_shared = self.contexts.get(context as usize).is_some_and(|it| it.is_shared);
                self.frame_escape(context, frame_offset(at)).filter(|_| is_shared)
            }
            None => {
                let is_written = region(at).is_some() || self.file.is_writable(at);
                self.memory.escape_of(&self.pool, at).filter(|_| is_written)
            }
        };
        self.as_escaped(escape, value)
    }

    /// What others may have made of a value.
    fn as_escaped(&mut self, escape: Option<Escape>, value: Value) -> Value {
        match escape {
            Some(Escape::Foreign) => self.pool.join(value, self.outside, false),
            Some(Escape::Lost) => self.pool.join(value, Value::LOST, false),
            None => value,
        }
    }

    /// Where the object ends that begins at an offset of a frame: at the next one whose address is taken.
    pub(super) fn object_end(&self, start: i32, context: ContextId) -> i32 {
        let taken = self.contexts.get(context as usize).map(|it| it.taken.as_slice()).unwrap_or_default();
        let next = taken.iter().copied().filter(|&offset| offset > start).min().unwrap_or(0);
        next.max(start + 1).min(start.saturating_add(MAX_FRAME_OBJECT)).min(0.max(start + 1))
    }

    fn load_somewhere(&mut self, node: NodeId, state: &State, object: u64, size: u8) -> Value {
        let Some(context) = context_of(object) else {
            self.extra_cost += 4;
            let value = self.memory.load_somewhere(self.file, &mut self.pool, object, size, node);
            let is_written = region(object).is_some() || self.file.is_writable(object);
            let escape = self.memory.escape_within(self.pool.places.object(object));
            return self.as_escaped(escape.filter(|_| is_written), value);
        };
        let start = frame_offset(object);
        let end = self.object_end(start, context);
        let mut result = Value::BOTTOM;
        if self.own_offset(node, object).is_some() {
            if start >= 0 {
                self.note_stack_read(context, start);
                return Value::LOST;
            }
            let slots: Vec<Slot> =
                state.slots.iter().copied().filter(|slot| (start..end).contains(&slot.0)).collect();
            for (_, length, value) in slots {
                let value = if length > size { Value::LOST } else { value };
                result = self.pool.join(result, value, false);
            }
            let smeared = self.smeared(context, start, size);
            result = self.pool.join(result, smeared, false);
            if !self.contexts.get(context as usize).is_some_and(|it| it.is_shared) {
                return result;
            }
        }
        self.memory.watch_frame(object, node);
        let is_inside = |word: &&u64| (start..end).contains(&frame_offset(**word));
        let words: Vec<u64> = self.memory.frame_words(object).iter().filter(is_inside).copied().collect();
        self.extra_cost += words.len() as u64 / 4;
        for word in words {
            for offset in (0..8).step_by(usize::from(size.max(1))) {
                let value = self.memory.load(self.file, &mut self.pool, word + offset, size, node);
                result = self.pool.join(result, value, false);
            }
        }
        let smeared = self.smeared(context, start, size);
        result = self.pool.join(result, smeared, false);
        self.as_seen(object, result)
    }

    /// The function reads what a caller has put on the stack: callers are to know.
    fn note_stack_read(&mut self, context: ContextId, offset: i32) {
        let Some(it) = self.contexts.get_mut(context as usize).filter(|_| offset >= self.abi.stack_arguments)
        else {
            return;
        };
        if !std::mem::replace(&mut it.reads_stack, true) {
            self.wake_callers(context);
        }
    }

    /// Stores up to eight bytes.
    pub(super) fn store(&mut self, node: NodeId, state: &mut State, at: Value, size: u8, value: Value) {
        let size = size.min(8);
        // What is stored on a doubtful path depends on the doubt.
        let value = value.opened(at.is_open() || self.is_doubtful(node));
        match self.pool.shape(at).clone() {
            Shape::Bottom => {}
            Shape::Top => {
                self.write_anything(node, state);
                self.escape(value, Escape::Foreign);
            }
            Shape::Lost | Shape::Bits(_) => {
                self.write_anything(node, state);
                self.escape(value, Escape::Lost);
            }
            Shape::Numbers(numbers) => {
                let is_only = numbers.len() == 1;
                for &number in numbers.iter().filter(|&&number| is_mapped(number)) {
                    // Where an object ends that has no symbol is a guess: further on, the store is a doubt.
                    let is_guess = !is_only && region(number).is_none() && !self.file.is_named(number);
                    let value = value.opened(is_guess);
                    self.store_at(node, state, number, size, value, is_only);
                }
            }
            Shape::Within(objects) => {
                for &object in &objects {
                    self.store_somewhere(node, state, (object, None), size, value);
                }
            }
        }
    }

    fn store_at(&mut self, node: NodeId, state: &mut State, at: u64, size: u8, value: Value, is_only: bool) {
        if let Some(offset) = self.own_offset(node, at) {
            let stored = match is_only {
                true => value,
                false => {
                    let old = state.load(&mut self.pool, offset, size);
                    self.pool.join(old, value, false)
                }
            };
            state.store(&mut self.pool, offset, size, stored);
            let context = self.context_of_node(node);
            match self.contexts.get(context as usize) {
                Some(it) if it.is_shared => self.store_cell(at, size, value),
                Some(it) if it.is_leaked => self.unpublished.push((offset, size)),
                _ => {}
            }
            return;
        }
        if let Some(context) = context_of(at) {
            if state.effects.len() < MAX_EFFECTS {
                state.affect(&mut self.pool, Effect { at, size, value, is_certain: is_only });
            } else {
                self.share_context(context);
            }
        } else {
            self.share_value(value);
            self.store_word(node, state, (at, size, value), is_only);
        }
        self.leak_value(value);
        self.store_cell(at, size, value);
    }

    /// Others see the stores of a block to its own frame when control leaves it, not before. A value that the block has overwritten
    /// itself is never seen.
    pub(super) fn publish_stores(&mut self, context: ContextId, state: &State) {
        let mut unpublished = std::mem::take(&mut self.unpublished);
        unpublished.sort_unstable();
        unpublished.dedup();
        for &(offset, size) in &unpublished {
            let value = state.load(&mut self.pool, offset, size);
            self.store_cell(frame(context).wrapping_add_signed(offset.into()), size, value);
        }
        unpublished.clear();
        self.unpublished = unpublished;
    }

    /// The path has stored to a word of the file's data. Others may write to one whose address went out of sight.
    fn store_word(&mut self, node: NodeId, state: &mut State, (at, size, value): Word, is_only: bool) {
        state.forget_word(at, size);
        self.note_written(self.context_of_node(node), &Written::of(at, size));
        if is_only && self.is_own_word(at) {
            state.know_word(at, size, value);
        }
    }

    /// Something is written somewhere in the file's data.
    fn write_anything(&mut self, node: NodeId, state: &mut State) {
        state.forget_words();
        self.note_written(self.context_of_node(node), &Written::anything());
    }

    /// Whether only the program itself writes to a place in the file's data.
    pub(super) fn is_own_word(&self, at: u64) -> bool {
        region(at).is_none() && self.memory.escape_of(&self.pool, at).is_none()
    }

    /// Joins a value into a cell that any function may read.
    pub(super) fn store_cell(&mut self, at: u64, size: u8, value: Value) {
        if region(at) == Some(Region::Import) {
            self.escape(value, Escape::Foreign);
            return;
        }
        self.memory.store(&mut self.pool, at, size, value);
        // Even if the cell does not change: a word that holds anything may now hold this address.
        let escape = match context_of(at) {
            Some(context) => self.frame_escape(context, frame_offset(at)),
            None => self.memory.escape_of(&self.pool, at),
        };
        if let Some(escape) = escape {
            self.escape(value, escape);
        }
    }

    /// A store at an unknown offset of an object, no further than some bytes if that is known.
    pub(super) fn store_somewhere(
        &mut self,
        node: NodeId,
        state: &mut State,
        (object, bytes): (u64, Option<i32>),
        size: u8,
        value: Value,
    ) {
        let Some(context) = context_of(object) else {
            self.write_anything(node, state);
            self.leak_value(value);
            self.share_value(value);
            if region(object) == Some(Region::Import) {
                self.escape(value, Escape::Foreign);
                return;
            }
            self.extra_cost += 4;
            self.memory.store_somewhere(&mut self.pool, object, size, value);
            if let Some(escape) = self.memory.escape_within(self.pool.places.object(object)) {
                self.escape(value, escape);
            }
            return;
        };
        let start = frame_offset(object);
        let known_end = bytes.map(|bytes| start.saturating_add(bytes));
        let end = known_end.unwrap_or_else(|| self.object_end(start, context));
        let reach = known_end.unwrap_or_else(|| end.max(start.saturating_add(FRAME_REACH)).min(0.max(start)));
        let is_own = self.own_offset(node, object).is_some();
        if is_own {
            let slots: Vec<Slot> =
                state.slots.iter().copied().filter(|slot| (start..reach).contains(&slot.0)).collect();
            for (offset, length, old) in slots {
                let is_within = (length == size || value.is_any()) && offset < end;
                let added = if is_within { value } else { Value::LOST.opened(value.is_open()) };
                // A slot that holds anything for sure does not become doubtful.
                let joined =
                    if old.is_any() && !old.is_doubt() { old } else { self.pool.join(old, added, false) };
                state.store(&mut self.pool, offset, length, joined);
            }
        } else {
            self.share_context(context);
        }
        self.smear(context, (start, reach.max(start + 1)), size, value);
        self.leak_value(value);
    }
}

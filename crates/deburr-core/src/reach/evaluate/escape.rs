//! Addresses that go out of sight: lost here, or handed to code of another file.
//!
//! Whoever has the address of an object may read all that it holds, so that goes the same way, now and later; and may write to
//! it, so that loads from it allow anything. Whoever has the address of a function may call it.

use super::limits::{MAX_COPIED, MAX_ESCAPING_POINTERS};
use super::run::{Certainty, ContextId, Escaped, Run};
use super::state::State;
use crate::engine::solver::NodeId;
use crate::reach::memory::Escape;
use crate::reach::value::pool::{Shape, Value};
use crate::reach::value::region::{Region, context_of, frame_offset, is_mapped, region};

impl Run<'_, '_, '_> {
    /// All addresses that a value may be go out of sight.
    pub(super) fn escape(&mut self, value: Value, escape: Escape) {
        // Which function of several the others get may be a doubt.
        let is_doubt = value.is_open() && self.pool.as_constant(value).is_none();
        for address in self.pool.addresses(value) {
            match region(address).is_none() && self.pool.places.is_code(address) {
                true => self.escape_code(address, escape, is_doubt),
                false => self.escape_address(address, escape),
            }
        }
    }

    /// The same, to a function that goes no further than some bytes from each address.
    pub(super) fn escape_bytes(&mut self, value: Value, escape: Escape, bytes: Option<i32>) {
        let is_exact = matches!(self.pool.shape(value), Shape::Numbers(_));
        for address in self.pool.addresses(value) {
            match context_of(address) {
                Some(context) => self.escape_frame((context, address), escape, bytes.filter(|_| is_exact)),
                None => self.escape_address(address, escape),
            }
        }
    }

    /// One address goes out of sight.
    pub(crate) fn escape_address(&mut self, address: u64, escape: Escape) {
        match region(address) {
            Some(Region::Import) => {}
            Some(Region::Frame) => {
                if let Some(context) = context_of(address) {
                    self.escape_frame((context, address), escape, None);
                }
            }
            Some(Region::Heap | Region::Thread) => self.escape_object(address, escape),
            None if self.pool.places.is_code(address) => self.escape_code(address, escape, false),
            None => self.escape_object(address, escape),
        }
    }

    fn escape_code(&mut self, address: u64, escape: Escape, is_doubt: bool) {
        let way = match (is_doubt, escape) {
            (true, _) => Certainty::Doubtful,
            (false, Escape::Lost) => Certainty::Lost,
            (false, Escape::Foreign) => Certainty::Certain,
        };
        let certainty = way.min(self.current_certainty());
        // Constants may be in the same section as code; a function is entered where it begins.
        let known = self.escaped_code.get(&address).copied();
        let is_known = known.is_some_and(|known| known.0 >= escape && known.1 >= certainty);
        if !self.file.begins_function(address) || is_known && !self.escaped_in.insert((self.current, address))
        {
            return;
        }
        if !is_known {
            self.escaped_code.insert(address, (escape, certainty));
        }
        if let Some(context) = self.root(address, way, &[])
            && escape == Escape::Foreign
        {
            self.returns_outside(context);
        }
    }

    fn escape_frame(&mut self, (context, address): (ContextId, u64), how: Escape, bytes: Option<i32>) {
        let start = frame_offset(address);
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        match it.escaped.iter_mut().find(|known| (known.start, known.bytes) == (start, bytes)) {
            Some(known) if known.how >= how => return,
            Some(known) => known.how = how,
            None => it.escaped.push(Escaped { start, bytes, how }),
        }
        // From now on its stores are seen in cells, and escape there.
        self.leak(context);
        self.enqueue_context(context);
        let end = self.escaped_end(Escaped { start, bytes, how }, context);
        for at in (start..end).step_by(8).take(MAX_COPIED as usize / 8) {
            let word = address.wrapping_add_signed((at - start).into()) & !7;
            self.escape_stored(word, how);
        }
    }

    pub(super) fn escape_stored(&mut self, word: u64, escape: Escape) {
        let values: Vec<Value> = self.memory.stored(word).collect();
        for value in values {
            self.escape(value, escape);
        }
    }

    fn escape_object(&mut self, address: u64, escape: Escape) {
        // Nobody takes the address of the linker's table: it is the page of something near it.
        let is_table = region(address).is_none() && self.file.is_in_offset_table(address);
        if is_table || !self.pool.places.is_taken(address) || !self.escape_contents(address, escape) {
            return;
        }
        if region(address).is_none() {
            let pointers = self.file.pointers_in(&self.pool.places, address);
            for pointer in pointers.into_iter().take(MAX_ESCAPING_POINTERS) {
                self.escape_address(pointer, escape);
            }
        }
    }

    /// The address of an object goes out of sight, with all that was stored in it. Returns whether that is new.
    pub(super) fn escape_contents(&mut self, address: u64, escape: Escape) -> bool {
        let object = self.pool.places.object(address);
        if self.memory.escaped.get(&object).is_some_and(|known| *known >= escape) {
            return false;
        }
        self.memory.escaped.insert(object, escape);
        self.memory.wake_readers(&self.pool, address);
        self.extra_cost += 16;
        if let Some(value) = self.memory.stored_somewhere(object) {
            self.escape(value, escape);
        }
        for word in self.memory.words_of(&self.pool, address).to_vec() {
            self.escape_stored(word, escape);
        }
        true
    }

    /// Stores to a frame are seen by others from now on.
    pub(super) fn leak(&mut self, context: ContextId) {
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        if !std::mem::replace(&mut it.is_leaked, true) {
            self.enqueue_context(context);
        }
    }

    /// Frames whose address a value may be are seen by others.
    pub(super) fn leak_value(&mut self, value: Value) {
        for context in self.frames_in(value) {
            self.leak(context);
        }
    }

    /// The address of a frame is kept: others may write there at any time.
    pub(super) fn share_context(&mut self, context: ContextId) {
        self.leak(context);
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        if !std::mem::replace(&mut it.is_shared, true) {
            self.enqueue_context(context);
        }
    }

    pub(super) fn share_value(&mut self, value: Value) {
        for context in self.frames_in(value) {
            self.share_context(context);
        }
    }

    /// The same of an address.
    pub(super) fn share(&mut self, address: u64) {
        if let Some(context) = context_of(address) {
            self.share_context(context);
        }
    }

    fn frames_in(&self, value: Value) -> Vec<ContextId> {
        match self.pool.shape(value) {
            Shape::Numbers(addresses) | Shape::Within(addresses) => {
                addresses.iter().filter_map(|&address| context_of(address)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Code of another file writes something to what an address leads to, at that place or elsewhere in its object, as long as it
    /// runs; no further than some bytes, if that is known.
    pub(super) fn overwrite(
        &mut self,
        node: NodeId,
        state: &mut State,
        (value, anything): (Value, Value),
        bytes: Option<i32>,
    ) {
        let bytes = bytes.filter(|_| matches!(self.pool.shape(value), Shape::Numbers(_)));
        for address in self.pool.addresses(value) {
            let is_its_own = region(address).is_some() || self.file.is_writable(address);
            if is_its_own && region(address) != Some(Region::Import) {
                let there = self.pool.constant(address);
                let size = bytes.map_or(8, |bytes| bytes.clamp(0, 8) as u8);
                if size > 0 {
                    self.store(node, state, there, size, anything);
                }
                self.store_somewhere(node, state, (address, bytes), 8, anything);
            }
        }
    }

    /// Fills memory with a byte that is known to be zero, or with something.
    pub(super) fn fill(
        &mut self,
        node: NodeId,
        state: &mut State,
        (to, value): (Value, Value),
        length: Option<u64>,
    ) {
        self.leak_value(to);
        let zero = self.pool.constant(0);
        let value = if value == zero { zero } else { Value::TOP.opened(value.is_open()) };
        let addresses: Vec<u64> = self.pool.addresses(to).into_iter().filter(|&at| is_mapped(at)).collect();
        match (self.pool.shape(to).clone(), length) {
            (Shape::Numbers(_), Some(length)) if length <= MAX_COPIED => {
                for (offset, size) in pieces(length) {
                    let size = size as u8;
                    let there = self.pool.plus(to, offset);
                    self.store(node, state, there, size, value);
                }
            }
            _ => {
                for address in addresses {
                    if region(address) == Some(Region::Heap) && value == zero {
                        let is_new = self.memory.zeroed.insert(self.pool.places.object(address));
                        if is_new {
                            self.memory.wake_readers(&self.pool, address);
                        }
                    } else {
                        self.store_somewhere(node, state, (address, None), 8, value);
                    }
                }
            }
        }
    }

    /// Copies memory.
    pub(super) fn copy(
        &mut self,
        node: NodeId,
        state: &mut State,
        (to, from): (Value, Value),
        length: Option<u64>,
    ) {
        self.leak_value(to);
        let few = |shape: &Shape| matches!(shape, Shape::Numbers(numbers) if numbers.len() <= 4);
        let is_followed = few(self.pool.shape(to)) && few(self.pool.shape(from));
        match length.filter(|&length| is_followed && length <= MAX_COPIED) {
            Some(length) => {
                for (offset, size) in pieces(length) {
                    let size = size as u8;
                    let (source, target) = (self.pool.plus(from, offset), self.pool.plus(to, offset));
                    let value = self.load(node, state, source, size);
                    self.store(node, state, target, size, value);
                }
            }
            None => {
                // All that the source holds may be anywhere in the target.
                self.escape(from, Escape::Lost);
                self.share_value(from);
                for address in self.pool.addresses(to) {
                    self.store_somewhere(node, state, (address, None), 8, Value::LOST);
                }
            }
        }
    }
}

/// The offsets and sizes of the words of so many bytes.
fn pieces(length: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = length.checked_sub(offset).filter(|&rest| rest > 0)?;
        let size = [8, 4, 2, 1].into_iter().find(|&size| size <= rest)?;
        offset += size;
        Some((offset - size, size))
    })
}

//! What is known at a place of a function: registers, flags, its own frame, and what the path has stored in callers' frames.

use crate::engine::domain::Domain;
use crate::engine::sorted::SortedMap;
use crate::insn::operations::VECTORS;
use crate::reach::memory::{composed, part_of};
use crate::reach::value::condition::{Comparison, Flags};
use crate::reach::value::pool::{Pool, Value};

/// Where the number came from that flags compare with a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    /// A register.
    Register(u8),
    /// A word of the frame.
    Slot(i32),
    /// A word of the file's data.
    Word(u64),
}

/// A store into the frame of a caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Effect {
    pub at: u64,
    pub size: u8,
    pub value: Value,
    /// Whether every path that returns has made it.
    pub is_certain: bool,
}

/// A word of the frame: where, from the stack pointer at the entry, bytes, value.
pub(crate) type Slot = (i32, u8, Value);

/// A word of the file's data: where, bytes, value.
pub(crate) type Word = (u64, u8, Value);

/// Maximum of words of the file's data that a path knows better, and that a call may write by themselves. Functions test few, and
/// detectors fill structures of up to 40 fields.
const MAX_WORDS: usize = 48;

/// The words of the file's data that a function may write.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Written {
    /// Any.
    is_anything: bool,
    /// Else these: where, and bytes.
    words: Vec<(u64, u8)>,
}

impl Written {
    /// Any word.
    pub(crate) const fn anything() -> Written {
        Written { is_anything: true, words: Vec::new() }
    }

    /// One word.
    pub(crate) fn of(at: u64, size: u8) -> Written {
        Written { is_anything: false, words: vec![(at, size)] }
    }

    /// Adds a word. Returns whether it is new.
    pub(crate) fn add(&mut self, at: u64, size: u8) -> bool {
        if self.is_anything || self.words.contains(&(at, size)) {
            return false;
        }
        self.words.push((at, size));
        self.words.len() <= MAX_WORDS || self.add_all(&Written::anything())
    }

    /// Adds others. Returns whether one is new.
    pub(crate) fn add_all(&mut self, other: &Written) -> bool {
        if other.is_anything {
            self.words.clear();
            return !std::mem::replace(&mut self.is_anything, true);
        }
        other.words.iter().fold(false, |changed, &(at, size)| self.add(at, size) || changed)
    }
}

/// How the states of two paths are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Merging {
    /// Whether bounds may grow without end.
    pub widens: bool,
    /// Whether the second path is a doubt: what differs then rests on the doubt.
    pub is_doubt: bool,
}

impl Merging {
    fn join(self, pool: &mut Pool, own: Value, value: Value) -> Value {
        let joined = pool.join(own, value, self.widens);
        joined.opened(self.is_doubt && joined != own)
    }
}

/// All that is known at one place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct State {
    /// Whether any execution comes here.
    is_live: bool,
    pub registers: [Value; 32],
    /// The low and the high 64 bits of each vector register.
    pub vectors: [[Value; 2]; 32],
    pub flags: Flags,
    /// What flags compare with one of a few numbers, and how.
    pub compared: Option<(Holder, Comparison)>,
    /// What registers were loaded from, and bytes, where that still holds the same. Of few at a time.
    pub origins: SortedMap<u8, (Holder, u8)>,
    pub slots: Vec<Slot>,
    /// Words of the file's data that this path has stored to or compared, and no call since may have written. What another thread
    /// stores in between is what it stores for every reader.
    pub words: Vec<Word>,
    pub effects: Vec<Effect>,
}

impl State {
    /// Anything.
    pub(crate) fn top() -> State {
        State {
            is_live: true,
            registers: [Value::TOP; 32],
            vectors: [[Value::TOP; 2]; 32],
            flags: Flags::Unknown(Value::TOP),
            compared: None,
            origins: SortedMap::default(),
            slots: Vec::new(),
            words: Vec::new(),
            effects: Vec::new(),
        }
    }

    pub(crate) fn register(&self, number: u8) -> Value {
        self.registers.get(usize::from(number)).copied().unwrap_or(Value::LOST)
    }

    /// Overwrites a whole register.
    pub(crate) fn set(&mut self, number: u8, value: Value) {
        if self.compared.is_some_and(|it| it.0 == Holder::Register(number)) {
            self.compared = None;
        }
        if let Some(register) = self.registers.get_mut(usize::from(number)) {
            *register = value;
        }
        self.set_origin(number, None);
    }

    /// Makes anything of the registers that nobody reads. What is known of where they came from stays.
    pub(crate) fn keep_live(&mut self, live: u64) {
        for (number, register) in self.registers.iter_mut().enumerate() {
            if live >> number & 1 == 0 {
                *register = Value::TOP;
            }
        }
    }

    /// What a register was loaded from, and bytes.
    pub(crate) fn origin(&self, number: u8) -> Option<(Holder, u8)> {
        self.origins.get(number).copied()
    }

    /// A register was loaded from somewhere.
    pub(crate) fn set_origin(&mut self, number: u8, origin: Option<(Holder, u8)>) {
        match origin {
            Some(origin) => self.origins.insert(number, origin),
            None => self.origins.remove(number),
        }
    }

    /// Registers no longer hold what these places do.
    fn forget_origins(&mut self, is_gone: impl Fn(Holder) -> bool) {
        self.origins.retain(|_, (holder, _)| !is_gone(*holder));
    }

    pub(crate) fn vector(&self, number: u8) -> [Value; 2] {
        self.vectors.get(usize::from(number)).copied().unwrap_or([Value::LOST; 2])
    }

    pub(crate) fn set_vector(&mut self, number: u8, value: [Value; 2]) {
        if let Some(register) = self.vectors.get_mut(usize::from(number)) {
            *register = value;
        }
    }

    pub(crate) fn set_flags(&mut self, flags: Flags) {
        self.flags = flags;
        self.compared = None;
    }

    /// Forgets what a call may change: registers, flags, words of the file's data.
    pub(crate) fn forget(&mut self, clobbers: u64, value: Value, written: &Written) {
        for (number, register) in self.registers.iter_mut().enumerate() {
            if clobbers >> number & 1 == 1 {
                *register = value;
            }
        }
        self.origins.retain(|number, _| clobbers >> number & 1 == 0);
        for (number, vector) in self.vectors.iter_mut().enumerate() {
            if clobbers >> (usize::from(VECTORS) + number) & 1 == 1 {
                *vector = [value; 2];
            }
        }
        self.set_flags(Flags::Unknown(value));
        self.forget_written(written);
    }

    /// Forgets words that something else may have written.
    pub(crate) fn forget_written(&mut self, written: &Written) {
        if written.is_anything {
            self.forget_words();
        }
        for &(at, size) in &written.words {
            self.forget_word(at, size);
        }
    }

    /// What the frame holds; ⊥ where nothing was stored.
    pub(crate) fn load(&self, pool: &mut Pool, at: i32, size: u8) -> Value {
        let end = at + i32::from(size);
        let mut parts = Vec::new();
        let mut here = at;
        for &(start, length, value) in self.slots_from(at).take_while(|slot| slot.0 < end) {
            let stop = start + i32::from(length);
            if stop <= at {
                continue;
            }
            if start == at && length == size {
                return value;
            }
            let (low, high) = (start.max(at), stop.min(end));
            if low > here {
                parts.push(((here - at) as u8, (low - here) as u8, Value::BOTTOM));
            }
            let part = part_of(pool, value, (low - start) as u8, (high - low) as u8);
            parts.push(((low - at) as u8, (high - low) as u8, part));
            here = high;
        }
        if parts.is_empty() {
            return Value::BOTTOM;
        }
        if here < end {
            parts.push(((here - at) as u8, (end - here) as u8, Value::BOTTOM));
        }
        composed(pool, &parts)
    }

    /// The slots from one on that may reach a place.
    fn slots_from(&self, at: i32) -> impl Iterator<Item = &Slot> {
        let first = self.slots.partition_point(|slot| slot.0 + 8 <= at);
        self.slots.get(first..).unwrap_or_default().iter()
    }

    fn is_free(&self, at: i32, size: u8) -> bool {
        let end = at + i32::from(size);
        !self.slots_from(at).take_while(|slot| slot.0 < end).any(|slot| at < slot.0 + i32::from(slot.1))
    }

    /// Overwrites a word of the frame.
    pub(crate) fn store(&mut self, pool: &mut Pool, at: i32, size: u8, value: Value) {
        let end = at + i32::from(size);
        self.forget_origins(|holder| matches!(holder, Holder::Slot(slot) if slot < end && at < slot + 8));
        if let Some((Holder::Slot(slot), _)) = self.compared
            && slot < end
            && at < slot + 8
        {
            self.compared = None;
        }
        let index = self.slots.partition_point(|slot| slot.0 < at);
        if let Some(slot) = self.slots.get_mut(index).filter(|slot| (slot.0, slot.1) == (at, size)) {
            slot.2 = value;
            return;
        }
        if !self.is_free(at, size) {
            let mut rest: Vec<Slot> = Vec::new();
            self.slots.retain(|&(start, length, old)| {
                let stop = start + i32::from(length);
                if stop <= at || end <= start {
                    return true;
                }
                if start < at {
                    rest.push((start, (at - start) as u8, part_of(pool, old, 0, (at - start) as u8)));
                }
                if stop > end {
                    let part = part_of(pool, old, (end - start) as u8, (stop - end) as u8);
                    rest.push((end, (stop - end) as u8, part));
                }
                false
            });
            for slot in rest {
                let index = self.slots.partition_point(|it| it.0 < slot.0);
                self.slots.insert(index, slot);
            }
        }
        let index = self.slots.partition_point(|slot| slot.0 < at);
        self.slots.insert(index, (at, size, value));
    }

    /// What is known better here than everywhere of a word of the file's data.
    pub(crate) fn word(&self, at: u64, size: u8) -> Option<Value> {
        self.words.iter().find(|word| (word.0, word.1) == (at, size)).map(|word| word.2)
    }

    /// Knows a word of the file's data better than everywhere.
    pub(crate) fn know_word(&mut self, at: u64, size: u8, value: Value) {
        self.forget_word(at, size);
        if self.words.len() < MAX_WORDS {
            self.words.push((at, size, value));
        }
    }

    /// Something was stored to a word.
    pub(crate) fn forget_word(&mut self, at: u64, size: u8) {
        let end = at + u64::from(size);
        self.forget_origins(|holder| matches!(holder, Holder::Word(word) if word < end && at < word + 8));
        self.words.retain(|word| word.0 >= end || at >= word.0 + u64::from(word.1));
        if matches!(self.compared, Some((Holder::Word(word), _)) if word < end && at < word + 8) {
            self.compared = None;
        }
    }

    /// Something was stored somewhere.
    pub(crate) fn forget_words(&mut self) {
        self.words.clear();
        self.forget_origins(|holder| matches!(holder, Holder::Word(_)));
        if matches!(self.compared, Some((Holder::Word(_), _))) {
            self.compared = None;
        }
    }

    /// Notes a store into a caller's frame.
    pub(crate) fn affect(&mut self, pool: &mut Pool, effect: Effect) {
        let (at, end) = (effect.at, effect.at + u64::from(effect.size));
        let mut is_known = false;
        self.effects.retain_mut(|it| {
            let stop = it.at + u64::from(it.size);
            if (it.at, it.size) == (effect.at, effect.size) {
                it.value =
                    if effect.is_certain { effect.value } else { pool.join(it.value, effect.value, false) };
                it.is_certain |= effect.is_certain;
                is_known = true;
            } else if effect.is_certain && at <= it.at && stop <= end {
                return false;
            } else if it.at < end && at < stop {
                it.value = pool.join(it.value, Value::LOST, false);
            }
            true
        });
        if !is_known {
            let index = self.effects.partition_point(|it| (it.at, it.size) < (effect.at, effect.size));
            self.effects.insert(index, effect);
        }
    }

    /// Joins the state of another path.
    pub(crate) fn merge(&mut self, other: &State, pool: &mut Pool, how: Merging) -> bool {
        if !other.is_live {
            return false;
        }
        if !self.is_live {
            *self = other.clone();
            return true;
        }
        let mut changed = false;
        let mut raise = |pool: &mut Pool, own: &mut Value, value: Value| {
            if *own != value {
                let joined = how.join(pool, *own, value);
                changed |= std::mem::replace(own, joined) != joined;
            }
        };
        for (own, &value) in self.registers.iter_mut().zip(&other.registers) {
            raise(pool, own, value);
        }
        for (own, value) in self.vectors.iter_mut().flatten().zip(other.vectors.iter().flatten()) {
            raise(pool, own, *value);
        }
        if self.flags != other.flags {
            let flags = joined_flags(self.flags, other.flags, pool, how);
            changed |= std::mem::replace(&mut self.flags, flags) != flags;
        }
        if self.compared != other.compared && self.compared.is_some() {
            self.compared = None;
            changed = true;
        }
        let known = self.origins.len();
        self.origins.retain(|number, origin| other.origins.get(number) == Some(origin));
        changed |= self.origins.len() < known;
        changed |= merge_effects(&mut self.effects, &other.effects, pool, how);
        changed |= merge_words(&mut self.words, &other.words, pool, how);
        self.merge_slots(other, pool, how) || changed
    }

    fn merge_slots(&mut self, other: &State, pool: &mut Pool, how: Merging) -> bool {
        let mut changed = false;
        for &(at, size, value) in &other.slots {
            let index = self.slots.partition_point(|slot| slot.0 < at);
            if let Some(slot) = self.slots.get_mut(index).filter(|slot| (slot.0, slot.1) == (at, size)) {
                if slot.2 != value {
                    let joined = how.join(pool, slot.2, value);
                    changed |= std::mem::replace(&mut slot.2, joined) != joined;
                }
            } else if self.is_free(at, size) {
                self.slots.insert(index, (at, size, value.opened(how.is_doubt)));
                changed = true;
            } else {
                // Stored in other pieces: what overlaps is lost.
                let end = at + i32::from(size);
                pool.lose(value);
                for slot in &mut self.slots {
                    if slot.0 < end && at < slot.0 + i32::from(slot.1) {
                        let joined = pool.join(slot.2, Value::LOST, false);
                        changed |= std::mem::replace(&mut slot.2, joined) != joined;
                    }
                }
            }
        }
        changed
    }
}

fn joined_flags(one: Flags, other: Flags, pool: &mut Pool, how: Merging) -> Flags {
    match (one, other) {
        (Flags::Difference(a, b, size), Flags::Difference(c, d, other)) if size == other => {
            Flags::Difference(how.join(pool, a, c), how.join(pool, b, d), size)
        }
        (Flags::Either(a, b, size, given), Flags::Either(c, d, other, also))
            if (size, given) == (other, also) =>
        {
            Flags::Either(how.join(pool, a, c), how.join(pool, b, d), size, given)
        }
        (Flags::Result(a, size), Flags::Result(b, other)) if size == other => {
            Flags::Result(how.join(pool, a, b), size)
        }
        _ => Flags::Unknown(Value::LOST),
    }
}

/// Joins what two paths know of words of the file's data; what only one knows is not known. Returns whether anything changed.
pub(crate) fn merge_words(own: &mut Vec<Word>, other: &[Word], pool: &mut Pool, how: Merging) -> bool {
    let (before, mut changed) = (own.len(), false);
    own.retain_mut(|word| {
        let same = other.iter().find(|it| (it.0, it.1) == (word.0, word.1));
        if let Some(it) = same.filter(|it| it.2 != word.2) {
            let joined = how.join(pool, word.2, it.2);
            changed |= std::mem::replace(&mut word.2, joined) != joined;
        }
        same.is_some()
    });
    changed || own.len() != before
}

/// Joins what two paths have stored in callers' frames; what only one has is not certain.
pub(crate) fn merge_effects(own: &mut Vec<Effect>, other: &[Effect], pool: &mut Pool, how: Merging) -> bool {
    let mut changed = false;
    let is_same = |one: &Effect, other: &Effect| (one.at, one.size) == (other.at, other.size);
    for effect in own.iter_mut() {
        match other.iter().find(|it| is_same(it, effect)) {
            Some(it) => {
                let joined = how.join(pool, effect.value, it.value);
                changed |= std::mem::replace(&mut effect.value, joined) != joined;
                changed |= effect.is_certain && !it.is_certain;
                effect.is_certain &= it.is_certain;
            }
            None => changed |= std::mem::take(&mut effect.is_certain),
        }
    }
    for effect in other {
        if !own.iter().any(|it| is_same(it, effect)) {
            let index = own.partition_point(|it| (it.at, it.size) < (effect.at, effect.size));
            let value = effect.value.opened(how.is_doubt);
            own.insert(index, Effect { is_certain: false, value, ..*effect });
            changed = true;
        }
    }
    changed
}

impl Domain for State {
    type Store = Pool;

    #[cfg(test)]
    fn bottom() -> State {
        State { is_live: false, ..State::top() }
    }
    fn join(&mut self, other: &State, store: &mut Pool) -> bool {
        self.merge(other, store, Merging::default())
    }
    fn widen(&mut self, other: &State, store: &mut Pool) -> bool {
        self.merge(other, store, Merging { widens: true, ..Merging::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::laws::assert_laws;
    use crate::reach::value::pool::Places;

    #[test]
    fn states_are_a_lattice() {
        let mut pool = Pool::new(Places::default());
        let (one, two) = (pool.constant(1), pool.constant(0x1_0000_0002));
        let mut low = State::top();
        low.set(0, one);
        low.store(&mut pool, -8, 4, one);
        let mut high = low.clone();
        high.set(0, two);
        high.set_flags(Flags::Result(one, 4));
        high.store(&mut pool, -8, 8, two);
        let mut effect = low.clone();
        effect.affect(&mut pool, Effect { at: 0x40, size: 4, value: one, is_certain: true });
        assert_laws(&[State::bottom(), low, high, effect, State::top()], &mut pool);
    }

    #[test]
    fn a_store_into_a_word_keeps_what_is_around_it() {
        let mut pool = Pool::new(Places::default());
        let (word, byte) = (pool.constant(0x1122_3344_5566_7788), pool.constant(0xff));
        let mut state = State::top();
        state.store(&mut pool, -16, 8, word);
        state.store(&mut pool, -14, 1, byte);
        let all = state.load(&mut pool, -16, 8);
        assert_eq!(pool.as_constant(all), Some(0x1122_3344_55ff_7788));
        assert!(state.load(&mut pool, -24, 8).is_bottom());
        let half = state.load(&mut pool, -12, 4);
        assert_eq!(pool.as_constant(half), Some(0x1122_3344));
    }
}

//! Memory: words of the file's data, of threads, of the heap and of frames.
//!
//! A cell holds the join of all that live code stores there, with what is there at the start. It is the same everywhere and
//! always: only a function's own frame is kept by place. A store at an unknown offset reaches the whole object. Once an object's
//! address is out of sight, others may write to it: [`Escape`] says how far it went, and a load then gives ⊤.

pub(crate) mod file;

use crate::engine::solver::NodeId;
use crate::insn::operations::Arithmetic;
use crate::reach::value::pool::{Pool, Shape, Value};
use crate::reach::value::region::{Region, region, whole};
use file::File;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// How far the address of an object went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Escape {
    /// Where the analysis no longer follows it.
    Lost,
    /// To code of another file.
    Foreign,
}

/// Maximum of joins into a cell before they widen. Levels and masks settle within four.
const MAX_CELL_JOINS: u16 = 12;

/// Maximum of words of an object that are looked through one by one: 32 KiB.
const MAX_WORDS: u64 = 4096;

/// What was stored to a word: offset in it, bytes, value.
type Entry = (u8, u8, Value);

/// What an object holds before any code runs, at some place: which numbers, what else, and both together.
#[derive(Debug)]
struct Initial {
    numbers: Vec<u64>,
    rest: Value,
    all: Value,
}

impl Default for Initial {
    fn default() -> Initial {
        Initial { numbers: Vec::new(), rest: Value::BOTTOM, all: Value::BOTTOM }
    }
}

impl Initial {
    /// What memory holds that was cleared.
    fn zero(pool: &mut Pool) -> Initial {
        Initial { numbers: vec![0], rest: Value::BOTTOM, all: pool.constant(0) }
    }
}

#[derive(Debug, Default)]
struct Cell {
    entries: Vec<Entry>,
    readers: FxHashSet<NodeId>,
    joins: u16,
}

/// All memory of a run.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    cells: FxHashMap<u64, Cell>,
    /// By object, what was stored at an unknown offset, and bytes.
    whole: FxHashMap<u64, (Value, u8)>,
    whole_readers: FxHashMap<u64, FxHashSet<NodeId>>,
    /// By object, its words that have a cell; all words of a frame together.
    words: FxHashMap<u64, Vec<u64>>,
    /// Objects of the heap that begin as zeros.
    pub(crate) zeroed: FxHashSet<u64>,
    /// Words that nothing was seen to store to, once everything else was settled.
    pub(crate) forced: FxHashSet<u64>,
    pub(crate) escaped: FxHashMap<u64, Escape>,
    /// By object of the file and size, what it holds before any code runs.
    initials: FxHashMap<(u64, u8), Rc<Initial>>,
    /// Words that code which is not followed reads and writes.
    exposed: FxHashSet<u64>,
    /// The objects that these are in.
    partly_exposed: FxHashSet<u64>,
    /// What looking through objects has cost since it was taken from here.
    pub(crate) cost: u64,
    /// Who has to look again.
    pub(crate) woken: Vec<NodeId>,
}

/// The cell of a word. The first time, the word is added to those of its object; a frame's words are all together.
fn cell<'c>(
    cells: &'c mut FxHashMap<u64, Cell>,
    words: &mut FxHashMap<u64, Vec<u64>>,
    pool: &Pool,
    word: u64,
) -> &'c mut Cell {
    cells.entry(word).or_insert_with(|| {
        words.entry(keeper(pool, word)).or_default().push(word);
        Cell::default()
    })
}

/// The object that a word is listed under.
fn keeper(pool: &Pool, word: u64) -> u64 {
    if region(word) == Some(Region::Frame) { whole(word) } else { pool.places.object(word) }
}

/// The join of two values that a place may hold. One that is anything for sure leaves no doubt about what the other adds.
fn gathered(pool: &mut Pool, size: u8, one: Value, other: Value, widens: bool) -> Value {
    let joined = pool.join(one, other, widens);
    let anything = pool.truncate(Value::TOP, size);
    // Bounds of what was stored allow more than was ever stored.
    let is_wider = matches!(pool.shape(joined), Shape::Bits(_))
        && ![one.closed(), other.closed()].contains(&joined.closed());
    if one == anything || other == anything { anything } else { joined.opened(is_wider) }
}

impl Memory {
    /// What is there before any code runs.
    fn initial(&self, file: &File<'_, '_>, pool: &mut Pool, at: u64, size: u8) -> Value {
        match region(at) {
            Some(Region::Frame) => Value::BOTTOM,
            Some(Region::Heap) if self.zeroed.contains(&pool.places.object(at)) => pool.constant(0),
            Some(Region::Heap) => Value::BOTTOM,
            Some(Region::Import) => Value::IMPORTED,
            Some(Region::Thread) => file.thread_initial(pool, at, size),
            None => file.initial(pool, at, size),
        }
    }

    /// Loads from within one aligned word. `is_whole`: whether what was stored to a part of it does not matter.
    fn load_word(
        &mut self,
        file: &File<'_, '_>,
        pool: &mut Pool,
        (at, size): (u64, u8),
        reader: NodeId,
        is_whole: bool,
    ) -> Value {
        let word = at & !7;
        let offset = (at - word) as u8;
        if region(at) == Some(Region::Import) {
            return Value::IMPORTED;
        }
        let cell = cell(&mut self.cells, &mut self.words, pool, word);
        cell.readers.insert(reader);
        let touches = |it: &Entry| it.0 < offset + size && offset < it.0 + it.1 && (!is_whole || it.1 == 8);
        let touching: Vec<Entry> = cell.entries.iter().copied().filter(touches).collect();
        let mut result = match touching.as_slice() {
            [] => self.initial(file, pool, at, size),
            [(start, length, value)] if (*start, *length) == (offset, size) => {
                let first = self.initial(file, pool, at, size);
                gathered(pool, size, *value, first, false)
            }
            _ => self.pieces(file, pool, (word, offset, size), &touching),
        };
        // That a store somewhere in the object was to just this word is a doubt, unless the word surely holds anything.
        let anything = pool.truncate(Value::TOP, size);
        let whole = self.whole.get(&pool.places.object(at)).filter(|_| result != anything);
        if let Some(&(value, length)) = whole {
            let value = if length == size || value.is_any() { value } else { Value::LOST };
            result = pool.join(result, value.opened(true), false);
        }
        if result.is_bottom() && self.forced.contains(&word) { Value::LOST } else { result }
    }

    /// A load of a word that was stored to in other pieces.
    fn pieces(
        &self,
        file: &File<'_, '_>,
        pool: &mut Pool,
        (word, offset, size): (u64, u8, u8),
        entries: &[Entry],
    ) -> Value {
        let bounds = offset..=offset + size;
        let ends = entries.iter().flat_map(|it| [it.0, it.0 + it.1]).filter(|end| bounds.contains(end));
        let mut cuts: Vec<u8> = ends.chain([offset, offset + size]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut parts = Vec::new();
        for (&low, &high) in cuts.iter().zip(cuts.iter().skip(1)) {
            let mut value = self.initial(file, pool, word + u64::from(low), high - low);
            for &(start, length, stored) in entries {
                if start <= low && high <= start + length {
                    let part = part_of(pool, stored, low - start, high - low);
                    value = gathered(pool, high - low, value, part, false);
                }
            }
            parts.push((low - offset, high - low, value));
        }
        composed(pool, &parts)
    }

    /// The words of a frame that were loaded or stored to, and who has loaded them.
    pub(crate) fn frame_words(&self, frame: u64) -> &[u64] {
        self.words.get(&whole(frame)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Someone has loaded from somewhere in a frame.
    pub(crate) fn watch_frame(&mut self, frame: u64, reader: NodeId) {
        self.whole_readers.entry(whole(frame)).or_default().insert(reader);
    }

    /// Wakes all who have loaded from a frame.
    pub(crate) fn wake_frame(&mut self, frame: u64) {
        self.woken.extend(self.whole_readers.get(&whole(frame)).into_iter().flatten());
        for word in self.words.get(&whole(frame)).map(Vec::as_slice).unwrap_or_default() {
            if let Some(cell) = self.cells.get(word) {
                self.woken.extend(&cell.readers);
            }
        }
    }

    /// Loads up to eight bytes.
    pub(crate) fn load(
        &mut self,
        file: &File<'_, '_>,
        pool: &mut Pool,
        at: u64,
        size: u8,
        reader: NodeId,
    ) -> Value {
        let offset = (at & 7) as u8;
        if offset + size <= 8 {
            return self.load_word(file, pool, (at, size), reader, false);
        }
        let first = 8 - offset;
        let low = self.load_word(file, pool, (at, first), reader, false);
        let high = self.load_word(file, pool, (at + u64::from(first), size - first), reader, false);
        composed(pool, &[(0, first, low), (first, size - first, high)])
    }

    /// Loads an address that is called, from a word that begins as one. Stores to a part of it are to another member of a union.
    pub(crate) fn load_called(
        &mut self,
        file: &File<'_, '_>,
        pool: &mut Pool,
        at: u64,
        reader: NodeId,
    ) -> Value {
        self.load_word(file, pool, (at, 8), reader, true)
    }

    /// Joins a value into a place.
    pub(crate) fn store(&mut self, pool: &mut Pool, at: u64, size: u8, value: Value) {
        if value.is_bottom() || region(at) == Some(Region::Import) {
            return;
        }
        let offset = (at & 7) as u8;
        if offset + size > 8 {
            let first = 8 - offset;
            let (low, high) = (part_of(pool, value, 0, first), part_of(pool, value, first, size - first));
            self.store(pool, at, first, low);
            self.store(pool, at + u64::from(first), size - first, high);
            return;
        }
        let word = at & !7;
        let cell = cell(&mut self.cells, &mut self.words, pool, word);
        let changed = match cell.entries.iter_mut().find(|it| (it.0, it.1) == (offset, size)) {
            Some(entry) => {
                let joined = gathered(pool, size, entry.2, value, cell.joins > MAX_CELL_JOINS);
                let changed = std::mem::replace(&mut entry.2, joined) != joined;
                cell.joins += u16::from(changed);
                changed
            }
            None => {
                cell.entries.push((offset, size, value));
                true
            }
        };
        if changed {
            self.woken.extend(&cell.readers);
            if let Some(readers) = self.whole_readers.get(&keeper(pool, at)) {
                self.woken.extend(readers);
            }
        }
    }

    /// How often what was stored to a word has changed.
    pub(crate) fn joins(&self, at: u64) -> u16 {
        self.cells.get(&(at & !7)).map_or(0, |cell| cell.joins)
    }

    /// The words of the object that an address is in that were loaded or stored to.
    pub(crate) fn words_of(&self, pool: &Pool, address: u64) -> &[u64] {
        self.words.get(&pool.places.object(address)).map(Vec::as_slice).unwrap_or_default()
    }

    /// What was stored to a word, if anything, whatever its size.
    pub(crate) fn stored(&self, word: u64) -> impl Iterator<Item = Value> {
        self.cells.get(&(word & !7)).into_iter().flat_map(|cell| cell.entries.iter().map(|it| it.2))
    }

    /// What was stored somewhere in an object.
    pub(crate) fn stored_somewhere(&self, object: u64) -> Option<Value> {
        self.whole.get(&object).map(|it| it.0)
    }

    /// Code that is not followed reads and writes a word. Returns whether that is new.
    pub(crate) fn expose_word(&mut self, pool: &Pool, word: u64) -> bool {
        let is_new = self.exposed.insert(word);
        if is_new {
            let object = pool.places.object(word);
            self.partly_exposed.insert(object);
            self.woken.extend(self.cells.get(&word).into_iter().flat_map(|cell| &cell.readers));
            self.woken.extend(self.whole_readers.get(&object).into_iter().flatten());
        }
        is_new
    }

    /// How far an object went out of sight, or some word of it.
    pub(crate) fn escape_within(&self, object: u64) -> Option<Escape> {
        let escape = self.escaped.get(&object).copied();
        escape.max(self.partly_exposed.contains(&object).then_some(Escape::Foreign))
    }

    /// How far a place of the file's data, of the heap or of a thread went out of sight.
    pub(crate) fn escape_of(&self, pool: &Pool, at: u64) -> Option<Escape> {
        let escape = self.escaped.get(&pool.places.object(at)).copied();
        escape.max(self.exposed.contains(&(at & !7)).then_some(Escape::Foreign))
    }

    /// Wakes all who have read of an object.
    pub(crate) fn wake_readers(&mut self, pool: &Pool, address: u64) {
        for word in self.words.get(&pool.places.object(address)).map(Vec::as_slice).unwrap_or_default() {
            if let Some(cell) = self.cells.get(word) {
                self.woken.extend(&cell.readers);
            }
        }
        if let Some(readers) = self.whole_readers.get(&pool.places.object(address)) {
            self.woken.extend(readers);
        }
    }

    /// A store somewhere in an object.
    pub(crate) fn store_somewhere(&mut self, pool: &mut Pool, address: u64, size: u8, value: Value) {
        if value.is_bottom() || region(address) == Some(Region::Import) {
            return;
        }
        let object = pool.places.object(address);
        let old = self.whole.get(&object).copied();
        let new = match old {
            None => (value, size),
            Some((known, length)) => {
                let joined = pool.join(known, value, true);
                let joined = if length == size { joined } else { pool.join(joined, Value::LOST, false) };
                (joined, length.max(size))
            }
        };
        if old == Some(new) {
            return;
        }
        self.whole.insert(object, new);
        self.wake_readers(pool, address);
    }

    /// What an object of the file holds before any code runs, at any place of some size.
    fn initial_anywhere(
        &mut self,
        file: &File<'_, '_>,
        pool: &mut Pool,
        address: u64,
        size: u8,
    ) -> Rc<Initial> {
        let object = pool.places.object(address);
        if let Some(known) = self.initials.get(&(object, size)) {
            return Rc::clone(known);
        }
        let (start, end) = file.extent(&pool.places, address);
        let mut initial = Initial::default();
        if (end.saturating_sub(start & !7)) / 8 >= MAX_WORDS {
            (initial.rest, initial.all) = (Value::LOST, Value::LOST);
        } else {
            for at in (start & !7..end).step_by(usize::from(size.max(1))) {
                let value = self.initial(file, pool, at, size);
                match pool.as_constant(value) {
                    Some(number) if !value.is_open() => initial.numbers.push(number),
                    _ => initial.rest = pool.join(initial.rest, value, false),
                }
            }
            initial.numbers.sort_unstable();
            initial.numbers.dedup();
            if !initial.numbers.is_empty() {
                let numbers = pool.one_of(initial.numbers.clone());
                initial.all = pool.join(initial.rest, numbers, false);
            } else {
                initial.all = initial.rest;
            }
            self.cost += end.saturating_sub(start) / 8;
        }
        let initial = Rc::new(initial);
        self.initials.insert((object, size), Rc::clone(&initial));
        initial
    }

    /// A load from somewhere in an object.
    pub(crate) fn load_somewhere(
        &mut self,
        file: &File<'_, '_>,
        pool: &mut Pool,
        address: u64,
        size: u8,
        reader: NodeId,
    ) -> Value {
        if region(address) == Some(Region::Import) {
            return Value::IMPORTED;
        }
        let object = pool.places.object(address);
        self.whole_readers.entry(object).or_default().insert(reader);
        if region(address) == Some(Region::Thread) {
            return Value::LOST;
        }
        let initial = match region(address) {
            None => self.initial_anywhere(file, pool, address, size),
            Some(_) if self.zeroed.contains(&object) => Rc::new(Initial::zero(pool)),
            Some(_) => Rc::new(Initial::default()),
        };
        let Initial { numbers, rest, all } = initial.as_ref();
        if rest.is_lost() {
            return Value::LOST;
        }
        let words = self.words.get(&object).cloned().unwrap_or_default();
        let (mut listed, mut result) = (Vec::new(), Value::BOTTOM);
        let mut add = |pool: &mut Pool, value: Value| match pool.as_constant(value) {
            Some(number) if !value.is_open() => listed.push(number),
            _ => result = pool.join(result, value, false),
        };
        for word in words {
            let entries = self.cells.get(&word).map(|cell| cell.entries.clone()).unwrap_or_default();
            for (_, length, value) in entries {
                if length <= size {
                    add(pool, value);
                    continue;
                }
                for offset in (0..length).step_by(usize::from(size)) {
                    let part = part_of(pool, value, offset, size.min(length - offset));
                    add(pool, part);
                }
            }
        }
        if listed.is_empty() {
            result = pool.join(result, *all, false);
        } else {
            listed.extend(numbers);
            let listed = pool.one_of(listed);
            result = pool.join(result, listed, false);
            result = pool.join(result, *rest, false);
        }
        match self.whole.get(&object) {
            Some(&(value, _)) => pool.join(result, value, false),
            None => result,
        }
    }
}

/// Some bytes of a value.
pub(crate) fn part_of(pool: &mut Pool, value: Value, offset: u8, size: u8) -> Value {
    let value = match offset {
        0 => value,
        _ => {
            let bits = pool.constant(u64::from(offset) * 8);
            pool.compute(Arithmetic::Extract, value, bits, 8)
        }
    };
    pool.truncate(value, size)
}

/// A value of pieces in order: offset, bytes, value. What no store has filled is unknown, unless all is.
pub(crate) fn composed(pool: &mut Pool, parts: &[(u8, u8, Value)]) -> Value {
    if let [(_, _, value)] = parts {
        return *value;
    }
    if parts.iter().all(|part| part.2.is_bottom()) {
        return Value::BOTTOM;
    }
    let mut result = pool.constant(0);
    for &(offset, size, value) in parts {
        let value = if value.is_bottom() { Value::LOST } else { value };
        let value = pool.truncate(value, size);
        let bits = pool.constant(u64::from(offset) * 8);
        let shifted = pool.compute(Arithmetic::ShiftLeft, value, bits, 8);
        result = pool.compute(Arithmetic::Or, result, shifted, 8);
    }
    result
}

//! Values and the pool that interns them.
//!
//! A [`Value`] is a number in the pool, and one bit: whether it rests on an answer of the CPU that the model leaves open. ⊤ is
//! twice there: [`Value::TOP`] is what comes from outside, and [`Value::LOST`] what the analysis no longer follows. Both allow
//! everything; a path that only a lost value opens is a doubt. An address that is joined into either is *lost*, an event that
//! the pool notes at each such join, also at one whose result it remembers.

use super::limits::{MAX_NUMBERS, MAX_NUMBERS_WIDENED, MAX_OBJECTS, MAX_TABLE, MAX_TARGETS};
use super::region::{LOWEST_ADDRESS, Region, THREAD_BASE, is_mapped, region, whole};
use crate::engine::domain::Domain;
use rustc_hash::FxHashMap;

/// An abstract value: its place in the pool, and whether it rests on an open answer of the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Value(u32);

/// The bit of a [`Value`] that says that it rests on an open answer.
const OPEN: u32 = 1 << 31;

impl Value {
    /// No number at all: no execution has come here.
    pub(crate) const BOTTOM: Value = Value(0);
    /// Any number, from outside.
    pub(crate) const TOP: Value = Value(1);
    /// Any number, because it is no longer followed.
    pub(crate) const LOST: Value = Value(2);
    /// What an object of another file holds: it may say what the CPU has.
    pub(crate) const IMPORTED: Value = Value::TOP.opened(true);

    /// Whether it rests on an answer of the CPU that the model leaves open.
    pub(crate) const fn is_open(self) -> bool {
        self.0 & OPEN != 0
    }
    /// The same number, as one that rests on an open answer if it did or `open`.
    pub(crate) const fn opened(self, open: bool) -> Value {
        Value(if open { self.0 | OPEN } else { self.0 })
    }
    /// Without that bit.
    pub(crate) const fn closed(self) -> Value {
        Value(self.0 & !OPEN)
    }
    pub(crate) fn is_bottom(self) -> bool {
        self.closed() == Value::BOTTOM
    }
    /// Whether it is ⊤, of either kind.
    pub(crate) fn is_any(self) -> bool {
        matches!(self.closed(), Value::TOP | Value::LOST)
    }
    pub(crate) fn is_lost(self) -> bool {
        self.closed() == Value::LOST
    }
    /// Whether a branch on it, if it is undecided, leaves a doubt instead of two paths.
    pub(crate) fn is_doubt(self) -> bool {
        self.is_lost() || self.is_open()
    }
    const fn index(self) -> usize {
        (self.0 & !OPEN) as usize
    }
}

/// What is known of each bit, and the intervals: C's `int` is compared by its sign, and what is below zero is no interval unsigned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Bits {
    /// Which bits are known.
    pub known: u64,
    /// What they are; the others are clear here.
    pub value: u64,
    /// The least number, unsigned.
    pub low: u64,
    /// The greatest.
    pub high: u64,
    /// The least number that the low four bytes are, signed.
    pub least: i32,
    /// The greatest.
    pub most: i32,
}

impl Bits {
    /// Nothing known.
    pub(crate) const ANY: Bits =
        Bits { known: 0, value: 0, low: 0, high: u64::MAX, least: i32::MIN, most: i32::MAX };

    /// The numbers from one to another.
    pub(crate) fn between(low: u64, high: u64) -> Bits {
        let same = (low ^ high).leading_zeros();
        let known = if same == 0 { 0 } else { !(u64::MAX.checked_shr(same).unwrap_or(0)) };
        Bits { known, value: low & known, low, high, ..Bits::ANY }
    }

    /// With the bounds of the low four bytes as the others bound them.
    fn agreed(self) -> Bits {
        if self.high > u32::MAX.into() {
            return self;
        }
        let (low, high) = (low_bytes(self.low), low_bytes(self.high));
        let (least, most) = match low <= high {
            true => (self.least.max(low), self.most.min(high)),
            false => (self.least, self.most),
        };
        // Below zero or not as a whole, they are in the same order without the sign.
        let (low, high) = match least >= 0 || most < 0 {
            true if least <= most => (u64::from(least.cast_unsigned()), u64::from(most.cast_unsigned())),
            _ => (self.low, self.high),
        };
        Bits { least, most, low: self.low.max(low), high: self.high.min(high), ..self }
    }
}

/// The low four bytes, signed.
pub(super) const fn low_bytes(number: u64) -> i32 {
    (number as u32).cast_signed()
}

/// What a value stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Shape {
    /// No number.
    Bottom,
    /// Any number, from outside.
    Top,
    /// Any number, no longer followed.
    Lost,
    /// One of these, sorted.
    Numbers(Box<[u64]>),
    /// A number of which bits and bounds are known.
    Bits(Bits),
    /// An address at an unknown offset in an object that holds one of these addresses.
    Within(Box<[u64]>),
}

/// Which numbers are addresses of the file.
#[derive(Debug, Default, Clone)]
pub(crate) struct Places {
    /// Runs of code and data, by address: start, end, whether it is code.
    pub runs: Vec<(u64, u64, bool)>,
    /// Where objects in data begin, sorted.
    pub objects: Vec<u64>,
    /// The addresses that code makes, that data holds, or that other files can ask for, sorted.
    pub taken: Vec<u64>,
}

impl Places {
    fn run(&self, address: u64) -> Option<bool> {
        let after = self.runs.partition_point(|run| run.0 <= address);
        let run = self.runs.get(after.checked_sub(1)?)?;
        (address < run.1).then_some(run.2)
    }
    /// Whether a number is an address, of the file or of a region.
    pub(crate) fn is_address(&self, number: u64) -> bool {
        is_mapped(number) && (region(number).is_some() || self.run(number).is_some())
    }
    /// Whether anybody has the address of the object that an address is in. An address that was counted up to is the end of the
    /// object before it, and no more; who uses an object only by name, as C's `static int level`, shows it to nobody.
    pub(crate) fn is_taken(&self, address: u64) -> bool {
        let after = self.objects.partition_point(|&start| start <= address);
        let start = after.checked_sub(1).and_then(|index| self.objects.get(index)).copied().unwrap_or(0);
        let end = self.objects.get(after).copied().unwrap_or(u64::MAX);
        let first = self.taken.partition_point(|&taken| taken < start);
        region(address).is_some() || self.taken.get(first).is_some_and(|&taken| taken < end)
    }
    pub(crate) fn is_code(&self, number: u64) -> bool {
        self.run(number) == Some(true)
    }
    /// The start of the object that an address is in. In frames each address stands for itself.
    pub(crate) fn object(&self, address: u64) -> u64 {
        match region(address) {
            Some(Region::Frame) => address,
            Some(Region::Heap | Region::Import) => whole(address),
            // What is where among a thread's variables is not followed.
            Some(Region::Thread) => THREAD_BASE,
            None => {
                let after = self.objects.partition_point(|&start| start <= address);
                let start = after.checked_sub(1).and_then(|index| self.objects.get(index));
                start.copied().unwrap_or(address)
            }
        }
    }
}

/// The pool of all values of a run.
#[derive(Debug)]
pub(crate) struct Pool {
    shapes: Vec<Shape>,
    interned: FxHashMap<Shape, u32>,
    constants: FxHashMap<u64, u32>,
    joins: FxHashMap<(Value, Value, bool), Value>,
    pub(super) results: FxHashMap<(u8, u8, Value, Value), Value>,
    /// Addresses that were joined into ⊤ since they were taken from here.
    pub(crate) lost: Vec<u64>,
    pub(crate) places: Places,
}

impl Pool {
    pub(crate) fn new(places: Places) -> Pool {
        let mut pool = Pool {
            shapes: Vec::new(),
            interned: FxHashMap::default(),
            constants: FxHashMap::default(),
            joins: FxHashMap::default(),
            results: FxHashMap::default(),
            lost: Vec::new(),
            places,
        };
        for shape in [Shape::Bottom, Shape::Top, Shape::Lost] {
            pool.intern(shape);
        }
        pool
    }

    pub(crate) fn shape(&self, value: Value) -> &Shape {
        self.shapes.get(value.index()).unwrap_or(&Shape::Lost)
    }

    /// The value of a shape, in its simplest form.
    pub(crate) fn intern(&mut self, shape: Shape) -> Value {
        let shape = match shape {
            Shape::Numbers(numbers) | Shape::Within(numbers) if numbers.is_empty() => return Value::BOTTOM,
            Shape::Bits(bits) if bits.low == bits.high => Shape::Numbers([bits.low].into()),
            Shape::Bits(bits) if bits.known == u64::MAX => Shape::Numbers([bits.value].into()),
            Shape::Bits(Bits::ANY) => return Value::TOP,
            Shape::Bits(bits) => Shape::Bits(bits.agreed()),
            shape => shape,
        };
        if let Some(&index) = self.interned.get(&shape) {
            return Value(index);
        }
        let index = u32::try_from(self.shapes.len()).unwrap_or(2).min(OPEN - 1);
        self.shapes.push(shape.clone());
        self.interned.insert(shape, index);
        Value(index)
    }

    /// The value that is one number.
    pub(crate) fn constant(&mut self, number: u64) -> Value {
        if let Some(&index) = self.constants.get(&number) {
            return Value(index);
        }
        let value = self.intern(Shape::Numbers([number].into()));
        self.constants.insert(number, value.0);
        value
    }

    /// The number that a value is, if it is one.
    pub(crate) fn as_constant(&self, value: Value) -> Option<u64> {
        match self.shape(value) {
            Shape::Numbers(numbers) if numbers.len() == 1 => numbers.first().copied(),
            _ => None,
        }
    }

    /// One of some numbers.
    pub(crate) fn one_of(&mut self, mut numbers: Vec<u64>) -> Value {
        numbers.sort_unstable();
        numbers.dedup();
        match numbers.as_slice() {
            [one] => self.constant(*one),
            _ if numbers.len() <= MAX_TABLE => self.intern(Shape::Numbers(numbers.into())),
            _ => self.summarized(numbers),
        }
    }

    /// An address somewhere in the objects of some addresses.
    pub(crate) fn within(&mut self, addresses: impl Iterator<Item = u64>) -> Value {
        let mut objects: Vec<u64> = addresses.map(|address| self.places.object(address)).collect();
        if objects.iter().any(|&object| self.places.is_taken(object)) {
            objects.retain(|&object| self.places.is_taken(object));
        }
        objects.sort_unstable();
        objects.dedup();
        if objects.len() > MAX_OBJECTS {
            self.lost.append(&mut objects);
            return Value::LOST;
        }
        self.intern(Shape::Within(objects.into()))
    }

    /// The addresses that a value may be, or be near.
    pub(crate) fn addresses(&self, value: Value) -> Vec<u64> {
        match self.shape(value) {
            Shape::Numbers(numbers) => {
                numbers.iter().copied().filter(|&number| self.places.is_address(number)).collect()
            }
            Shape::Within(objects) => objects.to_vec(),
            _ => Vec::new(),
        }
    }

    /// Notes that the addresses of a value are no longer followed.
    pub(crate) fn lose(&mut self, value: Value) {
        let addresses = self.addresses(value);
        self.lost.extend(addresses);
    }

    /// A set that is too large to list: objects, an interval, or lost.
    pub(super) fn summarized(&mut self, numbers: Vec<u64>) -> Value {
        let is_address = |&number: &u64| self.places.is_address(number);
        if !numbers.iter().any(is_address) {
            return self.bits_of(&numbers).map_or(Value::LOST, |bits| self.intern(Shape::Bits(bits)));
        }
        let is_data =
            |&number: &u64| number < LOWEST_ADDRESS || is_address(&number) && !self.places.is_code(number);
        if numbers.iter().all(is_data) {
            let addresses: Vec<u64> =
                numbers.into_iter().filter(|&number| number >= LOWEST_ADDRESS).collect();
            return self.within(addresses.into_iter());
        }
        let addresses: Vec<u64> = numbers.iter().copied().filter(is_address).collect();
        self.lost.extend(addresses);
        Value::LOST
    }

    fn bits_of(&self, numbers: &[u64]) -> Option<Bits> {
        let (&low, &high) = (numbers.first()?, numbers.last()?);
        let known = numbers.iter().fold(u64::MAX, |known, number| known & !(number ^ low));
        let signed = || numbers.iter().map(|number| low_bytes(*number));
        Some(Bits { known, value: low & known, low, high, least: signed().min()?, most: signed().max()? })
    }

    /// Bits and bounds of a value; `None` where it may be an address, or nothing.
    pub(crate) fn bits(&self, value: Value) -> Option<Bits> {
        match self.shape(value) {
            Shape::Numbers(numbers) => self.bits_of(numbers),
            Shape::Bits(bits) => Some(*bits),
            Shape::Top | Shape::Lost => Some(Bits::ANY),
            Shape::Bottom | Shape::Within(_) => None,
        }
    }

    /// The least upper bound of two values; some upper bound, where `widens`.
    pub(crate) fn join(&mut self, left: Value, right: Value, widens: bool) -> Value {
        let open = left.is_open() || right.is_open();
        let (left, right) = (left.closed(), right.closed());
        let known = match (left, right) {
            (left, right) if left == right => Some(left),
            (Value::BOTTOM, other) | (other, Value::BOTTOM) => Some(other),
            _ => self.joins.get(&(left, right, widens)).copied(),
        };
        let joined = known.unwrap_or_else(|| {
            let joined = self.joined(left, right, widens);
            self.joins.insert((left, right, widens), joined);
            joined
        });
        if joined.is_any() && left != right {
            // The loss is an event of each join, not only of the first.
            self.lose(left);
            self.lose(right);
        }
        joined.opened(open)
    }

    fn joined(&mut self, left: Value, right: Value, widens: bool) -> Value {
        if left.is_any() || right.is_any() {
            return if left.is_lost() || right.is_lost() { Value::LOST } else { Value::TOP };
        }
        match (self.shape(left).clone(), self.shape(right).clone()) {
            (Shape::Numbers(one), Shape::Numbers(other)) => {
                let mut all: Vec<u64> = one.iter().chain(other.iter()).copied().collect();
                all.sort_unstable();
                all.dedup();
                if all.len() == one.len() {
                    return left;
                }
                let is_code = |&number: &u64| number < LOWEST_ADDRESS || self.places.is_code(number);
                let limit = match (all.iter().all(is_code) && all.last() >= Some(&LOWEST_ADDRESS), widens) {
                    (true, _) => MAX_TARGETS,
                    (false, true) => MAX_NUMBERS_WIDENED,
                    (false, false) => MAX_NUMBERS,
                };
                if all.len() <= limit || all.len() == other.len() && !widens {
                    return self.intern(Shape::Numbers(all.into()));
                }
                let summary = self.summarized(all);
                if widens { self.rounded(summary) } else { summary }
            }
            (Shape::Within(one), Shape::Within(other) | Shape::Numbers(other))
            | (Shape::Numbers(other), Shape::Within(one)) => {
                let all: Vec<u64> = one.iter().chain(other.iter()).copied().collect();
                let all: Vec<u64> = all.into_iter().filter(|&number| number >= LOWEST_ADDRESS).collect();
                let is_data = |&number: &u64| self.places.is_address(number) && !self.places.is_code(number);
                if all.iter().all(is_data) { self.within(all.into_iter()) } else { Value::LOST }
            }
            (Shape::Within(_), _) | (_, Shape::Within(_)) => Value::LOST,
            _ => match (self.bits(left), self.bits(right)) {
                (Some(one), Some(other)) if self.is_plain(left) && self.is_plain(right) => {
                    let known = one.known & other.known & !(one.value ^ other.value);
                    let (low, high) = (one.low.min(other.low), one.high.max(other.high));
                    let (least, most) = (one.least.min(other.least), one.most.max(other.most));
                    let value = one.value & known;
                    let sum = self.intern(Shape::Bits(Bits { known, value, low, high, least, most }));
                    if sum == left || !widens { sum } else { self.rounded(sum) }
                }
                _ => Value::LOST,
            },
        }
    }

    /// Whether no number that a value may be is an address.
    fn is_plain(&self, value: Value) -> bool {
        match self.shape(value) {
            Shape::Numbers(numbers) => !numbers.iter().any(|&number| self.places.is_address(number)),
            _ => true,
        }
    }

    /// Rounds an interval up, so that few steps reach the top.
    fn rounded(&mut self, value: Value) -> Value {
        let &Shape::Bits(Bits { known, value: bits, low, high, least, most }) = self.shape(value) else {
            return value;
        };
        const STEPS: [u64; 6] = [0xf, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64];
        let high = STEPS.into_iter().find(|&step| step >= high).unwrap_or(u64::MAX);
        let low = if low < 16 { low.min(1) } else { 0 };
        const SIGNED_STEPS: [i32; 4] = [0, 0xf, 0xff, 0xffff];
        let most = SIGNED_STEPS.into_iter().find(|&step| step >= most).unwrap_or(i32::MAX);
        let least = if least < 0 { i32::MIN } else { least.min(if least < 16 { 1 } else { 0 }) };
        // Known bits stay: they can only become fewer.
        self.intern(Shape::Bits(Bits { known, value: bits, low, high, least, most }))
    }
}

impl Domain for Value {
    type Store = Pool;

    #[cfg(test)]
    fn bottom() -> Value {
        Value::BOTTOM
    }
    fn join(&mut self, other: &Value, store: &mut Pool) -> bool {
        let joined = store.join(*self, *other, false);
        std::mem::replace(self, joined) != joined
    }
    fn widen(&mut self, other: &Value, store: &mut Pool) -> bool {
        let joined = store.join(*self, *other, true);
        std::mem::replace(self, joined) != joined
    }
}

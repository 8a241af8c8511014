//! Numbers that repeat from run to run (xorshift64*, Vigna 2016): a seed → a sequence.

/// A sequence of pseudo-random numbers.
#[derive(Debug, Clone)]
pub struct Sequence(u64);

impl Sequence {
    /// Starts at a seed other than 0.
    pub fn new(seed: u64) -> Sequence {
        Sequence(seed.max(1))
    }

    /// Starts at any seed; neighbouring seeds give unlike sequences.
    pub fn scattered(seed: u64) -> Sequence {
        Sequence::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, or 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.draw() >> 11) as usize % limit.max(1)
    }

    /// Whether one of `times` equally likely cases is met.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of some values; `None` of none.
    pub fn pick<'a, T>(&mut self, values: &'a [T]) -> Option<&'a T> {
        values.get(self.below(values.len()))
    }

    /// One of some values, copied; of none the default.
    pub fn one_of<T: Copy + Default>(&mut self, values: &[T]) -> T {
        self.pick(values).copied().unwrap_or_default()
    }
}

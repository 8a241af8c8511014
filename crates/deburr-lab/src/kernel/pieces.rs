//! Memory that a kernel reads piece by piece: what it holds, and what each piece must give.
//!
//! In: how many pieces, and a plain implementation of the kernel's work. Out: [`Pieces`], and [`Sums`] that check what all
//! iterations together gave. A thread's cell has the number of its next piece in the lower half, and in the upper half the sum of
//! all results so far; both wrap at 32 bits. There are a power of two pieces, so that numbers wrap where the pieces end.

use std::fmt;
use std::fs;
use std::ptr;

/// What a kernel reads.
#[derive(Clone, Copy)]
pub struct Data {
    /// Bytes of a piece, which is what an iteration reads.
    pub bytes: usize,
    /// What the pieces give. The first call fills the memory.
    pub sums: fn() -> &'static Sums,
}

impl PartialEq for Data {
    fn eq(&self, other: &Data) -> bool {
        self.bytes == other.bytes && ptr::fn_addr_eq(self.sums, other.sums)
    }
}

impl Eq for Data {}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pieces of {} bytes", self.bytes)
    }
}

/// Sums of the results of pieces from the first on: of none, of one, …, of all.
#[derive(Debug)]
pub struct Sums(Vec<u32>);

impl Sums {
    fn new(results: impl Iterator<Item = u32>) -> Sums {
        let next = |sum: &mut u32, result: u32| {
            *sum = sum.wrapping_add(result);
            Some(*sum)
        };
        let sums = Sums([0].into_iter().chain(results.scan(0, next)).collect());
        assert!(sums.pieces().is_power_of_two(), "numbers of pieces wrap at 32 bits");
        sums
    }

    fn pieces(&self) -> usize {
        self.0.len() - 1
    }

    /// The sum of so many results, from the first piece on, over all pieces as often as it takes.
    fn of(&self, count: u64) -> u32 {
        let pieces = self.pieces();
        let all = self.0[pieces].wrapping_mul((count / pieces as u64) as u32);
        all.wrapping_add(self.0[count as usize % pieces])
    }

    /// The sum that `iterations` from piece `first` on give.
    fn expected(&self, first: u32, iterations: u64) -> u32 {
        let first = u64::from(first);
        self.of(first + iterations).wrapping_sub(self.of(first))
    }

    /// Whether a cell is what `iterations` from piece `first` on must leave.
    pub fn is_right(&self, first: u32, iterations: u64, cell: u64) -> bool {
        let number = first.wrapping_add(iterations as u32);
        cell == u64::from(number) | u64::from(self.expected(first, iterations)) << 32
    }

    /// Where a thread begins: threads are far apart, so that none finds in a cache what another has just read. Groups of four pieces
    /// stay together.
    pub fn first_of(&self, thread: usize) -> u32 {
        let place = u64::from((thread as u32).reverse_bits()) * self.pieces() as u64;
        (place >> 32) as u32 & !3
    }
}

/// Pieces of memory, and what they give.
#[derive(Debug)]
pub(crate) struct Pieces<P: 'static> {
    /// The pieces.
    pub(crate) all: &'static [P],
    /// What they give.
    pub(crate) sums: Sums,
}

impl<P> Pieces<P> {
    /// With a plain implementation of the work on a piece of that number.
    pub(crate) fn new(all: &'static [P], result: impl Fn(&P, u32) -> u32) -> Pieces<P> {
        let sums = Sums::new((0..).zip(all).map(|(number, piece)| result(piece, number)));
        Pieces { all, sums }
    }
}

/// Words that look random, always the same ones: the upper halves of SplitMix64, from a seed of 1.
#[derive(Debug)]
pub(crate) struct Words(u64);

impl Words {
    /// From the first on.
    pub(crate) const fn new() -> Words {
        Words(1)
    }

    /// The next word.
    pub(crate) const fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 32) as u32
    }
}

/// Bytes that no cache holds: four times the largest cache of the first processor as far as Linux shows it, 64 MiB at least and 1 GiB
/// at most, a power of two.
pub(crate) fn beyond_caches() -> usize {
    let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").into_iter().flatten().flatten();
    let sizes = caches.filter_map(|cache| bytes(fs::read_to_string(cache.path().join("size")).ok()?.trim()));
    let largest = sizes.max().unwrap_or_default();
    (4 * largest).clamp(64 << 20, 1 << 30).next_power_of_two()
}

/// `32768K` → bytes.
fn bytes(size: &str) -> Option<usize> {
    let (digits, shift) = match size.as_bytes().last()? {
        b'K' => (&size[..size.len() - 1], 10),
        b'M' => (&size[..size.len() - 1], 20),
        _ => (size, 0),
    };
    digits.parse::<usize>().ok()?.checked_shl(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_go_on_where_the_pieces_begin_again() {
        let sums = Sums::new([10, 20, 30, u32::MAX].into_iter());
        let by_hand = |first: u32, iterations: u64| {
            let results = [10u32, 20, 30, u32::MAX];
            (u64::from(first)..u64::from(first) + iterations)
                .fold(0u32, |sum, number| sum.wrapping_add(results[number as usize % 4]))
        };
        for (first, iterations) in [(0, 0), (0, 4), (1, 2), (3, 9), (2, 1001)] {
            assert_eq!(sums.expected(first, iterations), by_hand(first, iterations), "{first} {iterations}");
        }
        assert_eq!(sums.expected(u32::MAX, 2), u32::MAX.wrapping_add(10));
    }

    #[test]
    fn threads_begin_far_apart() {
        let sums = Sums::new((0..1024).map(|_| 1));
        assert_eq!([0, 1, 2, 3, 4].map(|thread| sums.first_of(thread)), [0, 512, 256, 768, 128]);
        assert_eq!(Sums::new((0..4).map(|_| 1)).first_of(7), 0);
    }

    /// The reference program of SplitMix64 gives 0x910a2dec89025cc1 first for a seed of 1.
    #[test]
    fn words_are_those_of_splitmix64() {
        assert_eq!(Words::new().word(), 0x910a_2dec);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            ["48K", "32M", "12", "K", "x"].map(bytes),
            [Some(48 << 10), Some(32 << 20), Some(12), None, None]
        );
        assert!(beyond_caches() >= 64 << 20 && beyond_caches().is_power_of_two());
    }
}

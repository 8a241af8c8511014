//! Pages that the kernels read, and what the plain checksum gives for each.
//!
//! Out: [`Pieces`], filled when they are first used.

use super::compiled::scalar;
use super::page::{BYTES, Page};
use crate::kernel::pieces::{Pieces, Words, beyond_caches};
use std::array;
use std::sync::OnceLock;

/// Four pages in the first two levels of cache.
pub(super) fn cached() -> &'static Pieces<Page> {
    static CACHED: OnceLock<Pieces<Page>> = OnceLock::new();
    static PAGES: OnceLock<Vec<Page>> = OnceLock::new();
    CACHED.get_or_init(|| Pieces::new(PAGES.get_or_init(|| filled(4)), scalar))
}

/// More pages than any cache holds.
pub(super) fn distant() -> &'static Pieces<Page> {
    static DISTANT: OnceLock<Pieces<Page>> = OnceLock::new();
    DISTANT.get_or_init(|| Pieces::new(distant_pages(), scalar))
}

/// The same pages, which are filled once.
pub(super) fn distant_pages() -> &'static [Page] {
    static PAGES: OnceLock<Vec<Page>> = OnceLock::new();
    PAGES.get_or_init(|| filled(beyond_caches() / BYTES))
}

/// So many pages of words that look random.
fn filled(pages: usize) -> Vec<Page> {
    let mut words = Words::new();
    (0..pages).map(|_| Page(array::from_fn(|_| array::from_fn(|_| words.word())))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::checksum::cached;
    use crate::kernel::model::Variant;
    use crate::kernel::work::Work;

    fn repeated(bytes: &[u8]) -> Page {
        let mut all = bytes.iter().copied().cycle().take(BYTES).collect::<Vec<u8>>();
        // The field of the checksum itself counts as zero.
        all[8..10].fill(0);
        let mut words = all.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        Page(array::from_fn(|_| array::from_fn(|_| words.next().unwrap())))
    }

    /// `contrib/pageinspect/expected/checksum.out` of PostgreSQL, whose column is signed.
    #[test]
    fn checksums_are_those_that_postgresql_publishes() {
        let pages = [&[1][..], &[4], &[0xff], &[0xab, 0xcd], &[0xe6, 0xd6], &[0x4a, 0x5e]].map(repeated);
        for (number, expected) in [
            (0, [1175i16, 28338, 3612, -30781, -16269, -27377]),
            (50, [1225, 28352, 3598, -30795, -16251, -27391]),
            (100, [1139, 28438, 3648, -30881, -16305, -27349]),
        ] {
            for (page, expected) in pages.iter().zip(expected) {
                assert_eq!(scalar(page, number) as u16 as i16, expected);
            }
        }
    }

    /// From a program in Python, of the algorithm and of SplitMix64.
    #[test]
    fn a_page_of_random_words_has_the_checksum_that_another_program_gives() {
        let page = &filled(1)[0];
        assert_eq!([0, 7].map(|number| scalar(page, number)), [33415, 33420]);
    }

    /// Numbers of pages and of iterations that make groups of four, and leave some over.
    #[test]
    fn every_variant_gives_the_checksums_of_the_plain_one() {
        let features = deburr_cpu::host().unwrap().features;
        let run = |variant: &Variant, first: u32, iterations: u64| {
            let mut cell = u64::from(first);
            // SAFETY: the cell is here, and the CPU has what the variant needs.
            unsafe { (variant.body)(&raw mut cell, iterations, 1, &Work::NONE) };
            cell
        };
        let kernel = cached::KERNEL;
        let sums = (kernel.data().unwrap().sums)();
        let variants = || kernel.variants.iter().filter(|variant| variant.lacks(features).is_empty());
        assert!(variants().count() >= 3);
        for variant in variants() {
            for (first, iterations) in [(0, 1), (0, 4), (1, 3), (3, 22), (2, 1000)] {
                let cell = run(variant, first, iterations);
                assert!(sums.is_right(first, iterations, cell), "{}: {first} {iterations}", variant.name);
            }
        }
    }
}

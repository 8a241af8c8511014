//! The checksum of a page of 8 KiB, as PostgreSQL defines it: `src/include/storage/checksum_impl.h`, since version 9.3.
//!
//! A page is 64 rows of 32 words. Each column has a sum of its own, which begins with an offset: for each word, and for two zeros
//! in the end, t is the sum with the word by exclusive or, and the sum becomes t × 16777619 with t >> 17 by exclusive or. All sums
//! together by exclusive or are the page's; with the block's number by exclusive or, modulo 65535, and one more, they are what
//! is stored in the page.

use crate::kernel::data::pieces::{Pieces, Words, beyond_caches};
use std::array;
use std::sync::OnceLock;

/// Words of a row, each in a column with a sum of its own.
pub(super) const COLUMNS: usize = 32;

/// Rows of a page.
pub(super) const ROWS: usize = 64;

/// A page.
#[derive(Debug, Clone)]
#[repr(C, align(4096))]
pub(super) struct Page(pub(super) [[u32; COLUMNS]; ROWS]);

/// Bytes of a page.
pub(super) const BYTES: usize = size_of::<Page>();

/// What the sums are multiplied with: FNV's prime for 32 bits.
pub(super) const PRIME: u32 = 16_777_619;

/// What the sums begin with: constants of PostgreSQL's file format.
#[rustfmt::skip]
pub(super) const OFFSETS: [u32; COLUMNS] = [
    0x5b1f_36e9, 0xb852_5960, 0x02ab_50aa, 0x1de6_6d2a, 0x79ff_467a, 0x9bb9_f8a3, 0x217e_7cd2, 0x83e1_3d2c,
    0xf8d4_474f, 0xe39e_b970, 0x42c6_ae16, 0x9932_16fa, 0x7b09_3b5d, 0x98da_ff3c, 0xf718_902a, 0x0b1c_9cdb,
    0xe58f_764b, 0x1876_36bc, 0x5d7b_3bb1, 0xe73d_e7de, 0x92be_c979, 0xcca6_c0b2, 0x304a_0979, 0x85aa_43d4,
    0x7831_25bb, 0x6ca8_eaa2, 0xe407_eac6, 0x4b5c_fc3e, 0x9fbf_8c76, 0x15ca_20be, 0xf2ca_9fd3, 0x959b_d756,
];

/// A sum after one more word.
#[inline(always)]
pub(super) const fn mixed(sum: u32, word: u32) -> u32 {
    let t = sum ^ word;
    t.wrapping_mul(PRIME) ^ (t >> 17)
}

/// What is stored, of all sums by exclusive or, in the page of that number.
#[inline(always)]
pub(super) const fn stored(sums: u32, number: u32) -> u32 {
    (sums ^ number) % 65535 + 1
}

/// Four pages in the first two levels of cache.
pub(super) fn cached() -> &'static Pieces<Page> {
    static CACHED: OnceLock<Pieces<Page>> = OnceLock::new();
    static PAGES: OnceLock<Vec<Page>> = OnceLock::new();
    CACHED.get_or_init(|| Pieces::new(PAGES.get_or_init(|| filled(4)), super::compiled::scalar))
}

/// More pages than any cache holds.
pub(super) fn distant() -> &'static Pieces<Page> {
    static DISTANT: OnceLock<Pieces<Page>> = OnceLock::new();
    DISTANT.get_or_init(|| Pieces::new(distant_pages(), super::compiled::scalar))
}

/// The same pages, which are filled once.
pub(super) fn distant_pages() -> &'static [Page] {
    static PAGES: OnceLock<Vec<Page>> = OnceLock::new();
    PAGES.get_or_init(|| filled(beyond_caches() / BYTES))
}

/// So many pages of words that look random.
pub(super) fn filled(pages: usize) -> Vec<Page> {
    let mut words = Words::new();
    (0..pages).map(|_| Page(array::from_fn(|_| array::from_fn(|_| words.word())))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::checksum::{cached, compiled};
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
                assert_eq!(compiled::scalar(page, number) as u16 as i16, expected);
            }
        }
    }

    /// From a program in Python, of the algorithm and of SplitMix64.
    #[test]
    fn a_page_of_random_words_has_the_checksum_that_another_program_gives() {
        let page = &filled(1)[0];
        assert_eq!([0, 7].map(|number| compiled::scalar(page, number)), [33415, 33420]);
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

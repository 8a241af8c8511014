//! The checksum of a page of 8 KiB, as PostgreSQL defines it: `src/include/storage/checksum_impl.h`, since version 9.3.
//!
//! A page is 64 rows of 32 words. Each column has a sum of its own, which begins with an offset: for each word, and for two zeros
//! in the end, t is the sum with the word by exclusive or, and the sum becomes t × 16777619 with t >> 17 by exclusive or. All sums
//! together by exclusive or are the page's; with the block's number by exclusive or, modulo 65535, and one more, they are what
//! is stored in the page.

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

//! The checksum by vectors, written by hand: one page at a time, and four.
//!
//! In: pages. Out: their checksums. The sums of one page are a chain of 66 steps, each of which waits for a multiplication; those of
//! four pages are four such chains. Columns are summed as many at a time as leave registers to work with.

/// The functions of a module that names a vector and what is done with it, given the class of its registers. Of four pages, so many vectors of each at a time.
macro_rules! by_hand {
    ($features:literal, $class:ident $template:literal, $vectors:literal) => {
        use crate::kernel::checksum::page::{COLUMNS, OFFSETS, PRIME, Page, ROWS, stored};
        use core::arch::asm;

        /// Words of a vector.
        const LANES: usize = size_of::<Vector>() / 4;

        #[target_feature(enable = $features)]
        #[inline]
        fn mixed(sum: Vector, words: Vector, prime: Vector) -> Vector {
            let t = xor(sum, words);
            xor(multiply(t, prime), shift::<17>(t))
        }

        /// Some columns of some pages: all sums of a page by exclusive or.
        #[target_feature(enable = $features)]
        #[inline]
        fn columns<const PAGES: usize, const VECTORS: usize>(
            pages: &[Page; PAGES],
            first: usize,
        ) -> [u32; PAGES] {
            assert!(first + VECTORS * LANES <= COLUMNS);
            // SAFETY: that many columns are there, as asserted.
            let vector = |row: &[u32; COLUMNS], at: usize| unsafe {
                load(row.as_ptr().add(first + at * LANES).cast())
            };
            let (prime, zero) = (splat(PRIME as _), splat(0));
            let mut sums = [[zero; VECTORS]; PAGES];
            for sums in &mut sums {
                for (at, sum) in sums.iter_mut().enumerate() {
                    *sum = vector(&OFFSETS, at);
                }
            }
            for row in 0..ROWS {
                for (page, sums) in pages.iter().zip(&mut sums) {
                    for (at, sum) in sums.iter_mut().enumerate() {
                        *sum = mixed(*sum, vector(&page.0[row], at), prime);
                    }
                }
            }
            for sum in sums.as_flattened_mut() {
                // SAFETY: it is empty. What the last steps could share with the loop would take registers that the loop needs.
                unsafe {
                    asm!($template, inout($class) * sum, options(pure, nomem, nostack, preserves_flags))
                };
            }
            let mut results = [0; PAGES];
            for (result, sums) in results.iter_mut().zip(&sums) {
                let mut all = zero;
                for sum in sums {
                    all = xor(all, mixed(mixed(*sum, zero, prime), zero, prime));
                }
                let mut words = [0u32; LANES];
                // SAFETY: that many words are there.
                unsafe { store(words.as_mut_ptr().cast(), all) };
                *result = words.iter().fold(0, |all, word| all ^ word);
            }
            results
        }

        /// One page.
        #[target_feature(enable = $features)]
        #[inline(never)]
        pub(in crate::kernel::checksum) fn one(page: &Page, number: u32) -> u32 {
            let [sums] = columns::<1, { COLUMNS / LANES }>(std::array::from_ref(page), 0);
            stored(sums, number)
        }

        /// Four pages: the sum of their checksums.
        #[target_feature(enable = $features)]
        #[inline(never)]
        pub(in crate::kernel::checksum) fn four(pages: &[Page; 4], number: u32) -> u32 {
            let mut sums = [0; 4];
            for first in (0..COLUMNS).step_by($vectors * LANES) {
                for (sum, more) in sums.iter_mut().zip(columns::<4, $vectors>(pages, first)) {
                    *sum ^= more;
                }
            }
            (number..).zip(sums).map(|(number, sums)| stored(sums, number)).sum()
        }
    };
}

/// Vectors of 256 bits: 16 registers.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use core::arch::x86_64::{
        __m256i as Vector, _mm256_loadu_si256 as load, _mm256_mullo_epi32 as multiply,
        _mm256_set1_epi32 as splat, _mm256_srli_epi32 as shift, _mm256_storeu_si256 as store,
        _mm256_xor_si256 as xor,
    };
    by_hand!("avx2", ymm_reg "/* {0} */", 2);
}

/// Vectors of 512 bits: 32 registers.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512 {
    use core::arch::x86_64::{
        __m512i as Vector, _mm512_loadu_si512 as load, _mm512_mullo_epi32 as multiply,
        _mm512_set1_epi32 as splat, _mm512_srli_epi32 as shift, _mm512_storeu_si512 as store,
        _mm512_xor_si512 as xor,
    };
    by_hand!("avx512f", zmm_reg "/* {0} */", 2);
}

/// Vectors of 128 bits: 32 registers.
#[cfg(target_arch = "aarch64")]
pub(super) mod neon {
    use core::arch::aarch64::{
        uint32x4_t as Vector, vdupq_n_u32 as splat, veorq_u32 as xor, vld1q_u32 as load,
        vmulq_u32 as multiply, vshrq_n_u32 as shift, vst1q_u32 as store,
    };
    by_hand!("neon", vreg "/* {0:v} */", 4);
}

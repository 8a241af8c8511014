//! CRC-32C by carry-less multiplication: 64 bytes at a time (Gopal and others, "Fast CRC Computation for Generic Polynomials Using
//! PCLMULQDQ Instruction", Intel, 2009).
//!
//! Four remainders of 128 bits are each moved by 512 bits and added to the next 64 bytes, then one into the other; the 16 bytes that
//! are left have the remainder of all, and go through the instruction.

use super::buffer::{Buffer, shifted};
use super::instruction::after;

/// What the lower and the upper half of 128 bits are multiplied with in order to be `bits` further on: x^(bits + 32) and
/// x^(bits - 32), reflected. The product of two reflected polynomials has one bit less: hence the shift.
const fn factors(bits: u32) -> [u64; 2] {
    const ONE: u32 = 1 << 31;
    [(shifted(ONE, bits + 32) as u64) << 1, (shifted(ONE, bits - 32) as u64) << 1]
}

const BY_512: [u64; 2] = factors(512);
const BY_128: [u64; 2] = factors(128);

/// Folds a buffer, given a vector of two words, and what is done with it.
macro_rules! folded {
    ($buffer:expr, $load:expr, $step:expr, $halves:expr) => {{
        let words = &$buffer.0;
        let mut first = [words[0], words[1]];
        first[0] ^= u64::from(!0u32);
        let mut sums = [$load(&first, 0), $load(words, 2), $load(words, 4), $load(words, 6)];
        let (by_512, by_128) = ($load(&BY_512, 0), $load(&BY_128, 0));
        for block in words.as_chunks::<8>().0.iter().skip(1) {
            sums = [
                $step(sums[0], by_512, $load(block, 0)),
                $step(sums[1], by_512, $load(block, 2)),
                $step(sums[2], by_512, $load(block, 4)),
                $step(sums[3], by_512, $load(block, 6)),
            ];
        }
        let [first, second, third, fourth] = sums;
        let all = $step($step($step(first, by_128, second), by_128, third), by_128, fourth);
        let [low, high]: [u64; 2] = $halves(all);
        !after(after(0, low), high)
    }};
}

/// By PCLMULQDQ.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "pclmulqdq,sse4.2")]
#[inline(never)]
pub(super) fn folded(buffer: &Buffer, _: u32) -> u32 {
    use core::arch::x86_64::{
        __m128i, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_set_epi64x, _mm_xor_si128,
    };
    let load =
        |words: &[u64], at: usize| _mm_set_epi64x(words[at + 1].cast_signed(), words[at].cast_signed());
    let step = |sum: __m128i, factors: __m128i, next: __m128i| {
        let low = _mm_clmulepi64_si128::<0x00>(sum, factors);
        let high = _mm_clmulepi64_si128::<0x11>(sum, factors);
        _mm_xor_si128(_mm_xor_si128(low, high), next)
    };
    let halves =
        |all: __m128i| [_mm_cvtsi128_si64(all).cast_unsigned(), _mm_extract_epi64::<1>(all).cast_unsigned()];
    folded!(buffer, load, step, halves)
}

/// By PMULL.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon,aes,crc")]
#[inline(never)]
pub(super) fn folded(buffer: &Buffer, _: u32) -> u32 {
    use core::arch::aarch64::{
        uint64x2_t, vcombine_u64, vcreate_u64, veorq_u64, vgetq_lane_u64, vmull_high_p64, vmull_p64,
        vreinterpretq_p64_u64, vreinterpretq_u64_p128,
    };
    let load = |words: &[u64], at: usize| vcombine_u64(vcreate_u64(words[at]), vcreate_u64(words[at + 1]));
    let step = |sum: uint64x2_t, factors: uint64x2_t, next: uint64x2_t| {
        let low = vmull_p64(vgetq_lane_u64::<0>(sum), vgetq_lane_u64::<0>(factors));
        let high = vmull_high_p64(vreinterpretq_p64_u64(sum), vreinterpretq_p64_u64(factors));
        veorq_u64(veorq_u64(vreinterpretq_u64_p128(low), vreinterpretq_u64_p128(high)), next)
    };
    let halves = |all: uint64x2_t| [vgetq_lane_u64::<0>(all), vgetq_lane_u64::<1>(all)];
    folded!(buffer, load, step, halves)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of the Intel paper's programs for CRC-32C, which Linux and zlib's forks have as well.
    #[test]
    fn a_factor_is_a_power_modulo_the_polynomial() {
        const ONE: u32 = 1 << 31;
        assert_eq!(shifted(ONE, 0), ONE);
        assert_eq!(shifted(ONE, 31), 1);
        assert_eq!(shifted(ONE, 32), super::super::buffer::POLYNOMIAL);
        assert_eq!(factors(128), [0xf20c_0dfe, 0x1_4cd0_0bd6]);
        assert_eq!(factors(512), [0x740e_ef02, 0x9e4a_ddf8]);
    }
}

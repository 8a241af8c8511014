//! What a compiler makes of the checksum, by what it is told that the CPU has.
//!
//! In: a page. Out: its checksum. rustc's vectoriser is LLVM's, which clang has as well.

use super::page::{COLUMNS, OFFSETS, Page, mixed, stored};
use core::arch::asm;

/// The loops, as one writes them without a thought of vectors.
#[inline(always)]
fn sums(page: &Page) -> u32 {
    let mut sums = OFFSETS;
    for row in &page.0 {
        for (sum, word) in sums.iter_mut().zip(row) {
            *sum = mixed(*sum, *word);
        }
    }
    for row in [[0; COLUMNS]; 2] {
        for (sum, word) in sums.iter_mut().zip(row) {
            *sum = mixed(*sum, word);
        }
    }
    sums.iter().fold(0, |all, sum| all ^ sum)
}

/// One word at a time: what all others must give.
#[inline(never)]
pub(super) fn scalar(page: &Page, number: u32) -> u32 {
    let mut sums = OFFSETS;
    for row in page.0.iter().chain(&[[0; COLUMNS]; 2]) {
        for (sum, word) in sums.iter_mut().zip(row) {
            let mut word = u64::from(*word);
            // SAFETY: it is empty. The word goes through a register, which no vectoriser can join with others.
            unsafe { asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags)) };
            *sum = mixed(*sum, word as u32);
        }
    }
    stored(sums.iter().fold(0, |all, sum| all ^ sum), number)
}

/// For the architecture's first level: SSE2, or Advanced SIMD.
#[inline(never)]
pub(super) fn first_level(page: &Page, number: u32) -> u32 {
    stored(sums(page), number)
}

/// For SSE4.1, which multiplies four words.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.1")]
#[inline(never)]
pub(super) fn sse4_1(page: &Page, number: u32) -> u32 {
    stored(sums(page), number)
}

/// For x86-64-v3.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe")]
#[inline(never)]
pub(super) fn avx2(page: &Page, number: u32) -> u32 {
    stored(sums(page), number)
}

/// For x86-64-v4.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
#[inline(never)]
pub(super) fn avx512(page: &Page, number: u32) -> u32 {
    stored(sums(page), number)
}

//! The kernel of the Rust programs of this folder: it doubles eight numbers by VPADDD on YMM, which is AVX2, and says so.
use std::arch::x86_64::{__m256i, _mm256_add_epi32, _mm256_loadu_si256, _mm256_storeu_si256};

#[inline(never)]
#[target_feature(enable = "avx2")]
pub fn twice_avx2(x: &mut [i32; 8]) -> &'static str {
    let at = x.as_mut_ptr().cast::<__m256i>();
    // SAFETY: eight numbers lie there.
    unsafe {
        let v = _mm256_loadu_si256(at);
        _mm256_storeu_si256(at, _mm256_add_epi32(v, v));
    }
    "avx2"
}

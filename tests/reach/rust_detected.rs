//! `is_x86_feature_detected!` in front of a `#[target_feature]` function: std_detect's cache is the guard.
use std::arch::x86_64::{__m256i, _mm256_add_epi32, _mm256_loadu_si256, _mm256_storeu_si256};

#[inline(never)]
#[target_feature(enable = "avx2")]
fn twice_avx2(x: &mut [i32; 8]) -> &'static str {
    let at = x.as_mut_ptr().cast::<__m256i>();
    // SAFETY: eight numbers lie there.
    unsafe {
        let v = _mm256_loadu_si256(at);
        _mm256_storeu_si256(at, _mm256_add_epi32(v, v));
    }
    "avx2"
}

#[inline(never)]
fn twice_plain(x: &mut [i32; 8]) -> &'static str {
    x.iter_mut().for_each(|n| *n += *n);
    "plain"
}

fn main() {
    let mut numbers = std::hint::black_box([1; 8]);
    let done = if is_x86_feature_detected!("avx2") {
        // SAFETY: just asked.
        unsafe { twice_avx2(&mut numbers) }
    } else {
        twice_plain(&mut numbers)
    };
    println!("{done}");
}

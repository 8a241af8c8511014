//! A level that a `LazyLock` works out at the first use, behind which functions of two levels stand.
use std::arch::x86_64::_mm_crc32_u32;
use std::sync::LazyLock;

mod kernel;
use kernel::twice_avx2;

#[derive(Clone, Copy)]
enum Level {
    Plain,
    Sse42,
    Avx2,
}

static LEVEL: LazyLock<Level> = LazyLock::new(|| {
    if is_x86_feature_detected!("avx2") {
        Level::Avx2
    } else if is_x86_feature_detected!("sse4.2") {
        Level::Sse42
    } else {
        Level::Plain
    }
});

#[inline(never)]
#[target_feature(enable = "sse4.2")]
fn sum_sse42(x: &mut [i32; 8]) -> &'static str {
    let sum = x.iter().fold(0, |sum, &n| _mm_crc32_u32(sum, n as u32));
    if std::hint::black_box(sum) == 1 { "one" } else { "sse42" }
}

#[inline(never)]
fn twice_plain(x: &mut [i32; 8]) -> &'static str {
    x.iter_mut().for_each(|n| *n += *n);
    "plain"
}

#[inline(never)]
fn work(x: &mut [i32; 8]) -> &'static str {
    match *LEVEL {
        // SAFETY: asked when the level was worked out.
        Level::Avx2 => unsafe { twice_avx2(x) },
        // SAFETY: the same.
        Level::Sse42 => unsafe { sum_sse42(x) },
        Level::Plain => twice_plain(x),
    }
}

fn main() {
    let mut numbers = std::hint::black_box([1; 8]);
    println!("{}", work(&mut numbers));
}

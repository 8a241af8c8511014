//! `is_x86_feature_detected!` in front of a `#[target_feature]` function: std_detect's cache is the guard.
mod kernel;
use kernel::twice_avx2;

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

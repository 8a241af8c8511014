//! A `#[target_feature]` function called in `unsafe` code that promises what nobody asked.
mod kernel;
use kernel::twice_avx2;

fn main() {
    let mut numbers = std::hint::black_box([1; 8]);
    // SAFETY: a false promise.
    println!("{}", unsafe { twice_avx2(&mut numbers) });
}

//! A boxed trait object that is made after a check for AVX2, or where the program has few arguments.
mod kernel;
use kernel::twice_avx2;

trait Kernel {
    fn run(&self, x: &mut [i32; 8]) -> &'static str;
}

struct Wide;
struct Plain;

impl Kernel for Wide {
    #[inline(never)]
    fn run(&self, x: &mut [i32; 8]) -> &'static str {
        // SAFETY: there is none: that is what this program is about.
        unsafe { twice_avx2(x) }
    }
}

impl Kernel for Plain {
    #[inline(never)]
    fn run(&self, x: &mut [i32; 8]) -> &'static str {
        x.iter_mut().for_each(|n| *n += *n);
        "plain"
    }
}

#[inline(never)]
fn make(arguments: usize) -> Box<dyn Kernel> {
    if is_x86_feature_detected!("avx2") || arguments < 9 { Box::new(Wide) } else { Box::new(Plain) }
}

fn main() {
    let mut numbers = std::hint::black_box([1; 8]);
    println!("{}", make(std::env::args().count()).run(&mut numbers));
}

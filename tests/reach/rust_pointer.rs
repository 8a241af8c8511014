//! The pointer of the memchr crate: an atomic that begins at a function which detects, stores the choice and calls it.
use std::sync::atomic::{AtomicPtr, Ordering};

mod kernel;
use kernel::twice_avx2;

#[inline(never)]
fn twice_plain(x: &mut [i32; 8]) -> &'static str {
    x.iter_mut().for_each(|n| *n += *n);
    "plain"
}

type Twice = unsafe fn(&mut [i32; 8]) -> &'static str;
static CHOSEN: AtomicPtr<()> = AtomicPtr::new(choose as *mut ());

fn choose(x: &mut [i32; 8]) -> &'static str {
    let chosen: Twice = if is_x86_feature_detected!("avx2") { twice_avx2 } else { twice_plain };
    CHOSEN.store(chosen as *mut (), Ordering::Relaxed);
    // SAFETY: just asked.
    unsafe { chosen(x) }
}

fn main() {
    let mut numbers = std::hint::black_box([1; 8]);
    for _ in 0..2 {
        let chosen = CHOSEN.load(Ordering::Relaxed);
        // SAFETY: only functions of this type are stored there.
        let done = unsafe { std::mem::transmute::<*mut (), Twice>(chosen)(&mut numbers) };
        if numbers[0] == 4 {
            println!("{done}");
        }
    }
}

//! The frame of a variant that is a function of Rust: a loop over pieces of memory, and one call for each or for each four.
//!
//! In: the pieces, and the function. Out: a [`Variant`](crate::kernel::model::Variant). Where compilers decide, that is what is
//! measured: a function is compiled for the features that it names, whatever the program is compiled for.

use std::sync::atomic::{AtomicU32, Ordering};

/// A variant: its name, what it needs, `fn() -> &'static Pieces<P>`, `fn(&P, u32) -> u32`, and for four pieces that follow each other
/// `fn(&[P; 4], u32) -> u32`, the sum of their results. The number is the first piece's.
macro_rules! function {
    ($name:literal, $needs:expr, $pieces:path, $one:path $(, $four:path)?) => {{
        unsafe extern "C" fn body(
            cell: *mut u64, iterations: u64, _value: u64, _work: *const $crate::kernel::work::Work,
        ) -> u64 {
            // SAFETY: the caller gives a cell, and the CPU has what the functions need.
            unsafe {
                $crate::kernel::data::function::run(
                    cell,
                    iterations,
                    $pieces().all,
                    |piece, number| $one(piece, number),
                    $crate::kernel::data::function::function!(@four $($four)?),
                )
            }
        }
        $crate::kernel::model::Variant { name: $name, needs: $needs, body }
    }};
    (@four) => { None::<fn(&_, u32) -> u32> };
    (@four $four:path) => { Some(|pieces: &_, number| $four(pieces, number)) };
}

pub(crate) use function;

/// Runs so many iterations on the pieces, from that on whose number is in the cell.
///
/// # Safety
/// The cell must be readable and writable by all threads that run on it.
#[inline(always)]
pub(crate) unsafe fn run<P>(
    cell: *mut u64,
    iterations: u64,
    pieces: &[P],
    one: impl Fn(&P, u32) -> u32,
    four: Option<impl Fn(&[P; 4], u32) -> u32>,
) -> u64 {
    // SAFETY: a cell is aligned and lives as long as the caller; all threads use its halves as atomics.
    let [number, sum]: &[AtomicU32; 2] = unsafe { &*cell.cast_const().cast() };
    let mut next = number.fetch_add(iterations as u32, Ordering::Relaxed);
    let (mut left, mut result, last) = (iterations, 0u32, pieces.len() as u32 - 1);
    while left > 0 {
        let at = next & last;
        let group = pieces[at as usize..].first_chunk::<4>().filter(|_| left >= 4);
        let (done, more) = match (&four, group) {
            (Some(four), Some(group)) => (4, four(group, at)),
            _ => (1, one(&pieces[at as usize], at)),
        };
        result = result.wrapping_add(more);
        next = next.wrapping_add(done);
        left -= u64::from(done);
    }
    sum.fetch_add(result, Ordering::Relaxed);
    result.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_is_read_once_alone_or_in_a_group_of_four() {
        for (first, iterations) in [(0u32, 1u64), (0, 8), (3, 9), (6, 4), (u32::MAX, 5)] {
            for in_fours in [false, true] {
                let mut cell = u64::from(first);
                let pieces: [u32; 8] = std::array::from_fn(|number| 1 << (4 * number));
                let four = |group: &[u32; 4], _: u32| group.iter().sum();
                // SAFETY: the cell is here, and no other thread has it.
                let result = unsafe {
                    run(&raw mut cell, iterations, &pieces, |piece, _| *piece, in_fours.then_some(four))
                };
                let expected: u64 =
                    (0..iterations).map(|step| 1 << (4 * ((u64::from(first) + step) % 8))).sum();
                assert_eq!((cell >> 32, result), (expected, expected), "{first} {iterations}");
                assert_eq!(cell as u32, first.wrapping_add(iterations as u32));
            }
        }
    }
}

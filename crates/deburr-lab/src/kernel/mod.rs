//! Kernels: what a rule finds and what it could be, as loops in assembly, so that no compiler decides what is measured.
//!
//! Out: [`KERNELS`]. One file a kernel. Its variants do the same work, each in a naked function whose loop begins at a line of
//! 64 bytes. [`crate::bench`] runs them.

#![expect(unsafe_code, reason = "naked functions hold the assembly, and nothing else")]

mod assembly;
mod atomics;
mod block;
mod call;
mod checksum;
mod conversion;
mod crc;
mod data;
mod empty;
mod forwarding;
mod frame;
mod locks;
mod model;
mod pause;
mod pieces;
mod popcount;
mod work;

pub use model::{After, Body, CELL_BYTES, Kernel, Variant};
pub use pieces::{Data, Sums};
pub use work::{DELAYS, Work};

/// What every kernel's loop costs without the work.
pub const EMPTY: &Kernel = &empty::KERNEL;

/// All kernels, by suite.
pub const KERNELS: &[&Kernel] = &[
    &atomics::exchange::KERNEL,
    &atomics::load::KERNEL,
    &atomics::store::KERNEL,
    &atomics::fence::KERNEL,
    &atomics::failing_compare_and_swap::KERNEL,
    &atomics::compare_and_swap::KERNEL,
    &atomics::fetch_or::KERNEL,
    &atomics::fetch_add::KERNEL,
    &atomics::reader_lock::KERNEL,
    &atomics::handover::KERNEL,
    &atomics::exchange::WIDE,
    &atomics::load::WIDE,
    &atomics::store::WIDE,
    &atomics::failing_compare_and_swap::WIDE,
    &atomics::compare_and_swap::WIDE,
    &atomics::fetch_or::WIDE,
    &atomics::fetch_add::WIDE,
    &atomics::reader_lock::WIDE,
    &locks::lock::KERNEL,
    &locks::mutex_crc::KERNEL,
    &pause::KERNEL,
    &forwarding::KERNEL,
    &frame::KERNEL,
    &call::KERNEL,
    &popcount::KERNEL,
    &conversion::KERNEL,
    &checksum::cached::KERNEL,
    &checksum::distant::KERNEL,
    &checksum::read::KERNEL,
    &crc::kernel::KERNEL,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_every_kernel_has_a_way_that_every_cpu_can_go() {
        let names: BTreeSet<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
        assert_eq!(names.len(), KERNELS.len());
        for kernel in KERNELS {
            let variants: BTreeSet<&str> = kernel.variants.iter().map(|variant| variant.name).collect();
            assert_eq!(variants.len(), kernel.variants.len(), "{}", kernel.name);
            assert!(kernel.variants.iter().any(|variant| variant.needs.is_empty()), "{}", kernel.name);
        }
    }
}

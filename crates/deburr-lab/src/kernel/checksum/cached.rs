//! The checksum of pages in the first two levels of cache: what the instructions take.

use super::page::BYTES;
use super::pages::cached;
use super::variants::variants;
use crate::kernel::model::{After, Kernel, Variant};
use crate::kernel::pieces::Data;

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "checksum",
    suite: "checksum",
    summary: "PostgreSQL's checksum of an 8 KiB page, of 4 pages in a cache",
    bits: 32,
    initial: 0,
    after: After::Results(Data { bytes: BYTES, sums: || &cached().sums }),
    handovers: false,
    variants: VARIANTS,
};

const VARIANTS: &[Variant] = variants!(cached);

//! The checksum of more pages than any cache holds: what remains of a faster one where memory is the limit.

use super::page::BYTES;
use super::pages::distant;
use super::variants::variants;
use crate::kernel::model::{After, Kernel, Variant};
use crate::kernel::pieces::Data;

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "checksum-memory",
    suite: "checksum",
    summary: "the same checksum, of more pages than any cache holds",
    bits: 32,
    initial: 0,
    after: After::Results(Data { bytes: BYTES, sums: || &distant().sums }),
    handovers: false,
    variants: VARIANTS,
};

const VARIANTS: &[Variant] = variants!(distant);

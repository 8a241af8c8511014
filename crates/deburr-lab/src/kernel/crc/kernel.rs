//! The CRC of buffers in the first level of cache.

use super::buffer::{BYTES, cached};
use super::{fold, instruction, table};
use crate::kernel::data::function::function;
use crate::kernel::model::{After, Kernel, Variant};
use crate::kernel::pieces::Data;
use deburr_cpu::Feature;

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "crc",
    suite: "crc",
    summary: "CRC-32C of 4 KiB",
    bits: 32,
    initial: 0,
    after: After::Results(Data { bytes: BYTES, sums: || &cached().sums }),
    handovers: false,
    variants: VARIANTS,
};

/// What has the instruction.
#[cfg(target_arch = "x86_64")]
const CRC: &[Feature] = &[Feature::SSE4_2];
#[cfg(target_arch = "aarch64")]
const CRC: &[Feature] = &[Feature::FEAT_CRC32];

/// What has the multiplication as well.
#[cfg(target_arch = "x86_64")]
const FOLD: &[Feature] = &[Feature::SSE4_2, Feature::PCLMULQDQ];
#[cfg(target_arch = "aarch64")]
const FOLD: &[Feature] = &[Feature::FEAT_CRC32, Feature::FEAT_PMULL];

const VARIANTS: &[Variant] = &[
    function!("table, byte by byte", &[], cached, table::by_byte),
    function!("tables, 8 bytes at a time", &[], cached, table::by_eight),
    function!("instruction", CRC, cached, instruction::direct),
    function!("instruction, through a pointer", CRC, cached, instruction::through_a_pointer),
    function!("instruction, through a PLT", CRC, cached, instruction::through_a_plt),
    function!("carry-less multiplication", FOLD, cached, fold::folded),
];

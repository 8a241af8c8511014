//! All words of the same pages added up: as fast as this CPU reads them, and so the limit of `checksum-memory`.

use super::page::{BYTES, Page};
use super::pages::distant_pages;
use crate::kernel::data::function::function;
use crate::kernel::model::{After, Kernel, Variant};
use crate::kernel::pieces::{Data, Pieces};
use std::sync::OnceLock;

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "read-memory",
    suite: "checksum",
    summary: "the words of the same 8 KiB pages added up: the limit of checksum-memory",
    bits: 32,
    initial: 0,
    after: After::Results(Data { bytes: BYTES, sums: || &pages().sums }),
    handovers: false,
    variants: VARIANTS,
};

fn pages() -> &'static Pieces<Page> {
    static PAGES: OnceLock<Pieces<Page>> = OnceLock::new();
    PAGES.get_or_init(|| Pieces::new(distant_pages(), first_level))
}

#[inline(always)]
fn sum(page: &Page) -> u32 {
    let mut sum = 0u32;
    for word in page.0.as_flattened() {
        sum = sum.wrapping_add(*word);
    }
    sum
}

#[inline(never)]
fn first_level(page: &Page, _: u32) -> u32 {
    sum(page)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline(never)]
fn avx2(page: &Page, _: u32) -> u32 {
    sum(page)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline(never)]
fn avx512(page: &Page, _: u32) -> u32 {
    sum(page)
}

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    function!("SSE2", &[], pages, first_level),
    function!("AVX2", &[deburr_cpu::Feature::AVX2], pages, avx2),
    function!("AVX-512", &[deburr_cpu::Feature::AVX512F], pages, avx512),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[function!("Advanced SIMD", &[], pages, first_level)];

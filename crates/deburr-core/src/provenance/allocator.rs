//! The pages that a jemalloc in a file was built for.
//!
//! In: an image, its functions and its linkage. Out: the size of a page that its start-up code compares the system's with.

use super::source::Source;
use crate::address::{CodeOffset, Extent, Svma};
use crate::function::reach::file::references::search_once;
use crate::image::{Image, PAGE_SIZES};
use crate::insn::{self, Operation};
use deburr_cpu::Arch;

/// What jemalloc says before it ends a program whose pages are larger than those that it was built for (`src/pages.c`).
const MESSAGE: &[u8] = b"<jemalloc>: Unsupported system page size";

/// The largest page, in bytes, that the jemalloc in a file runs with, and where it compares; `None` where there is none, and on x86-64,
/// where pages have one size.
pub(crate) fn largest_page(source: &Source<'_, '_>) -> Option<(Svma, u64)> {
    let (image, program) = (source.image, source.program);
    let has_text = |(extent, bytes): &(Extent, &[u8])| {
        let at = memchr::memmem::find(bytes, MESSAGE)?;
        Some(Extent::sized(extent.start.offset(at as i64), MESSAGE.len() as u64))
    };
    let text = image.constants.iter().filter(|_| image.arch == Arch::Aarch64).find_map(has_text)?;
    let references = search_once(image, (source.linkage)(), program, &[text]);
    let functions =
        references.iter().filter_map(|reference| program.function_at(image.code_offset(reference.from)?));
    functions.flat_map(|function| compared(image, function.start, function.end)).min_by_key(|&(_, page)| page)
}

/// Where a function compares something with a size of pages.
fn compared(image: &Image<'_>, start: CodeOffset, end: CodeOffset) -> Vec<(Svma, u64)> {
    let compared = start.words_until(end).filter_map(|at| {
        let at = image.svma(at);
        let insn = insn::decode(image.arch, image.bytes_at(at)?, at)?;
        let is_compare = insn.operation == Operation::Compare;
        let size = u64::try_from(insn.imm.filter(|_| is_compare)?).ok()?;
        PAGE_SIZES.contains(&size).then_some((at, size))
    });
    compared.collect()
}

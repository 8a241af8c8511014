//! The program headers → with which sizes of pages a file cannot be loaded, and why.
//!
//! In: the bytes of a file, of which headers and notes are read. Out: [`Pages`]. A segment is mapped in whole pages, each from one place
//! in the file and with one set of rights. Follows glibc 2.41 (`elf/dl-load.c`, `_dl_map_object_from_fd`), which refuses a library whose
//! segments are aligned to less than a page; Linux 6.12 (`fs/binfmt_elf.c`, `elf_load`), which maps an executable; and bionic
//! (`linker/linker_phdr.cpp`), which refuses both, and protects every page that `PT_GNU_RELRO` touches.

use crate::image::elf::{Elf, PF_W, PT_GNU_RELRO, PT_LOAD, Segment};
use crate::image::{Error, Kind};

/// The sizes of pages that Linux has on AArch64, in bytes.
pub const PAGE_SIZES: [u64; 3] = [1 << 12, 1 << 14, 1 << 16];
/// The type of the note that Android's NDK writes (`crtbrand.S`).
const NT_VERSION: u32 = 1;

/// What the sizes of pages mean to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// Whether it is for Android: it has the note of its tools.
    pub is_android: bool,
    /// Sizes of pages with which it cannot be loaded, the smallest first, each with the first reason.
    pub misfits: Vec<Misfit>,
}

/// A size of pages with which a file cannot be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misfit {
    /// The size in bytes.
    pub page: u64,
    /// The number of the segment among the program headers.
    pub segment: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

impl Misfit {
    /// The largest size of pages, in bytes, with which the file can be loaded; 0: none.
    pub fn largest_page(&self) -> u64 {
        largest_page_below(self.page)
    }
}

/// The largest size of pages below one, in bytes; 0: none.
pub fn largest_page_below(page: u64) -> u64 {
    PAGE_SIZES.iter().rev().copied().find(|&size| size < page).unwrap_or(0)
}

/// Why a segment cannot be mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It is aligned to this number of bytes, less than a page.
    Alignment(u64),
    /// Its address and its place in the file differ by a part of a page.
    Offset,
    /// Its first page is also the last one of a segment with other rights.
    SharedPage,
    /// What is read-only after relocation ends within a page, and what is written follows.
    RelroEnd,
}

/// With which sizes of pages a file cannot be loaded: nothing of a relocatable object.
///
/// # Errors
/// [`Error`], where the file is no ELF file that deburr reads.
pub fn pages(bytes: &[u8]) -> Result<Pages, Error> {
    let elf = Elf::parse(bytes)?;
    let is_android = !elf.notes(b"Android", NT_VERSION).is_empty();
    let segments = match elf.kind {
        Kind::Relocatable => &[],
        Kind::Executable | Kind::SharedObject => &*elf.segments,
    };
    let is_refused_unaligned = elf.kind == Kind::SharedObject || is_android;
    let misfits =
        PAGE_SIZES.iter().filter_map(|&page| misfit(segments, page, (is_refused_unaligned, is_android)));
    Ok(Pages { is_android, misfits: misfits.collect() })
}

fn misfit(
    segments: &[Segment],
    page: u64,
    (is_refused_unaligned, is_android): (bool, bool),
) -> Option<Misfit> {
    let loaded = || segments.iter().enumerate().filter(|(_, it)| it.kind == PT_LOAD && it.memory_size > 0);
    let number = |at: u64| at / page;
    let end = |it: &Segment| it.svma.saturating_add(it.memory_size);
    let unaligned = loaded().find(|(_, it)| is_refused_unaligned && it.alignment & (page - 1) != 0);
    let unaligned = unaligned.map(|(segment, it)| (segment, Reason::Alignment(it.alignment)));
    let shifted = || {
        let found = loaded().find(|(_, it)| it.svma.wrapping_sub(it.offset) & (page - 1) != 0);
        found.map(|(segment, _)| (segment, Reason::Offset))
    };
    let shared = || {
        let is_shared = |it: &Segment| {
            let others = loaded().map(|(_, other)| other);
            others
                .filter(|other| other.svma < it.svma && other.flags != it.flags)
                .any(|other| number(end(other) - 1) >= number(it.svma))
        };
        loaded().find(|(_, it)| is_shared(it)).map(|(segment, _)| (segment, Reason::SharedPage))
    };
    let relro = || {
        let mut relros = segments.iter().enumerate().filter(|(_, it)| is_android && it.kind == PT_GNU_RELRO);
        let found = relros.find(|(_, relro)| {
            let after = end(relro);
            let is_written_after =
                |it: &Segment| it.flags & PF_W != 0 && it.svma <= after | (page - 1) && after < end(it);
            after % page != 0 && loaded().any(|(_, it)| is_written_after(it))
        });
        found.map(|(segment, _)| (segment, Reason::RelroEnd))
    };
    let (segment, reason) = unaligned.or_else(shifted).or_else(shared).or_else(relro)?;
    Some(Misfit { page, segment, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(
        kind: u32,
        flags: u32,
        (svma, offset): (u64, u64),
        memory_size: u64,
        alignment: u64,
    ) -> Segment {
        Segment { kind, flags, offset, svma, file_size: memory_size, memory_size, alignment }
    }

    const CODE: u32 = 5;
    const DATA: u32 = 6;

    fn library(segments: &[Segment]) -> Vec<(u64, Reason)> {
        let found = PAGE_SIZES.iter().filter_map(|&page| misfit(segments, page, (true, false)));
        found.map(|misfit| (misfit.page, misfit.reason)).collect()
    }

    fn executable(segments: &[Segment]) -> Vec<(u64, Reason)> {
        let found = PAGE_SIZES.iter().filter_map(|&page| misfit(segments, page, (false, false)));
        found.map(|misfit| (misfit.page, misfit.reason)).collect()
    }

    #[test]
    fn a_library_is_refused_where_a_segment_is_aligned_to_less_than_a_page() {
        let aligned = |to: u64| {
            [
                segment(PT_LOAD, CODE, (0, 0), 0x1234, to),
                segment(PT_LOAD, DATA, (0x2_1e00, 0x1_1e00), 0x300, to),
            ]
        };
        assert_eq!(library(&aligned(0x1_0000)), []);
        assert_eq!(library(&aligned(0x4000)), [(0x1_0000, Reason::Alignment(0x4000))]);
        assert_eq!(
            library(&aligned(0x1000)),
            [(0x4000, Reason::Alignment(0x1000)), (0x1_0000, Reason::Alignment(0x1000))]
        );
        // Nobody looks at the alignment of an executable, and these segments share no page.
        assert_eq!(executable(&aligned(0x1000)), []);
    }

    #[test]
    fn an_executable_fails_where_segments_share_a_page_or_are_shifted_in_the_file() {
        let code = segment(PT_LOAD, CODE, (0, 0), 0x1234, 0x1000);
        let near = segment(PT_LOAD, DATA, (0x2e00, 0x1e00), 0x300, 0x1000);
        assert_eq!(executable(&[code, near]), [(0x4000, Reason::Offset), (0x1_0000, Reason::Offset)]);
        let same = segment(PT_LOAD, DATA, (0x2e00, 0x2e00), 0x300, 0x1000);
        assert_eq!(executable(&[code, same]), [(0x4000, Reason::SharedPage), (0x1_0000, Reason::SharedPage)]);
        let empty = segment(PT_LOAD, DATA, (0x2e00, 0x1e00), 0, 0x1000);
        assert_eq!(executable(&[code, empty]), []);
    }

    #[test]
    fn android_protects_the_page_in_which_relro_ends() {
        let data = segment(PT_LOAD, DATA, (0x4000, 0x4000), 0x3000, 0x4000);
        let relro = |size: u64| segment(PT_GNU_RELRO, 4, (0x4000, 0x4000), size, 1);
        let of = |size: u64| misfit(&[data, relro(size)], 0x4000, (true, true)).map(|misfit| misfit.reason);
        assert_eq!(of(0x1000), Some(Reason::RelroEnd));
        assert_eq!(of(0x4000), None);
        // Nothing is after it.
        assert_eq!(of(0x3000), None);
        assert_eq!(misfit(&[data, relro(0x1000)], 0x4000, (true, false)), None);
    }
}

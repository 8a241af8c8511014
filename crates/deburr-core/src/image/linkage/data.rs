//! Headers → the data of a file: what is loaded and not code.
//!
//! In: the sections, or without them the segments, and the image's code. Out: [`Data`] by address, without overlap,
//! zero-filled tails included. Follows the gABI, "Sections" and "Program Loading"; `PT_GNU_RELRO` is the part that the
//! loader makes read-only once it has relocated it.

use super::model::Data;
use crate::address::{Extent, Svma};
use crate::image::elf::{Elf, PF_W, PT_GNU_RELRO, PT_LOAD, SHF_TLS, SHF_WRITE, SHT_NOBITS, Section, Segment};
use crate::image::{Image, Kind};

/// Sections of an object that the linker places where the loader writes alone.
const WRITTEN_BY_LOADER: [&str; 6] =
    [".data.rel.ro", ".init_array", ".fini_array", ".preinit_array", ".ctors", ".dtors"];

/// Sections whose offsets lead to every function, or into each.
const UNWIND: [&str; 4] = [".eh_frame", ".gcc_except_table", ".gopclntab", ".data.rel.ro.gopclntab"];

/// Reads the data of a file.
pub(super) fn read<'a>(elf: &Elf<'a>, image: &Image<'_>) -> Vec<Data<'a>> {
    if elf.sections.iter().any(Section::is_alloc) {
        of_sections(elf, image)
    } else if elf.kind == Kind::Relocatable {
        Vec::new()
    } else {
        of_segments(elf, image)
    }
}

/// The part that the loader makes read-only. Linkers write a maximum of one.
fn relro(elf: &Elf<'_>) -> Extent {
    let segment = elf.segments.iter().find(|segment| segment.kind == PT_GNU_RELRO);
    segment.map_or(Extent::default(), memory)
}

fn memory(segment: &Segment) -> Extent {
    Extent::sized(Svma(segment.svma), segment.memory_size.max(segment.file_size))
}

fn of_sections<'a>(elf: &Elf<'a>, image: &Image<'_>) -> Vec<Data<'a>> {
    let relro = relro(elf);
    let is_relro = |section: &Section<'_>, extent: Extent| match elf.kind {
        Kind::Relocatable => WRITTEN_BY_LOADER.iter().any(|name| section.name.starts_with(name)),
        _ => relro.start <= extent.start && extent.end <= relro.end,
    };
    let is_data = |section: &&Section<'_>| {
        // The zero-filled part of the thread-local template has no memory of its own.
        let is_template_tail = section.kind == SHT_NOBITS && section.flags & SHF_TLS != 0;
        // Up to the last address: its bytes are as many as its extent is long.
        let is_addressed = section.svma.checked_add(section.size).is_some();
        section.is_alloc()
            && !section.is_executable()
            && section.size > 0
            && !is_template_tail
            && is_addressed
    };
    let sections = elf.sections.iter().filter(is_data);
    let mut found: Vec<Data<'a>> = sections
        .map(|section| {
            let extent = section.extent();
            Data {
                extent,
                bytes: elf.data(section).unwrap_or(&[]),
                is_writable: section.flags & SHF_WRITE != 0 && !is_relro(section, extent),
                is_constant: section.flags & SHF_WRITE == 0,
                is_offset_table: matches!(section.name, ".got" | ".got.plt"),
                is_unwind: UNWIND.iter().any(|name| section.name.starts_with(name)),
            }
        })
        .collect();
    found.sort_by_key(|data| data.extent);
    let mut end = Svma(0);
    found.retain(|data| {
        let is_apart = data.extent.start >= end && !overlaps_code(image, data.extent);
        if is_apart {
            end = data.extent.end;
        }
        is_apart
    });
    found
}

fn overlaps_code(image: &Image<'_>, extent: Extent) -> bool {
    let after = image.code.partition_point(|code| code.extent.start < extent.end);
    let last = after.checked_sub(1).and_then(|last| image.code.get(last));
    last.is_some_and(|code| code.extent.overlaps(extent))
}

/// What the loaded segments hold other than code.
fn of_segments<'a>(elf: &Elf<'a>, image: &Image<'_>) -> Vec<Data<'a>> {
    let relro = relro(elf);
    let mut loads: Vec<&Segment> = elf.segments.iter().filter(|segment| segment.kind == PT_LOAD).collect();
    loads.sort_by_key(|segment| memory(segment));
    let mut found = Vec::new();
    let mut end = Svma(0);
    for segment in loads {
        let extent = memory(segment);
        if extent.is_empty() || extent.start < end {
            continue;
        }
        end = extent.end;
        let is_writable = segment.flags & PF_W != 0;
        let mut cuts = vec![extent.start];
        let first = image.code.partition_point(|code| code.extent.end <= extent.start);
        let inside = image.code.get(first..).unwrap_or(&[]).iter().map(|code| code.extent);
        cuts.extend(
            inside.take_while(|code| code.start < extent.end).flat_map(|code| [code.start, code.end]),
        );
        cuts.extend([relro.start, relro.end].into_iter().filter(|_| is_writable));
        cuts.push(extent.end);
        cuts.retain(|&cut| extent.start <= cut && cut <= extent.end);
        cuts.sort_unstable();
        for (&start, &end) in cuts.iter().zip(cuts.iter().skip(1)) {
            let piece = Extent { start, end };
            if piece.is_empty() || overlaps_code(image, piece) {
                continue;
            }
            found.push(Data {
                extent: piece,
                bytes: bytes_of(elf, segment, piece),
                is_writable: is_writable && !relro.contains(start),
                is_constant: !is_writable,
                is_offset_table: false,
                is_unwind: false,
            });
        }
    }
    found
}

/// The bytes that the file has for a piece of a segment.
fn bytes_of<'a>(elf: &Elf<'a>, segment: &Segment, piece: Extent) -> &'a [u8] {
    let in_file = || {
        let skipped = piece.start.since(Svma(segment.svma))?;
        let length = segment.file_size.checked_sub(skipped)?.min(piece.len());
        let start = usize::try_from(segment.offset.checked_add(skipped)?).ok()?;
        let rest = elf.bytes.get(start..)?;
        rest.get(..usize::try_from(length).ok()?.min(rest.len()))
    };
    in_file().unwrap_or(&[])
}

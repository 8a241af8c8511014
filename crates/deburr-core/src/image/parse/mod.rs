//! The assembly of an [`Image`]: headers → code, then what symbols, unwind tables and relocations say about it.
//!
//! In: the bytes of a file, of its mini debug information and of its debug file. Out: an [`Image`] whose code
//! ranges are in the file and do not overlap; every address kept is in one of them.
//! Follows the gABI, "Sections" and "Program Header".

pub(super) mod beside;
pub(super) mod build;
mod cold;
pub(super) mod companion;
pub(super) mod debug;
mod entry;
mod frames;
mod landing_pads;
mod pclntab;
mod plt;
mod ranges;
mod relocated;
pub(super) mod relocations;
pub(super) mod symbols;

use crate::address::{CodeOffset, Extent, Svma};
use crate::image::elf::{
    Elf, PF_W, PF_X, PT_DYNAMIC, PT_GNU_EH_FRAME, PT_LOAD, SHF_WRITE, SHT_NOBITS, SHT_PROGBITS, Section,
    build_id, range_of,
};
use crate::image::{Code, Error, Image, Kind, Loaded, Symbol, SymbolOrigin};
use companion::companion;
use ranges::CodeRanges;
use std::collections::{BTreeMap, HashMap};

fn code<'a>(name: &str, svma: u64, offset: u64, alignment: u64, bytes: &'a [u8]) -> Code<'a> {
    Code {
        name: name.to_owned(),
        extent: Extent::sized(Svma(svma), bytes.len() as u64),
        at: CodeOffset::ZERO,
        file_offset: offset,
        alignment,
        bytes,
    }
}

/// The executable sections that are in the file.
fn code_of_sections<'a>(elf: &Elf<'a>, faults: &mut Vec<String>) -> Result<Vec<Code<'a>>, Error> {
    let executable = |section: &&Section<'a>| section.is_executable() && section.size > 0;
    let sections: Vec<&Section<'a>> = elf.sections.iter().filter(executable).collect();
    if !sections.is_empty() && sections.iter().all(|section| section.kind == SHT_NOBITS) {
        return Err(Error::Unsupported("separate debug file".to_owned()));
    }
    let mut found = Vec::new();
    let mut first_bad = None;
    for section in sections.into_iter().filter(|section| section.kind == SHT_PROGBITS) {
        match elf.data(section).filter(|_| section.svma.checked_add(section.size).is_some()) {
            Some(bytes) => found.push(code(section.name, section.svma, section.offset, section.align, bytes)),
            None => {
                first_bad = first_bad.or(Some(section.offset));
                faults.push(format!(
                    "file offset {:#x}: expected section {} of {} bytes, but the file ends at {:#x}: left out",
                    section.offset,
                    section.name,
                    section.size,
                    elf.bytes.len()
                ));
            }
        }
    }
    match first_bad {
        Some(offset) if found.is_empty() => {
            Err(Error::Malformed { offset, expected: "the bytes of an executable section".to_owned() })
        }
        _ => Ok(read_once(found, faults)),
    }
}

/// Leaves out sections that hold bytes of sections before them: no linker or assembler writes such, and headers of some kilobytes would make
/// gigabytes of code.
fn read_once<'a>(found: Vec<Code<'a>>, faults: &mut Vec<String>) -> Vec<Code<'a>> {
    // By its offset in the file, where a section that is kept ends, and which it is.
    let mut taken: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
    let mut again: Option<(String, u64)> = None;
    let mut kept: Vec<Code<'a>> = Vec::new();
    for code in found {
        let (start, end) = (code.file_offset, code.file_offset.saturating_add(code.bytes.len() as u64));
        let before = taken.range(..end).next_back().filter(|(_, (end, _))| *end > start);
        let Some((_, &(_, before))) = before else {
            taken.insert(start, (end, kept.len()));
            kept.push(code);
            continue;
        };
        let first = || {
            let named =
                |code: &Code<'_>| if code.name.is_empty() { "(no name)" } else { &code.name }.to_owned();
            let before = kept.get(before).map(named).unwrap_or_default();
            format!("section {} at file offset {start:#x} holds bytes of section {before}", named(&code))
        };
        again.get_or_insert_with(|| (first(), 0)).1 += 1;
    }
    faults.extend(again.map(|(first, count)| match count {
        1 => format!("{first}: left out"),
        2 => format!("{first}, and so does one other: left out"),
        _ => format!("{first}, and so do {} others: left out", count - 1),
    }));
    kept
}

/// The sections that hold constants.
fn constants<'a>(elf: &Elf<'a>) -> Vec<(Extent, &'a [u8])> {
    let is_constant = |section: &&Section<'a>| {
        section.is_alloc()
            && !section.is_executable()
            && section.flags & SHF_WRITE == 0
            && section.kind == SHT_PROGBITS
            && elf.kind != Kind::Relocatable
            && section.svma.checked_add(section.size).is_some()
    };
    let sections = elf.sections.iter().filter(is_constant);
    sections.filter_map(|section| Some((section.extent(), elf.data(section)?))).collect()
}

/// What the loader maps.
fn loaded<'a>(elf: &Elf<'a>) -> Vec<Loaded<'a>> {
    let segments = elf.segments.iter().filter(|segment| segment.kind == PT_LOAD);
    let found = segments.filter_map(|segment| {
        let bytes = range_of(elf.bytes, segment.offset, segment.file_size)?;
        segment.svma.checked_add(segment.file_size)?;
        Some(Loaded {
            extent: Extent::sized(Svma(segment.svma), segment.file_size),
            bytes,
            is_writable: segment.flags & PF_W != 0,
            is_executable: segment.flags & PF_X != 0,
        })
    });
    if elf.kind == Kind::Relocatable { Vec::new() } else { found.collect() }
}

/// Code that may be written to.
fn writable_code(elf: &Elf<'_>) -> Vec<Extent> {
    let sections = elf.sections.iter().filter(|it| it.is_executable() && it.flags & SHF_WRITE != 0);
    let is_both = |flags: u32| flags & PF_X != 0 && flags & PF_W != 0;
    let segments = elf.segments.iter().filter(|it| it.kind == PT_LOAD && is_both(it.flags));
    let segments = segments.map(|it| Extent::sized(Svma(it.svma), it.memory_size));
    sections.map(Section::extent).chain(segments).collect()
}

/// The executable segments, where section headers are missing. A segment that also holds the ELF header begins,
/// as code, at the first function known in it, and ends before the unwind table's index. Between the header and
/// that function are the dynamic tables, which decode as nonsense. A static program has no such tables: there it begins
/// after the notes and the relocations of its ifuncs.
fn code_of_segments<'a>(
    elf: &Elf<'a>,
    starts: &[u64],
    faults: &mut Vec<String>,
) -> Result<Vec<Code<'a>>, Error> {
    let mut found = Vec::new();
    let mut first_bad = None;
    let loaded = elf.segments.iter().enumerate();
    for (index, segment) in
        loaded.filter(|(_, s)| s.kind == PT_LOAD && s.flags & PF_X != 0 && s.file_size > 0)
    {
        let Some(mut bytes) = range_of(elf.bytes, segment.offset, segment.file_size)
            .filter(|_| segment.svma.checked_add(segment.file_size).is_some())
        else {
            first_bad = first_bad.or(Some(segment.offset));
            faults.push(format!(
                "file offset {:#x}: expected segment {index} of {} bytes, but the file ends at {:#x}: left out",
                segment.offset,
                segment.file_size,
                elf.bytes.len()
            ));
            continue;
        };
        let mut skipped = 0;
        if segment.offset == 0 {
            let extent = Extent::sized(Svma(segment.svma), segment.file_size);
            let after_headers = elf.headers_end(segment.svma);
            let known = starts.iter().filter(|&&at| at >= after_headers && extent.contains(Svma(at))).min();
            let start = match elf.segments.iter().any(|segment| segment.kind == PT_DYNAMIC) {
                true => known.copied().unwrap_or(after_headers),
                false => after_notes(elf, extent),
            };
            skipped = start.saturating_sub(segment.svma);
            let index = elf.segments.iter().find(|segment| segment.kind == PT_GNU_EH_FRAME);
            let end =
                index.and_then(|index| index.svma.checked_sub(segment.svma)).filter(|&end| end > skipped);
            let end = end.and_then(|end| usize::try_from(end).ok()).unwrap_or(bytes.len());
            bytes = bytes.get(..end).unwrap_or(bytes);
            bytes = usize::try_from(skipped).ok().and_then(|skipped| bytes.get(skipped..)).unwrap_or(&[]);
        }
        if !bytes.is_empty() {
            let offset = segment.offset.saturating_add(skipped);
            found.push(code(
                &format!("segment {index}"),
                segment.svma.saturating_add(skipped),
                offset,
                1,
                bytes,
            ));
        }
    }
    match first_bad {
        Some(offset) if found.is_empty() => {
            Err(Error::Malformed { offset, expected: "the bytes of an executable segment".to_owned() })
        }
        _ => Ok(found),
    }
}

/// Where, in a segment of a static program that holds the ELF header, notes and ifunc relocations end.
fn after_notes(elf: &Elf<'_>, segment: Extent) -> u64 {
    let relocations = relocations::after_notes(elf, segment).map_or(0, <[u8]>::len);
    elf.notes_end(segment).saturating_add(relocations as u64)
}

/// Sorts code by address, leaves out what overlaps, and gives each range its offset from the first.
fn place<'a>(mut found: Vec<Code<'a>>, faults: &mut Vec<String>) -> Result<(Vec<Code<'a>>, Svma), Error> {
    found.sort_by_key(|code| code.extent);
    let base = found.first().map_or(Svma(0), |code| code.extent.start);
    let mut kept: Vec<Code<'a>> = Vec::new();
    for mut code in found {
        if let Some(before) = kept.last().filter(|before| before.extent.overlaps(code.extent)) {
            faults.push(format!("overlapping sections {} and {}: {1} left out", before.name, code.name));
            continue;
        }
        let (Some(Ok(at)), Some(Ok(_))) = (
            code.extent.start.since(base).map(u32::try_from),
            code.extent.end.since(base).map(u32::try_from),
        ) else {
            return Err(Error::TooLarge("code spans more than 4 GiB".to_owned()));
        };
        code.at = CodeOffset(at);
        kept.push(code);
    }
    Ok((kept, base))
}

/// What names code, and the faults met while reading.
#[derive(Default)]
struct Names<'a> {
    symbols: Vec<Symbol<'a>>,
    faults: Vec<String>,
}

/// The symbols of a file, of its mini debug information and of its debug file, sorted.
fn names<'a>(
    elf: &Elf<'a>,
    build_id: Option<&str>,
    ranges: &CodeRanges,
    mini_debug: Option<&[u8]>,
    debug_file: Option<&'a [u8]>,
) -> Names<'a> {
    let mut names = Names::default();
    symbols::from_table(elf, crate::image::elf::SHT_SYMTAB, SymbolOrigin::Symtab, ranges, &mut names.symbols);
    symbols::from_dynamic(elf, ranges, &mut names.symbols);
    if let Some(file) = mini_debug {
        let mut unpacked = Names::default();
        let origin = (SymbolOrigin::MiniDebug, ".gnu_debugdata");
        add_symbols_of(&mut unpacked, elf, build_id, ranges, file, origin);
        // These bytes are not kept: a name is not borrowed from them.
        let owned = |symbol: Symbol<'_>| Symbol { name: symbol.name.into_owned(), ..symbol };
        names.symbols.extend(unpacked.symbols.into_iter().map(owned));
        names.faults.extend(unpacked.faults);
    }
    if let Some(file) = debug_file {
        let origin = (SymbolOrigin::DebugFile, "debug file");
        add_symbols_of(&mut names, elf, build_id, ranges, file, origin);
    }
    pclntab::add_symbols(elf, ranges, &mut names.symbols, &mut names.faults);
    symbols::sort(&mut names.symbols);
    names
}

/// Adds the symbols of another ELF file for the same code.
fn add_symbols_of<'a>(
    names: &mut Names<'a>,
    elf: &Elf<'a>,
    build_id: Option<&str>,
    ranges: &CodeRanges,
    other: &'a [u8],
    (origin, what): (SymbolOrigin, &str),
) {
    let mut other = match companion(elf, build_id, other) {
        Ok(other) => other,
        Err(error) => {
            names.faults.push(format!("{what}: {error}"));
            return;
        }
    };
    if other.kind == Kind::Relocatable {
        // Its sections are numbered as the linker of the debug file liked: only names show which is which.
        let ours: HashMap<&str, u64> =
            elf.sections.iter().map(|section| (section.name, section.svma)).collect();
        for section in &mut other.sections {
            section.svma = ours.get(section.name).copied().unwrap_or(u64::MAX);
        }
    }
    symbols::from_table(&other, crate::image::elf::SHT_SYMTAB, origin, ranges, &mut names.symbols);
}

fn parse<'a>(bytes: &'a [u8], debug_file: Option<&'a [u8]>) -> Result<Image<'a>, Error> {
    let mut elf = Elf::parse(bytes)?;
    elf.entry = entry::of(&elf);
    let mut faults = std::mem::take(&mut elf.faults);
    let by_sections = elf.sections.iter().any(Section::is_alloc);
    let found = if by_sections {
        code_of_sections(&elf, &mut faults)?
    } else if elf.kind == Kind::Relocatable {
        Vec::new()
    } else {
        let mut starts = relocations::called_by_loader(&elf);
        starts.extend(frames::starts(&elf));
        starts.extend(symbols::dynamic_functions(&elf));
        code_of_segments(&elf, &starts, &mut faults)?
    };
    let (code, code_base) = place(found, &mut faults)?;
    let ranges = CodeRanges::new(code.iter().map(|code| code.extent).collect());
    let mut image = Image {
        arch: elf.arch,
        kind: elf.kind,
        bytes,
        debug_file,
        build_id: build_id(&elf),
        code,
        code_base,
        symbols: Vec::new(),
        frames: Vec::new(),
        landing_pads: Vec::new(),
        call_sites: Vec::new(),
        unread_tables: Vec::new(),
        entries: Vec::new(),
        entry_point: (elf.entry != 0).then_some(Svma(elf.entry)),
        arrays: Vec::new(),
        pointers: Vec::new(),
        transfers: Vec::new(),
        addresses: Vec::new(),
        constants: constants(&elf),
        loaded: loaded(&elf),
        writable_code: writable_code(&elf),
        has_unread_relocations: false,
        is_fixed: elf.is_fixed,
        build: build::facts(&elf, debug_file, &mut faults),
        faults,
    };
    let mini_debug = debug::mini_debug(&elf);
    // The three read different parts of the file.
    let ((names, (found, found_faults)), (frames, pads, frame_faults)) = rayon::join(
        || {
            rayon::join(
                || {
                    names(
                        &elf,
                        image.build_id.as_deref(),
                        &ranges,
                        mini_debug.as_ref().ok().and_then(Option::as_deref),
                        debug_file,
                    )
                },
                || relocations::read(&elf, &ranges),
            )
        },
        || {
            let (frames, tables, faults) = frames::read(&elf, debug_file, &image.code, &ranges);
            let is_linked = elf.kind != Kind::Relocatable;
            let tables = if is_linked { &*tables } else { &[] };
            (frames, landing_pads::read(&elf, tables, &ranges), faults)
        },
    );
    image.symbols = names.symbols;
    image.frames = frames;
    (image.landing_pads, image.unread_tables, image.call_sites) = (pads.known, pads.unread, pads.sites);
    for faults in [names.faults, found_faults, frame_faults] {
        image.faults.extend(faults);
    }
    let plt_entries = plt::entries(&elf, &image, &found.slots);
    symbols::insert(&mut image.symbols, plt_entries);
    image.symbols.shrink_to_fit();
    image.faults.extend(mini_debug.err().map(|error| error.to_string()));
    image.entries = found.entries;
    image.arrays = found.arrays;
    image.pointers = found.pointers;
    image.has_unread_relocations = found.is_incomplete;
    image.transfers = found.transfers;
    image.addresses = found.addresses;
    Ok(image)
}

impl<'a> Image<'a> {
    /// Reads an ELF file, its `.gnu_debugdata` and, where there is one, its separate debug file; a fault of the latter
    /// two is among [`Image::faults`], no error.
    ///
    /// # Errors
    /// [`Error`], where the file cannot be read as what it claims to be.
    pub fn parse(bytes: &'a [u8], debug_file: Option<&'a [u8]>) -> Result<Image<'a>, Error> {
        parse(bytes, debug_file)
    }
}

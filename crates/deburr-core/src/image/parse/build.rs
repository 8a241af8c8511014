//! Notes, comments and debug information → who built the file, and with what.
//!
//! In: `.comment`, `.note.gnu.property`, `.note.gnu.build-id`, the root entries of `.debug_info`, and Go's build
//! information. Out: [`BuildFacts`]. Follows the x86-64 and AArch64 psABI supplements, "Program Property";
//! DWARF 5, section 3.1; the Go sources, `src/debug/buildinfo`.

use super::debug::DebugSection;
use crate::image::BuildFacts;
use crate::image::elf::{Elf, PF_X, PT_LOAD, Section, range_of, u32_at, u64_at};
use deburr_cpu::Arch;
use gimli::{EndianSlice, LittleEndian};
use std::borrow::Cow;

/// Maximum number of units whose producer is read.
const UNIT_LIMIT: usize = 20_000;
/// Debug sections are searched for producers up to this size: 64 MiB.
const DEBUG_LIMIT: u64 = 64 << 20;
/// Lists of distinct strings end here.
const LIST_LIMIT: usize = 256;
const STRING_LIMIT: usize = 8192;

fn push_distinct(list: &mut Vec<String>, value: &[u8]) {
    let text = deburr_text::shown(value.get(..value.len().min(STRING_LIMIT)).unwrap_or(value));
    let value = text.trim();
    if !value.is_empty() && list.len() < LIST_LIMIT && !list.iter().any(|known| known == value) {
        list.push(value.to_owned());
    }
}

/// Reads all that the file says about its making.
pub(crate) fn facts(elf: &Elf<'_>, debug_file: Option<&[u8]>, faults: &mut Vec<String>) -> BuildFacts {
    let is_kernels = |section: &Section<'_>| matches!(section.name, ".modinfo" | ".altinstructions");
    let mut facts =
        BuildFacts { is_linux_kernel: elf.sections.iter().any(is_kernels), ..BuildFacts::default() };
    let comment = elf.section_data(".comment").unwrap_or(&[]);
    for line in comment.split(|&byte| byte == 0).take(1 << 16) {
        push_distinct(&mut facts.compilers, line);
    }
    properties(elf, &mut facts);
    go(elf, &mut facts);
    producers(elf, &mut facts, faults);
    if facts.producers.is_empty()
        && let Some(other) = debug_file.and_then(|bytes| Elf::parse(bytes).ok())
    {
        producers(&other, &mut facts, faults);
    }
    if facts.producers.is_empty() && !facts.is_go && is_zig(elf, &facts.compilers) {
        facts.producers.push("zig (version unknown)".to_owned());
    }
    let is_named = facts.producers.iter().any(|producer| producer.starts_with("Go "));
    if facts.is_go && facts.go_version.is_none() && !is_named {
        facts.producers.push("Go (version unknown)".to_owned());
    }
    facts
}

/// Whether Zig made a file that does not say what did: the text is of its standard library's handler of panics, and no
/// compiler of another language has left its name (Zig's `lib/std/debug.zig`).
fn is_zig(elf: &Elf<'_>, compilers: &[String]) -> bool {
    const PANIC: &[u8] = b"anicked during a panic. ";
    let has_compiler = compilers.iter().any(|text| !text.starts_with("Linker: "));
    let constants = elf.section_data(".rodata").unwrap_or(&[]);
    !has_compiler && memchr::memmem::find(constants, PANIC).is_some()
}

/// The x86 ISA level that the note of an ELF file claims. Reads headers and the note.
pub fn isa_needed_of(bytes: &[u8]) -> Option<String> {
    let mut facts = BuildFacts::default();
    properties(&Elf::parse(bytes).ok()?, &mut facts);
    facts.isa_needed
}

fn properties(elf: &Elf<'_>, facts: &mut BuildFacts) {
    for mut rest in elf.notes(b"GNU", 5) {
        while let (Some(kind), Some(size)) = (u32_at(rest, 0), u32_at(rest, 4)) {
            let value = u32_at(rest, 8).filter(|_| size >= 4).unwrap_or(0);
            let named: &[(u32, &str)] = match (elf.arch, kind) {
                // GNU_PROPERTY_X86_FEATURE_1_AND
                (Arch::X86_64, 0xc000_0002) => &[(1, "IBT"), (2, "SHSTK")],
                // GNU_PROPERTY_AARCH64_FEATURE_1_AND
                (Arch::Aarch64, 0xc000_0000) => &[(1, "BTI"), (2, "PAC"), (4, "GCS")],
                _ => &[],
            };
            for &(bit, name) in named {
                if value & bit != 0 {
                    push_distinct(&mut facts.properties, name.as_bytes());
                }
            }
            // GNU_PROPERTY_X86_ISA_1_NEEDED
            if elf.arch == Arch::X86_64 && kind == 0xc000_8002 && value != 0 {
                let level = 31u32.saturating_sub(value.leading_zeros());
                facts.isa_needed = match level {
                    0 => Some("x86-64-baseline".to_owned()),
                    1..=3 => Some(format!("x86-64-v{}", level + 1)),
                    _ => None,
                };
            }
            let next = usize::try_from(size).ok().and_then(|size| size.checked_add(15)).map(|size| size & !7);
            rest = next.and_then(|next| rest.get(next..)).unwrap_or(&[]);
        }
    }
}

fn producers(elf: &Elf<'_>, facts: &mut BuildFacts, faults: &mut Vec<String>) {
    let length = DebugSection::length(elf, ".debug_info");
    if length == 0 {
        return;
    }
    let compressed = |name: &str| {
        elf.section(name).is_some_and(|section| section.flags & crate::image::elf::SHF_COMPRESSED != 0)
    };
    // Without compression only the pages of the units' first entries are read, whatever the size.
    if length > DEBUG_LIMIT && (compressed(".debug_info") || elf.kind == super::Kind::Relocatable) {
        faults.push(format!(
            "compressed .debug_info of {length} bytes: larger than 64 MiB, compilers' flags not read"
        ));
        return;
    }
    let mut load = |name: &str| {
        let found = DebugSection::find(elf, name, DEBUG_LIMIT);
        if found.is_none() && elf.section(name).is_some() {
            faults.push(format!("{name}: cannot be read"));
        }
        found.unwrap_or(Cow::Borrowed(&[]))
    };
    let names = [".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str", ".debug_str_offsets"];
    let [info, abbrev, strings, line_strings, offsets] = names.map(&mut load);
    let dwarf = gimli::Dwarf::load(|id| -> Result<EndianSlice<'_, LittleEndian>, gimli::Error> {
        let bytes: &[u8] = match id {
            gimli::SectionId::DebugInfo => &info,
            gimli::SectionId::DebugAbbrev => &abbrev,
            gimli::SectionId::DebugStr => &strings,
            gimli::SectionId::DebugLineStr => &line_strings,
            gimli::SectionId::DebugStrOffsets => &offsets,
            _ => &[],
        };
        Ok(EndianSlice::new(bytes, LittleEndian))
    });
    let Ok(dwarf) = dwarf else { return };
    let mut units = dwarf.units();
    let mut seen = 0usize;
    let mut known: std::collections::HashSet<Vec<u8>> = std::collections::HashSet::new();
    // Abbreviations are parsed anew for each unit: what a unit can cost is bounded by their total.
    let mut work = 0usize;
    loop {
        let header = match units.next() {
            Ok(Some(header)) => header,
            Ok(None) => break,
            Err(error) => {
                faults.push(format!(".debug_info: {error}: the rest left out"));
                break;
            }
        };
        seen = seen.saturating_add(1);
        if seen > UNIT_LIMIT || work > DEBUG_LIMIT as usize {
            faults.push(format!("compilers' flags read from the first {UNIT_LIMIT} units at most"));
            break;
        }
        let Ok(abbreviations) = dwarf.abbreviations(&header) else { continue };
        work = work.saturating_add(4096);
        let Some(value) = producer(&dwarf, header, &abbreviations) else { continue };
        let whole = value.slice();
        let value = whole.get(..whole.len().min(STRING_LIMIT)).unwrap_or(whole);
        if known.len() < LIST_LIMIT && !known.contains(value) {
            known.insert(value.to_vec());
            push_distinct(&mut facts.producers, value);
        }
    }
}

/// `DW_AT_producer` of a unit's root entry.
fn producer<'d>(
    dwarf: &gimli::Dwarf<EndianSlice<'d, LittleEndian>>,
    header: gimli::UnitHeader<EndianSlice<'d, LittleEndian>>,
    abbreviations: &gimli::Abbreviations,
) -> Option<EndianSlice<'d, LittleEndian>> {
    let mut cursor = header.entries(abbreviations);
    let root = cursor.next_dfs().ok()??;
    let value = root.attr_value(gimli::DW_AT_producer)?;
    match value {
        // clang's default with DWARF 5. The unit as a whole would need its line table.
        gimli::AttributeValue::DebugStrOffsetsIndex(index) => {
            let base = match root.attr_value(gimli::DW_AT_str_offsets_base) {
                Some(gimli::AttributeValue::DebugStrOffsetsBase(base)) => base,
                _ => gimli::DebugStrOffsetsBase::default_for_encoding_and_file(
                    header.encoding(),
                    gimli::DwarfFileType::Main,
                ),
            };
            let offset = dwarf.debug_str_offsets.get_str_offset(header.format(), base, index).ok()?;
            dwarf.debug_str.get_str(offset).ok()
        }
        gimli::AttributeValue::String(string) => Some(string),
        gimli::AttributeValue::DebugStrRef(offset) => dwarf.debug_str.get_str(offset).ok(),
        gimli::AttributeValue::DebugLineStrRef(offset) => dwarf.debug_line_str.get_str(offset).ok(),
        _ => None,
    }
}

/// An unsigned LEB128-like number as Go's `binary.PutUvarint` writes it, and the rest.
fn uvarint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().take(9).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(index.saturating_add(1)..)?));
        }
    }
    None
}

fn inline_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = uvarint(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// The string that a Go string header at an address describes.
fn string_header<'a>(elf: &Elf<'a>, svma: u64) -> Option<&'a [u8]> {
    let header = elf.bytes_of(svma, 16)?;
    elf.bytes_of(u64_at(header, 0)?, u64_at(header, 8)?)
}

/// Whether Go's linker was at work.
pub(crate) fn is_go(elf: &Elf<'_>) -> bool {
    let names = [".go.buildinfo", ".note.go.buildid", ".gopclntab", ".data.rel.ro.gopclntab"];
    names.into_iter().any(|name| elf.section(name).is_some()) || !elf.notes(b"Go", 4).is_empty()
}

fn go(elf: &Elf<'_>, facts: &mut BuildFacts) {
    facts.is_go = is_go(elf);
    const MAGIC: &[u8] = b"\xff Go buildinf:";
    let data = elf.section_data(".go.buildinfo").or_else(|| {
        // Without sections it is at the start of the first writable segment's data, aligned to 16 bytes.
        if elf.sections.iter().any(Section::is_alloc) {
            return None;
        }
        let segments =
            elf.segments.iter().filter(|s| s.kind == PT_LOAD && s.flags & PF_X == 0 && s.flags & 2 != 0);
        let mut segments = segments.filter_map(|s| range_of(elf.bytes, s.offset, s.file_size));
        segments.find_map(|bytes| {
            let at = bytes.chunks(16).take(1 << 12).position(|chunk| chunk.starts_with(MAGIC))?;
            bytes.get(at.checked_mul(16)?..)
        })
    });
    let Some(data) = data.filter(|data| data.starts_with(MAGIC)) else { return };
    let flags = data.get(15).copied().unwrap_or(0);
    let (version, module) = if flags & 2 != 0 {
        let Some((version, rest)) = data.get(32..).and_then(inline_string) else { return };
        (version, inline_string(rest).map_or(&b""[..], |(module, _)| module))
    } else {
        let pointer = |at: usize| string_header(elf, u64_at(data, at)?);
        (pointer(16).unwrap_or(b""), pointer(24).unwrap_or(b""))
    };
    let version = deburr_text::shown(version.get(..version.len().min(STRING_LIMIT)).unwrap_or(b""));
    facts.go_version = (!version.is_empty()).then(|| version.into_owned());
    // The module text is between two 16-byte marks.
    let end = module.len().saturating_sub(16);
    for line in module.get(16..end).unwrap_or(b"").split(|&byte| byte == b'\n').take(1 << 16) {
        let Some((key, value)) = line
            .strip_prefix(b"build\t")
            .and_then(|setting| deburr_text::plain(setting))
            .and_then(|setting| setting.split_once('='))
        else {
            continue;
        };
        if facts.go_settings.len() < LIST_LIMIT {
            let unquoted = |text: &str| text.trim_matches(['"', '`']).to_owned();
            facts.go_settings.push((unquoted(key), unquoted(value)));
        }
    }
}

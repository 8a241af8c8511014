//! A file and its debug information → whether it has code that no unit describes.
//!
//! In: the bytes of the file, and the address ranges of its units (DWARF 5, 2.17). Out: whether a function that has unwinding
//! information lies in none of them (LSB, "Exception Frames"): it was compiled without `-g`, and may define types that others only
//! declare. What the start files bring along has no such information, and so does not count; nor do stubs of the linker.

use super::index::Index;
use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use object::elf::{FileHeader64, SHF_EXECINSTR};
use object::read::elf::{FileHeader, SectionHeader};

/// Sections of code of the linker and of the start files.
const OF_THE_LINKER: [&[u8]; 3] = [b".plt", b".init", b".fini"];

/// Whether some code has no debug information; so too where that cannot be read.
pub(super) fn has_bare_code(bytes: &[u8], index: &Index<'_>) -> bool {
    find_bare_code(bytes, index).unwrap_or(true)
}

fn find_bare_code(bytes: &[u8], index: &Index<'_>) -> Option<bool> {
    let header = FileHeader64::<object::LittleEndian>::parse(bytes).ok()?;
    let endian = object::LittleEndian;
    let sections = header.sections(endian, bytes).ok()?;
    let mut code: Vec<(u64, u64)> = Vec::new();
    for section in sections.iter().filter(|it| it.sh_flags(endian).contains(SHF_EXECINSTR)) {
        let name = sections.section_name(endian, section).ok()?;
        if !OF_THE_LINKER.iter().any(|prefix| name.starts_with(prefix)) {
            let begin = section.sh_addr(endian);
            code.push((begin, begin.saturating_add(section.sh_size(endian))));
        }
    }
    let mut described: Vec<(u64, u64)> = Vec::new();
    for unit in &index.units {
        let mut ranges = index.dwarf.unit_ranges(&unit.unit).ok()?;
        while let Some(range) = ranges.next().ok()? {
            described.push((range.begin, range.end));
        }
    }
    described.sort_unstable();
    let is_in = |ranges: &[(u64, u64)], address: u64| {
        ranges.iter().any(|(begin, end)| (*begin..*end).contains(&address))
    };
    // Units do not overlap, so the last that begins before an address is the one that may have it.
    let is_described = |address: u64| {
        let after = described.partition_point(|(begin, _)| *begin <= address);
        after.checked_sub(1).and_then(|at| described.get(at)).is_some_and(|(_, end)| address < *end)
    };
    let Some((_, frames)) = sections.section_by_name(endian, b".eh_frame") else { return Some(true) };
    let bases = BaseAddresses::default().set_eh_frame(frames.sh_addr(endian));
    let frames = EhFrame::new(frames.data(endian, bytes).ok()?, LittleEndian);
    let mut entries = frames.entries(&bases);
    while let Some(entry) = entries.next().ok()? {
        let CieOrFde::Fde(partial) = entry else { continue };
        let function = partial.parse(EhFrame::cie_from_offset).ok()?;
        let address = function.initial_address();
        if is_in(&code, address) && !is_described(address) {
            return Some(true);
        }
    }
    Some(false)
}

//! A launcher's file: prebuilt code and a table → an ELF program.
//!
//! In: the code of `prebuilt/`, which `cargo xtask launcher` makes of `c/launcher.c`, and a [`Table`]. Out: a static,
//! position-independent ELF file with one segment, read and executed, which holds everything: header, code, table (ELF
//! gABI, chapters 4 and 5). The section headers only serve `strip`, which drops what no section covers.

use crate::table::{Table, TableError};
use deburr_cpu::Arch;

/// Where the code begins, in the file and in memory: `c/launcher.ld` links it for this place.
const CODE_AT: usize = 0x100;
/// The first bytes of the code: by them a launcher is recognised.
const MARK: &[u8] = b"deburrL1";
/// The largest page of the architecture: segments must be aligned to it.
const fn page(arch: Arch) -> u64 {
    match arch {
        Arch::X86_64 => 0x1000,
        Arch::Aarch64 => 0x1_0000,
    }
}

/// The code of the launcher for an architecture; its length is a multiple of 16.
fn code(arch: Arch) -> &'static [u8] {
    match arch {
        Arch::X86_64 => include_bytes!("../prebuilt/launcher-x86_64"),
        Arch::Aarch64 => include_bytes!("../prebuilt/launcher-aarch64"),
    }
}

/// The code of the launcher that holds its variants itself.
fn single_file_code(arch: Arch) -> &'static [u8] {
    match arch {
        Arch::X86_64 => include_bytes!("../prebuilt/single-x86_64"),
        Arch::Aarch64 => include_bytes!("../prebuilt/single-aarch64"),
    }
}

/// Names of the sections, each with a NUL before and after it.
const NAMES: &[u8] = b"\0.text\0.deburr\0.shstrtab\0";

/// A launcher with this table: a whole ELF program.
///
/// # Errors
/// [`TableError`], where the table cannot be written.
pub fn launcher(table: &Table) -> Result<Vec<u8>, TableError> {
    program(code(table.arch), table)
}

fn program(code: &[u8], table: &Table) -> Result<Vec<u8>, TableError> {
    let encoded = table.encode()?;
    let table_at = CODE_AT + code.len();
    let loaded = table_at + encoded.len();
    let sections_at = (loaded + NAMES.len()).next_multiple_of(8);
    let mut file = header(table.arch, sections_at);
    // PT_LOAD, flags R and X.
    program_header(&mut file, [1, 5], loaded, page(table.arch));
    // PT_GNU_STACK, flags R and W: the stack is not executable.
    program_header(&mut file, [0x6474_e551, 6], 0, 16);
    file.resize(CODE_AT, 0);
    file.extend(code);
    file.extend(encoded);
    file.extend(NAMES);
    file.resize(sections_at, 0);
    file.extend([0; 64]);
    // SHT_PROGBITS is 1, SHT_STRTAB 3; SHF_ALLOC 2, SHF_EXECINSTR 4.
    section(&mut file, [1, 1, 6], CODE_AT, code.len(), true);
    section(&mut file, [7, 1, 2], table_at, loaded - table_at, true);
    section(&mut file, [15, 3, 0], loaded, NAMES.len(), false);
    Ok(file)
}

/// A launcher that holds its variants itself: a whole ELF program, with the bytes of each of the table's variants after it,
/// equal ones once. No section covers those bytes: `strip` would drop them. It starts a variant with the path `HASH/NAME` from
/// that place in a cache, which it fills; any other, and where there can be no cache, from memory.
///
/// # Errors
/// [`TableError`], where the table cannot be written, or a variant has no bytes.
pub fn single_file(table: &Table, variants: &[&[u8]]) -> Result<Vec<u8>, TableError> {
    if variants.len() != table.variants.len() {
        return Err(TableError::Count(variants.len()));
    }
    if let Some((variant, _)) = table.variants.iter().zip(variants).find(|(_, bytes)| bytes.is_empty()) {
        return Err(TableError::Text(variant.level.clone()));
    }
    // A place takes the same room in a table whatever it is.
    let mut table = table.clone();
    let code = single_file_code(table.arch);
    let mut end = program(code, &table)?.len();
    let mut held: Vec<(usize, &[u8])> = Vec::new();
    for (variant, bytes) in table.variants.iter_mut().zip(variants) {
        let at = match held.iter().find(|(_, other)| other == bytes) {
            Some((at, _)) => *at,
            None => {
                let at = end.next_multiple_of(16);
                held.push((at, bytes));
                end = at + bytes.len();
                at
            }
        };
        variant.payload = Some((at as u64, bytes.len() as u64));
    }
    let mut file = program(code, &table)?;
    for (at, bytes) in held {
        file.resize(at, 0);
        file.extend(bytes);
    }
    Ok(file)
}

/// Whether a file is a launcher: its code begins with the mark.
pub fn is_launcher(file: &[u8]) -> bool {
    file.starts_with(b"\x7fELF") && file.get(CODE_AT..).is_some_and(|code| code.starts_with(MARK))
}

/// The table of a launcher, as its bytes; `None` where the file is none, or is cut short.
pub fn table_bytes(file: &[u8]) -> Option<&[u8]> {
    let machine = u16::from_le_bytes(*file.get(18..)?.first_chunk()?);
    let arch =
        [Arch::X86_64, Arch::Aarch64].into_iter().find(|arch| crate::table::machine(*arch) == machine)?;
    let held = file.get(CODE_AT..)?;
    let code = [code(arch), single_file_code(arch)].into_iter().find(|code| held.starts_with(code))?;
    let table = held.get(code.len()..)?;
    let size = u32::from_le_bytes(*table.get(8..)?.first_chunk()?);
    table.get(..usize::try_from(size).ok()?)
}

/// The ELF header of a position-independent program (ET_DYN) that begins behind the mark.
fn header(arch: Arch, sections_at: usize) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let short = |file: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|v| file.extend(v.to_le_bytes()));
    short(&mut file, &[3, crate::table::machine(arch)]);
    file.extend(1_u32.to_le_bytes());
    for value in [CODE_AT + MARK.len(), 64, sections_at] {
        file.extend((value as u64).to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    // Sizes and counts: the header 64, two program headers of 56, four section headers of 64, the names in the last.
    short(&mut file, &[64, 56, 2, 64, 4, 3]);
    file
}

/// A program header of a segment at offset 0 and address 0.
fn program_header(file: &mut Vec<u8>, kind_and_flags: [u32; 2], size: usize, align: u64) {
    kind_and_flags.iter().for_each(|value| file.extend(value.to_le_bytes()));
    for value in [0, 0, 0, size as u64, size as u64, align] {
        file.extend(value.to_le_bytes());
    }
}

/// A section header: name, type and flags, then the place.
fn section(file: &mut Vec<u8>, [name, kind, flags]: [u32; 3], at: usize, size: usize, is_loaded: bool) {
    [name, kind].iter().for_each(|value| file.extend(value.to_le_bytes()));
    let address = if is_loaded { at as u64 } else { 0 };
    for value in [u64::from(flags), address, at as u64, size as u64, 0, 1, 0] {
        file.extend(value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, Variant};
    use deburr_cpu::level_named;

    fn table(arch: Arch, level: &str) -> Table {
        let features = level_named(level).unwrap().features;
        let variant = Variant {
            level: level.into(),
            features,
            path: "v/prog".into(),
            payload: None,
            build: Build::default(),
            marker: None,
        };
        Table { arch, variants: vec![variant], models: Vec::new(), prefix: None, is_own_tree: false }
    }

    #[test]
    fn a_launcher_has_at_most_8_kib_and_gives_its_table_back() {
        for (arch, level) in [(Arch::X86_64, "x86-64-v4"), (Arch::Aarch64, "armv8.2-a")] {
            let table = table(arch, level);
            let file = launcher(&table).unwrap();
            assert!(file.len() <= 8192, "{arch:?}: {} bytes", file.len());
            assert!(is_launcher(&file) && code(arch).len().is_multiple_of(16));
            assert_eq!(table_bytes(&file), Some(table.encode().unwrap().as_slice()));
        }
    }

    #[test]
    fn other_files_are_no_launchers_and_cut_ones_have_no_table() {
        let file = launcher(&table(Arch::X86_64, "x86-64-v3")).unwrap();
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!is_launcher(&own) && table_bytes(&own).is_none());
        let end = file.windows(8).position(|bytes| bytes == b"deburrT2").unwrap() + 40;
        for length in 0..end {
            assert_eq!(table_bytes(&file[..length]), None, "{length}");
        }
    }
}

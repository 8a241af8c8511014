//! Merging of variants: two builds of one file → whether they run the same code.
//!
//! In: two ELF files. Out: whether what a running program sees of them is equal byte for byte, except notes: the build-id
//! and the property note (gABI, "Note Section"; x86-64 psABI, "Program Property") differ where no instruction does.

use object::LittleEndian;
use object::elf::{FileHeader64, Machine, SHF_ALLOC, SHT_NOBITS, SHT_NOTE, SectionFlags, SectionType};
use object::read::elf::{FileHeader, SectionHeader};
use std::fmt;

/// Why two files cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotComparable {
    /// What is wrong with one of them.
    pub reason: String,
}

impl fmt::Display for NotComparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a 64-bit little-endian ELF file with sections: {}", self.reason)
    }
}

impl std::error::Error for NotComparable {}

/// Whether two files hold the same code and data: their allocated sections are equal in name, kind, address, size and
/// bytes, except notes.
///
/// # Errors
/// [`NotComparable`] where one of them is no 64-bit ELF file, or has no sections to compare.
pub fn same_code(a: &[u8], b: &[u8]) -> Result<bool, NotComparable> {
    let (a, b) = (allocated(a)?, allocated(b)?);
    Ok(a == b)
}

/// What a section is to a running program.
#[derive(PartialEq, Eq)]
struct Allocated<'a> {
    name: &'a [u8],
    kind: SectionType,
    flags: SectionFlags,
    address: u64,
    size: u64,
    bytes: &'a [u8],
}

fn allocated(bytes: &[u8]) -> Result<(Machine, u64, Vec<Allocated<'_>>), NotComparable> {
    let fault = |error: object::Error| NotComparable { reason: error.to_string() };
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(fault)?;
    let endian = header.endian().map_err(fault)?;
    let sections = header.sections(endian, bytes).map_err(fault)?;
    let mut found = Vec::new();
    for section in sections.iter() {
        let kind = section.sh_type(endian);
        let flags = section.sh_flags(endian);
        if !flags.contains(SHF_ALLOC) || kind == SHT_NOTE {
            continue;
        }
        let name = sections.section_name(endian, section).map_err(fault)?;
        let bytes = if kind == SHT_NOBITS { &[][..] } else { section.data(endian, bytes).map_err(fault)? };
        let (address, size) = (section.sh_addr(endian), section.sh_size(endian));
        found.push(Allocated { name, kind, flags, address, size, bytes });
    }
    if found.is_empty() {
        return Err(NotComparable { reason: String::from("it has no allocated section") });
    }
    Ok((header.e_machine(endian), header.e_entry(endian), found))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This very program, with one byte changed in a section.
    fn changed_in(bytes: &[u8], wanted: &[u8]) -> Vec<u8> {
        let header = FileHeader64::<LittleEndian>::parse(bytes).unwrap();
        let sections = header.sections(LittleEndian, bytes).unwrap();
        let section =
            sections.iter().find(|it| sections.section_name(LittleEndian, it) == Ok(wanted)).unwrap();
        let (offset, _) = section.file_range(LittleEndian).unwrap();
        let mut changed = bytes.to_vec();
        changed[usize::try_from(offset).unwrap() + 40] ^= 1;
        changed
    }

    #[test]
    fn one_byte_of_code_counts_and_one_of_comments_does_not() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(same_code(&bytes, &bytes), Ok(true));
        assert_eq!(same_code(&bytes, &changed_in(&bytes, b".text")), Ok(false));
        assert_eq!(same_code(&bytes, &changed_in(&bytes, b".rodata")), Ok(false));
        assert_eq!(same_code(&bytes, &changed_in(&bytes, b".symtab")), Ok(true));
    }

    #[test]
    fn what_is_no_elf_file_is_an_error_and_no_panic() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(same_code(b"\x7fELF", &bytes).is_err());
        assert!(same_code(b"", &bytes).is_err());
        assert!(same_code(&bytes[..bytes.len() / 2], &bytes).is_err());
    }
}

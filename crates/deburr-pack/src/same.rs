//! Merging of variants: two builds of one file → whether they run the same code.
//!
//! In: two ELF files. Out: whether what a running program sees of them is equal byte for byte, except notes: the build-id
//! and the property note (gABI, "Note Section"; x86-64 psABI, "Program Property") differ where no instruction does. The tables of the
//! dynamic loader come after the notes, so that a longer note moves them: they are found through `.dynamic` alone (gABI, "Dynamic
//! Section"), and may be elsewhere if they say the same.

use object::LittleEndian;
use object::elf::{
    FileHeader64, Machine, SHF_ALLOC, SHT_DYNAMIC, SHT_DYNSYM, SHT_GNU_HASH, SHT_GNU_VERDEF, SHT_GNU_VERNEED,
    SHT_GNU_VERSYM, SHT_HASH, SHT_NOBITS, SHT_NOTE, SHT_REL, SHT_RELA, SHT_RELR, SHT_STRTAB, SectionFlags,
    SectionType,
};
use object::read::elf::{FileHeader, SectionHeader};
use std::borrow::Cow;
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
    /// `None`: only the dynamic loader looks at it, and finds it wherever it is.
    address: Option<u64>,
    size: u64,
    bytes: Cow<'a, [u8]>,
}

/// Whether a section is a table that only the dynamic loader reads, by its address in `.dynamic`.
fn is_of_loader(kind: SectionType) -> bool {
    [
        SHT_GNU_HASH,
        SHT_HASH,
        SHT_DYNSYM,
        SHT_STRTAB,
        SHT_REL,
        SHT_RELA,
        SHT_RELR,
        SHT_GNU_VERSYM,
        SHT_GNU_VERNEED,
        SHT_GNU_VERDEF,
    ]
    .contains(&kind)
}

/// `.dynamic` with the places of tables among `tables` for their addresses. An entry is a tag and a value of 8 bytes each.
fn with_places(dynamic: &[u8], tables: &[u64]) -> Vec<u8> {
    let mut made = Vec::with_capacity(dynamic.len());
    for entry in dynamic.chunks(16) {
        let value = entry.get(8..).and_then(|value| value.try_into().ok()).map(u64::from_le_bytes);
        let place = tables.iter().position(|address| value == Some(*address));
        match (place, entry.get(..8)) {
            (Some(place), Some(tag)) => {
                made.extend_from_slice(tag);
                made.extend_from_slice(b"table");
                made.extend(place.to_le_bytes());
            }
            _ => made.extend_from_slice(entry),
        }
    }
    made
}

/// A symbol table without the numbers of sections (gABI, "Symbol Table": `st_shndx`, at byte 6 of 24), which one more note shifts;
/// what is undefined (0) or special (from 0xff00 on) keeps its own.
fn without_numbers(symbols: &[u8]) -> Vec<u8> {
    let mut made = symbols.to_vec();
    for number in made.chunks_exact_mut(24).filter_map(|symbol| symbol.get_mut(6..8)) {
        if *number != [0, 0] && number.last() != Some(&0xff) {
            number.copy_from_slice(&[1, 0]);
        }
    }
    made
}

fn allocated(bytes: &[u8]) -> Result<(Machine, u64, Vec<Allocated<'_>>), NotComparable> {
    let fault = |error: object::Error| NotComparable { reason: error.to_string() };
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(fault)?;
    let endian = header.endian().map_err(fault)?;
    let sections = header.sections(endian, bytes).map_err(fault)?;
    let is_there = |section: &&_| {
        let section: &object::elf::SectionHeader64<LittleEndian> = section;
        section.sh_flags(endian).contains(SHF_ALLOC)
    };
    let tables = sections.iter().filter(is_there).filter(|section| is_of_loader(section.sh_type(endian)));
    let tables: Vec<u64> = tables.map(|section| section.sh_addr(endian)).collect();
    let mut found = Vec::new();
    for section in sections.iter() {
        let kind = section.sh_type(endian);
        let flags = section.sh_flags(endian);
        if !flags.contains(SHF_ALLOC) || kind == SHT_NOTE {
            continue;
        }
        let name = sections.section_name(endian, section).map_err(fault)?;
        let bytes = if kind == SHT_NOBITS { &[][..] } else { section.data(endian, bytes).map_err(fault)? };
        let bytes = match kind {
            SHT_DYNAMIC => Cow::Owned(with_places(bytes, &tables)),
            SHT_DYNSYM => Cow::Owned(without_numbers(bytes)),
            _ => Cow::Borrowed(bytes),
        };
        let address = (!is_of_loader(kind)).then(|| section.sh_addr(endian));
        let size = section.sh_size(endian);
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
    fn a_table_that_a_longer_note_moves_is_the_same_table() {
        let entry = |tag: u64, value: u64| [tag.to_le_bytes(), value.to_le_bytes()].concat();
        // DT_STRTAB, DT_SYMTAB and DT_STRSZ.
        let dynamic =
            |strings, symbols, size| [entry(5, strings), entry(6, symbols), entry(10, size)].concat();
        let one = with_places(&dynamic(0x318, 0x288, 0x59), &[0x288, 0x318]);
        assert_eq!(one, with_places(&dynamic(0x3a8, 0x318, 0x59), &[0x318, 0x3a8]));
        assert_ne!(one, with_places(&dynamic(0x318, 0x3a8, 0x59), &[0x318, 0x3a8]));
        assert_ne!(one, with_places(&dynamic(0x3a8, 0x318, 0x60), &[0x318, 0x3a8]));
        // What is not whole stays as it is.
        assert_eq!(with_places(&[1, 2, 3], &[0]), [1, 2, 3]);
    }

    #[test]
    fn symbols_are_the_same_in_a_section_of_another_number() {
        let symbol = |section: u16, value: u64| {
            let mut symbol = vec![1, 0, 0, 0, 0x12, 0];
            symbol.extend(section.to_le_bytes());
            symbol.extend(value.to_le_bytes());
            symbol.extend([6, 0, 0, 0, 0, 0, 0, 0]);
            symbol
        };
        let same = |a: Vec<u8>, b: Vec<u8>| without_numbers(&a) == without_numbers(&b);
        assert!(same(symbol(9, 0x1120), symbol(10, 0x1120)));
        assert!(!same(symbol(9, 0x1120), symbol(9, 0x1130)));
        // SHN_UNDEF and SHN_ABS.
        assert!(!same(symbol(0, 0), symbol(9, 0)) && !same(symbol(0xfff1, 0), symbol(9, 0)));
    }

    #[test]
    fn what_is_no_elf_file_is_an_error_and_no_panic() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(same_code(b"\x7fELF", &bytes).is_err());
        assert!(same_code(b"", &bytes).is_err());
        assert!(same_code(&bytes[..bytes.len() / 2], &bytes).is_err());
    }
}

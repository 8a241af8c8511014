//! The dynamic symbols of a file → what others can link with, or find by `dlsym` (gABI, "Symbol Table"; LSB, "Symbol Versioning").
//!
//! In: the bytes of an ELF file. Out: the defined names with their versions, kinds, addresses and sizes, in order. What the linker or
//! the start files define on their own, and objects of other libraries of which a program has a copy, are left out.

use object::LittleEndian;
use object::elf::{
    FileHeader64, R_AARCH64_COPY, R_X86_64_COPY, SHN_ABS, SHN_UNDEF, SHT_DYNSYM, STB_GNU_UNIQUE, STB_LOCAL,
    STB_WEAK, STT_COMMON, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT, STT_TLS,
};
use object::read::elf::{FileHeader, Rela, SectionHeader, Sym};
use std::collections::{BTreeMap, BTreeSet};

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExportKind {
    /// Code.
    Function,
    /// Code that a resolver chooses at run time; the address is the resolver's.
    Resolved,
    /// Data.
    Object,
    /// Data of each thread.
    ThreadObject,
    /// A label, which may be of anything.
    Label,
}

/// A defined dynamic symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Export {
    pub(super) kind: ExportKind,
    pub(super) address: u64,
    pub(super) size: u64,
    /// Whether the compiler emits it wherever it is used, so that each program may have its own (Itanium C++ ABI, 5.2).
    pub(super) is_vague: bool,
}

/// The names that a file defines for others, with their versions.
pub(super) type Exports<'a> = BTreeMap<(&'a [u8], &'a [u8]), Export>;

/// What the linker and the start files of C define in every file.
const OF_THE_LINKER: [&[u8]; 20] = [
    b"_init",
    b"_fini",
    b"_start",
    b"_end",
    b"end",
    b"_edata",
    b"edata",
    b"_etext",
    b"etext",
    b"__bss_start",
    b"__bss_start__",
    b"__bss_end__",
    b"_bss_end__",
    b"__end__",
    b"__data_start",
    b"data_start",
    b"__dso_handle",
    b"_IO_stdin_used",
    b"__libc_csu_init",
    b"__libc_csu_fini",
];

/// Reads the names.
///
/// # Errors
/// What is wrong with the file.
pub(super) fn exports(bytes: &[u8]) -> Result<Exports<'_>, String> {
    let fault = |error: object::Error| format!("its dynamic symbols cannot be read: {error}");
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(fault)?;
    let endian = header.endian().map_err(fault)?;
    let sections = header.sections(endian, bytes).map_err(fault)?;
    let symbols = sections.symbols(endian, bytes, SHT_DYNSYM).map_err(fault)?;
    let versions = sections.versions(endian, bytes).map_err(fault)?;
    let mut copied = BTreeSet::new();
    for section in sections.iter() {
        let Ok(Some((relocations, _))) = section.rela(endian, bytes) else { continue };
        let copies = relocations.iter().filter(|it| {
            let kind = it.r_type(endian, false);
            kind == R_X86_64_COPY || kind == R_AARCH64_COPY
        });
        copied.extend(copies.filter_map(|it| it.symbol(endian, false)).map(|symbol| symbol.0));
    }
    let mut found = Exports::new();
    for (index, symbol) in symbols.enumerate() {
        let name = symbol.name(endian, symbols.strings()).map_err(fault)?;
        let is_absent = symbol.st_shndx(endian) == SHN_UNDEF || symbol.st_bind() == STB_LOCAL;
        if is_absent || name.is_empty() || OF_THE_LINKER.contains(&name) || copied.contains(&index.0) {
            continue;
        }
        let version = match &versions {
            Some(table) => table.version(table.version_index(endian, index).index()).map_err(fault)?,
            None => None,
        };
        let version = version.map_or(&b""[..], |version| version.name());
        let kind = match symbol.st_type() {
            STT_FUNC => ExportKind::Function,
            STT_GNU_IFUNC => ExportKind::Resolved,
            STT_OBJECT | STT_COMMON => ExportKind::Object,
            STT_TLS => ExportKind::ThreadObject,
            _ => ExportKind::Label,
        };
        // The names of versions are absolute symbols.
        if symbol.st_shndx(endian) == SHN_ABS && name == version {
            continue;
        }
        let bind = symbol.st_bind();
        let is_vague = (bind == STB_WEAK || bind == STB_GNU_UNIQUE) && name.starts_with(b"_Z");
        let (address, size) = (symbol.st_value(endian), symbol.st_size(endian));
        found.insert((name, version), Export { kind, address, size, is_vague });
    }
    Ok(found)
}

/// Whether a name is of what the compiler makes of a class, which has no type of its own: tables of virtual functions, type
/// information, guards, thunks, and wrappers of thread-local objects (Itanium C++ ABI, 5.1.4); or the resolver of `target_clones`.
pub(super) fn is_of_the_compiler(name: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 12] = [
        b"_ZTV", b"_ZTT", b"_ZTI", b"_ZTS", b"_ZTC", b"_ZTh", b"_ZTv", b"_ZTc", b"_ZGV", b"_ZGR", b"_ZTW",
        b"_ZTH",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || name.ends_with(b".resolver")
}

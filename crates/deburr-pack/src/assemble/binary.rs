//! What an ELF file is to its loader, as far as the layout of variants depends on it.
//!
//! In: the bytes of a file. Out: its kind, the name that it is needed by, what it needs, and where it looks for that
//! (gABI, "Dynamic Section"; the interpreter in "Program Header").

use deburr_cpu::Arch;
use deburr_launcher::Build;
use object::LittleEndian;
use object::elf::{
    DT_FLAGS_1, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, ELF_NOTE_GNU, ELF_NOTE_GO, EM_AARCH64, EM_X86_64,
    ET_DYN, ET_EXEC, FileHeader64, NT_GNU_BUILD_ID, NT_GO_BUILD_ID, PT_INTERP, PT_LOAD,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};

/// DF_1_PIE of DT_FLAGS_1: a position-independent program.
const PIE: u64 = 0x0800_0000;

/// What an ELF file is to its loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is executed.
    Program,
    /// It is loaded.
    Library,
    /// It is linked: an object file.
    Object,
}

/// What is read of an ELF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binary {
    pub(super) kind: Kind,
    pub(super) arch: Arch,
    /// DT_SONAME.
    pub(super) name: Option<String>,
    /// DT_NEEDED.
    pub(super) needed: Vec<String>,
    /// The folders of DT_RUNPATH and DT_RPATH.
    pub(super) search: Vec<String>,
    /// Whether what it loads looks there, too (DT_RPATH without DT_RUNPATH; ld.so(8)).
    pub(super) is_search_inherited: bool,
}

impl Binary {
    /// Reads a file; `None` where it is no ELF file.
    ///
    /// # Errors
    /// What is wrong with an ELF file.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Binary>, String> {
        if !bytes.starts_with(b"\x7fELF") {
            return Ok(None);
        }
        let fault = |error: object::Error| format!("expected a 64-bit little-endian ELF file: {error}");
        let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(fault)?;
        let endian = header.endian().map_err(fault)?;
        let machine = header.e_machine(endian);
        let arch = match machine {
            EM_X86_64 => Arch::X86_64,
            EM_AARCH64 => Arch::Aarch64,
            _ => return Err(format!("expected code for x86-64 or AArch64, not for machine {machine}")),
        };
        let mut binary = Binary {
            kind: Kind::Object,
            arch,
            name: None,
            needed: Vec::new(),
            search: Vec::new(),
            is_search_inherited: false,
        };
        let mut has_runpath = false;
        let segments = header.program_headers(endian, bytes).map_err(fault)?;
        let mut is_program = segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP);
        let dynamic = segments.iter().find_map(|segment| segment.dynamic(endian, bytes).transpose());
        if let Some(entries) = dynamic.transpose().map_err(fault)? {
            let strings = header
                .sections(endian, bytes)
                .and_then(|sections| Ok(sections.dynamic(endian, bytes)?.map(|(_, link)| (sections, link))))
                .map_err(fault)?;
            let strings = strings.map(|(sections, link)| sections.strings(endian, bytes, link));
            let strings = strings.transpose().map_err(fault)?.unwrap_or_default();
            for entry in entries {
                let text = || -> Result<String, String> {
                    let text = entry.string(endian, strings).map_err(fault)?;
                    String::from_utf8(text.to_vec()).map_err(|_| "expected names in UTF-8".to_owned())
                };
                match entry.d_tag.get(endian) {
                    DT_SONAME => binary.name = Some(text()?),
                    DT_NEEDED => binary.needed.push(text()?),
                    tag @ (DT_RUNPATH | DT_RPATH) => {
                        has_runpath |= tag == DT_RUNPATH;
                        binary.is_search_inherited = !has_runpath;
                        binary.search.extend(text()?.split(':').map(str::to_owned));
                    }
                    DT_FLAGS_1 => {
                        is_program |= entry.d_val.get(endian) & PIE != 0;
                    }
                    _ => {}
                }
            }
        }
        binary.kind = match header.e_type(endian) {
            ET_EXEC => Kind::Program,
            // The C library has an interpreter, so that it can be executed, and a name, by which it is loaded.
            ET_DYN if is_program && binary.name.is_none() => Kind::Program,
            ET_DYN => Kind::Library,
            _ => Kind::Object,
        };
        Ok(Some(binary))
    }
}

/// By what a file is known, also after it was stripped; of what is no ELF file, nothing.
pub(crate) fn build_of(bytes: &[u8]) -> Build {
    let mut build = Build::default();
    let Ok(header) = FileHeader64::<LittleEndian>::parse(bytes) else { return build };
    let Ok(endian) = header.endian() else { return build };
    for segment in header.program_headers(endian, bytes).unwrap_or_default() {
        if segment.p_type(endian) == PT_LOAD {
            let end = segment.p_offset(endian).saturating_add(segment.p_filesz(endian));
            build.loaded = build.loaded.max(end);
        }
        let Ok(Some(mut notes)) = segment.notes(endian, bytes) else { continue };
        while let Ok(Some(note)) = notes.next() {
            let is_id = match note.name() {
                ELF_NOTE_GNU => note.n_type(endian) == NT_GNU_BUILD_ID,
                ELF_NOTE_GO => note.n_type(endian) == NT_GO_BUILD_ID,
                _ => false,
            };
            if is_id && build.id.is_none() && !note.desc().is_empty() {
                build.id = Some(note.desc().iter().map(|byte| format!("{byte:02x}")).collect());
            }
        }
    }
    build
}

//! An ELF file, as the later stages see it: [`Image`] and what it is made of.

use super::name::Name;
use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use deburr_cpu::Arch;

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `ET_EXEC`, or `ET_DYN` with an interpreter or the PIE flag.
    Executable,
    /// `ET_DYN` otherwise.
    SharedObject,
    /// `ET_REL`; kernel modules too.
    Relocatable,
}

/// A run of executable bytes: an executable section, or without sections an executable segment.
#[derive(Debug, Clone)]
pub struct Code<'a> {
    /// `.text`, `.plt`, or `segment 2`.
    pub name: String,
    /// Where it is.
    pub extent: Extent,
    /// The same as an offset from [`Image::code_base`].
    pub at: CodeOffset,
    /// Its position in the file.
    pub file_offset: u64,
    /// The alignment that its section states: in a relocatable object all that is known of its final place. 1 without
    /// sections.
    pub alignment: u64,
    /// Its bytes, as many as `extent` is long.
    pub bytes: &'a [u8],
}

impl Code<'_> {
    /// Whether it is a procedure linkage table.
    pub(crate) fn is_linkage_table(&self) -> bool {
        matches!(self.name.as_str(), ".plt" | ".plt.sec" | ".plt.got" | ".plt.bnd" | ".iplt")
    }
}

/// What a symbol names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolKind {
    /// `STT_FUNC`, or a function of `.gopclntab`.
    Function,
    /// `STT_GNU_IFUNC`: the resolver.
    IfuncResolver,
    /// `STT_OBJECT` in code: data.
    Object,
    /// A global `STT_NOTYPE` symbol in code: hand-written assembly.
    Label,
    /// AArch64 `$x`: code from here on.
    MapCode,
    /// AArch64 `$d`: data from here on.
    MapData,
}

/// Who names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolOrigin {
    /// `.symtab`.
    Symtab,
    /// `.dynsym`.
    Dynsym,
    /// `.gnu_debugdata`.
    MiniDebug,
    /// `.symtab` of the separate debug file.
    DebugFile,
    /// Go's `.gopclntab`.
    Pclntab,
    /// A PLT entry, named after its relocation: `memcpy@plt`.
    Plt,
}

/// A symbol in code.
#[derive(Debug, Clone)]
pub struct Symbol<'a> {
    /// Its address.
    pub svma: Svma,
    /// Its size in bytes; 0 where unknown.
    pub size: u64,
    /// The name as the file has it, not demangled.
    pub name: Name<'a>,
    /// What it names.
    pub kind: SymbolKind,
    /// Who names it.
    pub origin: SymbolOrigin,
    /// Whether other files can call it (global or weak binding).
    pub is_global: bool,
    /// Whether its name has `.cold` in it, as that of a part has that a compiler split off.
    pub is_cold: bool,
}

/// Bytes of the file that the loader maps.
#[derive(Debug, Clone, Copy)]
pub struct Loaded<'a> {
    /// Where they are.
    pub extent: Extent,
    /// As many as `extent` is long; zeroed memory that follows has none.
    pub bytes: &'a [u8],
    /// Whether they may be written to.
    pub is_writable: bool,
    /// Whether they may be executed.
    pub is_executable: bool,
}

/// The range of a frame description entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameRange {
    /// The code it describes.
    pub extent: Extent,
    /// Whether the frame is already set up at its first instruction: a part that the compiler split off
    /// (`.cold`), not a function of its own.
    pub is_part: bool,
}

/// A call or jump that the linker fills in (relocatable objects only).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer<'a> {
    /// The call or jump instruction.
    pub from: Svma,
    /// Where it goes.
    pub to: TransferTarget<'a>,
    /// Whether it is a call rather than a jump.
    pub is_call: bool,
}

/// The target of a [`Transfer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferTarget<'a> {
    /// An address in this file.
    Here(Svma),
    /// A symbol of another file.
    Elsewhere(&'a str),
}

/// What the file says about its making.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildFacts {
    /// Distinct compilers, from `.comment`: `GCC: (Debian 12.2.0-14) 12.2.0`.
    pub compilers: Vec<String>,
    /// Distinct `DW_AT_producer` values, flags included.
    pub producers: Vec<String>,
    /// Whether Go made it: it has Go's build-id note or build information.
    pub is_go: bool,
    /// Go's version (`go1.23.4`), if Go made it.
    pub go_version: Option<String>,
    /// Go's build settings (`GOARM64` → `v8.0`).
    pub go_settings: Vec<(String, String)>,
    /// `.note.gnu.property`: x86 ISA level needed (`x86-64-v3`), if stated.
    pub isa_needed: Option<String>,
    /// `.note.gnu.property` features: `IBT`, `SHSTK`, `BTI`, `PAC`.
    pub properties: Vec<String>,
    /// Whether it is a module of the Linux kernel (`.modinfo`) or the kernel itself (`.altinstructions`).
    pub is_linux_kernel: bool,
}

/// An ELF file, as far as the later stages need it.
#[derive(Debug, Clone)]
pub struct Image<'a> {
    /// The instruction set.
    pub arch: Arch,
    /// What kind of file it is.
    pub kind: Kind,
    /// The whole file.
    pub bytes: &'a [u8],
    /// Its separate debug file, where there is one.
    pub debug_file: Option<&'a [u8]>,
    /// The build-id, as lower-case hexadecimal digits.
    pub build_id: Option<String>,
    /// The executable bytes, by address, without overlap.
    pub code: Vec<Code<'a>>,
    /// The lowest address of `code`: offset 0 of every [`CodeOffset`].
    pub code_base: Svma,
    /// All symbols in code, by address, better names first at one address.
    pub symbols: Vec<Symbol<'a>>,
    /// Ranges of `.eh_frame` (or `.debug_frame`), by address.
    pub frames: Vec<FrameRange>,
    /// Where the unwinder enters functions after a call in them has thrown, by address.
    pub landing_pads: Vec<Svma>,
    /// Runs of code with the landing pad where a call in them that throws goes on, by address.
    pub call_sites: Vec<(Extent, Svma)>,
    /// Functions whose exception table is not understood, by address: what it names is not in `landing_pads`.
    pub unread_tables: Vec<Extent>,
    /// Entry point, `.init`, `.fini`, init and fini arrays: functions that the loader calls. By address.
    pub entries: Vec<Svma>,
    /// Where the system starts the program, or the dynamic linker itself.
    pub entry_point: Option<Svma>,
    /// Arrays of functions that the loader calls.
    pub arrays: Vec<(Extent, ArrayKind)>,
    /// Addresses of code that data holds (relative relocations, absolute pointers in data of relocatable
    /// objects). By address, without duplicates.
    pub pointers: Vec<Svma>,
    /// Calls and jumps that the linker fills in, by address (relocatable objects only).
    pub transfers: Vec<Transfer<'a>>,
    /// Instructions that make an address of code, and that address, where the linker fills it in, by instruction
    /// (relocatable objects only).
    pub addresses: Vec<(Svma, Svma)>,
    /// Data that nothing ever writes, by section; empty for relocatable objects, where the linker still fills it in.
    pub constants: Vec<(Extent, &'a [u8])>,
    /// What the loader maps (`PT_LOAD`), in the order of the file; empty for relocatable objects.
    pub loaded: Vec<Loaded<'a>>,
    /// Code that may be written to, by the flags of its section or segment.
    pub writable_code: Vec<Extent>,
    /// Whether it has relocations that could not be read or are of unknown types, so that pointers to code may be missing.
    pub has_unread_relocations: bool,
    /// Whether it is loaded where it says (`ET_EXEC`), so that code and data may hold whole addresses that nothing
    /// marks.
    pub is_fixed: bool,
    /// Who built it, and with what.
    pub build: BuildFacts,
    /// Non-fatal faults met while reading: `overlapping sections .a and .b: .b left out`.
    pub faults: Vec<String>,
}

impl<'a> Image<'a> {
    /// The name of the section and the address that tools such as `objdump` show for an address: in a
    /// relocatable object the offset in the section, elsewhere the address itself.
    pub fn place(&self, svma: Svma) -> (Option<&str>, u64) {
        match self.code_at(svma) {
            Some(code) if self.kind == Kind::Relocatable => (Some(&code.name), svma.0 - code.extent.start.0),
            Some(code) => (Some(&code.name), svma.0),
            None => (None, svma.0),
        }
    }

    /// An address as text, as such tools show it.
    pub fn shown(&self, svma: Svma) -> String {
        format!("{:#x}", self.place(svma).1)
    }

    /// The run of code that holds an address.
    pub fn code_at(&self, svma: Svma) -> Option<&Code<'a>> {
        let after = self.code.partition_point(|code| code.extent.start <= svma);
        self.code.get(after.checked_sub(1)?).filter(|code| code.extent.contains(svma))
    }

    /// The code bytes from an address to the end of its section.
    pub fn bytes_at(&self, svma: Svma) -> Option<&'a [u8]> {
        let code = self.code_at(svma)?;
        code.bytes.get(usize::try_from(svma.since(code.extent.start)?).ok()?..)
    }

    /// The 4 bytes of code at an address, as little-endian Arm has instructions.
    pub fn word_at(&self, svma: Svma) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes_at(svma)?.first_chunk()?))
    }

    /// Bytes of read-only data.
    pub fn constant(&self, at: Svma, length: u64) -> Option<&'a [u8]> {
        let (extent, bytes) = self.constants.iter().find(|(extent, _)| extent.contains(at))?;
        let from = usize::try_from(at.since(extent.start)?).ok()?;
        bytes.get(from..from.checked_add(usize::try_from(length).ok()?)?)
    }

    /// The address of an offset.
    pub fn svma(&self, at: CodeOffset) -> Svma {
        Svma(self.code_base.0 + u64::from(at))
    }

    /// The offset of an address in code.
    pub fn code_offset(&self, svma: Svma) -> Option<CodeOffset> {
        self.code_at(svma)?;
        CodeOffset::try_from(svma.since(self.code_base)?).ok()
    }
}

/// Functions that the loader calls before or after the program proper, by the kind of array that lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArrayKind {
    /// `DT_PREINIT_ARRAY`.
    Preinit,
    /// `DT_INIT_ARRAY`, or `.ctors`.
    Init,
    /// `DT_FINI_ARRAY`, or `.dtors`.
    Fini,
}

//! The program headers and the dynamic section → what a file makes the loader change that systems may refuse to change.
//!
//! In: the bytes of a file, of which headers are read. Out: [`Rights`]. Follows glibc 2.41 (`elf/dl-load.c`): a library needs
//! an executable stack if its `PT_GNU_STACK` says so, or on x86-64 if it lacks that header (`sysdeps/x86_64/stackinfo.h`); and musl 1.2.5
//! (`ldso/dynlink.c`), which makes a file with `DT_TEXTREL` writable, and does not look at `DF_TEXTREL`.

use crate::image::elf::{DT_FLAGS, Elf, PF_X, PT_DYNAMIC};
use crate::image::{Error, Kind};
use deburr_cpu::Arch;

const PT_GNU_STACK: u32 = 0x6474_e551;
const DT_TEXTREL: u64 = 22;
const DT_RELR: u64 = 36;
const DF_TEXTREL: u64 = 4;

/// What a file makes the loader change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Whether it is a library that needs an executable stack.
    pub executable_stack: bool,
    /// Whether its headers say so; otherwise they say nothing.
    pub is_stack_stated: bool,
    /// Whether relocations change code, or other data that is not to be written.
    pub text_relocations: bool,
    /// Whether it has relocations that glibc before 2.36 does not apply (`DT_RELR`).
    pub packed_relocations: bool,
}

/// Reads what a file makes the loader change: nothing of a relocatable object or a static program.
///
/// # Errors
/// [`Error`], where the file is not an ELF file that deburr reads.
pub fn rights(bytes: &[u8]) -> Result<Rights, Error> {
    let elf = Elf::parse(bytes)?;
    let is_loaded =
        elf.kind != Kind::Relocatable && elf.segments.iter().any(|segment| segment.kind == PT_DYNAMIC);
    let stack = elf.segments.iter().find(|segment| segment.kind == PT_GNU_STACK);
    let is_executable = stack.map_or(elf.arch == Arch::X86_64, |stack| stack.flags & PF_X != 0);
    let has = |wanted: u64| elf.dynamic_value(wanted).is_some();
    let is_flagged = elf.dynamic_value(DT_FLAGS).is_some_and(|flags| flags & DF_TEXTREL != 0);
    Ok(Rights {
        executable_stack: is_loaded && elf.kind == Kind::SharedObject && is_executable,
        is_stack_stated: stack.is_some(),
        text_relocations: is_loaded && (has(DT_TEXTREL) || is_flagged),
        packed_relocations: is_loaded && has(DT_RELR),
    })
}

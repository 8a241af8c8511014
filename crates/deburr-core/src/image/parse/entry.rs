//! Where a process starts: `e_entry`, of files that a process starts with.
//!
//! In: the headers of an ELF file. Out: its entry point, if it has one. Linkers write an entry point into every shared object, the start
//! of `.text` where there is no `_start` (ld(1), "Setting the Entry Point"), and nothing ever jumps there. A shared object that is one by
//! its headers may still be a program: the loader itself, and a static PIE of a linker that does not set `DF_1_PIE`. These start as the
//! psABIs say: the deepest frame is marked by a zero frame pointer, and arguments are read from the stack pointer.

use super::frames;
use super::symbols::{SymbolTable, dynamic_functions};
use crate::image::Kind;
use crate::image::elf::{Elf, SHT_SYMTAB};
use deburr_cpu::Arch;

/// The address of the entry point; 0 where there is none.
pub(super) fn of(elf: &Elf<'_>) -> u64 {
    let entry = elf.entry;
    if entry == 0 || elf.kind != Kind::SharedObject || starts_process(elf, entry) {
        return entry;
    }
    let symbols = || SymbolTable::of_kind(elf, SHT_SYMTAB).into_iter().chain(SymbolTable::dynamic(elf));
    let mut named = symbols().flat_map(|table| {
        let here = table.iter().filter(move |(_, symbol)| symbol.section != 0 && symbol.value == entry);
        here.map(move |(_, symbol)| (symbol.kind(), table.name(&symbol) == b"_start")).collect::<Vec<_>>()
    });
    /// `STT_FUNC`.
    const FUNCTION: u8 = 2;
    let is_default = elf.section(".text").is_none_or(|text| text.svma == entry);
    let is_entry = match is_default {
        true => named.any(|(_, is_start)| is_start),
        false => {
            named.any(|(kind, is_start)| kind == FUNCTION || is_start)
                || dynamic_functions(elf).contains(&entry)
                || frames::starts(elf).contains(&entry)
        }
    };
    if is_entry { entry } else { 0 }
}

/// Whether the code at an address begins like that of a process: no function that is called clears the frame pointer, or passes on the
/// stack pointer, before it has done anything else.
fn starts_process(elf: &Elf<'_>, entry: u64) -> bool {
    /// Bytes that are looked at.
    const LENGTH: u64 = 12;
    let Some(code) = elf.bytes_of(entry, LENGTH) else { return false };
    match elf.arch {
        Arch::X86_64 => {
            const BEGINNINGS: [&[u8]; 5] = [
                // xor %ebp,%ebp
                &[0x31, 0xed],
                &[0x33, 0xed],
                // xor %rbp,%rbp
                &[0x48, 0x31, 0xed],
                // mov %rsp,%rdi
                &[0x48, 0x89, 0xe7],
                &[0x48, 0x8b, 0xfc],
            ];
            // endbr64
            let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
            BEGINNINGS.iter().any(|beginning| code.starts_with(beginning))
        }
        Arch::Aarch64 => {
            let words =
                code.chunks_exact(4).filter_map(|word| Some(u32::from_le_bytes(word.try_into().ok()?)));
            // Hints: nop, bti c, paciasp.
            let mut rest = words.skip_while(|word| word & 0xffff_f01f == 0xd503_201f);
            // mov x29, #0; mov x29, xzr; mov x0, sp.
            rest.next().is_some_and(|word| matches!(word, 0xd280_001d | 0xaa1f_03fd | 0x9100_03e0))
        }
    }
}

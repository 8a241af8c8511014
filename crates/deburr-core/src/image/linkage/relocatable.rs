//! Relocations of an object → cells and imports of its data, and what its instructions refer to.
//!
//! In: the relocated sections of an `ET_REL` file, whose addresses are those of the image's layout: data follows code.
//! Out: the lists of [`Linkage`], not yet sorted.
//! Follows the x86-64 psABI, "Relocation Types", and the AArch64 ELF supplement, "Static AArch64 relocations".

use super::model::{Cell, IFUNC, Import, Linkage, Reference, ReferenceTarget, Resolved, TLS};
use crate::address::Svma;
use crate::image::elf::{Elf, Section};
use crate::image::parse::relocations::{
    Dynamic, InCode, Rela, Relocated, dynamic_kind, entries_of, in_code, relocated_sections,
};
use crate::image::parse::symbols::{RawSymbol, SymbolTable};
use deburr_cpu::Arch;

const SHN_UNDEF: u16 = 0;
const SHN_COMMON: u16 = 0xfff2;

/// How the linker fills in a field of an instruction.
#[derive(Debug, Clone, Copy)]
struct Field {
    is_relative: bool,
    is_slot: bool,
}

fn field(arch: Arch, kind: u32) -> Option<Field> {
    let (is_relative, is_slot) = match (arch, kind) {
        // PC32, PLT32
        (Arch::X86_64, 2 | 4) => (true, false),
        // GOTPCREL, GOTPCRELX, REX_GOTPCRELX, CODE_4_GOTPCRELX
        (Arch::X86_64, 9 | 41 | 42 | 43) => (true, true),
        // 64, 32, 32S
        (Arch::X86_64, 1 | 10 | 11) => (false, false),
        // LD_PREL_LO19, ADR_PREL_LO21, ADR_PREL_PG_HI21 and its unchecked form, ADD_ABS_LO12_NC, LDST8 to LDST128
        (Arch::Aarch64, 273..=278 | 284..=286 | 299) => (false, false),
        // GOT_LD_PREL19, ADR_GOT_PAGE, LD64_GOT_LO12_NC, LD64_GOTPAGE_LO15
        (Arch::Aarch64, 309 | 311..=313) => (false, true),
        _ => return None,
    };
    Some(Field { is_relative, is_slot })
}

/// What a symbol refers to.
enum Meaning<'e, 'a> {
    /// An address of this file, and the section it is in.
    Here(Svma, Option<&'e Section<'a>>),
    /// A name that other files define.
    Elsewhere(&'a str),
}

fn meaning<'e, 'a>(
    elf: &'e Elf<'a>,
    table: &SymbolTable<'a>,
    symbol: &RawSymbol,
    index: u64,
) -> Option<Meaning<'e, 'a>> {
    if matches!(symbol.section, SHN_UNDEF | SHN_COMMON) {
        // `memcpy@GLIBC_2.14`
        let name = table.text(symbol).split('@').next().unwrap_or("");
        return (!name.is_empty()).then_some(Meaning::Elsewhere(name));
    }
    let svma = table.svma(elf, symbol, index)?;
    Some(Meaning::Here(Svma(svma), table.section(elf, symbol, index)))
}

/// Reads the relocations of an object.
pub(super) fn read<'a>(elf: &Elf<'a>, out: &mut Linkage<'a>) {
    for section in relocated_sections(elf) {
        for rela in entries_of(section.table) {
            let Some(symbol) = section.symbols.get(rela.symbol).filter(|symbol| symbol.kind() != TLS) else {
                continue;
            };
            let Some(meaning) = meaning(elf, &section.symbols, &symbol, rela.symbol) else { continue };
            let at = Svma(section.target.svma.saturating_add(rela.offset));
            // A pool of constants between functions holds addresses as data does.
            let is_pool = elf.arch == Arch::Aarch64 || !section.target.is_executable();
            if is_pool && dynamic_kind(elf.arch, rela.kind) == Some(Dynamic::Absolute) {
                add_cell(at, &meaning, &symbol, rela.addend, out);
            } else if section.target.is_executable()
                && let Some(reference) = reference(elf.arch, &section, &rela, at, &meaning)
            {
                add_slot(&reference, out);
                out.references.push(reference);
            }
        }
    }
}

fn add_cell<'a>(at: Svma, meaning: &Meaning<'_, 'a>, symbol: &RawSymbol, addend: i64, out: &mut Linkage<'a>) {
    match *meaning {
        Meaning::Here(svma, _) if symbol.kind() == IFUNC => {
            out.resolved.push(Resolved { at, resolver: svma });
        }
        Meaning::Here(svma, _) => out.cells.push(Cell { at, to: svma.offset(addend) }),
        Meaning::Elsewhere(name) => out.imports.push(Import { at, name, is_copy: false }),
    }
}

/// The linker makes a slot for what an instruction reads through one. Until then, the field of the instruction stands for it.
fn add_slot<'a>(reference: &Reference<'a>, out: &mut Linkage<'a>) {
    match reference.to {
        ReferenceTarget::Here(to) if reference.is_slot => out.cells.push(Cell { at: reference.at, to }),
        ReferenceTarget::Here(_) => {}
        ReferenceTarget::Elsewhere(name) => {
            out.imports.push(Import { at: reference.at, name, is_copy: false });
        }
    }
}

fn reference<'a>(
    arch: Arch,
    section: &Relocated<'_, 'a>,
    rela: &Rela,
    at: Svma,
    meaning: &Meaning<'_, 'a>,
) -> Option<Reference<'a>> {
    let Field { is_relative, is_slot } = field(arch, rela.kind)?;
    let use_ = in_code(arch, rela.kind, section.bytes, usize::try_from(rela.offset).ok()?);
    if matches!(use_, Some(InCode::Transfer { .. })) {
        return None;
    }
    // A field relative to the next instruction has that distance, 4 bytes, in its addend.
    let addend = rela.addend.wrapping_add(if is_relative { 4 } else { 0 });
    let (to, offset) = match *meaning {
        Meaning::Here(_, Some(section)) if section.is_executable() => return None,
        Meaning::Here(svma, _) => (ReferenceTarget::Here(svma.offset(addend)), 0),
        Meaning::Elsewhere(name) => (ReferenceTarget::Elsewhere(name), addend),
    };
    Some(Reference { at, to, offset, is_relative, is_slot })
}

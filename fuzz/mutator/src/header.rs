//! Edits of headers: the file's, the segments', the sections'. Each says whether it changed the file.

use crate::bench::Bench;
use crate::field::interesting;
use crate::file::{E_ENTRY, E_MACHINE, E_PHNUM, E_PHOFF, E_SHNUM, E_SHOFF, E_SHSTRNDX, E_TYPE, PHDR, SHDR};

/// A field of the ELF header.
pub(crate) fn file_header(bench: &mut Bench<'_>) -> bool {
    const WIDE: [usize; 3] = [E_ENTRY, E_PHOFF, E_SHOFF];
    const NARROW: [usize; 3] = [E_PHNUM, E_SHNUM, E_SHSTRNDX];
    match bench.random.below(8) {
        0 => {
            let kind = bench.random.one_of(&[1, 2, 3]);
            bench.write(E_TYPE, 2, kind)
        }
        1 => {
            let machine = bench.random.one_of(&[62, 183]);
            bench.write(E_MACHINE, 2, machine)
        }
        2 | 3 => {
            let field = bench.random.one_of(&WIDE);
            bench.disturb(field, 8)
        }
        4 | 5 => {
            let entry = bench.address();
            bench.write(E_ENTRY, 8, entry)
        }
        _ => {
            let field = bench.random.one_of(&NARROW);
            let old = bench.read(field, 2);
            let count = if bench.random.once_in(3) {
                interesting(old, bench.bytes.len(), bench.random)
            } else {
                bench.random.below(old as usize + 2) as u64
            };
            bench.write(field, 2, count)
        }
    }
}

/// A field of a program header, or the order of two.
pub(crate) fn segment(bench: &mut Bench<'_>) -> bool {
    let table = bench.file.segment_headers;
    if bench.random.once_in(5) {
        return bench.rearrange(table, PHDR);
    }
    let Some(header) = bench.entry(table, PHDR) else { return false };
    match bench.random.below(4) {
        0 => {
            const KINDS: [u64; 10] = [0, 1, 2, 3, 4, 6, 7, 0x6474_e550, 0x6474_e551, 0x6474_e553]; // to PT_GNU_PROPERTY
            let kind = bench.random.one_of(&KINDS);
            bench.write(header, 4, kind)
        }
        1 => {
            let flags = bench.random.below(8) as u64;
            bench.write(header + 4, 4, flags)
        }
        _ => {
            let field = 8 + 8 * bench.random.below(6);
            bench.disturb(header + field, 8)
        }
    }
}

/// A field of a section header.
pub(crate) fn section(bench: &mut Bench<'_>) -> bool {
    let Some(header) = bench.entry(bench.file.section_headers, SHDR) else { return false };
    let count = bench.file.section_headers.size / SHDR;
    match bench.random.below(8) {
        0 => {
            const KINDS: [u64; 16] = [
                0,
                1,
                2,
                3,
                4,
                5,
                6,
                7,
                8,
                9,
                11,
                14,
                15,
                16,
                18,
                0x6fff_fff6, // to SHT_GNU_HASH
            ];
            let kind = bench.random.one_of(&KINDS);
            bench.write(header + 4, 4, kind)
        }
        1 => {
            // Write, alloc, execute, merge, strings, group, TLS, compressed.
            const FLAGS: [u32; 8] = [0, 1, 2, 4, 5, 9, 10, 11];
            let bit = bench.random.one_of(&FLAGS);
            let old = bench.read(header + 8, 8);
            bench.write(header + 8, 8, old ^ 1 << bit)
        }
        2 => {
            let link = bench.random.below(count + 1) as u64;
            bench.write(header + 40, 4, link)
        }
        3 => {
            let info = bench.random.below(count + 1) as u64;
            bench.write(header + 44, 4, info)
        }
        4 => bench.disturb(header + 56, 8),
        5 => {
            let other = bench.entry(bench.file.section_headers, SHDR).unwrap_or(header);
            let name = bench.read(other, 4);
            bench.write(header, 4, name)
        }
        _ => {
            let field = bench.random.one_of(&[16, 24, 32, 48]);
            bench.disturb(header + field, 8)
        }
    }
}

/// A section moved over another, made longer or shorter, or swapped with another.
pub(crate) fn overlap(bench: &mut Bench<'_>) -> bool {
    let table = bench.file.section_headers;
    if bench.random.once_in(4) {
        return bench.rearrange(table, SHDR);
    }
    let (Some(one), Some(other)) = (bench.entry(table, SHDR), bench.entry(table, SHDR)) else { return false };
    let shift = bench.random.one_of(&[0, 1, 4, 8, 16]);
    if bench.random.once_in(2) {
        let size = bench.read(one + 32, 8);
        let size = if bench.random.once_in(2) { size.wrapping_add(shift) } else { size.wrapping_sub(shift) };
        return bench.write(one + 32, 8, size);
    }
    let mut changed = false;
    for field in [16, 24, 32] {
        let value = bench.read(one + field, 8).wrapping_add(shift);
        changed |= bench.write(other + field, 8, value);
    }
    changed
}

/// No section headers: the file as `sstrip` leaves it; or no program headers.
pub(crate) fn strip(bench: &mut Bench<'_>) -> bool {
    if bench.random.once_in(3) {
        bench.write(E_PHNUM, 2, 0)
    } else {
        let stripped = bench.write(E_SHNUM, 2, 0);
        bench.write(E_SHOFF, 8, 0) || stripped
    }
}

//! Edits of what describes code: DWARF's entries, abbreviations and lines, and Go's table of functions. Each says whether it changed
//! the file. Follows DWARF 5, 7.5 to 7.7, and the Go sources, `src/internal/abi/symtab.go`.

use crate::bench::Bench;
use crate::file::Part;

/// `DW_TAG_*` that nest, with what they say of children: compile unit, subprogram, inlined subroutine, lexical block, namespace.
const TAGS: [u64; 5] = [0x11, 0x2e, 0x1d, 0x0b, 0x39];
/// `DW_FORM_*`: address, data of 1 to 8 bytes, references, strings, blocks, indexes, lists, a form in place, a constant in the
/// abbreviation.
const FORMS: [u64; 20] = [
    0x01, 0x0b, 0x05, 0x06, 0x07, 0x11, 0x12, 0x13, 0x14, 0x15, 0x08, 0x0e, 0x18, 0x1b, 0x1a, 0x25, 0x23,
    0x17, 0x16, 0x21,
];
/// `DW_AT_*`: name, linkage name, lower and higher end, ranges, origin, specification, call file and line, producer.
const ATTRIBUTES: [u64; 10] = [0x03, 0x6e, 0x11, 0x12, 0x55, 0x31, 0x47, 0x58, 0x59, 0x25];
/// Words of the header of Go's table: the numbers of functions and files, where text begins, and where its five parts are.
const GO_HEADER: usize = 9 * 8;

fn parts(bench: &Bench<'_>, names: &[&[u8]]) -> Vec<Part> {
    names.iter().flat_map(|name| bench.file.named(bench.bytes, name)).collect()
}

/// Entries: a word, a run of them a second time and a third (which nests), a reference to another place of the section.
pub(crate) fn entries(bench: &mut Bench<'_>) -> bool {
    let parts = parts(bench, &[b".debug_info", b".debug_types"]);
    let Some(part) = bench.pick(&parts) else { return false };
    let at = part.at + bench.random.below(part.size);
    match bench.random.below(4) {
        0 => {
            let width = bench.random.one_of(&[1, 2, 4, 8]);
            bench.disturb(at, width)
        }
        1 => {
            // The code of an abbreviation.
            let code = bench.random.below(12) as u64;
            bench.write(at, 1, code)
        }
        2 => {
            let to = bench.random.below(part.size) as u64;
            bench.write(at, 4, to)
        }
        _ => {
            let length = 1 + bench.random.below(48.min(part.end() - at));
            let Some(run) = bench.bytes.get(at..at + length).map(<[u8]>::to_vec) else { return false };
            let again = run.repeat(1 + bench.random.below(24));
            let room = part.end() - at;
            let again = again.get(..again.len().min(room)).unwrap_or_default().to_vec();
            bench.put(at, &again)
        }
    }
}

/// Abbreviations: a tag, whether it has children, an attribute or a form.
pub(crate) fn abbreviations(bench: &mut Bench<'_>) -> bool {
    let parts = parts(bench, &[b".debug_abbrev"]);
    let Some(part) = bench.pick(&parts) else { return false };
    let at = part.at + bench.random.below(part.size);
    let value = match bench.random.below(4) {
        0 => bench.random.one_of(&TAGS),
        1 => bench.random.one_of(&FORMS),
        2 => bench.random.one_of(&ATTRIBUTES),
        _ => bench.random.below(3) as u64,
    };
    bench.write(at, 1, value)
}

/// Lines, ranges, addresses and texts: a word, or noise.
pub(crate) fn lists(bench: &mut Bench<'_>) -> bool {
    const NAMES: [&[u8]; 9] = [
        b".debug_line",
        b".debug_ranges",
        b".debug_rnglists",
        b".debug_loclists",
        b".debug_addr",
        b".debug_str",
        b".debug_str_offsets",
        b".debug_line_str",
        b".debug_aranges",
    ];
    let parts = parts(bench, &NAMES);
    let Some(part) = bench.pick(&parts) else { return false };
    let at = part.at + bench.random.below(part.size);
    if bench.random.once_in(3) {
        let length = (1 + bench.random.below(8)).min(part.end() - at);
        let noise = bench.noise(length);
        return bench.put(at, &noise);
    }
    let width = bench.random.one_of(&[1, 2, 4, 8]);
    bench.disturb(at, width)
}

/// Go's table of functions: a word of its header, a row that leads elsewhere, a word of a function's record.
pub(crate) fn go_table(bench: &mut Bench<'_>) -> bool {
    let parts = parts(bench, &[b".gopclntab", b".data.rel.ro.gopclntab"]);
    let Some(part) = bench.pick(&parts) else { return false };
    match bench.random.below(4) {
        0 => {
            let word = 8 * bench.random.below(GO_HEADER / 8);
            bench.disturb(part.at + word, 8)
        }
        1 => {
            let word = 8 * (1 + bench.random.below(GO_HEADER / 8 - 1));
            let value = bench.random.below(part.size) as u64;
            bench.write(part.at + word, 8, value)
        }
        _ => {
            let Some(word) = bench.entry(part, 4) else { return false };
            let value = bench.random.below(part.size) as u64;
            if bench.random.once_in(2) { bench.disturb(word, 4) } else { bench.write(word, 4, value) }
        }
    }
}

//! Edits of what the loader reads and of plain data: arrays of functions, notes, dynamic tags, data. Each says whether it changed
//! the file.

use crate::bench::Bench;
use crate::file::{
    DYNAMIC, Part, SHF_ALLOC, SHF_EXECINSTR, SHT_INIT_ARRAY, SHT_NOTE, SHT_PREINIT_ARRAY, SHT_PROGBITS,
};

/// A pointer of `.init_array`, `.fini_array` or `.preinit_array`.
pub(crate) fn array(bench: &mut Bench<'_>) -> bool {
    let arrays = [SHT_INIT_ARRAY, SHT_INIT_ARRAY + 1, SHT_PREINIT_ARRAY];
    let arrays: Vec<Part> = bench.file.of_kind(&arrays).collect();
    let Some(pointer) = bench.pick(&arrays).and_then(|array| bench.entry(array, 8)) else { return false };
    let address = bench.address();
    bench.write(pointer, 8, address)
}

/// A word of a note: its lengths, its type, its properties.
pub(crate) fn note(bench: &mut Bench<'_>) -> bool {
    let notes: Vec<Part> = bench.file.of_kind(&[SHT_NOTE]).collect();
    let Some(word) = bench.pick(&notes).and_then(|note| bench.entry(note, 4)) else { return false };
    // Build-id, GNU property; AArch64 features, x86 features, x86 ISA needed and used.
    const VALUES: [u64; 9] = [3, 5, 0xc000_0000, 0xc000_0002, 0xc000_8002, 0xc001_0002, 4, 16, 0xf];
    if bench.random.once_in(2) {
        let value = bench.random.one_of(&VALUES);
        bench.write(word, 4, value)
    } else {
        bench.disturb(word, 4)
    }
}

/// A tag or a value of the dynamic section, or the order of two.
pub(crate) fn dynamic(bench: &mut Bench<'_>) -> bool {
    let Some(table) = bench.file.dynamic() else { return false };
    if bench.random.once_in(5) {
        return bench.rearrange(table, DYNAMIC);
    }
    let Some(entry) = bench.entry(table, DYNAMIC) else { return false };
    if bench.random.once_in(2) {
        return bench.disturb(entry + 8, 8);
    }
    // NEEDED to FLAGS, PREINIT_ARRAY, RELR and its sizes, GNU_HASH, VERSYM, FLAGS_1.
    const TAGS: [u64; 24] = [
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
        10,
        12,
        13,
        17,
        20,
        23,
        25,
        26,
        27,
        32,
        36,
        0x6fff_fef5,
        0x6fff_fff0,
        0x6fff_fffb,
    ];
    let tag = bench.random.one_of(&TAGS);
    bench.write(entry, 8, tag)
}

/// A word of data: an address, or another value.
pub(crate) fn data(bench: &mut Bench<'_>) -> bool {
    let is_data = |flags: u64| flags & SHF_ALLOC != 0 && flags & SHF_EXECINSTR == 0;
    let sections =
        bench.file.sections.iter().filter(|section| is_data(section.flags) && section.kind == SHT_PROGBITS);
    let parts: Vec<Part> = sections.map(|section| section.part).collect();
    let Some(part) = bench.pick(&parts) else { return false };
    let width = bench.random.one_of(&[1, 2, 4, 8]);
    let Some(at) = bench.entry(part, width) else { return false };
    bench.disturb(at, width)
}

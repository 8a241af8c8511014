//! All edits, by name: the one place that lists them, and the choice between them.

use crate::bench::Bench;
use crate::file::File;
use crate::random::Sequence;
use crate::{code, debug, frame, header, relocation, symbol, table};

/// A kind of edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edit {
    /// A few bytes anywhere.
    Blind,
    /// A field of the ELF header.
    FileHeader,
    /// A program header.
    Segment,
    /// A field of a section header.
    Section,
    /// A section over another, longer or shorter.
    Overlap,
    /// A table of headers forgotten.
    Strip,
    /// A field of a symbol.
    Symbol,
    /// Symbols copied, swapped or removed.
    Symbols,
    /// A name.
    Name,
    /// A field of a relocation.
    Relocation,
    /// Relocations copied, swapped or removed.
    Relocations,
    /// The range of a frame description.
    FrameRange,
    /// What a frame description says.
    FrameContents,
    /// Entries of DWARF.
    DebugEntries,
    /// Abbreviations of DWARF.
    DebugAbbreviations,
    /// Lines, ranges, addresses and texts of DWARF.
    DebugLists,
    /// Go's table of functions.
    GoTable,
    /// A pointer that the loader calls.
    Array,
    /// A note.
    Note,
    /// The dynamic section.
    Dynamic,
    /// A word of data.
    Data,
    /// An instruction put in between.
    Insert,
    /// Several that belong together.
    Idiom,
    /// An instruction over another.
    Replace,
    /// Instructions taken out.
    Delete,
    /// Instructions a second time.
    Duplicate,
    /// A branch that leads elsewhere.
    Retarget,
    /// A register or a constant.
    Operand,
}

impl Edit {
    /// All edits; several times what reaches deepest. Code decides most of what deburr says.
    pub const WEIGHTED: [Edit; 44] = [
        Edit::Blind,
        Edit::FileHeader,
        Edit::Segment,
        Edit::Section,
        Edit::Section,
        Edit::Overlap,
        Edit::Strip,
        Edit::Symbol,
        Edit::Symbol,
        Edit::Symbols,
        Edit::Name,
        Edit::Relocation,
        Edit::Relocation,
        Edit::Relocations,
        Edit::FrameRange,
        Edit::FrameContents,
        Edit::DebugEntries,
        Edit::DebugEntries,
        Edit::DebugAbbreviations,
        Edit::DebugLists,
        Edit::GoTable,
        Edit::GoTable,
        Edit::Array,
        Edit::Note,
        Edit::Dynamic,
        Edit::Data,
        Edit::Data,
        Edit::Insert,
        Edit::Insert,
        Edit::Insert,
        Edit::Idiom,
        Edit::Idiom,
        Edit::Idiom,
        Edit::Replace,
        Edit::Replace,
        Edit::Replace,
        Edit::Delete,
        Edit::Delete,
        Edit::Duplicate,
        Edit::Retarget,
        Edit::Retarget,
        Edit::Retarget,
        Edit::Operand,
        Edit::Operand,
    ];

    fn run(self, bench: &mut Bench<'_>) -> bool {
        match self {
            Edit::Blind => blind(bench),
            Edit::FileHeader => header::file_header(bench),
            Edit::Segment => header::segment(bench),
            Edit::Section => header::section(bench),
            Edit::Overlap => header::overlap(bench),
            Edit::Strip => header::strip(bench),
            Edit::Symbol => symbol::field(bench),
            Edit::Symbols => symbol::rearrange(bench),
            Edit::Name => symbol::name(bench),
            Edit::Relocation => relocation::field(bench),
            Edit::Relocations => relocation::rearrange(bench),
            Edit::FrameRange => frame::range(bench),
            Edit::FrameContents => frame::contents(bench),
            Edit::DebugEntries => debug::entries(bench),
            Edit::DebugAbbreviations => debug::abbreviations(bench),
            Edit::DebugLists => debug::lists(bench),
            Edit::GoTable => debug::go_table(bench),
            Edit::Array => table::array(bench),
            Edit::Note => table::note(bench),
            Edit::Dynamic => table::dynamic(bench),
            Edit::Data => table::data(bench),
            Edit::Insert => code::insert(bench),
            Edit::Idiom => code::insert_idiom(bench),
            Edit::Replace => code::replace(bench),
            Edit::Delete => code::delete(bench),
            Edit::Duplicate => code::duplicate(bench),
            Edit::Retarget => code::retarget(bench),
            Edit::Operand => code::operand(bench),
        }
    }
}

/// A few bytes anywhere: other bits, an interesting number, noise, an end.
fn blind(bench: &mut Bench<'_>) -> bool {
    let at = bench.random.below(bench.bytes.len());
    match bench.random.below(4) {
        0 => {
            let byte = bench.read(at, 1) ^ 1 << bench.random.below(8);
            bench.write(at, 1, byte)
        }
        1 => {
            let width = bench.random.one_of(&[1, 2, 4, 8]);
            bench.disturb(at, width)
        }
        2 => {
            let length = 1 + bench.random.below(16);
            let noise = bench.noise(length);
            bench.put(at, &noise)
        }
        _ => {
            // Rarely, and near the end: what is lost does not come back.
            let lost = bench.random.below(64).min(bench.bytes.len() / 8);
            bench.bytes.truncate(bench.bytes.len() - lost);
            lost > 0
        }
    }
}

/// Makes one edit of a kind; whether it changed the file. There may be nothing of its kind in it.
pub fn apply(edit: Edit, data: &mut Vec<u8>, max_size: usize, random: &mut Sequence) -> bool {
    data.truncate(max_size);
    let file = File::parse(data);
    edit.run(&mut Bench { bytes: data, file, max_size, random })
}

/// Edits a file one to four times. It is afterwards no longer than `max_size`.
pub fn mutate(data: &mut Vec<u8>, max_size: usize, seed: u64) {
    /// Kinds tried until one changes something: in bytes that are no ELF file only blind edits do.
    const TRIES: usize = 12;
    let mut random = Sequence::scattered(seed);
    for _ in 0..1 + random.below(4) {
        let kinds: Vec<usize> = (0..TRIES).map(|_| random.below(Edit::WEIGHTED.len())).collect();
        let kinds = kinds.into_iter().filter_map(|kind| Edit::WEIGHTED.get(kind));
        let changed = kinds.copied().any(|edit| apply(edit, data, max_size, &mut random));
        if !changed {
            apply(Edit::Blind, data, max_size, &mut random);
        }
    }
    data.truncate(max_size);
}

//! The edits on small real files: each kind is reached, changes what it says, and nothing panics.

use deburr_mutator::{Edit, Sequence, apply, crossover, mutate};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};

const FILES: [&[u8]; 6] = [
    include_bytes!("files/x86_64-cpuid.so"),
    include_bytes!("files/aarch64-hwcap.so"),
    include_bytes!("files/x86_64-table.o"),
    include_bytes!("files/aarch64-helper.o"),
    include_bytes!("files/x86_64-debug.so"),
    include_bytes!("files/x86_64-go.so"),
];
const ROOM: usize = 8 << 10;

/// Every kind, once.
fn kinds() -> Vec<Edit> {
    let mut kinds: Vec<Edit> = Vec::new();
    for kind in Edit::WEIGHTED {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// A file after one edit of a kind, with the first seed from the given on that changes it.
fn edited(file: &[u8], kind: Edit, seed: u64) -> Option<Vec<u8>> {
    (seed..seed + 40).find_map(|seed| {
        let mut data = file.to_vec();
        let changed = apply(kind, &mut data, ROOM, &mut Sequence::scattered(seed));
        assert_eq!(changed, data != file, "{kind:?} says whether it changed anything");
        changed.then_some(data)
    })
}

/// The bytes of the sections that some edit is about, joined.
fn contents(file: &[u8], is_meant: impl Fn(&object::Section<'_, '_>) -> bool) -> Vec<u8> {
    let file = object::File::parse(file).expect("the file as it was");
    let sections = file.sections().filter(is_meant);
    sections.flat_map(|section| section.data().unwrap_or_default().to_vec()).collect()
}

/// Where the sections of a name are in the file.
fn ranges(file: &[u8], name: &str) -> Vec<(usize, usize)> {
    let file = object::File::parse(file).expect("a file");
    let named = file.sections().filter(|section| section.name().is_ok_and(|other| other.starts_with(name)));
    named
        .filter_map(|section| section.file_range())
        .map(|(at, size)| (at as usize, (at + size) as usize))
        .collect()
}

/// Whether two files of one length differ in these ranges alone, and somewhere.
fn differs_only_in(one: &[u8], other: &[u8], ranges: &[(usize, usize)]) -> bool {
    let differing: Vec<usize> = (0..one.len()).filter(|&at| one[at] != other[at]).collect();
    one.len() == other.len()
        && !differing.is_empty()
        && differing.iter().all(|at| ranges.iter().any(|(start, end)| (start..end).contains(&at)))
}

#[test]
fn every_kind_of_edit_changes_one_of_the_files() {
    for kind in kinds() {
        let changed = FILES.iter().filter(|file| edited(file, kind, 1).is_some()).count();
        assert!(changed > 0, "{kind:?} changes no file");
    }
    assert_eq!(kinds().len(), 28);
}

#[test]
fn an_edit_stays_in_the_part_that_it_is_about() {
    let places = [
        (Edit::Relocation, ".rela"),
        (Edit::Relocations, ".rela"),
        (Edit::FrameRange, ".eh_frame"),
        (Edit::FrameContents, ".eh_frame"),
        (Edit::DebugEntries, ".debug_info"),
        (Edit::DebugAbbreviations, ".debug_abbrev"),
        (Edit::DebugLists, ".debug_"),
        (Edit::GoTable, ".gopclntab"),
        (Edit::Array, ".init_array"),
        (Edit::Note, ".note"),
        (Edit::Dynamic, ".dynamic"),
        (Edit::Replace, ".text"),
        (Edit::Delete, ".text"),
        (Edit::Operand, ".text"),
        (Edit::Retarget, ".text"),
        (Edit::Name, ""),
    ];
    for (kind, section) in places {
        let mut compared = 0;
        for file in FILES {
            let ranges: Vec<_> =
                [ranges(file, section), ranges(file, if section == ".text" { ".plt" } else { section })]
                    .concat();
            for seed in (0..400).step_by(40) {
                let Some(edited) = edited(file, kind, seed) else { continue };
                // `object` lists string and symbol tables as sections, too.
                assert!(differs_only_in(file, &edited, &ranges), "{kind:?} edits more than {section}");
                compared += 1;
            }
        }
        assert!(compared > 5, "{kind:?} was compared {compared} times");
    }
}

#[test]
fn header_edits_leave_all_sections_as_they_are() {
    for kind in [Edit::FileHeader, Edit::Segment, Edit::Section, Edit::Overlap, Edit::Strip] {
        for file in FILES {
            let Some(edited) = edited(file, kind, 1) else { continue };
            for (start, end) in ranges(file, "") {
                assert_eq!(file[start..end], edited[start..end], "{kind:?}");
            }
        }
    }
}

#[test]
fn symbols_change_in_their_table_alone() {
    for kind in [Edit::Symbol, Edit::Symbols] {
        let file = FILES[1];
        let tables: Vec<_> = [ranges(file, ".symtab"), ranges(file, ".dynsym")].concat();
        for seed in (0..400).step_by(40) {
            let edited = edited(file, kind, seed).expect("there are symbols");
            assert!(differs_only_in(file, &edited, &tables), "{kind:?}");
        }
    }
}

#[test]
fn a_name_that_has_a_meaning_is_put_into_a_string_table() {
    let names = |file: &[u8]| -> Vec<String> {
        let file = object::File::parse(file).expect("names do not break headers");
        let symbols = file.symbols().chain(file.dynamic_symbols());
        symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()
    };
    let meant = (0..400).filter_map(|seed| edited(FILES[3], Edit::Name, seed)).any(|edited| {
        object::File::parse(&*edited).is_ok() && names(&edited).iter().any(|name| name == "getauxval")
    });
    assert!(meant && !names(FILES[3]).contains(&"getauxval".to_owned()));
}

#[test]
fn inserted_code_moves_what_follows_and_every_section_stays_what_it_was() {
    let is_other = |section: &object::Section<'_, '_>| section.kind() != SectionKind::Text;
    let mut grown = 0;
    for file in FILES {
        for (kind, seed) in [Edit::Insert, Edit::Idiom, Edit::Duplicate]
            .into_iter()
            .flat_map(|kind| (0..400).step_by(40).map(move |seed| (kind, seed)))
        {
            let Some(edited) = edited(file, kind, seed).filter(|edited| edited.len() > file.len()) else {
                continue;
            };
            assert_eq!(contents(file, is_other), contents(&edited, is_other), "{kind:?} {seed}");
            let text = |file| contents(file, |section| section.kind() == SectionKind::Text).len();
            assert_eq!(text(&edited) - text(file), edited.len() - file.len(), "{kind:?} {seed}");
            grown += 1;
        }
    }
    assert!(grown > 20, "{grown} files grew");
}

#[test]
fn a_retargeted_branch_is_still_that_branch() {
    let file = FILES[1];
    let words = |file: &[u8]| -> Vec<u32> {
        let code = contents(file, |section| section.kind() == SectionKind::Text);
        code.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
    };
    let mnemonic = |word: u32| {
        disarm64::decoder::decode(word)
            .map(|insn| insn.to_string().split_whitespace().next().map(str::to_owned))
    };
    let mut changed = 0;
    for seed in (0..2000).step_by(40) {
        let edited = edited(file, Edit::Retarget, seed).expect("there are branches");
        for (old, new) in words(file).into_iter().zip(words(&edited)).filter(|(old, new)| old != new) {
            assert_eq!(mnemonic(old), mnemonic(new));
            changed += 1;
        }
    }
    assert!(changed > 20);
}

#[test]
fn any_bytes_at_all_are_edited_without_a_panic_and_within_the_limit() {
    let mut random = Sequence::new(7);
    for round in 0..3000 {
        let mut data = match round % 3 {
            0 => (0..random.below(300)).map(|_| random.draw() as u8).collect(),
            1 => FILES[random.below(FILES.len())][..random.below(600)].to_vec(),
            _ => {
                // A file whose header fields are noise.
                let mut data = FILES[random.below(FILES.len())].to_vec();
                for _ in 0..8 {
                    let at = 16 + random.below(data.len() - 24);
                    data[at..at + 8].copy_from_slice(&random.draw().to_le_bytes());
                }
                data
            }
        };
        let room = random.below(5000);
        let before = data.clone();
        mutate(&mut data, room, round);
        assert!(data.len() <= room, "{} bytes in {room}", data.len());
        let mut again = before.clone();
        mutate(&mut again, room, round);
        assert_eq!(data, again, "the same seed gives the same file");
        for kind in kinds() {
            let mut data = before.clone();
            apply(kind, &mut data, room, &mut Sequence::scattered(round));
            assert!(data.len() <= room, "{kind:?}");
        }
    }
}

#[test]
fn mutations_change_nearly_every_file_and_reach_every_kind() {
    let mut outcomes = std::collections::BTreeSet::new();
    for seed in 0..1000 {
        let mut data = FILES[1].to_vec();
        mutate(&mut data, ROOM, seed);
        outcomes.insert(data);
    }
    assert!(outcomes.len() > 950, "{} different files", outcomes.len());
}

#[test]
fn a_crossed_file_has_sections_of_both() {
    let (one, other) = (FILES[1], FILES[3]);
    let mut crossed_code = 0;
    for seed in 0..200 {
        let crossed = crossover(one, other, ROOM, seed);
        assert_eq!(crossed.len(), one.len());
        assert_eq!(crossed, crossover(one, other, ROOM, seed));
        assert_eq!(crossed[..64], one[..64], "the header stays");
        let text = |file: &[u8]| contents(file, |section| section.kind() == SectionKind::Text);
        crossed_code += u32::from(text(&crossed) != text(one));
    }
    assert!(crossed_code > 20, "{crossed_code} files with other code");
    assert!(crossover(one, b"no ELF file", ROOM, 1) == one && crossover(b"", other, ROOM, 1).is_empty());
    assert!(crossover(one, other, 100, 1).len() <= 100);
}

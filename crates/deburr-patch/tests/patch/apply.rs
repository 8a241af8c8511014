//! The writing half of the patch stage: what changes, what does not, and that nothing else passes for it.

use deburr_core::Svma;
use deburr_core::image::Image;
use deburr_cpu::{Feature, FeatureSet};
use deburr_patch::{
    ApplyError, ApplyOptions, DifferenceError, NoShape, NoSpace, NoteError, Plan, PlanRequest, Reason,
    RevertError, Site, Trampoline, VerifyError, apply, difference, plan as planned, revert, verify,
};
use object::read::elf::{ElfFile64, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};
use std::ops::Range;

const SHARED_OBJECT: &[u8] = include_bytes!("../../../deburr-core/tests/image/calls-aarch64.so");
const OBJECT: &[u8] = include_bytes!("../../../deburr-core/tests/image/calls-aarch64.o");
const NOP: u32 = 0xd503201f; // nop
const BASE: u64 = 0x40_0000;
/// Where the code of a made file begins, and how long it is.
pub(crate) const CODE: Range<u64> = 256..288;

/// What a made file has.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    pub(crate) sections: bool,
    pub(crate) build_id: bool,
    /// Words of code.
    pub(crate) words: u64,
    /// Bytes that its last part is longer than a multiple of eight.
    pub(crate) odd: usize,
}

pub(crate) const SMALL: Made = Made { sections: true, build_id: true, words: 8, odd: 3 };

pub(crate) fn put(bytes: &mut [u8], at: usize, value: u64, size: usize) {
    bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// A header of 32- and 64-bit fields.
fn header(fields: &[(usize, u64)]) -> Vec<u8> {
    fields.iter().flat_map(|&(size, value)| value.to_le_bytes()[..size].to_vec()).collect()
}

fn section(name: u64, kind: u64, flags: u64, (svma, offset, size): (u64, u64, u64)) -> Vec<u8> {
    header(&[
        (4, name),
        (4, kind),
        (8, flags),
        (8, svma),
        (8, offset),
        (8, size),
        (4, 0),
        (4, 0),
        (8, 4),
        (8, 0),
    ])
}

/// An executable of one segment: headers, a build-id, code, and then what describes the sections.
pub(crate) fn made(shape: Made) -> Vec<u8> {
    let code_end = CODE.start + 4 * shape.words;
    let loaded = if shape.sections { code_end } else { code_end + shape.odd as u64 };
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(header(&[(2, 2), (2, 183), (4, 1), (8, BASE + CODE.start), (8, 64), (8, 0), (4, 0)]));
    file.extend(header(&[(2, 64), (2, 56), (2, 2), (2, 0), (2, 0), (2, 0)]));
    for (kind, flags, offset, size) in [(1, 5, 0, loaded), (4, 4, 176, 36)] {
        file.extend(header(&[(4, kind), (4, flags), (8, offset), (8, BASE + offset), (8, BASE + offset)]));
        file.extend(header(&[(8, size), (8, size), (8, 4)]));
    }
    let owner: &[u8; 4] = if shape.build_id { b"GNU\0" } else { b"XYZ\0" };
    file.extend(header(&[(4, 4), (4, 20), (4, 3)]));
    file.extend(owner);
    file.extend(1..=20);
    file.resize(CODE.start as usize, 0);
    for word in 0..shape.words as u32 {
        file.extend((0x9100_0000 | word << 10 & 0x3f_fc00).to_le_bytes());
    }
    if !shape.sections {
        file.resize(loaded as usize, 0);
        return file;
    }
    put(&mut file, 40, code_end, 8);
    for (at, value) in [(58, 64), (60, 4), (62, 3)] {
        put(&mut file, at, value, 2);
    }
    let mut names = b"\0.note.gnu.build-id\0.text\0.shstrtab\0".to_vec();
    names.resize(names.len().next_multiple_of(8) + shape.odd, 0);
    file.extend([0; 64]);
    file.extend(section(1, 7, 2, (BASE + 176, 176, 36)));
    file.extend(section(20, 1, 6, (BASE + CODE.start, CODE.start, 4 * shape.words)));
    file.extend(section(26, 3, 0, (0, code_end + 256, names.len() as u64)));
    file.extend(names);
    file
}

fn words(bytes: &[u8], file_offset: u64, count: usize) -> Vec<u32> {
    let from = file_offset as usize;
    bytes[from..from + 4 * count].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// So many instructions at an offset become `nop`.
fn site(bytes: &[u8], svma: u64, file_offset: u64, count: usize) -> Site {
    let old = words(bytes, file_offset, count);
    let new = vec![NOP; count];
    let at = Svma(svma);
    Site { rule: "llsc-loop", function: None, at, file_offset, old, new, trampoline: None, spins: false }
}

/// Two sites in each file.
fn plan(bytes: &[u8]) -> Plan {
    if bytes == SHARED_OBJECT {
        let text = [(0x340, 4), (0x360, 1)];
        return Plan {
            sites: text.map(|(at, count)| site(bytes, at, at, count)).to_vec(),
            refused: Vec::new(),
        };
    }
    let mut sites = [0, 20].map(|at| site(bytes, BASE + CODE.start + at, CODE.start + at, 3));
    sites[1].rule = "outlined-atomic";
    Plan { sites: sites.to_vec(), refused: Vec::new() }
}

fn with_new_build_id(new_build_id: bool) -> ApplyOptions {
    ApplyOptions { new_build_id, ..ApplyOptions::default() }
}

fn patched(bytes: &[u8]) -> Vec<u8> {
    apply(bytes, &plan(bytes), &ApplyOptions::default()).unwrap()
}

fn refusal(bytes: &[u8], sites: &[Site]) -> ApplyError {
    apply(bytes, &Plan { sites: sites.to_vec(), refused: Vec::new() }, &ApplyOptions::default()).unwrap_err()
}

/// Every kind of file, and whether it has a build-id.
fn originals() -> Vec<(Vec<u8>, bool)> {
    let mut files = vec![(SHARED_OBJECT.to_vec(), true)];
    for sections in [true, false] {
        for build_id in [true, false] {
            for odd in [0, 1, 3, 6] {
                files.push((made(Made { sections, build_id, odd, ..SMALL }), build_id));
            }
        }
    }
    let mut nameless = made(SMALL);
    put(&mut nameless, 62, 0, 2);
    files.push((nameless, true));
    files
}

#[test]
fn a_patched_file_gives_the_original_and_the_plan_back() {
    for (original, has_build_id) in originals() {
        let plan = plan(&original);
        for new_build_id in [false, true].into_iter().take(1 + usize::from(has_build_id)) {
            let options = with_new_build_id(new_build_id);
            let patched = apply(&original, &plan, &options).unwrap();
            assert_eq!(patched, apply(&original, &plan, &options).unwrap(), "the same bytes again");
            assert_eq!(revert(&patched).unwrap(), original);
            let changes = difference(&original, &patched).unwrap();
            assert_eq!(changes.len(), plan.sites.len());
            for (change, site) in changes.iter().zip(&plan.sites) {
                assert_eq!(
                    (&*change.rule, change.at, change.file_offset),
                    (site.rule, site.at, site.file_offset)
                );
                assert_eq!((&change.old, &change.new), (&site.old, &site.new));
            }
        }
    }
}

#[test]
fn only_sites_the_section_fields_and_the_build_id_differ() {
    for (original, has_build_id) in originals() {
        let plan = plan(&original);
        let patched = apply(&original, &plan, &with_new_build_id(has_build_id)).unwrap();
        let build_id = if original == SHARED_OBJECT { 0x1d8..0x1ec } else { 192..212 };
        let sites = plan
            .sites
            .iter()
            .map(|site| site.file_offset as usize..site.file_offset as usize + 4 * site.old.len());
        let allowed: Vec<Range<usize>> = sites.chain([40..48, 58..64, build_id.clone()]).collect();
        for (at, (old, new)) in original.iter().zip(&patched).enumerate() {
            assert!(old == new || allowed.iter().any(|range| range.contains(&at)), "file offset {at:#x}");
        }
        for site in &plan.sites {
            assert_eq!(words(&patched, site.file_offset, site.new.len()), site.new);
        }
        assert_eq!(has_build_id, original[build_id.clone()] != patched[build_id]);
    }
}

#[test]
fn another_reader_finds_the_same_sections_and_symbols_and_the_note() {
    for (original, _) in originals() {
        let patched = patched(&original);
        let new = ElfFile64::<LittleEndian>::parse(&*patched).unwrap();
        // The other reader takes no file whose sections have no names.
        let Ok(old) = ElfFile64::<LittleEndian>::parse(&*original) else { continue };
        assert_eq!(old.entry(), new.entry());
        for section in old.sections().filter(|section| !matches!(section.name(), Ok(".shstrtab" | ".text"))) {
            let same = new.section_by_index(section.index()).unwrap();
            if section.name() != Ok("") {
                assert_eq!(section.name(), same.name());
            }
            assert_eq!((section.address(), section.file_range()), (same.address(), same.file_range()));
            assert_eq!(section.data(), same.data());
        }
        let symbols = |file: &ElfFile64<'_, LittleEndian>| -> Vec<(String, u64, u64)> {
            let symbols = file.symbols().chain(file.dynamic_symbols());
            symbols
                .map(|symbol| (symbol.name().unwrap_or("?").to_owned(), symbol.address(), symbol.size()))
                .collect()
        };
        assert_eq!(symbols(&old), symbols(&new));
        assert_eq!(
            Image::parse(&original, None).unwrap().build_id,
            Image::parse(&patched, None).unwrap().build_id
        );

        let section = new.section_by_name(".note.deburr").unwrap();
        let data = new.data();
        let mut notes = section.elf_section_header().notes(LittleEndian, data).unwrap().unwrap();
        let note = notes.next().unwrap().unwrap();
        assert_eq!((note.name(), note.n_type(LittleEndian).0), (&b"deburr"[..], 1));
        assert_eq!(new.elf_header().e_shoff.get(LittleEndian) % 8, 0);
        assert!(notes.next().unwrap().is_none());
        let json: serde_json::Value = serde_json::from_slice(note.desc()).unwrap();
        assert_eq!(json["original"]["length"], original.len());
        assert_eq!(json["sites"][0][2], plan(&original).sites[0].file_offset);
    }
}

#[test]
fn the_note_is_what_is_documented() {
    let original = made(Made { words: 2, odd: 0, ..SMALL });
    let one = Plan { sites: vec![site(&original, BASE + CODE.start, CODE.start, 2)], refused: Vec::new() };
    let patched = apply(&original, &one, &ApplyOptions::default()).unwrap();
    let text = String::from_utf8_lossy(&patched);
    let expected = format!(
        "{{\"format\":1,\"tool\":\"{}\",\"original\":{{\"length\":560,\"sha256\":\"",
        env!("CARGO_PKG_VERSION")
    );
    assert!(text.contains(&expected), "{expected}");
    let rest = "\"build_id\":\"0102030405060708090a0b0c0d0e0f1011121314\",\"build_id_replaced_at\":null,\
        \"header\":{\"shoff\":264,\"shentsize\":64,\"shnum\":4,\"shstrndx\":3}},\
        \"rules\":[\"llsc-loop\"],\"sites\":[[0,4194560,256,\"9100000091000400\"]],\"digest\":\"";
    assert!(text.contains(rest), "{rest}");
}

#[test]
fn a_new_build_id_depends_on_what_was_changed() {
    let original = made(SMALL);
    let id = |plan: &Plan| apply(&original, plan, &with_new_build_id(true)).unwrap()[192..212].to_vec();
    let mut other = plan(&original);
    let whole = id(&other);
    other.sites.pop();
    assert_ne!(whole, id(&other));
    let nameless = made(Made { build_id: false, ..SMALL });
    let refused = apply(&nameless, &plan(&nameless), &with_new_build_id(true));
    assert_eq!(refused, Err(ApplyError::NoBuildId));
}

#[test]
fn a_site_that_the_file_contradicts_stops_all() {
    let original = made(SMALL);
    let good = plan(&original).sites;
    let with = |change: &dyn Fn(&mut Site)| {
        let mut sites = good.clone();
        change(&mut sites[1]);
        refusal(&original, &sites)
    };
    let at = Svma(BASE + 276);
    let words = |found| ApplyError::Words { at: at.offset(4), file_offset: 280, expected: NOP, found };
    assert_eq!(with(&|site| site.old[1] = NOP), words(Some(0x9100_1800)));
    assert_eq!(with(&|site| site.at = Svma(BASE)), ApplyError::NotCode { at: Svma(BASE), file_offset: 276 });
    assert_eq!(with(&|site| site.new = vec![NOP]), ApplyError::Lengths { at });
    assert_eq!(with(&|site| (site.old, site.new) = (vec![], vec![])), ApplyError::Lengths { at });
    assert_eq!(with(&|site| site.file_offset = u64::MAX), ApplyError::NotCode { at, file_offset: u64::MAX });
    // One instruction after the end of the section, and what is in the segment but in no executable section.
    let long = site(&original, BASE + 276, 276, 4);
    assert_eq!(refusal(&original, &[long]), ApplyError::NotCode { at, file_offset: 276 });
    let note = site(&original, BASE + 192, 192, 1);
    assert_eq!(refusal(&original, &[note]), ApplyError::NotCode { at: Svma(BASE + 192), file_offset: 192 });
    let overlapping = site(&original, BASE + 264, 264, 2);
    assert_eq!(refusal(&original, &[good[0].clone(), overlapping]), ApplyError::Overlap { file_offset: 264 });
    assert_eq!(refusal(&original, &[]), ApplyError::NoSites);
}

#[test]
fn headers_and_a_replaced_build_id_are_no_site() {
    let bare = made(Made { sections: false, ..SMALL });
    for at in [0, 60, 64, 172] {
        let header = site(&bare, BASE + at, at, 1);
        assert_eq!(refusal(&bare, &[header]), ApplyError::NotCode { at: Svma(BASE + at), file_offset: at });
    }
    let sites = vec![site(&bare, BASE + 208, 208, 1)];
    let error = apply(&bare, &Plan { sites, refused: Vec::new() }, &with_new_build_id(true)).unwrap_err();
    assert_eq!(error, ApplyError::Overlap { file_offset: 208 });
}

#[test]
fn files_that_cannot_say_what_was_done_are_refused() {
    let good = made(SMALL);
    let sites = plan(&good).sites;
    let with = |at: usize, value: u64, size: usize| {
        let mut bytes = good.clone();
        put(&mut bytes, at, value, size);
        refusal(&bytes, &sites)
    };
    assert_eq!(refusal(&patched(&good), &sites), ApplyError::AlreadyPatched);
    // The number of sections in the first section header, as extended numbering has it; names there, too.
    let mut extended = good.clone();
    put(&mut extended, 60, 0, 2);
    put(&mut extended, CODE.end as usize + 32, 4, 8);
    assert_eq!(refusal(&extended, &sites), ApplyError::Sections);
    let mut extended = good.clone();
    put(&mut extended, 62, 0xffff, 2);
    put(&mut extended, CODE.end as usize + 40, 3, 4);
    assert_eq!(refusal(&extended, &sites), ApplyError::SectionNames);
    let names = CODE.end as usize + 3 * 64;
    assert_eq!(with(names + 4, 1, 4), ApplyError::SectionNames);
    assert_eq!(with(names + 8, 2, 8), ApplyError::SectionNames);
    assert_eq!(with(names + 8, 0x800, 8), ApplyError::SectionNames);
    for damage in
        [with(5, 2, 1), with(4, 1, 1), with(58, 40, 2), with(40, 1 << 40, 8), with(names + 32, 999, 8)]
    {
        assert!(matches!(damage, ApplyError::File(_)), "{damage}");
    }
    let object = site(OBJECT, 0, 0x40, 1);
    assert_eq!(refusal(OBJECT, &[object]), ApplyError::NotCode { at: Svma(0), file_offset: 0x40 });
}

#[test]
fn so_many_sections_that_one_more_needs_extended_numbering_are_refused() {
    let with = |count: u64| {
        let mut bytes = made(SMALL);
        let table = bytes[CODE.end as usize..CODE.end as usize + 256].to_vec();
        let start = bytes.len() as u64;
        bytes.extend(table);
        bytes.resize((start + 64 * count) as usize, 0);
        put(&mut bytes, 40, start, 8);
        put(&mut bytes, 60, count, 2);
        bytes
    };
    let most = with(0xfefd);
    assert_eq!(revert(&patched(&most)).unwrap(), most);
    let more = with(0xfefe);
    assert_eq!(refusal(&more, &plan(&more).sites), ApplyError::Sections);
}

#[test]
fn bytes_behind_the_last_part_are_refused_unless_asked_for() {
    for sections in [true, false] {
        let mut padded = made(Made { sections, ..SMALL });
        let end = padded.len() as u64;
        padded.extend([0; 9]);
        assert_eq!(revert(&patched(&padded)).unwrap(), padded, "zeros are padding");
        padded.extend(b"~Module signature appended~\n");
        let plan = plan(&padded);
        let length = padded.len() as u64 - end;
        assert_eq!(refusal(&padded, &plan.sites), ApplyError::Trailer { file_offset: end, length });
        let options = ApplyOptions { trailer: true, ..ApplyOptions::default() };
        let patched = apply(&padded, &plan, &options).unwrap();
        assert_eq!(revert(&patched).unwrap(), padded);
        assert_eq!(difference(&padded, &patched).unwrap().len(), 2);
    }
}

#[test]
#[ignore = "a fifth of a minute of arithmetic; `cargo xtask nightly` runs it"]
fn no_flipped_bit_passes_for_the_change() {
    for (original, has_build_id) in originals() {
        let patched = apply(&original, &plan(&original), &with_new_build_id(has_build_id)).unwrap();
        let mut flipped = patched.clone();
        for at in 0..patched.len() {
            let bits = if original == SHARED_OBJECT { 0..1 } else { 0..8 };
            for bit in bits {
                flipped[at] ^= 1 << bit;
                assert!(difference(&original, &flipped).is_err(), "bit {bit} of byte {at:#x}");
                if let Ok(reverted) = revert(&flipped) {
                    assert_eq!(reverted, original, "bit {bit} of byte {at:#x}");
                }
                flipped[at] = patched[at];
            }
        }
    }
}

#[test]
fn files_that_are_no_pair_are_told_apart() {
    let original = made(SMALL);
    let patched = patched(&original);
    let missing = NoteError::Missing;
    assert_eq!(revert(&original), Err(RevertError::Note(missing.clone())));
    assert_eq!(difference(&original, &original), Err(DifferenceError::Note(missing)));
    let other = difference(SHARED_OBJECT, &patched);
    assert!(matches!(other, Err(DifferenceError::OtherOriginal { .. })), "{other:?}");
    let other = difference(&patched, &patched);
    assert!(matches!(other, Err(DifferenceError::OtherOriginal { .. })), "{other:?}");
    let mut longer = patched.clone();
    longer.push(0);
    let file_offset = patched.len() as u64;
    assert_eq!(difference(&original, &longer), Err(DifferenceError::Byte { file_offset }));
    assert_eq!(revert(&longer).unwrap(), original);
    let mut changed = patched.clone();
    changed[CODE.start as usize + 12] ^= 1;
    assert_eq!(difference(&original, &changed), Err(DifferenceError::Byte { file_offset: 268 }));
    assert!(matches!(revert(&changed), Err(RevertError::NotTheOriginal { .. })));
    for length in 0..patched.len() {
        assert!(difference(&original, &patched[..length]).is_err(), "{length} bytes");
        assert!(revert(&patched[..length]).is_err(), "{length} bytes");
    }
}

/// A patched file whose note is another text.
fn with_note(text: &str) -> Vec<u8> {
    let patched = patched(&made(SMALL));
    let file = ElfFile64::<LittleEndian>::parse(&*patched).unwrap();
    let table = file.elf_header().e_shoff.get(LittleEndian) as usize;
    let index = file.section_by_name(".note.deburr").unwrap().index().0;
    let mut bytes = patched.clone();
    let start = bytes.len() as u64;
    bytes.extend(header(&[(4, 7), (4, text.len() as u64), (4, 1)]));
    bytes.extend(b"deburr\0\0");
    bytes.extend(text.bytes());
    let size = bytes.len() as u64 - start;
    put(&mut bytes, table + 64 * index + 24, start, 8);
    put(&mut bytes, table + 64 * index + 32, size, 8);
    bytes
}

/// The text of the note of a small file.
fn note_text() -> String {
    let patched = patched(&made(SMALL));
    let file = ElfFile64::<LittleEndian>::parse(&*patched).unwrap();
    let data = file.section_by_name(".note.deburr").unwrap().data().unwrap();
    String::from_utf8(data[20..].to_vec()).unwrap().trim_end_matches('\0').to_owned()
}

#[test]
fn a_note_that_lies_is_told_so() {
    let original = made(SMALL);
    let text = note_text();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} in {text}");
        let bytes = with_note(&text.replacen(from, to, 1));
        assert!(difference(&original, &bytes).is_err(), "{to}");
        revert(&bytes).unwrap_err()
    };
    assert_eq!(revert(&with_note(&text)).unwrap(), original, "but for the place of the note nothing is new");
    assert!(difference(&original, &with_note(&text)).is_err());
    assert_eq!(with("\"format\":1", "\"format\":3,\"more\":[]"), RevertError::Note(NoteError::Format(3)));
    let outside = RevertError::Outside { file_offset: 4_000_256 };
    assert_eq!(with(",256,\"", ",4000256,\""), outside);
    assert_eq!(with(",256,\"", ",18446744073709551615,\""), RevertError::Outside { file_offset: u64::MAX });
    assert!(matches!(with("\"length\":", "\"length\":9999"), RevertError::Length { .. }));
    assert_eq!(with("_at\":null", "_at\":77777"), RevertError::Outside { file_offset: 77_777 });
    assert!(matches!(with("\"shnum\":4", "\"shnum\":5"), RevertError::NotTheOriginal { .. }));
    for (from, to) in [
        ("[[0,", "[[2,"),
        ("[[0,", "[[-1,"),
        ("\"tool\"", "\"more\":0,\"tool\""),
        ("\"build_id\":\"01", "\"build_id\":\"1"),
        ("\"build_id\":\"01", "\"build_id\":\"+1"),
        ("256,\"9", "256,\""),
        ("256,\"9", "256,\"\u{e9}"),
        ("\"shnum\":4", "\"shnum\":65536"),
        ("\"format\":1", "\"format\":1e400"),
        ("\"format\":1", "\"format\":2"),
        ("\"digest\"", "\"trampolines\":{\"phoff\":64,\"phnum\":2,\"words\":[]},\"digest\""),
        ("{", ""),
    ] {
        let error = with(from, to);
        assert!(matches!(error, RevertError::Note(NoteError::Malformed { .. })), "{from} → {to}: {error}");
    }
    let deep = with_note(&format!("{}{}", "{\"format\":".repeat(100_000), text));
    assert!(matches!(revert(&deep), Err(RevertError::Note(NoteError::Malformed { .. }))));
}

#[test]
fn damaged_notes_and_headers_never_panic() {
    let original = made(SMALL);
    let text = note_text();
    let file = patched(&original);
    let mut state = 1_u64;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    const PIECES: [&str; 10] = ["0", "-", "\"", "[", "]", "{", "}", ",", "18446744073709551615", "null"];
    for round in 0..20_000 {
        let bytes = if round % 2 == 0 {
            let mut note = text.clone();
            for _ in 0..=random(3) {
                let from = random(note.len());
                let to = (from + random(4)).min(note.len());
                note.replace_range(from..to, PIECES[random(PIECES.len())]);
            }
            with_note(&note)
        } else {
            let mut bytes = file.clone();
            for _ in 0..=random(4) {
                let at = random(bytes.len());
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, random(256) as u8][random(6)];
            }
            bytes
        };
        assert!(bytes == file || difference(&original, &bytes).is_err());
        let _ = difference(&bytes, &file);
        let _ = apply(&bytes, &plan(&original), &with_new_build_id(true));
        if let Ok(reverted) = revert(&bytes) {
            assert_eq!(reverted, original);
        }
    }
}

#[test]
fn a_hundred_thousand_sites_fit() {
    let original = made(Made { words: 400_000, ..SMALL });
    let sites = (0..100_000).map(|index| {
        let at = CODE.start + 16 * index;
        site(&original, BASE + at, at, 4)
    });
    let plan = Plan { sites: sites.collect(), refused: Vec::new() };
    let patched = apply(&original, &plan, &ApplyOptions::default()).unwrap();
    assert!(patched.len() - original.len() < 64 * plan.sites.len(), "{} bytes", patched.len());
    assert_eq!(difference(&original, &patched).unwrap().len(), plan.sites.len());
    assert_eq!(revert(&patched).unwrap(), original);
}

/// The code of a made file: a function that has no room for what replaces its sequence, and one that no LSE
/// instruction says.
const LONG: [u32; 16] = [
    0x885ffc03, // ldaxr w3, [x0]
    0x6b01007f, // cmp   w3, w1
    0x54000061, // b.ne  #12
    0x8804fc02, // stlxr w4, w2, [x0]
    0xd65f03c0, // ret
    0x52800004, // mov   w4, #0
    0xd65f03c0, // ret
    0xd503201f, // nop
    0x885ffc08, // ldaxr w8, [x0]
    0x0a010108, // and   w8, w8, w1
    0x2a2803e8, // mvn   w8, w8
    0x8809fc08, // stlxr w9, w8, [x0]
    0x35ffff89, // cbnz  w9, #-16
    0xd65f03c0, // ret
    0xd503201f, // nop
    0xd503201f, // nop
];

/// A made file with that code, whose entry point calls nothing: both functions are found one after the other.
fn long() -> Vec<u8> {
    let mut bytes = made(Made { words: 18, ..SMALL });
    // bl #8; b #36
    for (at, word) in (CODE.start as usize..).step_by(4).zip([0x94000002, 0x14000009].iter().chain(&LONG)) {
        put(&mut bytes, at, u64::from(*word), 4);
    }
    bytes
}

fn planned_with(bytes: &[u8], trampolines: bool) -> Plan {
    let target = Some(FeatureSet::from_iter([Feature::FEAT_LSE]));
    planned(bytes, &PlanRequest { target, trampolines, ..PlanRequest::default() }).unwrap()
}

#[test]
fn what_is_longer_than_its_place_goes_to_added_space_only_if_asked_for() {
    let original = long();
    let without = planned_with(&original, false);
    let shapes: Vec<Reason> = without.refused.iter().map(|refused| refused.reason.clone()).collect();
    assert_eq!(shapes, [Reason::NoShape(NoShape::NoRoom), Reason::NoShape(NoShape::Operation)]);
    assert_eq!(without.sites, []);
    let plan = planned_with(&original, true);
    assert_eq!(plan.refused, []);
    let [compare, nand] = &plan.sites[..] else { panic!("{:?}", plan.sites) };
    // b #0x1fef8, b #0x1ff08 and the trap after them.
    let start = Svma(0x41_0000 + 0x1_0000 * u64::from(original.len() > 0x1_0000));
    let trampoline = |site: &Site| site.trampoline.clone().unwrap();
    assert_eq!(trampoline(compare).at, start);
    assert_eq!(compare.new.iter().skip(1).collect::<Vec<_>>(), [&0, &0, &0]);
    let expected = [
        0x2a0103e3, // mov   w3, w1
        0x88e3fc02, // casal w3, w2, [x0]
        0x6b01007f, // cmp   w3, w1
        0x54000061, // b.ne  #12
        0x2a1f03e4, // mov   w4, wzr
    ];
    assert_eq!(trampoline(compare).words[..5], expected);
    assert_eq!(trampoline(compare).words.len(), 7);
    assert_eq!(trampoline(nand).at, start.offset(32));
    let patched = apply(&original, &plan, &ApplyOptions::default()).unwrap();
    assert_eq!(verify(&original, &patched).unwrap().changes.len(), 2);
    assert_eq!(revert(&patched).unwrap(), original);
    let image = Image::parse(&patched, None).unwrap();
    assert!(image.code.iter().any(|code| code.name == ".text.deburr" && code.extent.start == start));
    assert_eq!(image.faults, Vec::<String>::new());
}

#[test]
fn no_flipped_bit_passes_for_words_in_added_space() {
    let original = long();
    let plan = planned_with(&original, true);
    let patched = apply(&original, &plan, &ApplyOptions::default()).unwrap();
    let mut flipped = patched.clone();
    // All of the file but most of its padding.
    let padding = original.len() + 64..0x1_0000 - 64;
    for at in (0..patched.len()).filter(|at| !padding.contains(at) || at % 1021 == 0) {
        for bit in 0..8 {
            flipped[at] ^= 1 << bit;
            assert!(difference(&original, &flipped).is_err(), "bit {bit} of byte {at:#x}");
            if let Ok(reverted) = revert(&flipped) {
                assert_eq!(reverted, original, "bit {bit} of byte {at:#x}");
            }
            flipped[at] = patched[at];
        }
    }
}

#[test]
fn words_in_added_space_are_proven_from_the_two_files() {
    let original = long();
    let good = planned_with(&original, true);
    let with = |change: &dyn Fn(&mut Site, &mut Site)| {
        let mut plan = good.clone();
        let [first, second] = &mut plan.sites[..] else { panic!("two sites") };
        change(first, second);
        let patched = apply(&original, &plan, &ApplyOptions::default()).unwrap();
        assert_eq!(revert(&patched).unwrap(), original);
        match verify(&original, &patched) {
            Err(VerifyError::Unproven { .. }) => {}
            other => panic!("{other:?}"),
        }
    };
    fn word(site: &mut Site, at: usize) -> &mut u32 {
        &mut site.trampoline.as_mut().unwrap().words[at]
    }
    with(&|compare, _| *word(compare, 1) = 0x88e37c02); // casa w3, w2, [x0]
    with(&|compare, _| *word(compare, 5) += 1); // back to the word after the next
    with(&|compare, _| *word(compare, 6) += 1);
    with(&|compare, _| *word(compare, 3) = 0xd503201f); // nop
    with(&|compare, _| compare.new[1] = 0xd503201f); // nop
    with(&|compare, _| compare.new[0] += 1); // b one word farther
    with(&|_, nand| *word(nand, 0) = 0x39400010); // ldrb w16, [x0]
    with(&|_, nand| *word(nand, 7) = 0xd503201f); // nop
    with(&|_, nand| *word(nand, 5) = 0x88e97c08); // casa w9, w8, [x0]
    let mut other = good.clone();
    other.sites[1].trampoline.as_mut().unwrap().at = Svma(0x42_0000);
    let error = apply(&original, &other, &ApplyOptions::default());
    assert_eq!(error, Err(ApplyError::Trampoline { at: other.sites[1].at }));
}

#[test]
fn words_in_added_space_move_up_where_a_site_is_taken_out() {
    let original = long();
    let mut plan = planned_with(&original, true);
    let start = plan.sites.remove(0).trampoline.unwrap().at;
    let patched = apply(&original, &plan, &ApplyOptions::default()).unwrap();
    let changes = verify(&original, &patched).unwrap().changes;
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].trampoline.as_ref().unwrap().at, start);
    assert_eq!(revert(&patched).unwrap(), original);
}

/// The shared object with instructions in added space, as many as it has sites.
fn shared_with_trampolines() -> Plan {
    let mut plan = plan(SHARED_OBJECT);
    let mut at = Svma(0x1_0000);
    for (site, length) in plan.sites.iter_mut().zip([3, 6]) {
        site.trampoline = Some(Trampoline { at, words: vec![NOP; length] });
        at = at.offset(16);
    }
    plan
}

#[test]
fn an_added_segment_leaves_the_others_where_they_are() {
    type Header = object::elf::ProgramHeader64<LittleEndian>;
    use object::read::elf::{FileHeader, ProgramHeader};
    let headers = |bytes: &[u8]| -> Vec<Header> {
        let header = object::elf::FileHeader64::<LittleEndian>::parse(bytes).unwrap();
        header.program_headers(LittleEndian, bytes).unwrap().to_vec()
    };
    let with = long();
    let files =
        [(with.clone(), planned_with(&with, true)), (SHARED_OBJECT.to_vec(), shared_with_trampolines())];
    for (original, plan) in files {
        let patched = apply(&original, &plan, &ApplyOptions::default()).unwrap();
        assert_eq!(difference(&original, &patched).unwrap().len(), plan.sites.len());
        assert_eq!(revert(&patched).unwrap(), original);
        let (before, after) = (headers(&original), headers(&patched));
        assert_eq!(after.len(), before.len() + 1);
        let end = LittleEndian;
        for (old, new) in before.iter().zip(&after) {
            assert_eq!((old.p_type(end), old.p_flags(end)), (new.p_type(end), new.p_flags(end)));
            assert_eq!((old.p_vaddr(end), old.p_offset(end)), (new.p_vaddr(end), new.p_offset(end)));
            assert_eq!((old.p_filesz(end), old.p_memsz(end)), (new.p_filesz(end), new.p_memsz(end)));
        }
        let added = after.last().unwrap();
        let first = after.iter().find(|header| header.p_type(end).0 == 1).unwrap();
        assert_eq!((added.p_type(end).0, added.p_flags(end).0), (1, 5));
        assert_eq!(
            added.p_vaddr(end).wrapping_sub(added.p_offset(end)),
            first.p_vaddr(end).wrapping_sub(first.p_offset(end))
        );
        assert_eq!(added.p_vaddr(end) % 0x1_0000, added.p_offset(end) % 0x1_0000);
        for other in &before {
            assert!(other.p_vaddr(end) + other.p_memsz(end) <= added.p_vaddr(end) & !0xffff);
        }
        let file = ElfFile64::<LittleEndian>::parse(&*patched).unwrap();
        let section = file.section_by_name(".text.deburr").unwrap();
        let first = plan.sites[0].trampoline.as_ref().unwrap();
        assert_eq!((section.address(), section.kind()), (first.at.0, object::SectionKind::Text));
        assert_eq!(file.segments().count(), 1 + before.iter().filter(|one| one.p_type(end).0 == 1).count());
    }
}

#[test]
fn files_without_space_for_code_are_refused() {
    let good = long();
    let plan = planned_with(&good, true);
    let with = |changes: &[(usize, u64, usize)]| {
        let mut bytes = good.clone();
        for &(at, value, size) in changes {
            put(&mut bytes, at, value, size);
        }
        assert_eq!(planned_with(&bytes, true).sites, []);
        match &planned_with(&bytes, true).refused[0].reason {
            Reason::NoSpace(why) => *why,
            other => panic!("{other}"),
        }
    };
    // The second header: a segment of 2 GiB of zeros, one up to the end of all addresses, one that ends after
    // that.
    let segment = |svma: u64, size: u64| [(120, 1, 4), (136, svma, 8), (160, size, 8)];
    assert_eq!(with(&segment(0x50_0000, 1 << 27)), NoSpace::Padding);
    assert_eq!(with(&segment(0xffff_ffff_ffff_0000, 0xfff)), NoSpace::Addresses);
    assert_eq!(with(&segment(0xffff_ffff_ffff_0000, u64::MAX)), NoSpace::Addresses);
    let mut far = good.clone();
    for (at, value, size) in segment(0x50_0000, 1 << 25) {
        put(&mut far, at, value, size);
    }
    let far_plan = planned_with(&far, true);
    let patched = apply(&far, &far_plan, &ApplyOptions::default()).unwrap();
    assert_eq!(verify(&far, &patched).unwrap().changes.len(), 2);
    // Without sections the code has no name; what is planned for is refused.
    let mut bare = good.clone();
    put(&mut bare, 40, 0, 8);
    put(&mut bare, 60, 0, 2);
    put(&mut bare, 62, 0, 2);
    let options = ApplyOptions { trailer: true, ..ApplyOptions::default() };
    assert_eq!(apply(&bare, &plan, &options), Err(ApplyError::NoSpace(NoSpace::Sections)));
}

#[test]
fn the_note_records_added_space() {
    let original = long();
    let patched = apply(&original, &planned_with(&original, true), &ApplyOptions::default()).unwrap();
    let text = String::from_utf8_lossy(&patched);
    assert!(text.contains("{\"format\":2,\"tool\""));
    assert!(
        text.contains("\"trampolines\":{\"phoff\":64,\"phnum\":2,\"words\":[[0,7],[1,13]]},\"digest\":\"")
    );
}

#[test]
fn damaged_headers_give_a_file_that_is_proven_or_none() {
    let original = long();
    let mut state = 5_u64;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let (mut whole, mut refused) = (0, 0);
    for _ in 0..3_000 {
        let mut bytes = original.clone();
        for _ in 0..=random(3) {
            let header = [16..64, 64..176, CODE.end as usize + 40..original.len()][random(3)].clone();
            let at = header.start + random(header.len());
            bytes[at] = [0, 1, 0x7f, 0x80, 0xff, random(256) as u8][random(6)];
        }
        let target = Some(FeatureSet::from_iter([Feature::FEAT_LSE]));
        let request = PlanRequest { target, trampolines: true, ..PlanRequest::default() };
        let Ok(plan) = planned(&bytes, &request) else { continue };
        match apply(&bytes, &plan, &ApplyOptions { trailer: true, ..ApplyOptions::default() }) {
            Ok(patched) => {
                assert_eq!(verify(&bytes, &patched).unwrap().changes.len(), plan.sites.len());
                assert!(revert(&patched).unwrap() == bytes);
                whole += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(whole > 300 && refused > 100, "{whole} patched, {refused} refused");
}

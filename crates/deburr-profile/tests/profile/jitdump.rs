//! Jitdumps as programs: which functions are there in the end, where, and what becomes of the rest.

use super::bytes;
use super::dump::{Dump, dump_of};
use deburr_profile::{JitImage, begins_jitdump, jit_images};

/// A function of an image: name, address and code.
type Function = (String, u64, Vec<u8>);

fn number(bytes: &[u8], at: usize, size: usize) -> usize {
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[at..at + size]);
    usize::try_from(u64::from_le_bytes(word)).expect("a small number")
}

/// The symbols of an image, read as the gABI says, each with the code of its section.
fn functions(image: &JitImage) -> Vec<Function> {
    let elf = &image.elf;
    assert_eq!((&elf[..7], number(elf, 16, 2)), (&b"\x7fELF\x02\x01\x01"[..], 2));
    let table = number(elf, 40, 8);
    let field = |section: usize, at: usize, size: usize| number(elf, table + 64 * section + at, size);
    let count = match number(elf, 60, 2) {
        0 => field(0, 32, 8),
        count => count,
    };
    assert_eq!(table + 64 * count, elf.len());
    let body = |section: usize| &elf[field(section, 24, 8)..][..field(section, 32, 8)];
    let kind = |section: usize| field(section, 4, 4);
    let symtab = (0..count).find(|section| kind(*section) == 2).expect("symbols");
    let long = (0..count).find(|section| kind(*section) == 18).expect("section numbers");
    let (strings, numbers) = (body(field(symtab, 40, 4)), body(long));
    let mut found = Vec::new();
    for (index, symbol) in body(symtab).chunks(24).enumerate().skip(1) {
        let section = match number(symbol, 6, 2) {
            0xffff => number(numbers, 4 * index, 4),
            section => section,
        };
        let name = strings[number(symbol, 0, 4)..].split(|byte| *byte == 0).next().expect("a name");
        let (svma, code) = (field(section, 16, 8), body(section));
        assert_eq!((svma, code.len()), (number(symbol, 8, 8), number(symbol, 16, 8)));
        assert_eq!((symbol[4] & 15, field(section, 8, 8)), (2, 6));
        found.push((String::from_utf8(name.to_vec()).expect("UTF-8"), svma as u64, code.to_vec()));
    }
    assert!(found.is_sorted_by(|one, next| one.1 + one.2.len() as u64 <= next.1), "functions overlap");
    let ends = found.first().zip(found.last()).expect("a function");
    assert_eq!(image.extent, ends.0.1..ends.1.1 + ends.1.2.len() as u64);
    found
}

/// The names and addresses of the only image.
fn only(dump: &[u8]) -> Vec<(String, u64)> {
    let images = jit_images(dump).expect("a jitdump").images;
    assert_eq!(images.len(), 1);
    functions(&images[0]).into_iter().map(|(name, svma, _)| (name, svma)).collect()
}

fn named(functions: &[(&str, u64)]) -> Vec<(String, u64)> {
    functions.iter().map(|(name, svma)| ((*name).to_owned(), *svma)).collect()
}

fn refused(dump: &[u8]) -> String {
    jit_images(dump).expect_err("no jitdump").to_string()
}

#[test]
fn of_an_address_that_was_used_again_the_last_code_is_there() {
    let dump = dump_of(&[
        ("old", 0x1000, 1, &[1; 32]),
        ("touched", 0x2000, 2, &[2; 32]),
        ("apart", 0x3000, 3, &[3; 16]),
        ("new", 0x1000, 4, &[4; 16]),
        // Its first byte is the other one's last.
        ("later", 0x201f, 5, &[5; 16]),
        ("next", 0x202f, 6, &[6; 1]),
        ("around", 0x4fff, 7, &[7; 3]),
        ("within", 0x5000, 8, &[8; 1]),
        ("nothing", 0x3004, 9, &[]),
    ]);
    let expected =
        [("new", 0x1000), ("later", 0x201f), ("next", 0x202f), ("apart", 0x3000), ("within", 0x5000)];
    assert_eq!(only(&dump), named(&expected));
    let images = jit_images(&dump).expect("a jitdump");
    assert_eq!((functions(&images.images[0])[0].2.as_slice(), images.faults.len()), (&[4; 16][..], 0));
}

#[test]
fn moved_code_is_where_it_was_moved_last() {
    let mut dump = Dump::new(183);
    dump.load("one", 0x1000, 1, &[1; 16]);
    dump.load("two", 0x2000, 2, &[2; 16]);
    // The size that a move states is no matter.
    dump.moved(0x1000, 0x1008, 999, 3);
    dump.moved(0x1008, 0x8000, 16, 4);
    dump.moved(0x7777, 0x9000, 16, 5);
    // In place of another one.
    dump.load("three", 0x3000, 6, &[3; 16]);
    dump.moved(0x3000, 0x2008, 16, 7);
    // `JIT_CODE_CLOSE`, a kind that nobody knows, and lines.
    dump.record(3, 8, &[]);
    dump.record(77, 8, &[1, 2, 3]);
    dump.record(2, 8, &[0; 16]);
    assert_eq!(only(&dump.0), named(&[("three", 0x2008), ("one", 0x8000)]));
    let image = &jit_images(&dump.0).expect("a jitdump").images[0];
    assert_eq!((functions(image)[1].2.as_slice(), number(&image.elf, 18, 2)), (&[1; 16][..], 183));
}

#[test]
fn functions_too_far_apart_are_several_programs() {
    let far = 0x7fff_0000_0000;
    let dump = dump_of(&[
        ("far", far, 1, &[1; 16]),
        ("near", 0x1000, 2, &[2; 16]),
        ("last", 0x1000 + u64::from(u32::MAX) - 16, 3, &[3; 16]),
        ("beyond", 0x1000 + u64::from(u32::MAX), 4, &[4; 1]),
    ]);
    let images = jit_images(&dump).expect("a jitdump").images;
    let found: Vec<Vec<String>> =
        images.iter().map(|image| functions(image).into_iter().map(|(name, ..)| name).collect()).collect();
    assert_eq!(found, [vec!["near", "last"], vec!["beyond"], vec!["far"]]);
}

#[test]
fn the_recorded_program_has_its_last_function() {
    let dump = bytes("jit.dump");
    assert!(begins_jitdump(&dump) && !begins_jitdump(b"\x7fELF") && !begins_jitdump(b"DTi"));
    assert_eq!(only(&dump), named(&[("times_33", 0x7f72_1f95_9000)]));
}

#[test]
fn what_is_no_jitdump_of_a_known_machine_is_refused_with_its_offset() {
    assert_eq!(
        refused(&Dump::new(243).0),
        "at offset 0xc: expected code of x86-64 or AArch64, found that of machine 243 (e_machine)"
    );
    assert_eq!(
        refused(&Dump::new(62 | 1 << 16).0).split(',').next(),
        Some("at offset 0xc: expected code of x86-64 or AArch64")
    );
    let mut reversed = Dump::new(62).0;
    reversed[..4].reverse();
    assert!(begins_jitdump(&reversed));
    assert_eq!(refused(&reversed), "at offset 0x0: expected a jitdump of a little-endian machine");
    let mut version = Dump::new(62).0;
    version[4] = 2;
    assert_eq!(
        refused(&version),
        "at offset 0x0: expected a jitdump of version 1, found version 2, header of 40 bytes"
    );
    assert!(refused(&Dump::new(62).0[..39]).contains("more bytes in this record"));
    assert_eq!(jit_images(&Dump::new(62).0).map(|images| images.images.len()), Ok(0));
}

#[test]
fn a_record_that_contradicts_itself_is_refused_and_one_that_is_cut_off_is_left_out() {
    let whole = dump_of(&[("whole", 0x1000, 1, &[1; 16])]);
    let with = |more: &[u8]| [&whole, more].concat();
    let second = &dump_of(&[("second", 0x2000, 2, &[2; 16])])[40..];
    for cut in 1..second.len() {
        let images = jit_images(&with(&second[..cut])).expect("a jitdump");
        assert_eq!(
            images.faults,
            [format!("file offset {:#x}: expected the rest of a record: left out", whole.len())]
        );
        assert_eq!(functions(&images.images[0]).len(), 1);
    }
    // A size of the record, of the code, and an end of it.
    for (at, value, says) in [
        (4, 15, "expected a record of 16 bytes or more, found 15"),
        (40, 24, "expected 24 bytes of code in a record"),
        (40, u64::MAX, "bytes of code in a record"),
        (32, u64::MAX - 8, "expected an address of 16 bytes, found 0xfffffffffffffff7"),
    ] {
        let mut broken = second.to_vec();
        let size = if at == 4 { 4 } else { 8 };
        broken[at..at + size].copy_from_slice(&u64::to_le_bytes(value)[..size]);
        let error = refused(&with(&broken));
        assert!(
            error.starts_with(&format!("at offset {:#x}:", whole.len())) && error.contains(says),
            "{error}"
        );
    }
    let mut endless = second.to_vec();
    endless[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(jit_images(&with(&endless)).expect("a jitdump").faults.len(), 1);
}

#[test]
fn long_and_strange_names_stay_apart_and_bounded() {
    let mut dump = Dump::new(62);
    dump.load(&"x".repeat(10 << 20), 0x1000, 1, &[1; 16]);
    dump.load("", 0x2000, 2, &[2; 16]);
    dump.load("a\0b", 0x3000, 3, &[3; 16]);
    dump.load("\u{202e}é\n", 0x4000, 4, &[4; 16]);
    let names: Vec<String> = only(&dump.0).into_iter().map(|(name, _)| name).collect();
    assert!(names[0].len() < 1 << 17 && names[0].ends_with("x…"));
    assert_eq!(names[1..], ["", "a", r"\u{202e}é\x0a"]);
}

/// Of the same code in the same number of functions, loaded apart or upon each other.
#[test]
fn a_hundred_thousand_functions_are_read() {
    let dump = |count: u64, step: u64| {
        let mut dump = Dump::new(62);
        (0..count).for_each(|n| dump.load(&format!("f{n}"), 0x10_0000 + step * n, n, &[0x90; 64]));
        dump.0
    };
    // 64 apart, each over half of the one before it, and all at one address.
    for (step, left) in [(64, 100_000), (32, 1), (0, 1)] {
        let images = jit_images(&dump(100_000, step)).expect("a jitdump").images;
        assert_eq!(functions(&images[0]).len(), left, "{step}");
    }
}

#[test]
fn a_damaged_jitdump_is_refused_or_gives_functions_that_do_not_overlap() {
    let mut dump = Dump::new(62);
    for n in 0..12 {
        dump.load(&format!("function {n}"), 0x1000 + 24 * n, n, &[0x90; 32]);
        dump.moved(0x1000 + 24 * n, 0x9000 + 40 * n, 32, n);
    }
    let (mut seed, mut read) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    let mut below = |end: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % end as u64) as usize
    };
    for _ in 0..5000 {
        let mut changed = dump.0.clone();
        for _ in 0..=below(6) {
            let at = below(changed.len());
            changed[at] ^= 1 << below(8);
        }
        changed.truncate(changed.len() - below(changed.len() / 4));
        if let Ok(images) = jit_images(&changed) {
            read += images.images.len();
            images.images.iter().for_each(|image| assert!(!functions(image).is_empty()));
        }
    }
    assert!(read > 1000, "{read}");
}

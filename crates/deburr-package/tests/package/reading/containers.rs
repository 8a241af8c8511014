//! squashfs, 7z, cpio, ISO 9660, LZ4, jmod, and what programs carry: read, damaged and hostile.
//!
//! `fixtures/members.*` hold `lib/llsc_loop.o`, `lib/outlined_atomic.o` and `readme`, made by mksquashfs 4.5, 7zz 22, genisoimage and lz4.

use super::{Taken, taken, taken_within};
use crate::making::{Member, cpio, deb, fixture, gzip, objects, tar, zip};
use deburr_package::{Known, Limits, Reading, appended, read_appended};

const NAMES: [&str; 2] = ["lib/llsc_loop.o", "lib/outlined_atomic.o"];

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut unpacked).unwrap();
    unpacked
}

fn members() -> Vec<u8> {
    let [a, b] = objects();
    let members: [Member; 3] = [(NAMES[0], &a), (NAMES[1], &b), ("readme", b"hello")];
    cpio(&members, "070701")
}

/// Containers of every kind, by what they are called.
fn all_kinds() -> Vec<(&'static str, Vec<u8>)> {
    let squashfs = ["gzip", "xz", "zstd", "lz4", "lzma"].map(|codec| format!("members.{codec}.sqfs"));
    let sevenzip = ["lzma2", "bcj2", "bzip2", "deflate", "copy", "arm64", "delta"];
    let sevenzip = sevenzip.map(|method| format!("members.{method}.7z"));
    let files = squashfs
        .into_iter()
        .chain(sevenzip)
        .chain(["members.tar.lz4", "members.legacy.tar.lz4"].map(str::to_owned));
    let mut kinds: Vec<(&'static str, Vec<u8>)> =
        files.map(|name| (&*name.clone().leak(), fixture(&name))).collect();
    let [a, b] = objects();
    let zipped = zip(&[(NAMES[0], &a), (NAMES[1], &b), ("readme", b"hello")], true);
    kinds.push(("iso", unpacked(&fixture("members.iso.gz"))));
    kinds.push(("iso.gz", fixture("members.iso.gz")));
    kinds.push(("cpio", members()));
    kinds.push(("cpio.gz", gzip(&members())));
    kinds.push(("jmod", [&b"JM\x01\x00"[..], &zipped].concat()));
    kinds.push(("pex", [&b"#!/usr/bin/env python3\n"[..], &zipped].concat()));
    kinds
}

fn hold(kind: &str, taken: &Taken, before: &str) {
    assert_eq!(taken.skipped, [], "{kind}");
    assert_eq!(taken.paths(), NAMES.map(|name| format!("{before}{name}")), "{kind}");
    for (object, wanted) in taken.objects.iter().zip(objects()) {
        assert!(object.bytes == wanted && !object.lacks, "{kind}: {}", object.path);
    }
}

#[test]
fn every_container_gives_its_members() {
    for (kind, bytes) in all_kinds() {
        hold(kind, &taken(&bytes), "p!");
        // In a stream, and in place.
        for outer in [gzip(&tar(&[("in/x", &bytes)])), tar(&[("in/x", &bytes)])] {
            hold(kind, &taken(&outer), "p!in/x!");
        }
    }
}

/// An ELF file that is its own end: an object of the fixtures.
fn program() -> Vec<u8> {
    objects()[0].clone()
}

/// What a program gives that something follows.
fn carried(after: &[u8]) -> Taken {
    let program = [&program()[..], after].concat();
    let mut taken = Taken::default();
    assert_eq!(read_appended("p", &program, &Limits::default(), &mut taken), Ok(()));
    taken
}

#[test]
fn what_follows_a_program_is_read() {
    for (kind, bytes) in all_kinds().into_iter().filter(|(kind, _)| !matches!(*kind, "pex")) {
        hold(kind, &carried(&bytes), "p!");
        hold(kind, &carried(&[&[0; 100][..], &bytes].concat()), "p!");
        // A package has the program last, with what it carries.
        let whole = [&program()[..], &bytes].concat();
        for outer in [deb("data.tar.gz", &gzip(&tar(&[("app", &whole)]))), tar(&[("app", &whole)])] {
            let taken = taken(&outer);
            let paths = [format!("p!app!{}", NAMES[0]), format!("p!app!{}", NAMES[1]), "p!app".to_owned()];
            assert_eq!(
                (taken.paths(), &taken.skipped),
                (paths.iter().map(String::as_str).collect(), &vec![]),
                "{kind}"
            );
            assert!(taken.objects[2].bytes == whole && !taken.objects[2].lacks, "{kind}");
        }
    }
}

/// PyInstaller's archive of some members.
fn py_installer(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
    use std::io::Write;
    let (mut archive, mut table) = (Vec::new(), Vec::new());
    for (name, bytes, is_compressed) in members {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        let stored = if *is_compressed { encoder.finish().unwrap() } else { bytes.to_vec() };
        let size = 18 + name.len() + 1;
        for number in [size, archive.len(), stored.len(), bytes.len()] {
            table.extend((number as u32).to_be_bytes());
        }
        table.extend([u8::from(*is_compressed), b'b']);
        table.extend(name.as_bytes());
        table.push(0);
        archive.extend(stored);
    }
    let at = archive.len();
    archive.extend(&table);
    let length = archive.len() + 88;
    archive.extend(b"MEI\x0c\x0b\x0a\x0b\x0e");
    for number in [length, at, table.len(), 311] {
        archive.extend((number as u32).to_be_bytes());
    }
    archive.extend([0; 64]);
    archive
}

#[test]
fn programs_of_pyinstaller_give_their_libraries() {
    let [a, b] = objects();
    let archive = py_installer(&[(NAMES[0], &a, true), (NAMES[1], &b, false), ("readme", b"hello", true)]);
    hold("PyInstaller", &carried(&archive), "p!");
    // A signature may follow.
    hold("PyInstaller, signed", &carried(&[&archive[..], b"signature"].concat()), "p!");
    for end in 0..archive.len() - 1 {
        let cut = carried(&[&archive[..end], &archive[archive.len() - 88..]].concat());
        assert!(!cut.skipped.is_empty() || cut.objects.len() <= 2, "{end}");
    }
}

#[test]
fn an_initramfs_is_several_archives() {
    let early = cpio(&[("kernel/x86/microcode/AuthenticAMD.bin", b"code")], "070701");
    let image = [&early[..], &[0; 512], &gzip(&members())].concat();
    hold("initramfs", &taken(&image), "p!");
    hold("two archives", &taken(&[&early[..], &[0; 4], &members()].concat()), "p!");
    let taken = taken(&[&members()[..], &b"what is this?".repeat(9)].concat());
    assert!(taken.complaint().starts_with("cpio: 117 bytes after its end"), "{:?}", taken.skipped);
    assert_eq!(taken.objects.len(), 2);
}

#[test]
fn what_stays_closed_is_named_with_its_size() {
    let ext = {
        let mut image = vec![0; 9000];
        image[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
        (image[0x43a], image[0x44c], image[8000]) = (1, 1, 1);
        image
    };
    let noise: Vec<u8> = (0..6000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
    let noise_of = |size: usize| noise[..size].to_vec();
    let signed = signature(&noise[..700]);
    let bun = [&noise[..], b"\n---- Bun! ----\n\x01\x02\x03\x04\x05\x06\x07\x08"].concat();
    let deno = [&noise[..], b"d3n0l4nd", &[7; 16]].concat();
    for (bytes, name, reading) in [
        (&ext, "ext2/3/4 file system", Reading::Closed),
        (&noise, "unknown data", Reading::Closed),
        (&noise_of(4000), "unknown data", Reading::Closed),
        (&noise_of(40), "unknown data", Reading::Closed),
        (&noise_of(39), "unknown data", Reading::Inert),
        (&b"built by a tool, version 12 of the year 2026\n".to_vec(), "text", Reading::Inert),
        (&vec![0xff; 9000], "padding", Reading::Inert),
        (&signed, "module signature", Reading::Inert),
        (&bun, "bun program", Reading::Inert),
        (&deno, "deno program", Reading::Inert),
        (&b"Rar!\x1a\x07\x01\x00rest".to_vec(), "RAR archive", Reading::Closed),
        (&b"PK\x03\x04\x14\x00 cut off".to_vec(), "zip without its directory", Reading::Closed),
    ] {
        let program = program();
        let parts = appended(&[&program[..], bytes].concat());
        let found: Vec<_> = parts.iter().map(|part| (part.name, part.reading, part.range.clone())).collect();
        assert_eq!(found, [(name, reading, program.len()..program.len() + bytes.len())]);
    }
    assert_eq!(appended(&program()), []);
    assert_eq!(appended(&[&program()[..], &[0; 70_000]].concat()), [], "padding holds nothing");
}

/// What a module of the Linux kernel ends in: a signature, its fields and the mark.
fn signature(of: &[u8]) -> Vec<u8> {
    let length = (of.len() as u32).to_be_bytes();
    [of, &[0, 0, 2, 0, 0, 0, 0, 0], &length, b"~Module signature appended~\n"].concat()
}

/// What a program carries: names, and how each is read.
fn parts(program: &[u8]) -> Vec<(&'static str, Reading)> {
    appended(program).iter().map(|part| (part.name, part.reading)).collect()
}

#[test]
fn a_signature_is_no_longer_than_it_says() {
    let noise = [0x5a, 0xa5].repeat(8000);
    let found = parts(&[&program()[..], &noise, &signature(&noise[..300])].concat());
    assert_eq!(found, [("unknown data", Reading::Closed), ("module signature", Reading::Inert)]);
    let found = parts(&[&program()[..], &signature(&noise)].concat());
    assert_eq!(found, [("module signature", Reading::Closed)], "as long as no signature is");
    let mut executable = [&program()[..], &signature(&noise[..300])].concat();
    executable[16] = 2;
    assert_eq!(parts(&executable), [("module signature", Reading::Closed)], "no module");
    let found = parts(&[&program()[..], &noise, b"~Module signature appended~\n"].concat());
    assert_eq!(found, [("unknown data", Reading::Closed)]);
}

#[test]
fn programs_among_scripts_are_read() {
    let [a, b] = objects();
    for mark in ["\n---- Bun! ----\n", "d3n0l4nd"] {
        let payload = [b"const x = 1;\n", &a[..], b"// and\n", &b, mark.as_bytes()].concat();
        let found = carried(&payload);
        let bytes: Vec<_> = found.objects.iter().map(|object| &object.bytes).collect();
        assert_eq!(bytes, [&a, &b], "{mark}");
    }
}

#[test]
fn after_many_parts_the_rest_is_named() {
    let header = [&[0; 20][..]].concat();
    let empty = [&b"7z\xbc\xaf\x27\x1c\0\x04"[..], &[0x8d, 0x9b, 0xd5, 0x0f], &header].concat();
    let seven = [&program()[..], &empty.repeat(7), &program()].concat();
    assert_eq!(parts(&seven)[7..], [("ELF file", Reading::Opens)]);
    let eight = [&program()[..], &empty.repeat(8), &program()].concat();
    assert_eq!(parts(&eight)[8..], [("further data", Reading::Closed)]);
}

#[test]
fn what_follows_more_zeros_than_are_looked_at_is_named() {
    let mut sparse = program();
    sparse.resize(sparse.len() + (65 << 20), 0);
    let zeros = parts(&sparse);
    assert_eq!(zeros, [("data after 64 MiB of zeros", Reading::Closed)], "it may be anything");
    sparse.extend(&py_installer(&[(NAMES[0], &objects()[0], true)]));
    let found = [("data after 64 MiB of zeros", Reading::Closed), ("PyInstaller archive", Reading::Opens)];
    assert_eq!(parts(&sparse), found);
    assert_eq!(parts(&[&program()[..], &vec![0; 63 << 20]].concat()), []);
}

/// A program with one section more, at its end, of this type and flags; the section headers follow it.
fn with_section(kind: u32, flags: u64, content: &[u8]) -> Vec<u8> {
    let mut file = program();
    let at = |file: &[u8], place: usize| u64::from_le_bytes(file[place..place + 8].try_into().unwrap());
    let (table, count) = (at(&file, 40) as usize, u16::from_le_bytes([file[60], file[61]]) as usize);
    let headers = file[table..table + 64 * count].to_vec();
    file[table..table + 64 * count].fill(0);
    let start = file.len();
    file.extend(content);
    let table = (file.len() as u64).to_le_bytes();
    file.extend(headers);
    let mut header = [0; 64];
    header[4..8].copy_from_slice(&kind.to_le_bytes());
    header[8..16].copy_from_slice(&flags.to_le_bytes());
    header[24..32].copy_from_slice(&(start as u64).to_le_bytes());
    header[32..40].copy_from_slice(&(content.len() as u64).to_le_bytes());
    file.extend(header);
    file[40..48].copy_from_slice(&table);
    file[60..62].copy_from_slice(&(count as u16 + 1).to_le_bytes());
    file
}

#[test]
fn programs_in_sections_of_any_type_are_read() {
    let elf = [("ELF file", Reading::Opens)];
    let [_, inner] = objects();
    // SHT_PROGBITS, SHT_NOTE, a type of an operating system.
    for kind in [1, 7, 0x6fff_4c00] {
        assert_eq!(parts(&with_section(kind, 0, &inner)), elf, "{kind:#x}");
        assert_eq!(
            parts(&with_section(kind, 0, &[b"text ".repeat(300), inner.clone()].concat())).len(),
            usize::from(kind == 1)
        );
        assert_eq!(parts(&with_section(kind, 0, b"\x7fELF\x02\x01 is how a file begins")), []);
        assert_eq!(parts(&with_section(kind, 2, &inner)), [], "a program's own data");
    }
    let mut gap = with_section(1, 0, &inner);
    let last = gap.len() - 64;
    gap[last + 32..last + 40].fill(0);
    assert_eq!(parts(&gap), elf, "no section has it");
    let start = program().len();
    gap[start..start + 4].fill(b'?');
    assert_eq!(parts(&gap), [("unknown data", Reading::Closed)]);
    gap[start..start + inner.len()].fill(0);
    assert_eq!(parts(&gap), []);
}

#[test]
fn a_table_of_sections_that_was_left_behind_holds_nothing() {
    let program = program();
    let at = |place: usize| u64::from_le_bytes(program[place..place + 8].try_into().unwrap()) as usize;
    let (table, count) = (at(40), usize::from(u16::from_le_bytes([program[60], program[61]])));
    let headers = &program[table..table + 64 * count];
    assert!(count > 3, "{count}");
    let beside = |headers: &[u8]| {
        let aligned = vec![0; program.len().next_multiple_of(8) - program.len()];
        let mut file = with_section(1, 0, &[&aligned, headers, &[0; 100]].concat());
        let last = file.len() - 64;
        file[last + 32..last + 40].fill(0);
        parts(&file)
    };
    assert_eq!(beside(headers), []);
    let unknown = [("unknown data", Reading::Closed)];
    // A section does not have such a type, flag, address, place or alignment. Flags and address are 16 bytes: room for code and a jump.
    for (place, value) in [(4, 0xff), (11, 0x08), (15, 0xc5), (19, 0xc5), (23, 0xc5), (30, 0xff), (48, 3)] {
        let mut changed = headers.to_vec();
        changed[2 * 64 + place] = value;
        assert_eq!(beside(&changed), unknown, "{place}");
    }
    assert_eq!(beside(&[headers, &b"?!\x01\x02".repeat(16)].concat()), unknown);
}

#[test]
fn what_is_recognised_in_a_package_is_counted_by_kind() {
    let class = [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61];
    let long = [&b"#!/bin/sh\n"[..], &[b'#'; 70_000], &[1; 600]].concat();
    let taken = taken(&tar(&[
        ("a.wasm", b"\0asm\x01\0\0\0"),
        ("b.dylib", b"\xcf\xfa\xed\xfe\x07\0\0\x01"),
        ("A.class", &class),
        ("run", b"#!/bin/sh\n# generated using Makeself 2.5\n"),
        ("short", b"#!/bin/sh\n\0\x01\x02\x03"),
        ("long", &long),
        ("text", "#!/bin/sh\n# na\u{ef}ve\n".as_bytes()),
    ]));
    let known: Vec<_> = taken.known.iter().map(|(path, known)| (path.as_str(), *known)).collect();
    let expected = [
        ("p!a.wasm", Known::Wasm),
        ("p!b.dylib", Known::MachO),
        ("p!run", Known::Makeself),
        ("p!short", Known::Script),
        ("p!long", Known::Script),
    ];
    assert_eq!(known, expected);
    assert_eq!(taken.others, 2);
}

#[test]
fn methods_that_are_not_read_are_named() {
    for (file, why) in [
        ("members.lzo.sqfs", "squashfs: compressed by lzo: not read"),
        ("members.ppmd.7z", "7z: compressed by PPMd: not read (and 2 more files of folder 0)"),
        ("members.aes.7z", "7z: encrypted: not read (and 2 more files of folder 0)"),
    ] {
        assert_eq!(taken(&fixture(file)).complaint(), why);
        let whole = [&program()[..], &fixture(file)].concat();
        let taken = taken(&tar(&[("app", &whole)]));
        assert!(taken.objects.len() == 1 && taken.objects[0].lacks, "{file}");
    }
}

#[test]
fn damaged_containers_end_and_say_so() {
    for (kind, bytes) in all_kinds().into_iter().filter(|(_, bytes)| bytes.len() < 20_000) {
        for end in (0..bytes.len()).step_by(37) {
            let taken = taken(&bytes[..end]);
            assert!(taken.objects.len() <= 2, "{kind} {end}");
        }
        for at in (0..bytes.len()).step_by(11) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            let taken = taken(&damaged);
            // A third file may become one of the others.
            assert!(taken.objects.len() <= 3, "{kind} {at}");
        }
    }
}

#[test]
fn limits_hold_in_images() {
    let few = Limits { members: 2, ..Limits::default() };
    let little = Limits { unpacked_bytes: 3000, ..Limits::default() };
    for file in ["members.zstd.sqfs", "members.lzma2.7z"] {
        let members = taken_within(&fixture(file), few);
        assert!(members.skipped.iter().any(|skip| skip.1.contains("--max-members")), "{file}");
        let unpacked = taken_within(&fixture(file), little);
        assert!(unpacked.skipped.iter().any(|skip| skip.1.contains("--max-unpacked")), "{file}");
    }
    let nested = tar(&[("a", &tar(&[("app", &[&program()[..], &fixture("members.zstd.sqfs")].concat())]))]);
    let shallow = taken_within(&nested, Limits { depth: 2, ..Limits::default() });
    assert_eq!(shallow.complaint(), "nested in more than 2 packages (--max-depth)");
    assert!(shallow.objects[0].lacks);
}

#[test]
fn directories_that_hold_themselves_are_entered_once() {
    // The root's entry `lib` leads to the root.
    let image = unpacked(&fixture("members.iso.gz"));
    let root = image[0x8000 + 158..0x8000 + 162].to_vec();
    let at = u32::from_le_bytes(root.clone().try_into().unwrap()) as usize * 2048;
    let name = image[at..at + 2048].windows(3).position(|window| window == b"LIB").unwrap();
    let mut looped = image.clone();
    looped[at + name - 31..at + name - 27].copy_from_slice(&root);
    let taken = taken(&looped);
    assert_eq!((taken.objects.len(), taken.others), (0, 1), "{:?}", taken.paths());
}

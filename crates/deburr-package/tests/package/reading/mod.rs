//! Packages of every kind → the binaries in them; and packages that are damaged, hostile or too large.

mod claims;
mod containers;
mod identity;
mod image;
mod members;

use crate::making::{Member, ar, cpio, cut, deb, fixture, gzip, objects, rpm, tar, zip};
use deburr_package::{Kind, Known, Limits, Member as Listed, Object, Sink, Stopped, read};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

/// What a package gave.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    objects: Vec<Object>,
    skipped: Vec<(String, String, bool)>,
    others: u64,
    members: Vec<Listed>,
    /// Members whose names end in `SUMS`, of at most 100 bytes.
    texts: Vec<(String, Vec<u8>)>,
    /// What was recognised and not read.
    known: Vec<(String, Known)>,
    /// The most that was held without a permit.
    held: u64,
}

impl Sink for Taken {
    type Permit = u64;

    fn admit(&mut self, bytes: u64) -> Result<u64, Stopped> {
        Ok(bytes)
    }

    fn hold(&mut self, bytes: u64) -> Result<(), Stopped> {
        self.held = self.held.max(bytes);
        Ok(())
    }

    fn object(&mut self, object: Object, permit: u64) -> Result<(), Stopped> {
        assert_eq!(permit, object.bytes.len() as u64, "{}", object.path);
        self.objects.push(object);
        Ok(())
    }

    fn member(&mut self, member: Listed) {
        self.members.push(member);
    }

    fn wants(&self, path: &str) -> Option<u64> {
        path.ends_with("SUMS").then_some(100)
    }

    fn text(&mut self, path: &str, bytes: Vec<u8>) {
        self.texts.push((path.to_owned(), bytes));
    }

    fn pass_over(&mut self) {
        self.others += 1;
    }

    fn recognise(&mut self, path: String, known: Known, _bytes: Option<u64>) -> Result<(), Stopped> {
        self.known.push((path, known));
        Ok(())
    }

    fn skip(&mut self, path: String, reason: String, fault: bool) -> Result<(), Stopped> {
        self.skipped.push((path, reason, fault));
        Ok(())
    }

    fn progress(&mut self, _bytes: u64) {}
}

impl Taken {
    fn paths(&self) -> Vec<&str> {
        self.objects.iter().map(|object| object.path.as_str()).collect()
    }

    /// The only complaint, which is a fault.
    fn complaint(&self) -> &str {
        assert_eq!(self.skipped.len(), 1, "{:?}", self.skipped);
        assert!(self.skipped[0].2, "{:?}", self.skipped);
        &self.skipped[0].1
    }
}

fn taken_within(bytes: &[u8], limits: Limits) -> Taken {
    let mut taken = Taken::default();
    assert_eq!(read("p", bytes, &limits, &mut taken), Ok(()));
    taken
}

pub(crate) fn taken(bytes: &[u8]) -> Taken {
    taken_within(bytes, Limits::default())
}

/// Packages of every kind that hold `lib/llsc_loop.o` and `lib/outlined_atomic.o`, and what comes before
/// these.
fn all_kinds() -> Vec<(&'static str, String, Vec<u8>)> {
    let [a, b] = objects();
    let members: [Member; 3] = [("lib/llsc_loop.o", &a), ("lib/outlined_atomic.o", &b), ("readme", b"hello")];
    let (plain, payload) = (tar(&members), cpio(&members, "070701"));
    let conda = zip(&[("metadata.json", b"{}"), ("pkg-x.tar.zst", &fixture("members.tar.zst"))], false);
    let npm = tar(&[("package/lib/llsc_loop.o", &a), ("package/lib/outlined_atomic.o", &b)]);
    let signature = tar(&[(".SIGN.RSA.key", b"x")]);
    let apk = [gzip(cut(&signature)), gzip(cut(&tar(&[(".PKGINFO", b"x")]))), gzip(&plain)].concat();
    let root = || "p!".to_owned();
    vec![
        ("tar", root(), plain.clone()),
        ("tar.gz", root(), gzip(&plain)),
        ("tar.xz", root(), fixture("members.tar.xz")),
        ("tar.zst", root(), fixture("members.tar.zst")),
        ("tar.bz2", root(), fixture("members.tar.bz2")),
        ("whl", root(), zip(&members, true)),
        ("stored zip", root(), zip(&members, false)),
        ("conda", "p!pkg-x.tar.zst!".to_owned(), conda),
        ("npm", "p!package/".to_owned(), gzip(&npm)),
        ("deb", root(), deb("data.tar.xz", &fixture("members.tar.xz"))),
        ("deb, not compressed", root(), deb("data.tar", &plain)),
        ("rpm", root(), rpm(&gzip(&payload))),
        ("rpm, not compressed", root(), rpm(&payload)),
        ("apk", root(), apk),
    ]
}

#[test]
fn every_kind_gives_its_members() {
    for (kind, before, bytes) in all_kinds() {
        let taken = taken(&bytes);
        assert_eq!(taken.skipped, [], "{kind}");
        let paths = ["lib/llsc_loop.o", "lib/outlined_atomic.o"].map(|name| format!("{before}{name}"));
        assert_eq!(taken.paths(), paths, "{kind}");
        for (object, wanted) in taken.objects.iter().zip(objects()) {
            assert!(object.bytes == wanted && object.kind == Kind::Elf, "{kind}: {}", object.path);
        }
    }
}

#[test]
fn packages_in_packages_are_read() {
    let [a, b] = objects();
    let library = ar(&[("a.o/", &a)]);
    let inner = deb("data.tar.gz", &gzip(&tar(&[("./usr/a.o", &a), ("./usr/lib.a", &library)])));
    let wheel = zip(&[("b.so", &b)], true);
    let outer = tar(&[("x.deb", &inner), ("w.whl", &wheel), ("k.ko.gz", &gzip(&b))]);
    let paths = ["p!x.deb!usr/a.o", "p!x.deb!usr/lib.a", "p!w.whl!b.so", "p!k.ko.gz"];
    for bytes in [outer.clone(), gzip(&outer), zip(&[("o", &outer)], true), zip(&[("o", &outer)], false)] {
        let taken = taken(&bytes);
        assert_eq!(taken.skipped, []);
        let found: Vec<String> = taken.paths().iter().map(|path| path.replace("p!o!", "p!")).collect();
        assert_eq!(found, paths);
        assert_eq!(taken.objects[1].kind, Kind::Archive);
        assert_eq!(taken.objects[3].bytes, b);
    }
}

#[test]
fn lzma_payload_of_an_old_rpm_is_decoded() {
    // A tar archive in place of cpio: the complaint shows that it was decoded so far.
    let taken = taken(&rpm(&fixture("members.tar.lzma")));
    assert!(taken.complaint().contains("cpio: no header where one begins"), "{:?}", taken.skipped);
}

#[test]
fn truncated_package_is_reported_and_what_came_before_is_kept() {
    for (kind, _, bytes) in all_kinds() {
        let whole = taken(&bytes);
        let step = (bytes.len() / 60).max(1);
        for length in (24..bytes.len()).step_by(step).chain(bytes.len() - 12..bytes.len()) {
            let part = taken(&bytes[..length]);
            // Blocks of zeros follow the marker of a tar archive, whether all are there or not; and what is
            // shorter than a header is none.
            let is_whole_tar = kind == "tar" && (length < 512 || length >= bytes.len() - 512);
            // An Alpine package may end after each of its parts.
            if is_whole_tar || kind == "apk" && part.skipped.is_empty() {
                continue;
            }
            assert!(!part.skipped.is_empty(), "{kind} of {length} bytes: nothing is said");
            assert!(
                part.skipped.iter().any(|(path, ..)| path.starts_with('p')),
                "{kind}: {:?}",
                part.skipped
            );
            assert!(part.skipped.iter().any(|skip| skip.2), "{kind} {length}: {:?}", part.skipped);
            let before = whole.objects.get(..part.objects.len()).unwrap();
            assert_eq!(part.objects, before, "{kind} of {length} bytes");
        }
    }
}

#[test]
fn flipped_bits_never_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % limit
    };
    for (_, _, bytes) in all_kinds() {
        for _ in 0..60 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + draw(4) {
                let at = draw(damaged.len());
                damaged[at] ^= 1 << draw(8);
            }
            let limits = Limits { unpacked_bytes: 16 << 20, ..Limits::default() };
            let taken = taken_within(&damaged, limits);
            assert!(taken.objects.len() <= 2);
        }
    }
}

#[test]
fn damaged_member_of_a_zip_file_costs_that_member_only() {
    let [a, b] = objects();
    for deflated in [true, false] {
        let mut bytes = zip(&[("a.o", &a), ("b.o", &b)], deflated);
        bytes[if deflated { 60 } else { 300 }] ^= 0x55;
        let taken = taken(&bytes);
        assert_eq!(taken.paths(), ["p!b.o"]);
        assert_eq!(taken.skipped[0].0, "p!a.o");
        assert!(!taken.complaint().is_empty());
    }
}

#[test]
fn bomb_ends_at_the_ratio() {
    let mut zeros = vec![0; 80 << 20];
    zeros[..4].copy_from_slice(b"\x7fELF");
    for bytes in [gzip(&tar(&[("z", &zeros)])), zip(&[("z", &zeros)], true), gzip(&gzip(&zeros))] {
        let taken = taken(&bytes);
        assert!(taken.objects.is_empty());
        assert!(
            taken.complaint().contains("more than 200 times its size (--max-ratio)"),
            "{:?}",
            taken.skipped
        );
    }
    // What follows the bomb is read.
    let [a, _] = objects();
    let outer = taken(&tar(&[("bomb.gz", &gzip(&zeros)), ("a.o", &a)]));
    assert_eq!(outer.paths(), ["p!a.o"]);
}

#[test]
fn limits_are_kept_and_named() {
    let [a, b] = objects();
    let two = tar(&[("a.o", &a), ("b.o", &b)]);
    let all = Limits::default();
    let members = taken_within(&two, Limits { members: 1, ..all });
    assert_eq!(members.paths(), ["p!a.o"]);
    assert_eq!(members.complaint(), "more than 1 members: the rest is left out (--max-members)");
    let member = taken_within(&two, Limits { member_bytes: a.len().min(b.len()) as u64, ..all });
    assert_eq!(member.objects.len(), usize::from(a.len() != b.len()));
    assert!(member.skipped[0].1.contains("--max-member)"));
    let unpacked = taken_within(&gzip(&two), Limits { unpacked_bytes: 3000, ..all });
    assert!(unpacked.complaint().contains("unpacks to more than 3000 (--max-unpacked)"));
    let mut nested = zip(&[("a.o", &a)], true);
    for _ in 0..10 {
        nested = zip(&[("n", &nested)], true);
    }
    let depth = taken(&nested);
    assert_eq!(depth.complaint(), "nested in more than 8 packages (--max-depth)");
    assert_eq!(depth.skipped[0].0, "p!n!n!n!n!n!n!n!n");
    assert_eq!(taken_within(&nested, Limits { depth: 11, ..all }).objects.len(), 1);
    let held = taken_within(&gzip(&nested), Limits { member_bytes: 600, ..all });
    assert!(held.complaint().contains("held in memory (--max-member)"), "{:?}", held.skipped);
    let mut stream = a.clone();
    for _ in 0..10 {
        stream = gzip(&stream);
    }
    assert!(taken(&stream).complaint().contains("--max-depth"));
}

#[test]
fn header_of_a_tar_archive_may_not_fill_the_memory() {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::XHeader);
    header.set_path("x").unwrap();
    header.set_size(8 << 20);
    header.set_cksum();
    builder.append(&header, vec![b'1'; 8 << 20].as_slice()).unwrap();
    let bytes = builder.into_inner().unwrap();
    for bytes in [gzip(&bytes), bytes] {
        assert!(taken(&bytes).complaint().contains("a header of more than 1048576 bytes"));
    }
}

#[test]
fn links_devices_and_folders_are_passed_and_sparse_files_are_whole() {
    let [a, b] = objects();
    let mut builder = tar::Builder::new(Vec::new());
    let kinds = [tar::EntryType::Link, tar::EntryType::Symlink, tar::EntryType::Char, tar::EntryType::Fifo];
    for (number, kind) in kinds.into_iter().enumerate() {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_path(format!("special{number}")).unwrap();
        header.set_link_name("/etc/passwd").unwrap();
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, &b""[..]).unwrap();
    }
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_path("sparse").unwrap();
    header.set_size(b.len() as u64);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.sparse[0].numbytes = *b"00000000000\0";
    gnu.sparse[0].numbytes[..11].copy_from_slice(format!("{:011o}", b.len()).as_bytes());
    gnu.sparse[0].offset = *b"00000000000\0";
    gnu.realsize[..11].copy_from_slice(format!("{:011o}", b.len()).as_bytes());
    header.set_cksum();
    builder.append(&header, b.as_slice()).unwrap();
    let mut last = tar::Header::new_gnu();
    last.set_size(a.len() as u64);
    builder.append_data(&mut last, "../../a.o", a.as_slice()).unwrap_err();
    let mut last = tar::Header::new_gnu();
    last.set_size(a.len() as u64);
    builder.append_data(&mut last, "a.o", a.as_slice()).unwrap();
    let bytes = builder.into_inner().unwrap();
    for bytes in [gzip(&bytes), bytes] {
        let taken = taken(&bytes);
        assert_eq!(taken.skipped, []);
        assert_eq!(taken.paths(), ["p!sparse", "p!a.o"]);
        assert_eq!(taken.objects[0].bytes, b);
    }
}

/// By GNU tar itself, in each of its formats.
#[test]
fn sparse_files_of_every_format_are_whole() {
    let [a, _] = objects();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sparse");
    std::fs::create_dir_all(&folder).unwrap();
    let sparse = [&a[..], &[0; 1 << 20], b"between", &[0; 3 << 20]].concat();
    let mut file = File::create(folder.join("sparse.o")).unwrap();
    file.write_all(&a).unwrap();
    file.seek(SeekFrom::Current(1 << 20)).unwrap();
    file.write_all(b"between").unwrap();
    file.set_len(sparse.len() as u64).unwrap();
    drop(file);
    File::create(folder.join("holes")).unwrap().set_len(1 << 22).unwrap();
    for format in
        ["gnu", "posix --sparse-version=0.0", "posix --sparse-version=0.1", "posix --sparse-version=1.0"]
    {
        let options = format!("--format={format} --sparse --hole-detection=raw -cf - holes sparse.o");
        let made = Command::new("tar").args(options.split(' ')).current_dir(&folder).output().unwrap();
        assert!(made.status.success(), "{format}: {}", String::from_utf8_lossy(&made.stderr));
        assert!(made.stdout.len() < 1 << 20, "{format}: {} bytes", made.stdout.len());
        for bytes in [gzip(&made.stdout), made.stdout] {
            let taken = taken(&bytes);
            assert_eq!(taken.skipped, [], "{format}");
            assert_eq!(taken.paths(), ["p!sparse.o"], "{format}");
            assert_eq!(taken.objects[0].bytes, sparse, "{format}");
        }
    }
}

#[test]
fn a_sparse_file_whose_map_lies_is_a_fault() {
    let [a, _] = objects();
    let archive = |records: &[(&str, &str)], map: &str| {
        let mut builder = tar::Builder::new(Vec::new());
        // A line with its own length, of two or three digits.
        let line = |(key, value): &(&str, &str)| {
            let rest = format!(" {key}={value}\n");
            let length = rest.len() + if rest.len() < 98 { 2 } else { 3 };
            format!("{length}{rest}")
        };
        let records: String = records.iter().map(line).collect();
        let mut extended = tar::Header::new_ustar();
        extended.set_entry_type(tar::EntryType::XHeader);
        extended.set_size(records.len() as u64);
        builder.append_data(&mut extended, "PaxHeaders/f", records.as_bytes()).unwrap();
        let mut block = map.as_bytes().to_vec();
        block.resize(block.len().next_multiple_of(512), 0);
        let stored = [&block, &a[..]].concat();
        let mut header = tar::Header::new_ustar();
        header.set_size(stored.len() as u64);
        builder.append_data(&mut header, "made-up", stored.as_slice()).unwrap();
        builder.into_inner().unwrap()
    };
    let length = a.len();
    let before = |size: &str, map: &str| {
        let records = [("GNU.sparse.major", "1"), ("GNU.sparse.name", "f"), ("GNU.sparse.realsize", size)];
        archive(&records, map)
    };
    let (size, map) = (length.to_string(), format!("1\n0\n{length}\n"));
    assert_eq!(taken(&before(&size, &map)).objects[0].bytes, a);
    assert_eq!(taken(&before(&size, &map)).paths(), ["p!f"]);
    let disorder = "its map is not in order, or goes past its end";
    let less = (length - 1).to_string();
    assert!(taken(&before(&less, &map)).complaint().contains(disorder));
    assert!(taken(&before(&size, "1\n0\nmany\n")).complaint().contains("a number was expected"));
    assert!(taken(&before("many", &map)).complaint().contains("a number was expected"));
    assert!(taken(&before(&size, &"1".repeat(9999))).complaint().contains("a map that has no end"));
    assert!(taken(&before("1000000000000", &map)).complaint().contains("--max-ratio"));
    let within = |map: &str| {
        archive(&[("GNU.sparse.name", "f"), ("GNU.sparse.size", &size), ("GNU.sparse.map", map)], "")
    };
    assert_eq!(taken(&within(&format!("0,{length}"))).objects[0].bytes, a);
    assert!(taken(&within("0,64,32,64")).complaint().contains(disorder));
    assert!(taken(&within("0,64,32")).complaint().contains("an offset without a size"));
    // Holes count as what a decoder gives.
    let all = Limits { unpacked_bytes: length as u64, ..Limits::default() };
    let longer = before(&(length + 1).to_string(), &map);
    assert_eq!(taken_within(&before(&size, &map), all).skipped, []);
    assert_eq!(taken_within(&longer, all).skipped, []);
    let none = Limits { unpacked_bytes: 0, ..all };
    let larger = before(&(length + 2048).to_string(), &map);
    assert!(taken_within(&larger, none).complaint().contains("--max-unpacked"));
}

#[test]
fn archives_within_archives_have_as_many_members_as_befit_their_size() {
    let names: Vec<String> = (0..100).map(|number| format!("n{number}")).collect();
    let all = |count: usize, content: &[u8]| {
        let members: Vec<(&str, &[u8])> =
            names.iter().take(count).map(|name| (name.as_str(), content)).collect();
        zip(&members, true)
    };
    let many = all(100, &all(100, b""));
    assert_eq!(taken(&many).skipped, []);
    let bomb = all(10, &many);
    let size = bomb.len();
    let expected = format!("more than 65536 members in {size} bytes: the rest is left out (--max-ratio)");
    assert_eq!(taken(&bomb).complaint(), expected);
}

#[test]
fn what_follows_the_end_of_a_tar_archive_is_read_on() {
    let [a, b] = objects();
    let (first, second) = (tar(&[("a.o", &a)]), tar(&[("b.o", &b)]));
    let both = |after: &[u8]| {
        let whole = [&first[..], after].concat();
        let [place, stream] = [taken(&whole), taken(&gzip(&whole))];
        assert_eq!((&place.objects, &place.skipped), (&stream.objects, &stream.skipped));
        place
    };
    for (after, paths) in [
        (second.clone(), ["p!a.o", "p!b.o"].map(str::to_owned)),
        ([&[0; 20 * 512][..], &second].concat(), ["p!a.o", "p!b.o"].map(str::to_owned)),
        (b.clone(), ["p!a.o".to_owned(), format!("p!{}", first.len())]),
        (zip(&[("b.o", &b)], true), ["p!a.o".to_owned(), format!("p!{}!b.o", first.len())]),
    ] {
        let taken = both(&after);
        assert_eq!(
            (taken.skipped.as_slice(), taken.paths()),
            (&[][..], paths.iter().map(String::as_str).collect())
        );
    }
    let noise: Vec<u8> = (0..6000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
    assert_eq!(both(&noise).complaint(), "tar: unknown data, 6000 bytes after its end: not read");
    for after in [&b"packed on a Monday\n"[..], &noise[..32], &[0; 9000]] {
        assert_eq!(both(after).skipped, []);
    }
}

#[test]
fn members_of_a_zip_that_share_bytes_are_refused() {
    let [a, b] = objects();
    for deflated in [true, false] {
        let mut shared = zip(&[("a.o", &a), ("b.o", &a), ("c.o", &b)], deflated);
        let central: Vec<usize> =
            (0..shared.len()).filter(|&at| shared[at..].starts_with(b"PK\x01\x02")).collect();
        // The second one is where the first one is.
        shared[central[1] + 42..central[1] + 46].fill(0);
        let taken = taken(&shared);
        assert_eq!(taken.paths(), ["p!a.o", "p!c.o"]);
        let refused =
            ("p!b.o".to_owned(), "zip: its bytes are a part of another member's: refused".to_owned(), true);
        assert_eq!(taken.skipped, [refused]);
    }
    let empty = zip(&[("a", b""), ("b", b""), ("c.o", &a)], false);
    assert_eq!(taken(&empty).skipped, [], "no bytes are nobody's");
}

#[test]
fn hostile_names_are_text() {
    let [a, _] = objects();
    let bytes = zip(&[("../../etc/\x1b[2J\r\nx", &a), ("/abs!olute", &a)], true);
    assert_eq!(taken(&bytes).paths(), ["p!../../etc/\\x1b[2J\\x0d\\x0ax", "p!abs!olute"]);
}

#[test]
fn what_cannot_be_read_is_said_plainly() {
    let large = taken(&rpm(&gzip(b"07070X00000001")));
    assert!(large.complaint().contains("cut off"), "{:?}", large.skipped);
    let [a, _] = objects();
    let large = taken(&rpm(&gzip(&cpio(&[("a", &a)], "07070X"))));
    assert!(large.complaint().contains("07070X"), "{:?}", large.skipped);
    assert!(taken(b"ADB.pckg").complaint().contains("apk-tools 3"));
    let mut encrypted = zip(&[("a.o", &a)], true);
    let central = encrypted.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    encrypted[central + 8] |= 1;
    assert!(taken(&encrypted).complaint().contains("encrypted members are not read: 1"));
    // A damaged file among a package's data is no fault.
    let data = taken(&tar(&[("test.gz", b"\x1f\x8b\x08\0garbage"), ("a.o", &a)]));
    assert_eq!(data.paths(), ["p!a.o"]);
    assert!(!data.skipped[0].2);
}

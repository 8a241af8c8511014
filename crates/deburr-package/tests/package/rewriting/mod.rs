//! Packages with a binary changed: they read as before except for that binary, their hashes are right, and
//! what cannot be rewritten is refused. The new packages are read with the `tar` and `rawzip` crates, which
//! the rewriter does not use.

mod debian;
mod image;
mod zip;

use crate::making::{self, Member, ar, cpio, cut, deb, fixture, gzip, objects, rpm, tar};
use deburr_package::{Kind, Limits, Object, RewriteError, Rewritten, Sink, Stopped, read, rewrite};
use std::borrow::Cow;
use std::io::Read;

/// What a package gives its reader.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    objects: Vec<Object>,
    skipped: Vec<(String, String)>,
}

impl Sink for Taken {
    type Permit = ();

    fn admit(&mut self, _bytes: u64) -> Result<(), Stopped> {
        Ok(())
    }

    fn hold(&mut self, _bytes: u64) -> Result<(), Stopped> {
        Ok(())
    }

    fn object(&mut self, object: Object, _permit: ()) -> Result<(), Stopped> {
        self.objects.push(object);
        Ok(())
    }

    fn pass_over(&mut self) {}

    fn skip(&mut self, path: String, reason: String, _fault: bool) -> Result<(), Stopped> {
        self.skipped.push((path, reason));
        Ok(())
    }

    fn progress(&mut self, _bytes: u64) {}
}

pub(crate) fn taken(bytes: &[u8]) -> Taken {
    let mut taken = Taken::default();
    assert_eq!(read("p", bytes, &Limits::default(), &mut taken), Ok(()));
    taken
}

/// Two blocks longer than it was, and another.
pub(crate) fn changed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[16] ^= 0x55;
    bytes.extend((0..1100_u32).map(|n| ((n * n) >> 3) as u8));
    bytes
}

/// Changes the binaries whose path ends so.
pub(crate) fn rewritten<'a>(bytes: &'a [u8], end: &str) -> Result<Rewritten<'a>, RewriteError> {
    let mut change = |object: &Object| object.path.ends_with(end).then(|| changed(&object.bytes));
    rewrite("p", bytes, &Limits::default(), &mut change)
}

/// The new package, in which one binary changed, which its reader finds, too; and the signatures that hold no
/// longer, before the notes.
pub(crate) fn with_one_changed(bytes: &[u8], end: &str) -> (Vec<u8>, Vec<String>) {
    let Rewritten { bytes: new, changed: paths, signatures, notes, .. } = rewritten(bytes, end).unwrap();
    let mut wanted = taken(bytes);
    for object in wanted.objects.iter_mut().filter(|object| object.path.ends_with(end)) {
        object.bytes = changed(&object.bytes);
        assert_eq!(paths, std::slice::from_ref(&object.path));
    }
    assert_eq!(paths.len(), 1);
    assert!(taken(&new) == wanted, "{end}: {:?}", taken(&new).skipped);
    (new.into_owned(), [signatures, notes].concat())
}

fn refusal(bytes: &[u8]) -> String {
    match rewritten(bytes, "") {
        Err(error @ RewriteError::Refused { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn unpacked(codec: &str, bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match codec {
        "gz" => flate2::bufread::GzDecoder::new(bytes).read_to_end(&mut plain).unwrap(),
        "xz" => lzma_rust2::XzReader::new(bytes, false).read_to_end(&mut plain).unwrap(),
        "zst" => zstd(bytes, &mut plain),
        _ => {
            plain.extend_from_slice(bytes);
            0
        }
    };
    plain
}

/// Frames one after another, some to be skipped, as parallel compressors write them.
fn zstd(mut bytes: &[u8], into: &mut Vec<u8>) -> usize {
    while !bytes.is_empty() {
        match bytes {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                let mut decoder = ruzstd::decoding::StreamingDecoder::new(&mut bytes).unwrap();
                decoder.read_to_end(into).unwrap();
            }
            _ => bytes = &bytes[8 + usize::from(bytes[4])..],
        }
    }
    into.len()
}

/// A tar archive with all that one may hold.
fn diverse(a: &[u8], b: &[u8]) -> Vec<u8> {
    let long = format!("usr/{}/b.so", "long/".repeat(40));
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |kind: tar::EntryType, name: &str, link: &str, bytes: &[u8], time: u64| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        header.set_mtime(time);
        header.set_uid(1000);
        if link.is_empty() {
            builder.append_data(&mut header, name, bytes).unwrap();
        } else {
            builder.append_link(&mut header, name, link).unwrap();
        }
    };
    add(tar::EntryType::Directory, "usr/", "", b"", 1);
    add(tar::EntryType::Regular, "usr/a.so", "", a, 2);
    add(tar::EntryType::Link, "usr/twin.so", "usr/a.so", b"", 3);
    add(tar::EntryType::Symlink, "usr/symlink", "a.so", b"", 4);
    add(tar::EntryType::Regular, &long, "", b, 5);
    add(tar::EntryType::Regular, "usr/empty", "", b"", 6);
    add(tar::EntryType::Regular, "usr/text", "", b"text", 7);
    let records = [("SCHILY.xattr.user.x", &b"1\n2"[..]), ("path", b"usr/pax.so")];
    builder.append_pax_extensions(records).unwrap();
    let mut header = tar::Header::new_ustar();
    header.set_path("other").unwrap();
    header.set_size(b.len() as u64);
    header.set_cksum();
    builder.append(&header, b).unwrap();
    let mut bytes = builder.into_inner().unwrap();
    bytes.extend(b"whatever follows");
    bytes
}

#[test]
fn archive_differs_only_in_what_was_changed() {
    let [a, b] = objects();
    let old = diverse(&a, &b);
    let (new, notes) = with_one_changed(&old, "usr/a.so");
    assert!(new == diverse(&changed(&a), &b));
    assert_eq!(notes, [""; 0]);
    assert!(with_one_changed(&old, "/b.so").0 != old);
    let Rewritten { bytes: new, changed: paths, .. } = rewritten(&old, ".so").unwrap();
    assert!(new == diverse(&changed(&a), &changed(&b)));
    assert_eq!(paths.len(), 3);
    assert_eq!(paths[2], "p!usr/pax.so");
}

#[test]
fn compressed_archive_holds_the_archive_with_the_change() {
    let [a, b] = objects();
    for codec in ["gz", "xz", "zst"] {
        let fixture = match codec {
            "gz" => gzip(&unpacked("xz", &fixture("members.tar.xz"))),
            _ => fixture(&format!("members.tar.{codec}")),
        };
        let plain = unpacked(codec, &fixture);
        for (end, bytes) in [("llsc_loop.o", &a), ("outlined_atomic.o", &b)] {
            let (new, notes) = with_one_changed(&fixture, end);
            assert_eq!(notes.len(), usize::from(codec == "zst"), "{notes:?}");
            let at = plain.windows(bytes.len()).position(|window| window == bytes).unwrap();
            let new = unpacked(codec, &new);
            // But for the size and the checksum in the header.
            assert!(new[..at - 512] == plain[..at - 512], "{codec}: {end}");
            assert!(new[at - 388..at - 376] != plain[at - 388..at - 376]);
            assert!(new[at - 356..at] == plain[at - 356..at]);
            assert!(new[at..].starts_with(&changed(bytes)));
            let (rest, old_rest) =
                (changed(bytes).len().next_multiple_of(512), bytes.len().next_multiple_of(512));
            assert!(new[at + rest..] == plain[at + old_rest..]);
        }
    }
}

#[test]
fn gzip_header_is_kept() {
    let [a, _] = objects();
    let builder = flate2::GzBuilder::new().filename("x.tar").mtime(77).comment("c").extra(*b"abcd");
    let mut encoder = builder.operating_system(3).write(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, &tar(&[("a.so", &a)])).unwrap();
    let old = encoder.finish().unwrap();
    let (new, _) = with_one_changed(&old, "a.so");
    let length = 10 + 6 + "x.tar\0".len() + "c\0".len();
    assert_eq!(new[..length], old[..length]);
}

#[test]
fn package_without_a_change_is_the_same_and_every_binary_is_shown() {
    let [a, b] = objects();
    let archive = ar(&[("a.o/", &a)]);
    let plain = tar(&[("a.so", &a), ("lib.a", &archive), ("text", b"text"), ("b.so", &b)]);
    let packages = [
        plain.clone(),
        gzip(&plain),
        making::zip(&[("a.so", &a), ("lib.a", &archive), ("b.so", &b)], true),
        making::zip(&[("a.so", &a)], false),
        making::zip(&[], false),
        deb("data.tar", &plain),
        deb("data.tar.gz", &gzip(&plain)),
        deb("data.tar.xz", &fixture("members.tar.xz")),
        deb("data.tar.zst", &fixture("members.tar.zst")),
    ];
    for package in packages {
        for answer in [None, Some(())] {
            let mut shown = Vec::new();
            let mut change = |object: &Object| {
                shown.push(Object {
                    path: object.path.clone(),
                    kind: object.kind,
                    bytes: object.bytes.clone(),
                    stored_at: object.stored_at,
                    lacks: object.lacks,
                });
                // The same bytes are no change either.
                answer.map(|()| object.bytes.clone())
            };
            let made = rewrite("p", &package, &Limits::default(), &mut change).unwrap();
            assert_eq!(
                made,
                Rewritten {
                    bytes: Cow::Borrowed(&package[..]),
                    changed: vec![],
                    unopened: vec![],
                    signatures: vec![],
                    notes: vec![]
                }
            );
            assert!(matches!(made.bytes, Cow::Borrowed(_)));
            assert!(shown == taken(&package).objects);
        }
    }
    let Rewritten { changed: paths, .. } = rewritten(&plain, "lib.a").unwrap();
    assert_eq!(paths, ["p!lib.a"]);
    assert_eq!(taken(&plain).objects[1].kind, Kind::Archive);
}

#[test]
fn packages_within_are_kept_and_noted() {
    let [a, _] = objects();
    let inner = tar(&[("a.so", &a)]);
    let members: [Member; 7] = [
        ("a.so", &a),
        ("x.tar", &inner),
        ("y.tar.gz", &gzip(&inner)),
        ("z.zip", &making::zip(&[("a.so", &a)], true)),
        ("w.deb", &deb("data.tar", &inner)),
        ("k.ko.gz", &gzip(&a)),
        ("doc.gz", &gzip(b"text")),
    ];
    let notes = [
        "k.ko.gz: a compressed binary, kept as it is",
        "x.tar, y.tar.gz, z.zip and 1 more: a package in the package, kept as it is",
    ];
    for package in [gzip(&tar(&members)), making::zip(&members, true), making::zip(&members, false)] {
        let Rewritten { bytes: new, changed: paths, unopened, signatures, notes: told } =
            rewritten(&package, "p!a.so").unwrap();
        assert_eq!(paths, ["p!a.so"]);
        assert_eq!(unopened, ["p!x.tar", "p!y.tar.gz", "p!z.zip", "p!w.deb", "p!k.ko.gz"]);
        assert_eq!((signatures.len(), told), (0, notes.map(str::to_owned).to_vec()));
        let (old, new) = (taken(&package).objects, taken(&new).objects);
        assert!(new[1..] == old[1..] && new[0].bytes == changed(&a));
    }
}

#[test]
fn what_is_not_rewritten_is_named() {
    let [a, _] = objects();
    let members: [Member; 1] = [("a.so", &a)];
    let plain = tar(&members);
    let with = |name: &str| gzip(&tar(&[("a.so", &a), (name, b"x")]));
    let apk = [gzip(cut(&tar(&[(".SIGN.RSA.key", b"x")]))), gzip(&plain)].concat();
    for (name, bytes) in [
        ("RPM", rpm(&gzip(&cpio(&members, "070701")))),
        ("apk", apk),
        ("pacman", with(".MTREE")),
        ("FreeBSD", with("+COMPACT_MANIFEST")),
        ("conda", with("info/paths.json")),
        ("conda", making::zip(&[("metadata.json", b"{}"), ("pkg-x.tar.zst", b"x")], false)),
        ("Android", making::zip(&[("AndroidManifest.xml", b"x"), ("lib/a.so", &a)], false)),
        ("container image", with("oci-layout")),
        ("apk-tools 3", b"ADB.pckg".to_vec()),
        ("bzip2", fixture("members.tar.bz2")),
        ("no tar archive", gzip(&a)),
        ("no package", a.clone()),
        ("no package", ar(&[("a.o/", &a)])),
        ("no package", Vec::new()),
    ] {
        assert!(refusal(&bytes).contains(name), "{name}: {}", refusal(&bytes));
    }
}

#[test]
fn what_tar_readers_do_not_agree_on_is_refused() {
    let [a, _] = objects();
    let archive = |kind: tar::EntryType, pax: &[(&str, &[u8])]| {
        // The crate gives an extension no name, so that an archive could not be recognised if it began with
        // one.
        let mut builder = tar::Builder::new(Vec::new());
        let mut first = tar::Header::new_ustar();
        first.set_size(0);
        builder.append_data(&mut first, "first", &b""[..]).unwrap();
        builder.append_pax_extensions(pax.iter().copied()).unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(kind);
        header.set_path("a.so").unwrap();
        header.set_link_name("b").unwrap();
        header.set_size(a.len() as u64);
        header.set_cksum();
        builder.append(&header, a.as_slice()).unwrap();
        builder.into_inner().unwrap()
    };
    let size = a.len().to_string();
    for (what, bytes) in [
        ("a link or a folder with bytes", archive(tar::EntryType::Link, &[])),
        ("a link or a folder with bytes", archive(tar::EntryType::Directory, &[])),
        ("a folder with bytes", archive(tar::EntryType::Regular, &[("path", b"a/")])),
        ("no room for the new size", archive(tar::EntryType::Regular, &[("size", size.as_bytes())])),
        ("a global header", {
            let mut bytes = archive(tar::EntryType::Regular, &[("path", b"a.so")]);
            let mut header = tar::Header::from_byte_slice(&bytes[512..1024]).clone();
            header.set_entry_type(tar::EntryType::XGlobalHeader);
            header.set_cksum();
            bytes[512..1024].copy_from_slice(header.as_bytes());
            bytes
        }),
    ] {
        assert!(refusal(&bytes).contains(what), "{what}: {}", refusal(&bytes));
    }
    // A sparse file is not held together by its header alone: it stays.
    let sparse = archive(tar::EntryType::Regular, &[("GNU.sparse.major", b"1")]);
    assert_eq!(rewritten(&sparse, "").unwrap().changed, [""; 0]);
    let signed = archive(tar::EntryType::Regular, &[("SCHILY.xattr.security.ima", b"\x03\n\0")]);
    let (_, notes) = with_one_changed(&signed, "a.so");
    assert_eq!(notes, ["a.so: its IMA hash or signature holds no longer"]);
}

/// Packages of every kind that is rewritten, with `lib/llsc_loop.o` and `lib/outlined_atomic.o`.
fn all_kinds() -> Vec<Vec<u8>> {
    let [a, b] = objects();
    let plain = unpacked("xz", &fixture("members.tar.xz"));
    let streamed = zip::Shape { descriptor: Some((true, true)), is_wide: true, ..zip::Shape::default() };
    vec![
        diverse(&a, &b),
        gzip(&plain),
        fixture("members.tar.xz"),
        fixture("members.tar.zst"),
        making::zip(&[("lib/llsc_loop.o", &a), ("lib/outlined_atomic.o", &b)], true),
        zip::wheel(&a, &b),
        zip::shaped(&[("a.so", &a), ("b.so", &b)], streamed),
        debian::package("xz", &[("./usr/a.so", &a), ("./usr/b.so", &b)]),
        debian::package("", &[("./usr/a.so", &a), ("./usr/b.so", &b)]),
    ]
}

#[test]
fn truncated_package_gives_no_package() {
    for bytes in all_kinds() {
        let step = (bytes.len() / 50).max(1);
        for length in (0..bytes.len()).step_by(step).chain(bytes.len() - 40..bytes.len()) {
            match rewritten(&bytes[..length], "") {
                Err(error) => assert!(error.to_string().starts_with('p')),
                // What follows a tar archive's marker belongs to no member.
                Ok(made) => {
                    assert_eq!(
                        taken(&bytes).objects.len(),
                        made.changed.len(),
                        "{length} of {}",
                        bytes.len()
                    );
                }
            }
        }
    }
}

#[test]
fn flipped_bits_never_panic_nor_give_a_package_that_reads_otherwise() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % limit
    };
    let mut made = 0;
    for bytes in all_kinds() {
        for _ in 0..150 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + draw(3) {
                let at = draw(damaged.len());
                damaged[at] ^= 1 << draw(8);
            }
            let limits = Limits { unpacked_bytes: 16 << 20, ..Limits::default() };
            let mut change =
                |object: &Object| Some(changed(&object.bytes)).filter(|_| object.bytes.len() > 16);
            let Ok(new) = rewrite("p", &damaged, &limits, &mut change) else { continue };
            made += 1;
            let (before, after) = (taken(&damaged), taken(&new.bytes));
            // The rewriter demands less than the reader of what it does not touch, and of nothing else.
            assert_eq!(before.skipped, after.skipped);
            let expected: Vec<Object> = before
                .objects
                .into_iter()
                .map(|object| match new.changed.contains(&object.path) {
                    true => Object { bytes: changed(&object.bytes), ..object },
                    false => object,
                })
                .collect();
            assert!(expected == after.objects);
        }
    }
    assert!(made > 100, "{made}");
}

#[test]
fn limits_are_kept_and_named() {
    let [a, b] = objects();
    let two = tar(&[("a.so", &a), ("b.so", &b)]);
    let all = Limits::default();
    let zipped = making::zip(&[("a.so", &a), ("b.so", &b)], true);
    let within = |bytes: &[u8], limits| {
        let made = rewrite("p", bytes, &limits, &mut |object| Some(changed(&object.bytes)));
        made.map(|made| made.changed.len()).unwrap_err().to_string()
    };
    for bytes in [gzip(&two), zipped] {
        assert!(within(&bytes, Limits { members: 1, ..all }).contains("--max-members"));
        assert!(within(&bytes, Limits { member_bytes: 100, ..all }).contains("--max-member)"));
        assert!(within(&bytes, Limits { unpacked_bytes: 900, ..all }).contains("--max-unpacked"));
    }
    let mut zeros = vec![0; 80 << 20];
    zeros[..4].copy_from_slice(b"\x7fELF");
    assert!(within(&gzip(&tar(&[("a.so", &zeros)])), all).contains("--max-ratio"));
    assert!(within(&making::zip(&[("a.so", &zeros)], true), all).contains("--max-ratio"));
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::XHeader);
    header.set_path("x").unwrap();
    header.set_size(8 << 20);
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, vec![b'1'; 8 << 20].as_slice()).unwrap();
    assert!(within(&builder.into_inner().unwrap(), all).contains("a header of more than 1048576 bytes"));
}

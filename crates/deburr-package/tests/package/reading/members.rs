//! What the sink gets of members before their bytes, and the texts that it wants.

use super::{Taken, taken};
use crate::making::{deb, gzip, objects, zip};
use deburr_package::{Limits, Member, read};

/// An archive of a file with an IMA signature, two links to it, and two lists of which one is too long.
fn archive() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let header = |kind: tar::EntryType, size: usize| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(size as u64);
        header
    };
    let sums = b"00  liba.so.1.2\n";
    builder
        .append_data(&mut header(tar::EntryType::Regular, sums.len()), "usr/lib/SHA256SUMS", &sums[..])
        .unwrap();
    let ima = [("SCHILY.xattr.security.ima", &b"\x03\x02"[..]), ("SCHILY.xattr.user.x", b"y")];
    builder.append_pax_extensions(ima).unwrap();
    let mut append = |name: &str, bytes: &[u8]| {
        builder.append_data(&mut header(tar::EntryType::Regular, bytes.len()), name, bytes).unwrap();
    };
    append("usr/lib/liba.so.1.2", b"\x7fELF and more");
    append("LONG-SUMS", &[b'x'; 101]);
    let mut link = |kind, name: &str, target: &str| {
        builder.append_link(&mut header(kind, 0), name, target).unwrap();
    };
    link(tar::EntryType::Symlink, "./usr/lib/liba.so.1", "liba.so.1.2");
    link(tar::EntryType::Link, "opt/a", "./usr/lib/liba.so.1.2");
    builder.into_inner().unwrap()
}

fn member(path: &str, leads_to: Option<&str>, is_signed: bool) -> Member {
    Member { path: format!("p!{path}"), leads_to: leads_to.map(|to| format!("p!{to}")), is_signed }
}

#[test]
fn members_of_tar_archives_come_with_their_links_and_signatures() {
    let library = "usr/lib/liba.so.1.2";
    for package in [archive(), gzip(&archive()), deb("data.tar.gz", &gzip(&archive()))] {
        let Taken { members, texts, others, skipped, .. } = taken(&package);
        assert_eq!(skipped, []);
        let own: Vec<_> = members.into_iter().filter(|member| !member.path.ends_with("control")).collect();
        assert_eq!(
            own,
            [
                member("usr/lib/SHA256SUMS", None, false),
                member(library, None, true),
                member("LONG-SUMS", None, false),
                member("usr/lib/liba.so.1", Some(library), false),
                member("opt/a", Some(library), false),
            ]
        );
        // What is longer than was asked for is not handed over in parts.
        assert_eq!(texts, [("p!usr/lib/SHA256SUMS".to_owned(), b"00  liba.so.1.2\n".to_vec())]);
        assert!(others >= 2, "{others}");
    }
}

#[test]
fn members_of_zip_files_come_with_their_links() {
    for is_deflated in [false, true] {
        let mut package =
            zip(&[("a/liba.so.1", b"\x7fELF"), ("a/liba.so", b"liba.so.1"), ("a/SUMS", b"x")], is_deflated);
        // Its mode, in the directory, is that of a link.
        let at = package.windows(10).rposition(|window| window == b"a/liba.soP").unwrap();
        package[at - 8..at - 4].copy_from_slice(&(0o120_777_u32 << 16).to_le_bytes());
        let Taken { members, texts, .. } = taken(&package);
        let expected = [
            member("a/liba.so.1", None, false),
            member("a/liba.so", Some("a/liba.so.1"), false),
            member("a/SUMS", None, false),
        ];
        assert_eq!(members, expected);
        assert_eq!(texts, [("p!a/SUMS".to_owned(), b"x".to_vec())]);
    }
}

/// A manifest in binary XML with `extractNativeLibs`.
fn manifest(is_extracted: bool) -> Vec<u8> {
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let map = words(&[0x0008_0180, 12, 0x0101_04ea]);
    let element = words(&[0x0010_0102, 56, 2, u32::MAX, u32::MAX, 5, 0x0014_0014, 1, 0]);
    let attribute = words(&[u32::MAX, 0, u32::MAX, 0x12 << 24 | 8, if is_extracted { u32::MAX } else { 0 }]);
    let size = 8 + map.len() + element.len() + attribute.len();
    [words(&[0x0008_0003, size as u32]), map, element, attribute].concat()
}

#[test]
fn libraries_come_with_their_place_where_an_application_has_them_mapped() {
    let [object, _] = objects();
    let places = |path: &str, package: &[u8]| -> Vec<Option<u64>> {
        let mut taken = Taken::default();
        assert_eq!(read(path, package, &Limits::default(), &mut taken), Ok(()));
        taken.objects.iter().map(|object| object.stored_at).collect()
    };
    for (is_extracted, is_deflated) in [(false, false), (true, false), (false, true)] {
        let manifest = manifest(is_extracted);
        let members = [("AndroidManifest.xml", &manifest[..]), ("lib/x86_64/liba.so", &object)];
        let package = zip(&members, is_deflated);
        let begin = package.windows(object.len()).position(|window| window == object);
        let expected = begin.filter(|_| !is_extracted).map(|at| at as u64);
        assert_eq!(expected.is_some(), !is_extracted && !is_deflated);
        assert_eq!(places("a.APK", &package), [expected]);
        assert_eq!(places("a.aar", &package), [None]);
        // In a package of applications, as one of them has it.
        let set = zip(&[("base.apk", &package[..])], false);
        assert_eq!(places("a.apks", &set), [expected]);
    }
    let without = zip(&[("lib/x86_64/liba.so", &object[..])], false);
    assert_eq!(places("a.apk", &without), [None]);
}

//! `deburr fix` on files whose bytes a hash or a signature attests: in a file beside them, in a list, in an attribute, after their end,
//! and in packages.

use super::super::fixtures::archive;
use super::super::packages::{gzip, tar};
use super::super::{stderr, stdout};
use super::packages::{MEMBER, unzip, wheel, zip};
use super::{LIBRARY, assert_sessions_as_recorded, document, files, fix, fixed, refused, scratch};
use rustix::fs::{XattrFlags, setxattr};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::symlink;

/// The digits of a SHA-256.
fn digits(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn sessions_with_attested_files_are_as_recorded() {
    let scratch = scratch("attested-sessions");
    scratch.file("libcounters.chk", b"\x0f\x01");
    let sessions: [(&str, &[&str]); 3] = [
        ("fix-attested-plan", &["--limit", "1", "--only", "yield-in-spin-loop", "libcounters.so"]),
        ("fix-attested", &["-o", "new.so", "libcounters.so"]),
        ("fix-despite-signature", &["--despite-signature", "-o", "new.so", "libcounters.so"]),
    ];
    assert_sessions_as_recorded(&scratch, &sessions);
}

#[test]
fn file_that_a_sibling_attests_is_refused_however_it_would_be_written() {
    let scratch = scratch("attested-sibling");
    symlink("libcounters.so", scratch.join("libcounters.so.1")).unwrap();
    for sibling in [
        "libcounters.chk",
        ".libcounters.so.hmac",
        "fipscheck/libcounters.so.hmac",
        "libcounters.so.sig",
        "libcounters.so.minisig",
        // Whatever is in it: it may be the hash of a part, or keyed.
        "libcounters.so.sha256",
        ".libcounters.so.1.hmac",
        "libcounters.so.1.asc",
    ] {
        let path = scratch.file(sibling, b"something");
        let message = format!(
            "libcounters.so: its bytes are attested by {sibling}, which a rewritten file would not match"
        );
        refused(&scratch, &["-o", "new.so", "libcounters.so"], &message);
        refused(&scratch, &["--in-place", "libcounters.so"], &message);
        let told = document(&scratch, &["libcounters.so"]);
        let obstacle = told["files"][0]["obstacle"].as_str().unwrap();
        assert!(obstacle.contains(sibling) && obstacle.contains("--despite-signature"), "{obstacle}");
        fs::remove_file(path).unwrap();
    }
    scratch.file("libcounters.chk", b"something");
    let output = fix(&scratch, &["--dispatch", "dist", "libcounters.so"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).contains("attested by libcounters.chk"), "{}", stderr(&output));
    for option in ["--despite-signature", "--trailer"] {
        let told = document(&scratch, &[option, "-o", "new.so", "libcounters.so"]);
        let broken = &told["files"][0]["breaks"][0];
        assert_eq!(broken["what"], "attested");
        assert!(
            broken["text"].as_str().unwrap().starts_with("libcounters.chk attests the original"),
            "{broken}"
        );
        fixed(&scratch, &["--verify", "libcounters.so", "new.so"]);
        fs::remove_file(scratch.join("new.so")).unwrap();
    }
    // Where there is nothing to rewrite, nothing is refused.
    let nothing = fixed(&scratch, &["--only", "split-frame-reload", "-o", "new.so", "libcounters.so"]);
    assert!(nothing.contains("copied as it is"), "{nothing}");
}

#[test]
fn what_attests_other_files_is_no_reason() {
    let scratch = scratch("attested-others");
    for name in
        ["README.sig", "foo.hmac", "bar.chk", "libcounters.sig", "libcounters.so.txt", "xlibcounters.so.asc"]
    {
        scratch.file(name, b"something");
    }
    let (now, before) = (digits(LIBRARY), digits(b"before"));
    scratch.file("SHA256SUMS", format!("{now}  other.so\n{before}  libcounters.so\n").as_bytes());
    scratch.file("RECORD", format!("libcounters.so,sha256={now},1\n").as_bytes());
    fixed(&scratch, &["-o", "new.so", "libcounters.so"]);
    // Until a list has the hash of what the file is now.
    scratch.file("checksums.txt", format!("{now} *./libcounters.so\n").as_bytes());
    refused(&scratch, &["-o", "again.so", "libcounters.so"], "attested by checksums.txt");
}

#[test]
fn attested_files_of_a_tree_stay_and_the_others_are_rewritten() {
    let scratch = scratch("attested-tree");
    for name in ["tree/libfreebl3.so", "tree/nss/libsoftokn3.so", "tree/libssl3.so"] {
        scratch.file(name, LIBRARY);
    }
    scratch.file("tree/libfreebl3.chk", b"\x0f\x01");
    let hash = digits(LIBRARY);
    scratch.file("tree/SHA256SUMS", format!("{hash}  nss/libsoftokn3.so\n").as_bytes());
    let told = document(&scratch, &["-o", "new", "tree"]);
    let left: Vec<_> =
        told["left"].as_array().unwrap().iter().map(|it| (&it["path"], &it["is_fault"])).collect();
    assert_eq!(
        left,
        [(&"tree/libfreebl3.so".into(), &false.into()), (&"tree/nss/libsoftokn3.so".into(), &false.into())]
    );
    let is_old = |name: &str| fs::read(scratch.join("new").join(name)).unwrap() == LIBRARY;
    assert!(is_old("libfreebl3.so") && is_old("nss/libsoftokn3.so") && !is_old("libssl3.so"));
    let told = fixed(&scratch, &["--in-place", "tree"]);
    assert!(told.contains("1 file left as it is: its bytes are attested by libfreebl3.chk"), "{told}");
    assert!(
        !scratch.join("tree/libfreebl3.so.orig").exists() && scratch.join("tree/libssl3.so.orig").exists()
    );
}

#[test]
fn file_with_a_digest_in_an_attribute_is_refused() {
    let scratch = scratch("attested-attribute");
    let path = scratch.join("libcounters.so");
    if setxattr(&path, "user.shatag.sha256", b"00", XattrFlags::empty()).is_err() {
        let found = fixed(&scratch, &["-o", "new.so", "libcounters.so"]);
        assert!(found.contains("written to new.so"), "{found}");
        return; // No attributes here.
    }
    refused(&scratch, &["--in-place", "libcounters.so"], "attested by its attribute user.shatag.sha256");
    let told = fixed(&scratch, &["--in-place", "--despite-signature", "libcounters.so"]);
    assert!(told.contains("its attribute user.shatag.sha256 attests the original"), "{told}");
}

#[test]
fn stray_bytes_at_the_end_stay_and_what_is_sought_there_is_refused() {
    let scratch = scratch("stray");
    let stray = b"\x01\0\0\0\0\0\x0c\0 \x8f@\0\0\0\0\0\0\0\0\0\0\0\0\0\0$x\0";
    let original = [LIBRARY, stray].concat();
    scratch.file("stray.so", &original);
    let told = fixed(&scratch, &["-o", "new.so", "stray.so"]);
    assert!(told.contains("28 stray bytes after the last section stay in their place"), "{told}");
    assert!(fs::read(scratch.join("new.so")).unwrap()[LIBRARY.len()..].starts_with(stray));
    fixed(&scratch, &["--verify", "stray.so", "new.so"]);
    fixed(&scratch, &["--revert", "--in-place", "new.so"]);
    assert!(fs::read(scratch.join("new.so")).unwrap() == original);
    let hash = Sha256::digest(LIBRARY);
    for (rest, message) in [
        (&[0xaa; 65][..], "65 bytes follow"),
        (&hash[..], "32 bytes follow"),
        (b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "22 bytes follow"),
        (b"~Module signature appended~\n", "a kernel module's signature at its end"),
    ] {
        scratch.file("sought.so", &[LIBRARY, rest].concat());
        refused(&scratch, &["-o", "again.so", "sought.so"], message);
        fixed(&scratch, &["--trailer", "-o", "again.so", "sought.so"]);
        fixed(&scratch, &["--verify", "sought.so", "again.so"]);
        fs::remove_file(scratch.join("again.so")).unwrap();
    }
}

#[test]
fn member_of_a_wheel_that_another_attests_stays_and_the_rest_is_rewritten() {
    let scratch = scratch("attested-wheel");
    let mut members = wheel(LIBRARY);
    members.push(("counters/second.so".to_owned(), LIBRARY.to_vec()));
    members.push(("counters/.libcounters.so.hmac".to_owned(), b"00".to_vec()));
    members.push(("second.so.sig".to_owned(), b"of another folder".to_vec()));
    scratch.file("app.whl", &zip(&members));
    let told = document(&scratch, &["-o", "new.whl", "app.whl"]);
    let left: Vec<_> = told["left"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["path"] == format!("app.whl!{MEMBER}"))
        .collect();
    let [left] = left.as_slice() else { panic!("{told}") };
    assert!(left["reason"].as_str().unwrap().contains("attested by .libcounters.so.hmac"), "{left}");
    let new = unzip(&fs::read(scratch.join("new.whl")).unwrap());
    let bytes = |name: &str| &new.iter().find(|member| member.0 == name).unwrap().1;
    assert!(bytes(MEMBER) == LIBRARY && bytes("counters/second.so") != LIBRARY);
    fixed(&scratch, &["--verify", "app.whl", "new.whl"]);
    let plan = fixed(&scratch, &["app.whl"]);
    assert!(plan.contains("cannot be written: its bytes are attested by .libcounters.so.hmac"), "{plan}");
    let told = fixed(&scratch, &["--despite-signature", "-o", "all.whl", "app.whl"]);
    assert!(told.contains("app.whl: 2 files in it rewritten"), "{told}");
    assert!(told.contains("note: .libcounters.so.hmac attests the original"), "{told}");
}

#[test]
fn members_of_a_debian_package_and_of_an_image_are_attested_by_others() {
    let scratch = scratch("attested-deb");
    let member = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    let data = tar(&[
        member("./usr/lib/libfreebl3.so", LIBRARY),
        member("./usr/lib/libfreebl3.chk", b"\x0f\x01"),
        member("./usr/lib/libssl3.so", LIBRARY),
    ]);
    let sum = "0123456789abcdef0123456789abcdef";
    let sums = format!("{sum}  usr/lib/libfreebl3.so\n{sum}  usr/lib/libssl3.so\n");
    let control =
        tar(&[member("./control", b"Package: nss\nVersion: 1\n"), member("./md5sums", sums.as_bytes())]);
    let deb = archive(&[
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", &gzip(&control)),
        ("data.tar.gz", &gzip(&data)),
    ]);
    scratch.file("nss.deb", &deb);
    let config = json!({"architecture": "arm64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", digits(&data))]}});
    let config = config.to_string();
    let name = format!("{}.json", digits(config.as_bytes()));
    let manifest =
        json!([{"Config": name, "RepoTags": ["nss:1"], "Layers": ["layer/layer.tar"]}]).to_string();
    let image = tar(&[
        member(&name, config.as_bytes()),
        member("layer/layer.tar", &data),
        member("manifest.json", manifest.as_bytes()),
    ]);
    scratch.file("image.tar", &image);
    for package in ["nss.deb", "image.tar"] {
        let told = document(&scratch, &["-o", "new", package]);
        let [left] = told["left"].as_array().unwrap().as_slice() else { panic!("{told}") };
        assert!(left["path"].as_str().unwrap().ends_with("usr/lib/libfreebl3.so"), "{left}");
        assert!(left["reason"].as_str().unwrap().contains("attested by libfreebl3.chk"), "{left}");
        let changed = told["files"].as_array().unwrap().last().unwrap()["changed"].as_array().unwrap();
        assert!(
            changed.len() == 1 && changed[0].as_str().unwrap().ends_with("usr/lib/libssl3.so"),
            "{changed:?}"
        );
        fixed(&scratch, &["--verify", package, "new"]);
        let told = document(&scratch, &["--despite-signature", "-o", "new", package]);
        let changed =
            told["files"].as_array().unwrap().last().unwrap()["changed"].as_array().unwrap().clone();
        assert_eq!(changed.len(), 2, "{told}");
    }
}

#[test]
fn links_lists_and_headers_of_an_archive_attest_its_members() {
    let scratch = scratch("attested-tar");
    let sums = format!("{}  usr/lib/listed.so\n{}  usr/lib/free.so\n", digits(LIBRARY), digits(b"before"));
    let member = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    let plain = tar(&[
        member("usr/lib/linked.so.1.2", LIBRARY),
        member("usr/lib/listed.so", LIBRARY),
        member("usr/lib/free.so", LIBRARY),
        member("usr/lib/.linked.so.1.hmac", b"00"),
        member("SHA256SUMS", sums.as_bytes()),
        member("md5sums", b"0123456789abcdef0123456789abcdef  usr/lib/free.so\n"),
    ]);
    let mut builder = ::tar::Builder::new(Vec::new());
    for entry in ::tar::Archive::new(plain.as_slice()).entries().unwrap() {
        let mut entry = entry.unwrap();
        let (mut header, name) = (entry.header().clone(), entry.path().unwrap().into_owned());
        builder.append_data(&mut header, name, &mut entry).unwrap();
    }
    let mut link = ::tar::Header::new_gnu();
    link.set_entry_type(::tar::EntryType::Symlink);
    link.set_size(0);
    builder.append_link(&mut link, "usr/lib/linked.so.1", "linked.so.1.2").unwrap();
    builder.append_pax_extensions([("SCHILY.xattr.security.ima", &b"\x03\x04"[..])]).unwrap();
    let mut header = ::tar::Header::new_ustar();
    header.set_size(LIBRARY.len() as u64);
    builder.append_data(&mut header, "usr/lib/measured.so", LIBRARY).unwrap();
    scratch.file("app.tar.gz", &gzip(&builder.into_inner().unwrap()));
    let told = document(&scratch, &["-o", "new.tar.gz", "app.tar.gz"]);
    let left: Vec<_> =
        told["left"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(
        left,
        ["linked.so.1.2", "listed.so", "measured.so"].map(|name| format!("app.tar.gz!usr/lib/{name}"))
    );
    let packed = told["files"].as_array().unwrap().last().unwrap();
    assert_eq!(packed["changed"], serde_json::json!(["app.tar.gz!usr/lib/free.so"]));
    fixed(&scratch, &["--verify", "app.tar.gz", "new.tar.gz"]);
}

#[test]
fn module_that_compares_its_own_code_is_refused_whatever_is_overridden() {
    let scratch = scratch("attested-fips");
    // At the end of `.eh_frame`, which is read-only data.
    let with = |text: &[u8]| {
        let mut bytes = LIBRARY.to_vec();
        bytes[0x738 - text.len()..0x738].copy_from_slice(text);
        bytes
    };
    for text in [&b"FIPS integrity test failed.\nExpected:   \0"[..], b"module-mac\0"] {
        scratch.file("module.so", &with(text));
        let message = "module.so: it holds its own code against a stated hash";
        refused(&scratch, &["module.so"], message);
        refused(&scratch, &["--despite-signature", "-o", "new.so", "module.so"], message);
    }
    scratch.file("module.so", &with(b"FIPS integrity test passed."));
    let output = fix(&scratch, &["module.so"]);
    assert!(!stderr(&output).contains("a stated hash"), "{}", stderr(&output));
}

#[test]
fn package_that_a_sibling_attests_as_a_whole_is_refused() {
    let scratch = scratch("attested-package");
    let path = scratch.file("app.whl", &zip(&wheel(LIBRARY)));
    scratch.file("app.whl.asc", b"-----BEGIN PGP SIGNATURE-----\n");
    let before = files(scratch.path());
    for arguments in [&["-o", "new.whl", "app.whl"][..], &["--in-place", "app.whl"]] {
        refused(&scratch, arguments, "app.whl: its bytes are attested by app.whl.asc");
    }
    let plan = fixed(&scratch, &["app.whl"]);
    assert!(plan.contains("note: cannot be written: its bytes are attested by app.whl.asc"), "{plan}");
    assert!(files(scratch.path()) == before);
    // In a directory, too: there are programs in it.
    scratch.file("tree/app.whl", &zip(&wheel(LIBRARY)));
    scratch.file("tree/SHA256SUMS", format!("{}  app.whl\n", digits(&zip(&wheel(LIBRARY)))).as_bytes());
    refused(&scratch, &["--in-place", "tree"], "tree/app.whl: its bytes are attested by SHA256SUMS");
    let told = fixed(&scratch, &["--in-place", "--despite-signature", "app.whl"]);
    assert!(told.contains("app.whl.asc attests the original"), "{told}");
    assert!(fs::read(path).unwrap() != zip(&wheel(LIBRARY)));
}

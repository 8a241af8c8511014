//! What packages of every kind say of the machines that they are for, and packages that lie, contradict themselves, or say
//! nothing.

use crate::making::{Member, ar, gzip, tar, zip};
use deburr_package::Limits;
use deburr_package::claim::{Artefact, Claim, Machines, claims};

fn of(path: &str, bytes: &[u8]) -> Vec<Claim> {
    claims(path, bytes, &Limits::default())
}

/// The only claim of a package: what it is, what decides, and the machines.
fn only(path: &str, bytes: &[u8]) -> (Artefact, String, Machines) {
    let found = of(path, bytes);
    let [claim] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(claim.part, path);
    let (statement, machines) = claim.settled().unwrap_or_else(|error| panic!("{error}"));
    (claim.artefact, statement.shown(), machines.clone())
}

fn level(name: &str) -> Machines {
    Machines::Level(name.to_owned())
}

const WHEEL: &[u8] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp312-cp312-manylinux_2_28_x86_64\n";

fn wheel(more: &[Member]) -> Vec<u8> {
    // As installers write them, the metadata comes last.
    let mut members: Vec<Member> = vec![("app/fast.so", b"\x7fELF"), ("app-1.0.dist-info/WHEEL", WHEEL)];
    members.extend(more);
    zip(&members, true)
}

#[test]
fn wheels_claim_by_tags_and_variants() {
    let name = "app-1.0-cp312-cp312-manylinux_2_28_x86_64.whl";
    let plain = only(name, &wheel(&[]));
    assert_eq!(
        plain,
        (Artefact::Wheel, "platform manylinux_2_28_x86_64 (the file name)".to_owned(), level("x86-64"))
    );
    let variant = br#"{"variants": {"v3": {"x86_64": {"level": ["v3"]}}}}"#;
    let (_, says, machines) = only(
        "app-1.0-cp312-cp312-manylinux_2_28_x86_64-v3.whl",
        &wheel(&[("app-1.0.dist-info/variant.json", variant)]),
    );
    assert_eq!((says.as_str(), machines), ("x86_64 :: level :: v3 (variant.json)", level("x86-64-v3")));
    // A name that somebody changed tells nothing.
    let (_, says, _) = only("whatever", &wheel(&[]));
    assert_eq!(says, "platform manylinux_2_28_x86_64 (WHEEL)");
}

#[test]
fn a_wheel_whose_metadata_lies_contradicts_itself() {
    let found = of("app-1.0-cp312-cp312-manylinux_2_28_aarch64.whl", &wheel(&[]));
    let error = found[0].settled().unwrap_err().to_string();
    assert_eq!(
        error,
        "contradicting claims: platform manylinux_2_28_aarch64 (the file name), but platform manylinux_2_28_x86_64 (WHEEL)"
    );
    let odd =
        [("app-1.0.dist-info/variant.json", &br#"{"variants": {"x": {"x86_64": {"level": ["v7"]}}}}"#[..])];
    let (_, says, machines) = only("app-1.0-cp312-cp312-manylinux_2_28_x86_64-x.whl", &wheel(&odd));
    assert_eq!((says.as_str(), machines), ("x86_64 :: level :: v7 (variant.json)", Machines::Unknown));
}

#[test]
fn a_wheel_with_metadata_without_end_takes_no_memory_without_end() {
    let padding = vec![b' '; 1 << 20];
    let document = [WHEEL, &padding].concat();
    let names: Vec<String> = (0..300).map(|number| format!("x{number}.dist-info/WHEEL")).collect();
    let members: Vec<Member> = names.iter().map(|name| (name.as_str(), document.as_slice())).collect();
    let bomb = zip(&members, true);
    let least = Limits { unpacked_bytes: 8 << 20, ..Limits::default() };
    // Of the first few it is known what they say, within what may be unpacked at all.
    let found = claims("x-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", &bomb, &least);
    assert_eq!(found[0].settled().map(|(_, machines)| machines), Ok(&level("x86-64")));
    assert!(found[0].statements.len() <= 4, "{}", found[0].statements.len());
}

pub(super) fn deb(control: &str) -> Vec<u8> {
    let control = gzip(&tar(&[("./md5sums", b""), ("./control", control.as_bytes())]));
    let data = tar(&[("./usr/bin/x", b"\x7fELF")]);
    ar(&[("debian-binary", b"2.0\n"), ("control.tar.gz", &control), ("data.tar", &data)])
}

#[test]
fn debian_packages_claim_by_their_control_file() {
    let of_deb = |control: &str| only("x.deb", &deb(control));
    assert_eq!(
        of_deb("Package: x\nArchitecture: arm64\n"),
        (Artefact::Deb, "Architecture: arm64 (control)".to_owned(), level("armv8.0-a"))
    );
    let (_, says, machines) = of_deb("Package: x\nArchitecture: amd64\nArchitecture-Variant: amd64v3\n");
    assert_eq!((says.as_str(), machines), ("Architecture-Variant: amd64v3 (control)", level("x86-64-v3")));
    assert_eq!(of_deb("Architecture: all\n").2, Machines::Any);
    assert_eq!(of_deb("architecture-variant: amd64v9\nArchitecture: amd64\n").2, Machines::Unknown);
    assert_eq!(of("x.deb", &deb("Package: x\n")), []);
    // A name cannot reach a terminal.
    assert!(of_deb("Architecture: \x1b[2J\n").1.contains("\\x1b"));
}

fn rpm(arch: &str) -> Vec<u8> {
    let header = |entries: &[(u32, u32, u32)], store: &[u8]| {
        let mut header = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
        header.extend((entries.len() as u32).to_be_bytes());
        header.extend((store.len() as u32).to_be_bytes());
        for (tag, kind, offset) in entries {
            header.extend([*tag, *kind, *offset, 1].map(u32::to_be_bytes).concat());
        }
        header.extend(store);
        header
    };
    let mut file = vec![0xed, 0xab, 0xee, 0xdb, 3, 0];
    file.resize(96, 0);
    let signature = header(&[], b"12345");
    file.extend(&signature);
    file.resize(96 + signature.len().next_multiple_of(8), 0);
    let store = format!("name\0{arch}\0");
    file.extend(header(&[(1000, 6, 0), (1022, 6, 5)], store.as_bytes()));
    file
}

#[test]
fn rpm_packages_claim_by_their_header() {
    assert_eq!(
        only("x.rpm", &rpm("x86_64_v3")),
        (Artefact::Rpm, "arch x86_64_v3 (the header)".to_owned(), level("x86-64-v3"))
    );
    assert_eq!(only("x.rpm", &rpm("noarch")).2, Machines::Any);
    // Cut off anywhere, it claims nothing, or the same.
    let whole = rpm("aarch64");
    for length in 0..whole.len() {
        for claim in of("x.rpm", &whole[..length]) {
            assert_eq!(claim.settled().map(|(_, machines)| machines), Ok(&level("armv8.0-a")));
        }
    }
}

#[test]
fn packages_of_npm_and_conda_claim_by_their_documents() {
    let npm = |document: &str| {
        gzip(&tar(&[("package/x.node", b"\x7fELF"), ("package/package.json", document.as_bytes())]))
    };
    let found = only("x.tgz", &npm(r#"{"name": "x", "os": ["linux"], "cpu": ["arm64"]}"#));
    assert_eq!(found, (Artefact::Npm, "cpu arm64 (package.json)".to_owned(), level("armv8.0-a")));
    assert_eq!(of("x.tgz", &npm("{}")), []);
    assert_eq!(
        of(
            "x.tgz",
            &gzip(&tar(&[("usr/bin/x", b"\x7fELF"), ("package/package.json", br#"{"cpu": "x64"}"#)]))
        ),
        []
    );
    let index = br#"{"subdir": "linux-64", "depends": ["_x86_64-microarch-level >=3"]}"#;
    // zstd's tools alone write such archives; what a `.conda` holds may be compressed otherwise.
    let info = gzip(&tar(&[("info/files", b""), ("info/index.json", index)]));
    let conda = zip(&[("metadata.json", b"{}"), ("pkg-x.tar.zst", b""), ("info-x.tar.zst", &info)], false);
    let found = only("x.conda", &conda);
    assert_eq!(
        found,
        (
            Artefact::Conda,
            "depends on _x86_64-microarch-level >=3 (info/index.json)".to_owned(),
            level("x86-64-v3")
        )
    );
}

/// An image layout of two manifests in an archive, with platforms of the index, and of the configurations.
fn layout(platforms: [&str; 2], configurations: [&str; 2]) -> Vec<u8> {
    let digest = |kind: &str, number: usize| format!("sha256:{kind}{number}");
    let file = |kind: &str, number: usize| format!("blobs/sha256/{kind}{number}");
    let manifest = |number: usize| {
        let (config, layer) = (digest("c", number), digest("l", number));
        format!(r#"{{"config": {{"digest": "{config}"}}, "layers": [{{"digest": "{layer}"}}]}}"#)
    };
    let descriptors = platforms.iter().enumerate().map(|(number, platform)| {
        format!(r#"{{"digest": "{}", "platform": {platform}}}"#, digest("m", number))
    });
    let index = format!(r#"{{"manifests": [{}]}}"#, descriptors.collect::<Vec<String>>().join(","));
    let manifests = [manifest(0), manifest(1)];
    let names: Vec<[String; 3]> =
        (0..2).map(|number| ["m", "c", "l"].map(|kind| file(kind, number))).collect();
    let mut members: Vec<Member> = vec![("oci-layout", b"{}"), ("index.json", index.as_bytes())];
    for number in 0..2 {
        members.push((&names[number][0], manifests[number].as_bytes()));
        members.push((&names[number][1], configurations[number].as_bytes()));
        members.push((&names[number][2], b""));
    }
    tar(&members)
}

#[test]
fn each_image_of_a_layout_claims_by_itself() {
    let v3 = r#"{"os": "linux", "architecture": "amd64", "variant": "v3"}"#;
    let v1 = r#"{"os": "linux", "architecture": "amd64"}"#;
    let found = of("image.tar", &layout([v1, v3], [r#"{"architecture": "amd64"}"#, "{}"]));
    let settled: Vec<(&str, &Machines)> =
        found.iter().map(|claim| (claim.part.as_str(), claim.settled().unwrap().1)).collect();
    let [x86, level3] = [level("x86-64"), level("x86-64-v3")];
    assert_eq!(settled, [("image.tar!linux/amd64", &x86), ("image.tar!linux/amd64/v3", &level3)]);
    // The configuration is of another architecture than the index says.
    let lies = of("image.tar", &layout([v1, v3], [r#"{"architecture": "arm64"}"#, "{}"]));
    let error = lies[0].settled().unwrap_err().to_string();
    assert_eq!(
        error,
        "contradicting claims: architecture amd64 (the index), but architecture arm64 (the configuration)"
    );
}

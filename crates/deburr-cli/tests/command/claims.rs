//! `--baseline claim`: files are held to what their packages say of themselves.

use super::packages::{gzip, tar};
use super::{Scratch, deburr, json, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// An x86-64 object that needs BMI without a check, and one that needs nothing.
fn object(name: &str) -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deburr-core/fixtures");
    fs::read(fixtures.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

const WIDE: &str = "above_baseline/hit-bmi.o";
const NARROW: &str = "mfence/hit-store.o";

fn deb(control: &str, members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let member = |name: &str, bytes: &[u8]| {
        let size = bytes.len();
        let mut member =
            format!("{name:<16}{0:<12}{0:<6}{0:<6}{1:<8}{size:<10}`\n", 0, "100644").into_bytes();
        member.extend(bytes);
        member.resize(member.len().next_multiple_of(2), b'\n');
        member
    };
    let control = gzip(&tar(&[("./control".to_owned(), control.as_bytes().to_vec())]));
    let members: Vec<(String, Vec<u8>)> =
        members.iter().map(|(name, bytes)| (format!("./{name}"), bytes.clone())).collect();
    [
        b"!<arch>\n".to_vec(),
        member("debian-binary", b"2.0\n"),
        member("control.tar.gz", &control),
        member("data.tar", &tar(&members)),
    ]
    .concat()
}

fn rules(document: &Value) -> Vec<(String, String)> {
    let files = document["files"].as_array().unwrap();
    let findings = files.iter().flat_map(|file| file["findings"].as_array().unwrap());
    let across = document["across_files"].as_array().unwrap();
    let of = |finding: &Value| {
        let text = |name: &str| finding[name].as_str().unwrap().to_owned();
        (text("rule"), text("message"))
    };
    findings
        .chain(across)
        .map(of)
        .filter(|(rule, _)| rule.starts_with("claim-") || rule == "above-baseline")
        .collect()
}

#[test]
fn a_package_whose_code_needs_more_than_it_claims_breaks_its_promise() {
    let scratch = Scratch::new("claim-exceeded");
    let amd64 = "Package: x\nArchitecture: amd64\n";
    let package =
        scratch.file("x.deb", &deb(amd64, &[("usr/lib/x.o", object(WIDE)), ("usr/lib/y.o", object(NARROW))]));
    let (document, output) = json(&[&package, "--baseline", "claim"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let found = rules(&document);
    assert!(!found.is_empty() && found.iter().all(|(rule, _)| rule == "claim-exceeded"), "{found:?}");
    assert!(found[0].1.starts_with("claimed is x86-64-v1, Architecture: amd64 (control): "), "{found:?}");
    let claim = &document["files"][0]["claim"];
    assert_eq!((&claim["level"], &claim["part"]), (&"x86-64-v1".into(), &package.as_str().into()));
    // What it claims, it may use.
    let v3 = format!("{amd64}Architecture-Variant: amd64v3\n");
    let package = scratch.file("v3.deb", &deb(&v3, &[("usr/lib/x.o", object(WIDE))]));
    let (document, output) = json(&[&package, "--baseline", "claim"]);
    assert_eq!((rules(&document), output.status.code()), (Vec::new(), Some(0)), "{}", stderr(&output));
    let text = stdout(&deburr(&["check", &package, "--baseline", "claim", "--verbose"]));
    assert!(text.contains("  claims x86-64-v3: Architecture-Variant: amd64v3 (control)\n"), "{text}");
    // A folder of glibc-hwcaps goes before its package.
    let hwcaps = "usr/lib/glibc-hwcaps/x86-64-v3/libx.o";
    let package = scratch.file("hwcaps.deb", &deb(amd64, &[(hwcaps, object(WIDE))]));
    assert_eq!(rules(&json(&[&package, "--baseline", "claim"]).0), []);
}

#[test]
fn a_package_that_claims_a_level_and_does_not_use_it_is_noted_once() {
    let scratch = Scratch::new("claim-unused");
    let v3 = "Architecture: amd64\nArchitecture-Variant: amd64v3\n";
    let narrow = [("a.o", object(NARROW)), ("b.o", object(NARROW))];
    let package = scratch.file("x.deb", &deb(v3, &narrow));
    let (document, output) = json(&[&package, "--baseline", "claim"]);
    let found = rules(&document);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "claim-unused");
    assert!(found[0].1.ends_with("no code of its 2 binaries needs more than the first level"), "{found:?}");
    // A note, by itself, fails nothing.
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let used = scratch.file("used.deb", &deb(v3, &[("a.o", object(NARROW)), ("b.o", object(WIDE))]));
    assert_eq!(rules(&json(&[&used, "--baseline", "claim"]).0), []);
}

#[test]
fn what_claims_nothing_or_nonsense_is_told_and_never_the_first_level() {
    let scratch = Scratch::new("claim-none");
    for (control, why) in [
        ("Package: x\n", "no claim: it does not say which machines it is for"),
        (
            "Architecture: amd64\nArchitecture-Variant: amd64v9\n",
            "a claim that is not known here: Architecture-Variant: amd64v9 (control)",
        ),
        (
            "Architecture: arm64\nArchitecture-Variant: amd64v3\n",
            "contradicting claims: Architecture: arm64 (control), but Architecture-Variant: amd64v3 (control)",
        ),
    ] {
        let package = scratch.file("x.deb", &deb(control, &[("x.o", object(WIDE))]));
        let (document, output) = json(&[&package, "--baseline", "claim"]);
        assert_eq!((rules(&document), output.status.code()), (Vec::new(), Some(2)), "{control}");
        let told = stderr(&output);
        assert!(told.contains(&format!("x.deb: {why}")), "{told}");
        assert_eq!(told.matches(why).count(), 1, "{told}");
    }
    // A file of its own claims by its note, if at all.
    let alone = scratch.file("x.o", &object(WIDE));
    let (document, output) = json(&[&alone, "--baseline", "claim"]);
    assert_eq!((rules(&document), output.status.code()), (Vec::new(), Some(0)));
    assert!(
        stderr(&output).contains("files without a claim, which were held to none: 1"),
        "{}",
        stderr(&output)
    );
    let both = deburr(&["check", &alone, "--baseline", "claim", "--baseline", "x86-64-v2"]);
    assert!(stderr(&both).contains("--baseline claim: give it alone"), "{}", stderr(&both));
}

#[test]
fn the_configuration_may_hold_files_to_their_claims() {
    let scratch = Scratch::new("claim-configured");
    let package = scratch.file("x.deb", &deb("Architecture: amd64\n", &[("x.o", object(WIDE))]));
    let config = scratch.file("deburr.toml", b"baseline = \"claim\"\n");
    let (document, _) = json(&[&package, "--config", &config]);
    assert!(
        rules(&document).iter().all(|(rule, _)| rule == "claim-exceeded") && !rules(&document).is_empty()
    );
    // The command line wins.
    let (document, _) = json(&[&package, "--config", &config, "--baseline", "x86-64-v2"]);
    assert!(rules(&document).iter().any(|(rule, _)| rule == "above-baseline"));
}

/// A compressed archive, as npm downloads it and as others publish programs.
fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let members: Vec<(String, Vec<u8>)> =
        members.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect();
    gzip(&tar(&members))
}

#[test]
fn a_package_that_says_nothing_is_held_to_the_paths_of_its_files() {
    let scratch = Scratch::new("claim-paths");
    let folders = archive(&[
        ("x/Linux/x86_64/x.o", object(WIDE)),
        ("x/prebuilds/linux-x64/y.o", object(NARROW)),
        ("x/linux_amd64_v3/z.o", object(WIDE)),
    ]);
    let package = scratch.file("x.tar.gz", &folders);
    let (document, output) = json(&[&package, "--baseline", "claim"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let found = rules(&document);
    let says = "claimed is x86-64-v1, Linux/x86_64 (the path): ";
    assert!(!found.is_empty() && found.iter().all(|(_, message)| message.starts_with(says)), "{found:?}");
    assert!(!stderr(&output).contains("no claim"), "{}", stderr(&output));
    // What no path speaks of is held to nothing, and that is said.
    let package =
        scratch.file("y.tar.gz", &archive(&[("x/linux-x64/y.o", object(NARROW)), ("x/y.o", object(WIDE))]));
    let (document, output) = json(&[&package, "--baseline", "claim"]);
    assert_eq!((rules(&document), output.status.code()), (Vec::new(), Some(2)));
    assert!(stderr(&output).contains("y.tar.gz: no claim for 1 of its 2 binaries: "), "{}", stderr(&output));
}

#[test]
fn the_manifest_of_npm_counts_in_whatever_folder_the_archive_has() {
    let scratch = Scratch::new("claim-npm");
    let manifest =
        |os: &str| format!("{{\"name\": \"x\", \"os\": [\"{os}\"], \"cpu\": [\"x64\"]}}").into_bytes();
    for folder in ["package", "x-linux-x64"] {
        let member = format!("{folder}/x.o");
        let document = format!("{folder}/package.json");
        let package =
            |os: &str| archive(&[(member.as_str(), object(WIDE)), (document.as_str(), manifest(os))]);
        let path = scratch.file("x.tgz", &package("linux"));
        let (found, output) = json(&[&path, "--baseline", "claim"]);
        assert_eq!(output.status.code(), Some(1), "{folder}: {}", stderr(&output));
        assert!(rules(&found)[0].1.starts_with("claimed is x86-64-v1, cpu x64 (package.json): "), "{folder}");
        let path = scratch.file("y.tgz", &package("win32"));
        assert_eq!(rules(&json(&[&path, "--baseline", "claim"]).0), [], "{folder}");
    }
}

#[test]
fn what_debian_installs_only_on_cpus_with_an_extension_may_use_it() {
    let scratch = Scratch::new("claim-isa-support");
    let amd64 = "Package: x\nArchitecture: amd64\n";
    for (depends, code) in [
        ("Depends: libc6, sse4.2-support\n", 0),
        ("Depends: libc6, sse3-support\n", 1),
        ("Depends: libc6, sse4.2-support | x-generic\n", 1),
    ] {
        let package =
            deb(&format!("{amd64}{depends}"), &[("usr/lib/x.o", object("above_baseline/hit-popcnt.o"))]);
        let package = scratch.file("x.deb", &package);
        let output = deburr(&["check", &package, "--baseline", "claim", "--select", "claim-exceeded"]);
        assert_eq!(output.status.code(), Some(code), "{depends}: {}", stdout(&output));
    }
}

#[test]
fn one_of_several_variants_is_held_to_what_its_name_says() {
    let scratch = Scratch::new("claim-variants");
    let amd64 = "Package: x\nArchitecture: amd64\n";
    let of = |names: [&str; 2]| {
        let members = [(names[0], object(WIDE)), (names[1], object(NARROW))];
        let package = scratch.file("x.deb", &deb(amd64, &members));
        let (document, output) = json(&[&package, "--baseline", "claim"]);
        (document, output.status.code())
    };
    let (document, code) = of(["usr/lib/x_bmi2_haswell.o", "usr/lib/x.o"]);
    let found = rules(&document);
    assert_eq!((found.len(), code), (1, Some(0)), "{found:?}");
    assert!(
        found[0].1.starts_with("a variant for x86-64-v1+") && found[0].1.ends_with("claims x86-64-v1"),
        "{found:?}"
    );
    assert_eq!(document["files"][0]["claim"]["raised_from"], "x86-64-v1");
    // A name alone, or one that says something else, breaks the promise as before.
    for names in [["usr/lib/x_haswell.o", "usr/lib/y.o"], ["usr/lib/x_sse42.o", "usr/lib/x.o"]] {
        let (document, code) = of(names);
        assert_eq!(code, Some(1), "{names:?}");
        assert!(
            rules(&document)[0].1.starts_with("claimed is x86-64-v1"),
            "{names:?}: {:?}",
            rules(&document)
        );
    }
}

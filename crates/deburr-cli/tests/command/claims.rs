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

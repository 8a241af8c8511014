//! Go's small frames on AArch64: `split-frame-reload` against the text of objdump, which knows no function table.
//!
//! Go before 1.24 stores x30 and x29 apart and loads both with one `ldp`; later ones never do, though their large frames
//! have the same `ldp`. Each function of Go has one prologue at most, so the last one above an `ldp` is its own.

use deburr_tests::command::check;
use deburr_tests::languages::go_server;
use deburr_tests::oracle::Listing;
use deburr_tests::package::fetch;
use deburr_tests::toolchain::run;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const OBJDUMP: &str = "aarch64-linux-gnu-objdump";
const STORES_FRAME_POINTER: (&str, &str) = ("stur", "x29, [sp, #-8]");
const LOADS_BOTH: (&str, &str) = ("ldp", "x29, x30, [sp, #-8]");

/// By address of the first `ldp` of a function: how many there are, in objdump's text.
fn split_frames(listing: &Listing) -> BTreeMap<u64, u64> {
    let mut found = BTreeMap::new();
    // The size of the last small frame, and the first site of its function.
    let (mut frame, mut first): (Option<u64>, Option<u64>) = (None, None);
    for pair in listing.lines.windows(2) {
        let [one, two] = [0, 1].map(|i| (pair[i].mnemonic.as_str(), pair[i].operands.as_str()));
        let small = one.1.strip_prefix("x30, [sp, #-").and_then(|rest| rest.strip_suffix("]!"));
        if let Some(size) = small.filter(|_| one.0 == "str" && two == STORES_FRAME_POINTER) {
            (frame, first) = (size.parse().ok(), None);
        } else if one == ("stp", "x29, x30, [x20, #-8]") {
            frame = None;
        } else if one == LOADS_BOTH
            && frame.is_some_and(|size| two == ("add", &format!("sp, sp, #{size:#x}")))
        {
            *found.entry(*first.get_or_insert(pair[0].address)).or_default() += 1;
        }
    }
    found
}

/// Holds the findings against objdump's text, and returns how many functions and how many sites there are.
fn compare(what: &str, program: &Path) -> (usize, u64) {
    let expected = split_frames(&Listing::of(OBJDUMP, program));
    let report = check(program, &["--select", "split-frame-reload"]);
    let mut found = BTreeMap::new();
    for finding in report.0["findings"].as_array().expect("findings is a list") {
        let svma = finding["svma"].as_str().expect("svma is a string").trim_start_matches("0x");
        let svma = u64::from_str_radix(svma, 16).expect("svma is hexadecimal");
        found.insert(svma, finding["evidence"]["sites"].as_u64().expect("sites is a number"));
    }
    let only = |a: &BTreeMap<u64, u64>, b: &BTreeMap<u64, u64>| -> Vec<String> {
        let missing = a.iter().filter(|(at, sites)| b.get(*at) != Some(sites));
        missing.take(5).map(|(at, sites)| format!("{at:#x}: {sites}")).collect()
    };
    assert_eq!(
        found,
        expected,
        "{what}: {:?} against {:?}",
        only(&found, &expected),
        only(&expected, &found)
    );
    let sites = found.values().sum();
    println!("{what}: {} functions, {sites} sites", found.len());
    (found.len(), sites)
}

/// Whether the machine's own Go has frames that are not split: from 1.24 on.
fn is_go_1_24_or_later() -> bool {
    let version = run(Command::new("go").args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local"));
    let minor = version.trim().strip_prefix("go1.").and_then(|rest| {
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u32>().ok()
    });
    minor.unwrap_or_else(|| panic!("go env GOVERSION: {version}")) >= 24
}

#[test]
fn from_go_1_24_on_no_frame_is_split() {
    let program = go_server("go-frames", "local", &[], false);
    let (functions, sites) = compare("go", &program);
    if is_go_1_24_or_later() {
        assert_eq!((functions, sites), (0, 0));
        // The trap: the very same word, in large frames.
        let text = Listing::of(OBJDUMP, &program);
        let same = text.lines.iter().filter(|line| (&*line.mnemonic, &*line.operands) == LOADS_BOTH);
        assert!(same.count() > 1000, "Go's large frames no longer end in the same ldp?");
    } else {
        assert!(functions > 1000 && sites > functions as u64);
    }
}

#[test]
fn a_package_built_by_go_has_the_split_frames_that_objdump_shows() {
    let (package, dir) = fetch("arm64", &["fzf"]);
    let (functions, _) = compare(&package, &dir.join("usr/bin/fzf"));
    // Debian 12 has Go 1.19, Debian 13 has Go 1.24.
    assert!(functions == 0 || functions > 1000, "{package}: {functions}");
}

#[test]
#[ignore = "downloads Go 1.23.4, some 70 MB; `cargo xtask nightly` runs it"]
fn frames_of_go_1_23_are_split_however_the_program_is_linked() {
    let plain = compare("go1.23.4", &go_server("go-1.23", "go1.23.4", &[], false));
    assert!(plain.0 > 3000 && plain.1 > 5000, "{plain:?}");
    let stripped = go_server("go-1.23-stripped", "go1.23.4", &["-ldflags=-s -w"], false);
    assert_eq!(compare("go1.23.4 -s -w", &stripped), plain);
    let external = ["-buildmode=pie", "-ldflags=-linkmode=external"];
    let external = compare("go1.23.4, external PIE", &go_server("go-1.23-pie", "go1.23.4", &external, true));
    assert!(external.0 >= plain.0 && external.1 >= plain.1, "{external:?}");
}

//! Programs of the distribution for arm64, as shipped (without `.symtab`): deburr against objdump's text.
//!
//! The packages come through apt; without the network, or on a machine without apt, these tests fail and say so.

use deburr_tests::command::check;
use deburr_tests::compare::assert_atomics;
use deburr_tests::oracle::{Atomics, Listing};
use deburr_tests::package::fetch;
use deburr_tests::toolchain::{stripped, without_section_headers, work_dir};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const OBJDUMP: &str = "aarch64-linux-gnu-objdump";

fn copied(test: &str, file: &Path) -> PathBuf {
    let copy = work_dir(test).join(file.file_name().unwrap_or_default());
    std::fs::copy(file, &copy).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    copy
}

#[test]
fn postgres_has_the_helper_calls_that_objdump_shows_and_no_inline_atomic() {
    let (package, dir) =
        fetch("arm64", &["postgresql-17", "postgresql-16", "postgresql-15", "postgresql-18"]);
    let version = package.trim_start_matches("postgresql-");
    let postgres = copied("postgres", &dir.join(format!("usr/lib/postgresql/{version}/bin/postgres")));
    let oracle = Atomics::of(&Listing::of(OBJDUMP, &postgres));
    println!("{package}: {} helper bodies, {} calls", oracle.helpers.len(), oracle.helper_calls.len());
    if version == "15" {
        assert_eq!(
            (oracle.helpers.len(), oracle.helper_calls.len()),
            (7, 330),
            "Debian 12's, counted by hand"
        );
    }
    assert!(oracle.load_exclusives.is_empty() && oracle.lse.is_empty());
    let none = BTreeMap::new();
    assert_atomics(&package, &check(&postgres, &[]), &oracle, &none);
    let small = stripped("aarch64-linux-gnu-strip", &postgres);
    assert_atomics(&format!("{package}, stripped"), &check(&small, &[]), &oracle, &none);
    let bare = without_section_headers(&small);
    assert_atomics(&format!("{package}, without section headers"), &check(&bare, &[]), &oracle, &none);
}

#[test]
#[ignore = "half a minute of objdump; `cargo xtask nightly` runs it"]
fn both_objdumps_agree_on_postgres() {
    let (package, dir) =
        fetch("arm64", &["postgresql-17", "postgresql-16", "postgresql-15", "postgresql-18"]);
    let version = package.trim_start_matches("postgresql-");
    let postgres = dir.join(format!("usr/lib/postgresql/{version}/bin/postgres"));
    let (gnu, llvm) = (Listing::of(OBJDUMP, &postgres), Listing::of("llvm-objdump", &postgres));
    assert_eq!(Atomics::of(&gnu).helper_calls, Atomics::of(&llvm).helper_calls);
}

#[test]
fn a_rust_program_has_the_helper_calls_that_objdump_shows() {
    let (package, dir) = fetch("arm64", &["ripgrep", "fd-find"]);
    let program = dir.join(if package == "ripgrep" { "usr/bin/rg" } else { "usr/bin/fdfind" });
    let oracle = Atomics::of(&Listing::of(OBJDUMP, &program));
    assert!(oracle.helper_calls.len() > 50, "{package}: {} calls", oracle.helper_calls.len());
    assert_atomics(&package, &check(&program, &[]), &oracle, &oracle.load_exclusives.clone());
}

/// The rest of the line: larger or odder programs, in the nightly task.
#[test]
#[ignore = "downloads some 100 MB; `cargo xtask nightly` runs it"]
fn a_larger_corpus_has_the_helper_calls_that_objdump_shows() {
    for name in [
        "redis-server",
        "nginx",
        "haproxy",
        "libssl3",
        "libstdc++6",
        "libjemalloc2",
        "mariadb-server-core",
        "dpkg",
    ] {
        let (package, dir) = fetch("arm64", &[name]);
        for file in deburr_tests::package::elf_files(&dir) {
            let oracle = Atomics::of(&Listing::of(OBJDUMP, &file));
            let what = format!("{package}: {}", file.display());
            let checked = check(&file, &[]);
            deburr_tests::compare::assert_same_sites(
                &what,
                &checked.findings("outlined-atomic", "helper"),
                &oracle.helper_calls,
                true,
            );
            println!(
                "{what}: {} calls, {} load-exclusives",
                oracle.helper_calls.len(),
                oracle.load_exclusives.len()
            );
        }
    }
}

/// Neither apt nor the script may leave a test without its input in silence.
#[test]
#[ignore = "as long as the package servers take; `cargo xtask nightly` runs it"]
fn a_package_that_does_not_exist_is_a_failure() {
    let script = deburr_tests::toolchain::repository().join("scripts/fetch-package");
    let output = Command::new(script)
        .arg(deburr_tests::toolchain::target_dir().join("packages"))
        .args(["arm64", "no-such-package-as-this"])
        .output()
        .expect("the script can be started");
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("fetch-package:"));
}

//! Debian's tools: dpkg-deb, dpkg-buildpackage with lintian, and `examples/autopkgtest` with dpkg-repack and autopkgtest.

use crate::fixture::{V1, V3, check, copy, library, names, path_with_deburr, ran, shown};
use deburr_test_support::Scratch;
use deburr_tests::command::deburr;
use deburr_tests::toolchain::{require, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A package by dpkg-deb with one library, whose control file has these fields.
fn package(scratch: &Scratch, name: &str, fields: &str, level: &str) -> PathBuf {
    require("dpkg-deb");
    library(scratch, &format!("{name}/usr/lib/scale.so"), level);
    let control = format!(
        "Package: {name}\nVersion: 1.0-1\nMaintainer: Some One <some.one@example.org>\nDescription: sums\n{fields}\n"
    );
    scratch.file(&format!("{name}/DEBIAN/control"), control.as_bytes());
    let package = scratch.join(format!("{name}_1.0-1.deb"));
    run(Command::new("dpkg-deb")
        .args(["--root-owner-group", "--build"])
        .arg(scratch.join(name))
        .arg(&package));
    package
}

/// A line as lintian prints it: severity, package, tag, and what is in brackets at its end.
fn tag(line: &str) -> Option<(char, &str, &str, &str)> {
    let (letter, rest) = line.split_once(": ")?;
    let letter = letter.chars().next().filter(|it| letter.len() == 1 && "EWIPXO".contains(*it))?;
    let (package, rest) = rest.split_once(": ")?;
    let (tag, details) = rest.split_once(' ')?;
    let place = details.rsplit_once('[')?.1.strip_suffix(']')?;
    Some((letter, package, tag, place))
}

#[test]
fn a_package_of_dpkg_deb_is_held_to_its_architecture_and_to_its_variant() {
    let scratch = Scratch::new("dpkg-deb");
    let wide = package(&scratch, "scale", "Architecture: amd64", V3);
    let (status, text) = check(&wide, &["--fail-on", "error", "--format", "lintian"]);
    assert_eq!(status, Some(1), "{text}");
    let tags: Vec<_> = text.lines().map(|line| tag(line).unwrap_or_else(|| panic!("{line}"))).collect();
    let exceeded = tags.iter().find(|tag| tag.2 == "deburr-claim-exceeded").unwrap();
    assert_eq!((exceeded.0, exceeded.1), ('E', "scale"));
    assert!(exceeded.3.starts_with("usr/lib/scale.so:0x"), "{text}");
    let variant = "Architecture: amd64\nArchitecture-Variant: amd64v3";
    let (status, text) = check(&package(&scratch, "scale-v3", variant, V3), &["--fail-on", "error"]);
    assert_eq!(status, Some(0), "{text}");
    let (status, text) = check(&package(&scratch, "scale-unused", variant, V1), &["--fail-on", "note"]);
    assert!(status == Some(1) && text.contains("note[claim-unused] 1 finding"), "{text}");
}

/// Rules that need no debhelper, and leave lintian something to say.
const RULES: &str = "#!/usr/bin/make -f
to = debian/scale
clean:
\trm -rf $(to) debian/files
build build-arch build-indep:
binary-indep:
binary binary-arch:
\tinstall -D ../scale.so $(to)/usr/lib/scale.so
\tmkdir -p $(to)/DEBIAN
\tdpkg-gencontrol -pscale -P$(to)
\tdpkg-deb --root-owner-group --build $(to) ..
.PHONY: clean build build-arch build-indep binary binary-arch binary-indep
";

/// A source package whose library is compiled for a level.
fn source_package(scratch: &Scratch, level: &str) -> PathBuf {
    library(scratch, "scale.so", level);
    let control = "Source: scale\nSection: libs\nPriority: optional\nMaintainer: Some One <some.one@example.org>\n\
                   Standards-Version: 4.6.2\nRules-Requires-Root: no\n\nPackage: scale\nArchitecture: amd64\n\
                   Description: sums of scaled numbers\n It sums them.\n";
    let changelog = "scale (1.0-1) unstable; urgency=medium\n\n  * First.\n\n \
                     -- Some One <some.one@example.org>  Mon, 01 Jan 2024 00:00:00 +0000\n";
    for (name, text) in [("rules", RULES), ("control", control), ("changelog", changelog)] {
        scratch.file(&format!("scale-1.0/debian/{name}"), text.as_bytes());
    }
    scratch.file("scale-1.0/debian/source/format", b"3.0 (native)\n");
    run(Command::new("chmod").arg("+x").arg(scratch.join("scale-1.0/debian/rules")));
    scratch.join("scale-1.0")
}

#[test]
#[ignore = "needs lintian; `cargo xtask nightly` runs it"]
fn after_dpkg_buildpackage_the_lines_are_as_those_of_lintian() {
    let scratch = Scratch::new("lintian");
    let source = source_package(&scratch, V3);
    require("dpkg-buildpackage");
    let mut build = Command::new("dpkg-buildpackage");
    run(build.args(["-us", "-uc", "-b", "-d", "--host-arch", "amd64"]).current_dir(&source));
    let package = scratch.join("scale_1.0-1_amd64.deb");
    require("lintian");
    let mut lintian = Command::new("lintian");
    let lintian = ran(lintian.args(["--allow-root", "--fail-on", "none"]).arg(&package));
    let (status, ours) = check(&package, &["--fail-on", "error", "--format", "lintian"]);
    assert_eq!(status, Some(1), "{ours}");
    let theirs = shown(&lintian);
    let of = |text: &str, wanted: &str| -> Vec<String> {
        let tags =
            text.lines().filter_map(tag).filter(|tag| tag.1 == "scale" && tag.3.contains("usr/lib/scale.so"));
        tags.map(|tag| tag.2.to_owned()).filter(|tag| tag.starts_with(wanted)).collect()
    };
    assert!(!of(&theirs, "").is_empty(), "{theirs}");
    assert_eq!(of(&theirs, "deburr-"), Vec::<String>::new());
    assert_eq!(of(&ours, "deburr-claim-exceeded").len(), 1, "{ours}");
    assert_eq!(of(&ours, "").len(), ours.lines().count(), "{ours}");
}

/// Runs the example's script as autopkgtest does, with what is installed below a root of its own.
fn autopkgtest(scratch: &Scratch, root: &Path) -> Output {
    let tree = scratch.join("tree");
    if !tree.exists() {
        copy("examples/autopkgtest", &tree);
        scratch.file("tree/debian/control", b"Source: scale\n\nPackage: scale\n\nPackage: scale-doc\n");
    }
    let temporary = root.with_extension("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut script = Command::new(tree.join("debian/tests/claim"));
    script.current_dir(&tree).env("AUTOPKGTEST_TMP", temporary).env("DPKG_ROOT", root);
    ran(script.env("PATH", path_with_deburr()).env_remove("DEBURR"))
}

/// Installs a package below a root of its own.
fn installed(scratch: &Scratch, name: &str, package: &Path) -> PathBuf {
    let root = scratch.join(name);
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    scratch.file(&format!("{name}/var/lib/dpkg/status"), b"");
    let mut dpkg = Command::new("fakeroot");
    dpkg.args(["dpkg", "--force-not-root", "--force-architecture", "--log=/dev/null", "--root"]).arg(&root);
    run(dpkg.arg("-i").arg(package));
    root
}

#[test]
fn the_test_of_autopkgtest_checks_what_is_installed() {
    require("fakeroot");
    require("dpkg-repack");
    let scratch = Scratch::new("autopkgtest");
    let wide = package(&scratch, "scale", "Architecture: amd64", V3);
    let output = autopkgtest(&scratch, &installed(&scratch, "wide", &wide));
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let tags: Vec<_> = text.lines().filter_map(tag).filter(|tag| tag.2 == "deburr-claim-exceeded").collect();
    assert_eq!(tags.len(), 1, "{}", shown(&output));
    assert!(tags[0].1 == "scale" && tags[0].3.starts_with("usr/lib/scale.so:0x"), "{tags:?}");
    let narrow = package(&scratch, "scale", "Architecture: amd64", V1);
    let output = autopkgtest(&scratch, &installed(&scratch, "narrow", &narrow));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_eq!(names(&scratch.join("narrow.tmp")), ["scale_1.0-1_amd64.deb"]);
}

#[test]
#[ignore = "needs autopkgtest; `cargo xtask nightly` runs it"]
fn autopkgtest_passes_a_package_of_debian() {
    require("autopkgtest");
    let scratch = Scratch::new("autopkgtest-null");
    let tree = scratch.join("tree");
    copy("examples/autopkgtest", &tree);
    // One that is installed on every machine of Debian.
    let control = "Source: gzip\nSection: utils\nPriority: optional\nMaintainer: Some One <some.one@example.org>\n\
                   Standards-Version: 4.6.2\n\nPackage: gzip\nArchitecture: any\nDescription: compression\n It compresses.\n";
    let changelog = "gzip (1.0-1) unstable; urgency=medium\n\n  * First.\n\n \
                     -- Some One <some.one@example.org>  Mon, 01 Jan 2024 00:00:00 +0000\n";
    scratch.file("tree/debian/control", control.as_bytes());
    scratch.file("tree/debian/changelog", changelog.as_bytes());
    let mut autopkgtest = Command::new("autopkgtest");
    let named = format!("--env=DEBURR={}", deburr().display());
    let output = ran(autopkgtest
        .args(["-B", "--output-dir"])
        .arg(scratch.join("results"))
        .arg(&tree)
        .args([&named, "--", "null"]));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let summary = std::fs::read_to_string(scratch.join("results/summary")).unwrap();
    assert_eq!(summary.split_whitespace().collect::<Vec<_>>(), ["claim", "PASS"]);
}

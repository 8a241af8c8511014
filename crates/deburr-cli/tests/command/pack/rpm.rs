//! `examples/pack-rpm` with the real `rpmbuild`: what is in the packages, what they require, installed alone and together.

use super::select::tool;
use crate::{stderr, stdout};
use deburr_cpu::{Target, host};
use deburr_test_support::Scratch;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const LEVEL: &str =
    "#ifdef __AVX2__\n#define LEVEL \"x86-64-v3\"\n#else\n#define LEVEL \"x86-64-v1\"\n#endif\n";
const MAKEFILE: &str = "CFLAGS ?= -O2\nprefix ?= /usr/local\nto = $(DESTDIR)$(prefix)
install:
\tmkdir -p $(to)/bin $(to)/lib
\t$(CC) $(CFLAGS) -shared -fPIC -Wl,-soname,libname.so -o $(to)/lib/libname.so library.c
\t$(CC) $(CFLAGS) -o $(to)/bin/prog program.c -L$(to)/lib -lname '-Wl,-rpath,$$ORIGIN/../lib'
\techo data > $(to)/lib/data
";

/// The packages of the example: of the base, and of the level.
fn packages(scratch: &Scratch) -> [PathBuf; 2] {
    let library = format!("{LEVEL}const char *name(void) {{ return LEVEL; }}\n");
    let program = format!(
        "{LEVEL}#include <stdio.h>\nconst char *name(void);\nint main(void) {{ return puts(LEVEL) < 0 || puts(name()) < 0; }}\n"
    );
    for (name, text) in [("Makefile", MAKEFILE), ("library.c", &library), ("program.c", &program)] {
        scratch.file(&format!("prog-1.0/{name}"), text.as_bytes());
    }
    let sources = scratch.join("SOURCES");
    std::fs::create_dir(&sources).unwrap();
    let archive = sources.join("prog-1.0.tar.gz");
    tool(Command::new("tar").arg("-C").arg(scratch.path()).arg("-czf").arg(archive).arg("prog-1.0"));
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pack-rpm/prog.spec");
    let deburr = Path::new(crate::program()).parent().unwrap();
    let mut build = Command::new("rpmbuild");
    let folder = format!("_topdir {}", scratch.path().display());
    // What distributions that build for a level pass to every compiler.
    let defined = ["optflags -O2 -g -march=x86-64-v2", &folder];
    build.args(["-bb", "--target", "x86_64"]).args(defined.iter().flat_map(|it| ["--define", it])).arg(spec);
    let path = format!("{}:{}", deburr.display(), std::env::var("PATH").unwrap());
    // As an installed macros.deburr-pack is read: before the specification, whatever the target is.
    let macros = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/rpm/macros.deburr-pack");
    std::fs::copy(macros, scratch.join(".rpmmacros")).unwrap();
    build.env("HOME", scratch.path());
    let output = tool(build.env("PATH", path).env_remove("CC").env_remove("CFLAGS").stdin(Stdio::null()));
    assert!(!stderr(&output).contains("the project's own -march"), "{}", stderr(&output));
    let made = scratch.join("RPMS/x86_64");
    ["prog-1.0-1.x86_64.rpm", "prog-x86-64-v3-1.0-1.x86_64.rpm"].map(|name| made.join(name))
}

/// What `rpm -qp` says of a package, line by line, without links that lead from build-ids to files.
fn asked(package: &Path, question: &str) -> Vec<String> {
    let output = tool(Command::new("rpm").args(["-qp", question]).arg(package));
    let said = stdout(&output);
    said.lines().filter(|line| !line.contains("/.build-id")).map(|line| line.trim().to_owned()).collect()
}

/// Unpacks a package as `rpm2cpio` gives it.
fn unpack(package: &Path, root: &Path) {
    std::fs::create_dir_all(root).unwrap();
    let script = "rpm2cpio \"$0\" | cpio --quiet -idmu";
    tool(Command::new("sh").args(["-ec", script]).arg(package).current_dir(root));
}

/// The levels of program and library.
fn run(root: &Path, level: Option<&str>) -> Output {
    let mut program = Command::new(root.join("usr/bin/prog"));
    program.env_remove("DEBURR_LEVEL").envs(level.map(|level| ("DEBURR_LEVEL", level))).output().unwrap()
}

#[test]
fn packages_of_rpm_hold_the_base_and_what_one_level_adds() {
    let scratch = Scratch::new("pack-rpm");
    let [base, level] = packages(&scratch);
    let mut files = asked(&base, "-l");
    files.sort();
    assert_eq!(files[..3], ["/usr/bin/prog", "/usr/lib/data", "/usr/lib/libname.so"]);
    let below = |files: &[String], name: &str| {
        let below = files.iter().filter_map(|file| file.strip_prefix("/usr/libexec/prog"));
        let id = below
            .clone()
            .filter(|below| !below.starts_with("/start"))
            .max_by_key(|below| below.len())
            .unwrap();
        let id: String = id.chars().take(13).collect();
        let expected = ["", "/bin", "/bin/prog", "/lib", "/lib/data", "/lib/libname.so"];
        let expected: Vec<String> = expected.map(|path| format!("{id}/{name}{path}")).into();
        let found: Vec<&str> = below
            .filter(|below| below.starts_with(&format!("{id}/{name}/")) || *below == format!("{id}/{name}"))
            .collect();
        assert_eq!(found, expected, "{files:?}");
        id
    };
    let id = below(&files, "x86-64-v1");
    assert!(files.contains(&"/usr/libexec/prog/start/bin/prog".to_owned()), "{files:?}");
    let mut files = asked(&level, "-l");
    files.sort();
    assert_eq!(below(&files, "x86-64-v3"), id);
    assert!(files.contains(&format!("/usr/libexec/prog{id}/x86-64-v3_whole")), "{files:?}");
    assert!(asked(&base, "--conflicts").contains(&"prog-x86-64-v3 < 1.0-1".to_owned()));
    assert!(asked(&level, "--requires").contains(&"prog = 1.0-1".to_owned()));
    assert!(asked(&base, "--recommends").contains(&"prog-x86-64-v3 = 1.0-1".to_owned()));
    assert!(asked(&base, "--provides").contains(&"libname.so()(64bit)".to_owned()));
    let provided = asked(&level, "--provides");
    assert!(!provided.iter().any(|it| it.contains("libname")), "{provided:?}");

    let runs_v3 = Target::parse("x86-64-v3").unwrap().features.is_subset(host().unwrap().features);
    let best = if runs_v3 { "x86-64-v3" } else { "x86-64-v1" };
    let root = scratch.join("root");
    unpack(&base, &root);
    // rpmbuild has stripped all programs, and the launcher has its table.
    assert_eq!(stdout(&run(&root, None)), "x86-64-v1\nx86-64-v1\n");
    assert!(!run(&root, Some("x86-64-v3")).status.success());
    unpack(&level, &root);
    assert_eq!(stdout(&run(&root, None)), format!("{best}\n{best}\n"));
    assert_eq!(stdout(&run(&root, Some("x86-64-v1"))), "x86-64-v1\nx86-64-v1\n");
}

/// `rpm` on a root folder of its own, for which it needs the right to change its root.
fn rpm(root: &Path, arguments: &[&str], packages: &[&Path]) -> Output {
    let is_root = stdout(&tool(Command::new("id").arg("-u"))).trim() == "0";
    let mut command = Command::new(if is_root { "env" } else { "unshare" });
    command.args(if is_root { &[][..] } else { &["-r"] }).arg("rpm").arg("--root").arg(root);
    command.args(["--dbpath", "/db"]).args(arguments).args(packages).output().unwrap()
}

#[test]
fn packages_of_rpm_are_installed_and_removed_together_and_the_level_not_without_its_base() {
    let scratch = Scratch::new("pack-rpm-root");
    let [base, level] = packages(&scratch);
    let root = scratch.join("root");
    std::fs::create_dir(&root).unwrap();
    let alone = rpm(&root, &["-i", "--test"], &[&level]);
    assert!(!alone.status.success());
    assert!(stderr(&alone).contains("prog = 1.0-1 is needed by prog-x86-64-v3-1.0-1"), "{}", stderr(&alone));
    // The C library is in no package of this root.
    let both = rpm(&root, &["-i", "--nodeps"], &[&base, &level]);
    assert!(both.status.success(), "{}", stderr(&both));
    let verified = rpm(&root, &["-V", "--nodeps", "prog", "prog-x86-64-v3"], &[]);
    assert!(verified.status.success(), "{}{}", stdout(&verified), stderr(&verified));
    assert_eq!(stdout(&run(&root, Some("x86-64-v1"))).lines().next(), Some("x86-64-v1"));
    let needed = rpm(&root, &["-e", "--test", "prog"], &[]);
    assert!(!needed.status.success() && stderr(&needed).contains("is needed by"), "{}", stderr(&needed));
    let trees = ["x86-64-v3", "x86-64-v1"].map(|level| super::tree_of(&root, level));
    for (package, folder, others) in [("prog-x86-64-v3", &trees[0], true), ("prog", &trees[1], false)] {
        let removed = rpm(&root, &["-e", package], &[]);
        assert!(removed.status.success(), "{}", stderr(&removed));
        assert!(!folder.exists(), "{package}");
        assert_eq!(root.join("usr/bin/prog").exists(), others, "{package}");
    }
    assert!(!root.join("usr/libexec/prog").exists(), "nothing is left");
}

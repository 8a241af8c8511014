//! Trees of programs and libraries compiled here → one tree, in which each level is started, moved or not.

mod common;

use common::compile;
use deburr_cpu::{Arch, Target};
use deburr_launcher::is_launcher;
use deburr_pack::assemble::{AssembleError, Assembled, Mechanism, Pattern, Request, Source, assemble};
use deburr_pack::record::Measured;
use deburr_test_support::Scratch;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LEVELS: [&str; 2] = ["x86-64-v1", "x86-64-v3"];

fn source(level: &str, tree: PathBuf) -> Source {
    let target = Target::parse(level).unwrap();
    Source { level: level.into(), arch: target.arch, features: target.features, tree, check: None }
}

/// Prints its level, what it was called, and what libx says of itself.
const PROGRAM: &str = "#include <stdio.h>\nconst char *name(void);\nint main(int c, char **v) {\n(void)c; printf(\"%s %s %s\\n\", LEVEL, v[0], name()); }";
const LIBRARY: &str = "const char *name(void) { return LEVEL; }";

fn trees(scratch: &Scratch) -> Request {
    let mut request = Request { is_shared: true, ..Request::default() };
    for level in LEVELS {
        let tree = scratch.join(level);
        let define = format!("-DLEVEL=\"{level}\"");
        let library = tree.join("lib");
        let search = format!("-L{}", library.display());
        compile(
            &tree,
            "lib/libx.so.1",
            LIBRARY,
            &[&define, "-g", "-shared", "-fPIC", "-Wl,-soname,libx.so.1"],
        );
        symlink("libx.so.1", library.join("libx.so")).unwrap();
        compile(&tree, "plugins/p.so", LIBRARY, &[&define, "-g", "-shared", "-fPIC"]);
        compile(&tree, "bin/prog", PROGRAM, &[&define, &search, "-lx", "-Wl,-rpath,$ORIGIN/../lib"]);
        compile(&tree, "bin/same", "int main(void) { return 7; }", &[]);
        symlink("prog", tree.join("bin/alias")).unwrap();
        fs::write(tree.join("built"), level).unwrap();
        request.sources.push(source(level, tree));
    }
    request
}

fn run(program: &Path, level: Option<&str>) -> Output {
    let mut command = Command::new(program);
    command.env_remove("DEBURR_LEVEL").env_remove("DEBURR_EXPLAIN");
    if let Some(level) = level {
        command.env("DEBURR_LEVEL", level);
    }
    command.output().unwrap()
}

fn levels(assembled: &Assembled, path: &str) -> (Mechanism, Vec<String>) {
    let laid = assembled.laid.iter().find(|laid| laid.path == Path::new(path)).unwrap();
    (laid.mechanism, laid.levels.clone())
}

#[test]
fn each_level_is_started_by_name_through_a_link_and_after_a_move() {
    let scratch = Scratch::new("assemble");
    let request = trees(&scratch);
    let assembled = assemble(&request, &scratch.join("dist")).unwrap();
    let both = LEVELS.map(String::from).to_vec();
    assert_eq!(levels(&assembled, "bin/prog"), (Mechanism::Launcher, both.clone()));
    assert_eq!(levels(&assembled, "lib/libx.so.1"), (Mechanism::Loader, both.clone()));
    assert_eq!(levels(&assembled, "plugins/p.so"), (Mechanism::Table, both));
    assert_eq!(assembled.laid.len(), 3);
    let mut remarks: Vec<&Path> = assembled.remarks.iter().map(|remark| remark.path.as_path()).collect();
    remarks.sort_unstable();
    assert_eq!(remarks, ["built", "lib/libx.so.1", "plugins/p.so"].map(Path::new));
    let moved = scratch.join("elsewhere");
    for place in ["dist", "elsewhere"] {
        if place == "elsewhere" {
            fs::rename(scratch.join("dist"), &moved).unwrap();
        }
        for level in LEVELS {
            for name in ["prog", "alias"] {
                let program = scratch.join(place).join("bin").join(name);
                let output = run(&program, Some(level));
                let text = String::from_utf8(output.stdout).unwrap();
                let words: Vec<&str> = text.split_whitespace().collect();
                assert_eq!(words[..2], [level, program.to_str().unwrap()], "{:?}", output.stderr);
            }
        }
    }
    assert_eq!(run(&moved.join("bin/same"), None).status.code(), Some(7));
    assert_eq!(fs::read(moved.join("built")).unwrap(), b"x86-64-v1");
    assert!(moved.join("lib/glibc-hwcaps/x86-64-v3/libx.so.1").is_file());
    assert!(moved.join("plugins/p.so.variants/x86-64-v3/p.so").is_file());
    assert!(is_launcher(&fs::read(moved.join("bin/prog")).unwrap()));
    assert!(!moved.join("bin-x86-64-v3/same").exists());
}

#[test]
fn libraries_next_to_the_program_are_found_from_its_variants() {
    let scratch = Scratch::new("beside");
    let mut request = Request { is_shared: true, ..Request::default() };
    for level in LEVELS {
        let tree = scratch.join(level);
        let define = format!("-DLEVEL=\"{level}\"");
        let search = format!("-L{}", tree.join("app").display());
        compile(&tree, "app/libx.so", "const char *name(void) { return \"x\"; }", &["-shared", "-fPIC"]);
        compile(&tree, "app/prog", PROGRAM, &[&define, &search, "-lx", "-Wl,-rpath,$ORIGIN"]);
        request.sources.push(source(level, tree));
    }
    assemble(&request, &scratch.join("dist")).unwrap();
    for level in LEVELS {
        let output = run(&scratch.join("dist/app/prog"), Some(level));
        assert!(output.stdout.starts_with(level.as_bytes()), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_level_without_gain_is_dropped_only_if_no_measured_cpu_gains() {
    let scratch = Scratch::new("gain");
    let mut request = trees(&scratch);
    let measured = |without: &[&str]| Measured {
        cpu: "a".into(),
        maker: 1,
        signature: 2,
        command: Vec::new(),
        preferred: vec!["x86-64-v1".into()],
        without_gain: without.iter().map(|it| String::from(*it)).collect(),
    };
    request.measured = vec![measured(&["x86-64-v3"]), measured(&[])];
    assert_eq!(assemble(&request, &scratch.join("some")).unwrap().dropped, [""; 0]);
    request.measured.pop();
    let assembled = assemble(&request, &scratch.join("none")).unwrap();
    assert_eq!((assembled.dropped, assembled.laid.len()), (vec!["x86-64-v3".to_owned()], 0));
}

#[test]
fn what_cannot_be_laid_out_is_refused_and_nothing_is_left() {
    let scratch = Scratch::new("refused");
    let request = trees(&scratch);
    let dist = scratch.join("dist");
    let refused = |request: &Request, output: &Path, expected: &str| {
        let before = scratch.names();
        let error = assemble(request, output).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(scratch.names(), before);
    };
    let full = scratch.join("x86-64-v1");
    refused(&request, &full, "empty or does not exist");
    refused(&request, &scratch.join("missing/dist"), "missing");
    let one = Request { sources: request.sources[..1].to_vec(), ..request.clone() };
    refused(&one, &dist, "at least two levels");
    let mut twice = request.clone();
    twice.sources.push(request.sources[0].clone());
    refused(&twice, &dist, "given twice");
    let mut other = request.clone();
    (other.sources[1].arch, other.sources[1].level) = (Arch::Aarch64, "armv8-a".into());
    refused(&other, &dist, "another architecture");
    let only = scratch.file("x86-64-v3/lib/only", b"");
    refused(&request, &dist, "lib/only: it is only in the variant for x86-64-v3");
    fs::remove_file(only).unwrap();
    let program = scratch.join("x86-64-v1/bin/prog");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    refused(&request, &dist, "--prefix");
    let installed = Request { prefix: Some("/opt/p".into()), ..request.clone() };
    assemble(&installed, &scratch.join("privileged")).unwrap();
    let mode = |path: &str| fs::metadata(scratch.join("privileged").join(path)).unwrap().permissions().mode();
    assert_eq!((mode("bin/prog") & 0o7777, mode("bin-x86-64-v1/prog") & 0o7777), (0o4755, 0o755));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    // A security module may give any program more rights than its user has, which its file does not say.
    assemble(&installed, &scratch.join("plain")).unwrap();
    let launcher = fs::read(scratch.join("plain/bin/prog")).unwrap();
    assert!(launcher.windows(11).any(|bytes| bytes == b"/opt/p/bin\0"), "the launcher holds its folder");
    let assembled = scratch.join("again");
    assemble(&request, &assembled).unwrap();
    fs::remove_file(assembled.join("deburr-pack.json")).unwrap();
    let mut again = request.clone();
    again.sources.iter_mut().for_each(|source| source.tree = assembled.clone());
    refused(&again, &dist, "assembled already");
    let top = Request {
        sources: LEVELS.map(|level| source(level, scratch.join(level).join("bin"))).to_vec(),
        ..request.clone()
    };
    let error = assemble(&top, &dist).unwrap_err();
    assert!(
        matches!(error, AssembleError::File(..)) && error.to_string().contains("top of the tree"),
        "{error}"
    );
    let twice = Request { prefix: Some("/bin/".into()), ..request.clone() };
    let error = assemble(&twice, &dist).unwrap_err().to_string();
    assert_eq!(error, "bin: the trees hold this folder, so their root will be /: --prefix / instead of /bin");
    fs::create_dir(&dist).unwrap();
    assemble(&request, &dist).unwrap();
}

#[test]
fn patterns_decide_between_the_loader_and_a_table() {
    let scratch = Scratch::new("patterns");
    let pattern = |text: &str| vec![Pattern::new(text).unwrap()];
    let guessed = trees(&scratch);
    let request = Request { by_name: pattern("lib/libx*"), by_loader: pattern("plugins/*.so"), ..guessed };
    let assembled = assemble(&request, &scratch.join("dist")).unwrap();
    assert_eq!(levels(&assembled, "lib/libx.so.1").0, Mechanism::Table);
    assert_eq!(levels(&assembled, "plugins/p.so").0, Mechanism::Loader);
    assert!(scratch.join("dist/plugins/glibc-hwcaps/x86-64-v3/p.so").is_file());
    for (by_name, by_loader, expected) in [
        ("*.so", "plugins/*", "*.so: no library whose variants differ"),
        ("plugins/*", "bin/prog", "bin/prog: no library whose variants differ"),
        ("plugins/*", "**/p.so", "plugins/*: a library is selected both"),
    ] {
        let request = Request { by_name: pattern(by_name), by_loader: pattern(by_loader), ..request.clone() };
        let error = assemble(&request, &scratch.join("none")).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

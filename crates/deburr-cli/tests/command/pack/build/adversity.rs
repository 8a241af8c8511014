//! `deburr pack build` where things go wrong: two runs at once, runs that are killed, full disks, compilers that are scripts.

use super::{MAKEFILE, command, disassembly, pack, sources, tree};
use crate::{deburr, stderr};
use deburr_test_support::Scratch;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A build that waits when it is done with its compilers, until a file is there.
struct Slow {
    scratch: Scratch,
    folder: PathBuf,
}

impl Slow {
    fn new(name: &str) -> Slow {
        let scratch = Scratch::new(name);
        let (began, go) = (scratch.join("began"), scratch.join("go"));
        let makefile = format!(
            "{MAKEFILE}install: all\n\tmkdir -p $(DESTDIR)/bin\n\tcp prog libsum.so $(DESTDIR)/bin\n\
             \techo $$PPID >'{}'\n\tfor i in $$(seq 6000); do test -e '{}' && break; sleep 0.1; done\n",
            began.display(),
            go.display()
        );
        let folder = sources(&scratch, &makefile);
        Slow { scratch, folder }
    }

    /// Starts it, and waits until it is as far as it comes.
    fn start(&self) -> Child {
        let mut build = command(&self.folder, "x86-64-v1,x86-64-v3", &["make", "install"]);
        let mut running = build.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        while fs::read_to_string(self.scratch.join("began")).unwrap_or_default().is_empty() {
            assert!(running.try_wait().unwrap().is_none(), "it ended before the build came so far");
            std::thread::sleep(Duration::from_millis(10));
        }
        running
    }

    /// Lets it end.
    fn go(&self) {
        fs::write(self.scratch.join("go"), "").unwrap();
    }
}

#[test]
fn second_build_in_a_folder_is_refused_while_the_first_one_runs() {
    let slow = Slow::new("pack-twice");
    let mut first = slow.start();
    let second = pack(&slow.folder, "x86-64-v1,x86-64-v3", &["make", "install"]);
    slow.go();
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("deburr-pack: another run builds there"), "{}", stderr(&second));
    assert_eq!(first.wait().unwrap().code(), Some(0), "the first one is not disturbed");
    let third = pack(&slow.folder, "x86-64-v1,x86-64-v3", &["make", "install"]);
    assert!(stderr(&third).contains("x86-64-v3: unchanged"), "{}", stderr(&third));
}

#[test]
fn killed_build_leaves_no_process_and_nothing_that_seems_whole_and_the_next_run_goes_on() {
    let slow = Slow::new("pack-killed");
    slow.go();
    let levels = "x86-64-v1,x86-64-v3";
    assert_eq!(pack(&slow.folder, levels, &["make", "install"]).status.code(), Some(0));
    // Other sources: the variants of before are not what they would be now.
    fs::remove_file(slow.scratch.join("go")).unwrap();
    fs::remove_file(slow.scratch.join("began")).unwrap();
    fs::write(slow.folder.join("more"), "").unwrap();
    let mut running = slow.start();
    running.kill().unwrap();
    running.wait().unwrap();
    let make = fs::read_to_string(slow.scratch.join("began")).unwrap();
    let make = PathBuf::from(format!("/proc/{}", make.trim()));
    let since = Instant::now();
    while make.exists() && since.elapsed() < Duration::from_secs(300) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!make.exists(), "what the build started goes on");
    // What it had installed so far is there, and is not taken for a variant.
    assert!(tree(&slow.folder, "x86-64-v1").join("bin/prog").is_file());
    let (dist, made) = (slow.scratch.join("dist"), slow.folder.join("deburr-pack"));
    let assembled = deburr(&["pack", "assemble", made.to_str().unwrap(), "-o", dist.to_str().unwrap()]);
    assert_eq!(assembled.status.code(), Some(2));
    let said = stderr(&assembled);
    assert!(
        said.contains("x86-64-v1: left out: its build failed or did not end") && !dist.exists(),
        "{said}"
    );

    slow.go();
    let object = made.join("x86-64-v1/source/libsum.so");
    let before = fs::metadata(&object).unwrap().modified().unwrap();
    let mut output = pack(&slow.folder, levels, &["make", "install"]);
    while stderr(&output).contains("another run builds there") {
        std::thread::sleep(Duration::from_millis(50));
        output = pack(&slow.folder, levels, &["make", "install"]);
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::metadata(&object).unwrap().modified().unwrap(), before, "what was made is not made again");
}

#[test]
fn full_disk_is_named_with_the_file_and_the_next_run_goes_on() {
    let scratch = Scratch::new("pack-full");
    let folder = sources(&scratch, &format!("{MAKEFILE}loud: all\n\t@echo done\n"));
    let (level, record) =
        (folder.join("deburr-pack/x86-64-v1"), folder.join("deburr-pack/deburr-pack.json.new"));
    fs::create_dir_all(&level).unwrap();
    // A device that is always full.
    symlink("/dev/full", &record).unwrap();
    let output = pack(&folder, "x86-64-v1", &["make", "loud"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("deburr-pack.json: ") && said.to_lowercase().contains("no space left"), "{said}");
    fs::remove_file(&record).unwrap();
    symlink("/dev/full", level.join("build.log")).unwrap();
    let output = pack(&folder, "x86-64-v1", &["make", "loud"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    fs::remove_file(level.join("build.log")).unwrap();
    let output = pack(&folder, "x86-64-v1", &["make", "loud"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// A `gcc` first in `PATH` that looks for the next one there, as links to ccache and distcc do.
const NEXT: &str = r#"#!/bin/sh
[ -z "$NEXT_RUNS" ] || { echo 'the compiler that is no compiler was called by itself' >&2; exit 9; }
here=$(dirname "$0")
old=$IFS; IFS=:
for folder in $PATH; do
[ "$folder" = "$here" ] || [ ! -x "$folder/gcc" ] || { IFS=$old; NEXT_RUNS=1 exec "$folder/gcc" "$@"; }
done
exit 1
"#;

fn script(scratch: &Scratch, name: &str, text: &str) -> PathBuf {
    let path = scratch.file(name, text.as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    PathBuf::from(path)
}

fn has_ymm(file: &Path) -> bool {
    disassembly("objdump", file).contains("%ymm")
}

#[test]
fn compiler_that_looks_for_the_next_one_in_path_does_not_find_its_own_wrapper() {
    let scratch = Scratch::new("pack-masked");
    let folder = sources(&scratch, &MAKEFILE.replace("$(CC)", "gcc"));
    let next = script(&scratch, "masked/gcc", NEXT);
    let path = format!("{}:{}", next.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = command(&folder, "x86-64-v1,x86-64-v3", &["make"]).env("PATH", &path).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(has_ymm(&tree(&folder, "x86-64-v3").join("libsum.so")));
    assert!(!has_ymm(&tree(&folder, "x86-64-v1").join("libsum.so")));
    // A program in front of the compiler finds the wrapper.
    let front = script(
        &scratch,
        "front/distcc",
        "#!/bin/sh\n[ \"$DISTCC_HOSTS\" = localhost ] || exit 8\nexec \"$@\"\n",
    );
    let folder = sources(&scratch, &MAKEFILE.replace("$(CC)", &format!("{} gcc", front.display())));
    let output = pack(&folder, "x86-64-v1,x86-64-v3", &["make"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(has_ymm(&tree(&folder, "x86-64-v3").join("libsum.so")));
}

#[test]
fn compiler_with_options_or_another_program_in_front_is_wrapped_where_cc_names_it() {
    let scratch = Scratch::new("pack-cc");
    let folder = sources(&scratch, MAKEFILE);
    let front = script(&scratch, "front", "#!/bin/sh\nexec \"$@\"\n");
    for value in ["/usr/bin/gcc -m64 -pipe", &format!("{} /usr/bin/gcc", front.display()), "gcc -pipe"] {
        let output = command(&folder, "x86-64-v3", &["make"]).env("CC", value).arg("-B").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{value}: {}", stderr(&output));
        assert!(has_ymm(&tree(&folder, "x86-64-v3").join("libsum.so")), "{value}");
        fs::remove_dir_all(folder.join("deburr-pack")).unwrap();
    }
}

#[test]
fn compiler_that_does_not_know_the_level_is_named() {
    let scratch = Scratch::new("pack-unknown");
    let folder = sources(&scratch, &MAKEFILE.replace("$(CC)", "gcc"));
    let old = "#!/bin/sh\nfor it; do case $it in -march=x86-64-v3) echo bad value >&2; exit 1 ;; esac; done\nexec /usr/bin/gcc \"$@\"\n";
    let old = script(&scratch, "old/gcc", old);
    let path = format!("{}:{}", old.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = command(&folder, "x86-64-v1,x86-64-v3", &["make"]).env("PATH", &path).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("x86-64-v1: built"), "{said}");
    assert!(said.contains("x86-64-v3: gcc does not know the target x86-64-v3"), "{said}");
    // With another compiler the same variant is built.
    let output = pack(&folder, "x86-64-v1,x86-64-v3", &["make"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn what_is_laid_out_next_to_the_sources_is_no_source() {
    let scratch = Scratch::new("pack-beside");
    let install = "install: all\n\tmkdir -p $(DESTDIR)/bin\n\tcp prog libsum.so $(DESTDIR)/bin\n";
    let folder = sources(&scratch, &format!("{MAKEFILE}{install}"));
    let build = |more: &[&str]| {
        let mut command = Command::new(crate::program());
        command.current_dir(&folder).env_remove("CC").args([
            "pack",
            "build",
            "--levels",
            "x86-64-v1,x86-64-v3",
        ]);
        stderr(&command.args(more).args(["--", "make", "install"]).stdin(Stdio::null()).output().unwrap())
    };
    build(&["--dist", "dist"]);
    assert!(folder.join("dist/deburr-pack.json").is_file());
    let said = build(&["--dist", "second"]);
    assert!(said.contains("x86-64-v1: unchanged") && !said.contains("building"), "{said}");
    let said = build(&["-o", "other"]);
    assert!(said.contains("x86-64-v1: built"), "{said}");
    let copy = folder.join("other/x86-64-v1/source");
    assert!(
        copy.join("sum.c").is_file() && !copy.join("dist").exists() && !copy.join("deburr-pack").exists()
    );
}

#[test]
fn what_an_earlier_build_left_in_the_sources_is_left_out_or_named() {
    let scratch = Scratch::new("pack-left");
    let makefile =
        "all: sum.o main.o\n\t$(CC) -o prog sum.o main.o\nsum.o main.o: CFLAGS = -O3 -ffast-math\n";
    let folder = sources(&scratch, makefile);
    let tag = b"Signature: 8a477f597d28d172789f06886806bc55\n# of Cargo\n";
    scratch.file("src/target/CACHEDIR.TAG", tag);
    scratch.file("src/target/release/old", b"old");
    scratch.file("src/cache/CACHEDIR.TAG", b"of something else");
    let clean = stderr(&pack(&folder, "x86-64-v3", &["make"]));
    assert!(clean.contains("x86-64-v3: built") && !clean.contains("object file"), "{clean}");
    let copy = folder.join("deburr-pack/x86-64-v3/source");
    assert!(!copy.join("target").exists() && copy.join("cache/CACHEDIR.TAG").is_file());
    let earlier = Command::new("make").arg("sum.o").env_remove("CC").current_dir(&folder).output().unwrap();
    assert!(earlier.status.success(), "{}", stderr(&earlier));
    let said = stderr(&pack(&folder, "x86-64-v3", &["make"]));
    assert!(said.contains("the sources hold 1 object file of an earlier build, such as sum.o"), "{said}");
}

#[test]
fn measurements_are_kept_until_a_variant_is_built_anew() {
    let scratch = Scratch::new("pack-measured");
    let folder = sources(&scratch, MAKEFILE);
    assert_eq!(pack(&folder, "x86-64-v1,x86-64-v3", &["make"]).status.code(), Some(0));
    let path = folder.join("deburr-pack/deburr-pack.json");
    let read = || serde_json::from_slice::<serde_json::Value>(&fs::read(&path).unwrap()).unwrap();
    let mut record = read();
    let measured = serde_json::json!([{ "cpu": "some CPU", "maker": 1, "signature": 2, "command": ["x"],
        "preferred": ["x86-64-v1"], "without_gain": ["x86-64-v3"] }]);
    record["measured"] = measured.clone();
    fs::write(&path, record.to_string()).unwrap();
    let said = stderr(&pack(&folder, "x86-64-v1,x86-64-v3", &["make"]));
    assert!(!said.contains("what was measured"), "{said}");
    assert_eq!(read()["measured"], measured);
    fs::write(folder.join("more.c"), "").unwrap();
    let said = stderr(&pack(&folder, "x86-64-v1,x86-64-v3", &["make"]));
    assert!(said.contains("what was measured is of another build"), "{said}");
    assert_eq!(read().get("measured"), None);
}

#[test]
fn wrong_requests_are_refused_before_anything_is_built() {
    let scratch = Scratch::new("pack-wrong");
    let folder = sources(&scratch, MAKEFILE);
    let file = folder.join("sum.c").display().to_string();
    for (options, reason) in [
        (&["--source", "/nonexistent", "--", "make"][..], "/nonexistent: "),
        (&["--source", &file, "--", "make"], "sum.c: expected the folder of the sources"),
        (&["-o", ".", "--", "make"], "the pack's folder holds the sources"),
        (&["--", "no-such-command"], "no-such-command: "),
        (&["--prefix", "/usr", "--", "make"], "--dist <DIST>"),
        (&["--split", "--", "make"], "--dist <DIST>"),
        (&["--dist", "d", "--prefix", "usr", "--", "make"], "expected an absolute path"),
        (&["--dist", "d", "--single-file", "prog", "--split", "--", "make"], "cannot be used with"),
        (&["--dist", "d", "--single-file", "prog", "--by-name", "*", "--", "make"], "cannot be used with"),
        (&["--dist", "d", "--by-name", "***", "--", "make"], "--by-name"),
        (&["--dist", "sum.c", "--", "make"], "--dist sum.c: expected a folder that is empty"),
        (&["--dist", "sum.c", "--single-file", "prog", "--", "make"], "--dist sum.c: expected a name"),
        (&["--dist", "d", "--", "make"], "--dist: expected at least two levels"),
        (&["make"], "-- <CMD>"),
    ] {
        let mut command = Command::new(crate::program());
        command.current_dir(&folder).args(["pack", "build", "--levels", "x86-64-v3"]).args(options);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(stderr(&output).contains(reason), "{options:?}: {}", stderr(&output));
        assert!(!tree(&folder, "x86-64-v3").join("prog").exists(), "{options:?}");
    }
}

//! `deburr pack build` on real build systems: what each variant holds is read by `objdump`, not by deburr.

mod adversity;
mod believed;
mod go;
mod live;
mod systems;

use crate::stderr;
use deburr_test_support::Scratch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SUM: &str = "float sum(const float *a, const float *b, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
";
const MAIN: &str = "float sum(const float *, const float *, int);
int main(int n, char **v) { float a[64]; for (int i = 0; i < 64; i++) a[i] = (float)(n + i); return sum(a, a, n * 64) > 1e9f; }
";
/// A library and a program that needs it.
const MAKEFILE: &str = "CFLAGS = -O3 -ffast-math
all: prog
libsum.so: sum.c
\t$(CC) $(CFLAGS) -fPIC -shared -o $@ sum.c
prog: main.c libsum.so
\t$(CC) $(CFLAGS) -o $@ main.c -L. -lsum
";

fn sources(scratch: &Scratch, makefile: &str) -> PathBuf {
    scratch.file("src/sum.c", SUM.as_bytes());
    scratch.file("src/main.c", MAIN.as_bytes());
    scratch.file("src/Makefile", makefile.as_bytes());
    scratch.join("src")
}

fn command(folder: &Path, levels: &str, build: &[&str]) -> Command {
    let mut command = Command::new(crate::program());
    command.current_dir(folder).args(["pack", "build", "--levels", levels, "--"]).args(build);
    command.env_remove("CC").env_remove("CXX").stdin(Stdio::null());
    command
}

fn pack(folder: &Path, levels: &str, build: &[&str]) -> Output {
    command(folder, levels, build).output().unwrap()
}

fn tree(folder: &Path, level: &str) -> PathBuf {
    folder.join("deburr-pack").join(level).join("tree")
}

fn disassembly(objdump: &str, file: &Path) -> String {
    let output = Command::new(objdump).arg("-d").arg(file).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn property(file: &Path) -> String {
    let output = Command::new("readelf").arg("-n").arg(file).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn library_and_program_of_make_are_built_at_each_level() {
    let scratch = Scratch::new("pack it's \"make\"");
    let folder = sources(&scratch, MAKEFILE);
    let output = pack(&folder, "x86-64-v1,x86-64-v3", &["make"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (level, has) in [("x86-64-v1", false), ("x86-64-v3", true)] {
        let tree = tree(&folder, level);
        assert!(tree.join("prog").is_file());
        let code = disassembly("objdump", &tree.join("libsum.so"));
        assert_eq!(code.contains("%ymm"), has, "{level}");
        let stated = property(&tree.join("libsum.so"));
        assert_eq!(stated.contains("x86-64-v3"), has, "{level}: {stated}");
    }
    assert!(!folder.join("prog").exists(), "the sources themselves stay as they are");
    let record = fs::read_to_string(folder.join("deburr-pack/deburr-pack.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["variants"][1]["level"], "x86-64-v3");
    assert_eq!(record["variants"][1]["state"], "done");

    let again = pack(&folder, "x86-64-v1,x86-64-v3", &["make"]);
    assert!(stderr(&again).contains("x86-64-v3: unchanged since it was built"), "{}", stderr(&again));
    assert!(!stderr(&again).contains("building"), "{}", stderr(&again));
}

#[test]
fn installed_tree_is_taken_whole() {
    let scratch = Scratch::new("pack-install");
    let install = format!(
        "{MAKEFILE}install: all\n\tmkdir -p $(DESTDIR)/usr/bin\n\tcp prog $(DESTDIR)/usr/bin\n\techo hi > $(DESTDIR)/usr/note\n"
    );
    let folder = sources(&scratch, &install);
    let output = pack(&folder, "x86-64-v1,x86-64-v2", &["make", "install"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let tree = tree(&folder, "x86-64-v2");
    assert!(tree.join("usr/bin/prog").is_file() && tree.join("usr/note").is_file());
    assert!(!tree.join("prog").exists());
}

#[test]
fn cross_compiler_gets_the_flags_and_the_compiler_of_the_host_does_not() {
    let scratch = Scratch::new("pack-cross");
    let source = "#include <stdatomic.h>\nint cas(_Atomic int *p, int e) { return atomic_compare_exchange_strong(p, &e, 1); }\n";
    scratch.file("src/cas.c", source.as_bytes());
    scratch.file("src/tool.c", b"int main(void) { return 0; }\n");
    let build = "gcc -o tool tool.c && ./tool && rm tool && \
                 aarch64-linux-gnu-gcc -mno-outline-atomics -O2 -shared -fPIC -o libcas.so cas.c";
    let folder = scratch.join("src");
    let output = pack(&folder, "armv8-a,armv8-a+lse,armv8.1-a,neoverse-n1", &["sh", "-c", build]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (level, has) in
        [("armv8.0-a", false), ("armv8.0-a+lse", true), ("armv8.1-a", true), ("neoverse-n1", true)]
    {
        let code = disassembly("aarch64-linux-gnu-objdump", &tree(&folder, level).join("libcas.so"));
        assert_eq!(code.contains("casal"), has, "{level}");
    }
}

#[test]
fn failed_variant_leaves_the_others_and_is_built_again_alone() {
    let scratch = Scratch::new("pack-failed");
    let switch = scratch.join("works");
    let makefile = format!(
        "{MAKEFILE}guarded:\n\tpwd | grep -q v1 || test -e '{}' || {{ echo lamentable; exit 7; }}\n\t$(MAKE) all\n",
        switch.display()
    );
    let folder = sources(&scratch, &makefile);
    let output = pack(&folder, "x86-64-v1,x86-64-v3", &["make", "guarded"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("lamentable") && said.contains("x86-64-v3/build.log"), "{said}");
    assert!(tree(&folder, "x86-64-v1").join("prog").is_file());

    fs::write(&switch, "").unwrap();
    let again = pack(&folder, "x86-64-v1,x86-64-v3", &["make", "guarded"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stderr(&again).contains("x86-64-v1: unchanged"), "{}", stderr(&again));
    assert!(stderr(&again).contains("x86-64-v3: built"), "{}", stderr(&again));
}

#[test]
fn variant_that_is_not_what_its_level_says_is_rejected_by_function() {
    let scratch = Scratch::new("pack-lie");
    let folder = sources(&scratch, &MAKEFILE.replace("-O3", "-O3 -mavx2"));
    let output = pack(&folder, "x86-64-v1", &["make"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("x86-64-v1: rejected: libsum.so: sum at 0x") && said.contains("AVX"), "{said}");
}

#[test]
fn compiler_by_its_absolute_path_is_noticed_and_is_wrapped_where_cc_names_it() {
    let scratch = Scratch::new("pack-absolute");
    let folder = sources(&scratch, &format!("CC = /usr/bin/gcc\n{MAKEFILE}"));
    let output = pack(&folder, "x86-64-v3", &["make"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no wrapped compiler"), "{}", stderr(&output));

    let folder = sources(&scratch, MAKEFILE);
    let output = command(&folder, "x86-64-v3", &["make"]).env("CC", "/usr/bin/gcc").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(disassembly("objdump", &tree(&folder, "x86-64-v3").join("libsum.so")).contains("%ymm"));
}

#[test]
fn variants_with_the_same_code_are_named() {
    let scratch = Scratch::new("pack-same");
    scratch
        .file("src/one.c", b"const char *where(void) { return __FILE__; }\nint main(void) { return 0; }\n");
    let folder = scratch.join("src");
    let output = pack(&folder, "x86-64-v1,x86-64-v2", &["sh", "-c", "gcc -g -O2 -o one \"$PWD/one.c\""]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("x86-64-v2 has the same code as x86-64-v1 in every file"), "{said}");
    assert!(said.contains("x86-64-v2: no instruction needs more than x86-64-v1"), "{said}");
}

#[test]
fn flags_of_the_project_that_override_the_level_are_named() {
    let scratch = Scratch::new("pack-own-flags");
    let folder = sources(&scratch, &MAKEFILE.replace("-ffast-math", "-ffast-math -march=nocona"));
    // What a configure script asks, to find out whether the compiler has it.
    let ask = "gcc -march=armv8-a+crc -c sum.c -o asked.o 2>/dev/null; make";
    let output = pack(&folder, "x86-64-v1", &["sh", "-c", ask]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("the project's own -march=nocona comes after"), "{said}");
    assert!(!said.contains("armv8"), "{said}");
}

#[test]
fn interrupted_build_ends_what_it_started_and_goes_on_next_time() {
    let scratch = Scratch::new("pack-interrupted");
    let (began, go) = (scratch.join("began"), scratch.join("go"));
    let makefile = format!(
        "{MAKEFILE}slow: all\n\ttouch '{}'\n\ttest -e '{}' || sleep 600\n",
        began.display(),
        go.display()
    );
    let folder = sources(&scratch, &makefile);
    let mut running = command(&folder, "x86-64-v3", &["make", "slow"]).stderr(Stdio::null()).spawn().unwrap();
    while !began.exists() {
        assert!(running.try_wait().unwrap().is_none(), "it ended before the build came so far");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kill = Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(running.wait().unwrap().code(), Some(130));

    fs::write(&go, "").unwrap();
    let object = folder.join("deburr-pack/x86-64-v3/source/libsum.so");
    let made = fs::metadata(&object).unwrap().modified().unwrap();
    let output = pack(&folder, "x86-64-v3", &["make", "slow"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::metadata(&object).unwrap().modified().unwrap(), made, "what was made is not made again");
}

#[test]
fn interrupted_check_ends_at_once_and_a_command_that_is_deaf_is_killed() {
    let scratch = Scratch::new("pack-deaf");
    scratch.file("src/sum.c", b"int sum(int a, int b) { return a + b; }\n");
    let folder = scratch.join("src");
    let library = "/usr/lib/x86_64-linux-gnu/libc.so.6";
    // So many files that their check takes far longer than a test waits.
    let many = format!(
        "gcc -shared -fPIC -o libsum.so sum.c; mkdir -p $DESTDIR; cp {library} $DESTDIR/0.so; for i in $(seq 1 2000); \
         do ln $DESTDIR/0.so $DESTDIR/$i.so; done"
    );
    let deaf =
        "trap '' TERM INT; gcc -shared -fPIC -o libsum.so sum.c; touch began; while :; do sleep 0.1; done";
    let children = |id: u32| fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    for (signal, build) in [("-TERM", many.as_str()), ("-INT", &many), ("-TERM", deaf)] {
        let _ = fs::remove_dir_all(folder.join("deburr-pack"));
        let mut running =
            command(&folder, "x86-64-v3", &["sh", "-ec", build]).stderr(Stdio::piped()).spawn().unwrap();
        let pack = folder.join("deburr-pack/x86-64-v3");
        let has_begun = || match build == deaf {
            true => pack.join("source/began").exists(),
            false => pack.join("tree/2000.so").exists() && children(running.id()).trim().is_empty(),
        };
        let id = running.id();
        while !has_begun() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(running.try_wait().unwrap().is_none(), "{build}: it ended before");
        assert!(Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
        let output = running.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{build}: {}", stderr(&output));
        assert!(stderr(&output).contains("interrupted; the same command goes on"), "{}", stderr(&output));
        assert!(!stderr(&output).contains("built and checked"), "{}", stderr(&output));
    }
}

#[test]
fn file_for_another_architecture_and_build_for_the_host_alone_are_no_variant() {
    let scratch = Scratch::new("pack-foreign");
    scratch.file("src/one.c", b"int one(void) { return 1; }\n");
    let folder = scratch.join("src");
    let host = "gcc -shared -fPIC -o libhost.so one.c";
    let both = format!("{host}; aarch64-linux-gnu-gcc -shared -fPIC -o libone.so one.c");
    let output = pack(&folder, "armv8-a", &["sh", "-ec", &both]);
    assert_eq!(output.status.code(), Some(2));
    let fault = "armv8.0-a: rejected: libhost.so: is for x86_64, not for armv8.0-a";
    assert!(stderr(&output).contains(fault), "{}", stderr(&output));
    let output = pack(&folder, "armv8-a", &["sh", "-ec", host]);
    assert!(stderr(&output).contains("no wrapped compiler for this architecture"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn program_of_cargo_is_built_at_each_level() {
    let scratch = Scratch::new("pack-cargo");
    let manifest = b"[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n[profile.release]\npanic = \"abort\"\n";
    scratch.file("src/Cargo.toml", manifest);
    scratch.file("src/build.rs", b"fn main() {}\n");
    let main = "#[inline(never)] fn sum(a: &[u32], b: &mut [u32]) { for (a, b) in a.iter().zip(b) { *b = b.wrapping_mul(*a); } }
fn main() { let n = std::env::args().count() as u32; let a: Vec<u32> = (0..64).map(|i| i + n).collect(); let mut b = a.clone(); sum(&a, &mut b); println!(\"{}\", b[7]); }
";
    scratch.file("src/src/main.rs", main.as_bytes());
    let folder = scratch.join("src");
    let output = pack(&folder, "x86-64-v1,x86-64-v3", &["cargo", "build", "--release", "--offline"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (level, has) in [("x86-64-v1", false), ("x86-64-v3", true)] {
        let code = disassembly("objdump", &tree(&folder, level).join("target/release/sums"));
        let is_it =
            |function: &&str| function.lines().next().is_some_and(|label| label.contains("4sums3sum"));
        let function = code.split("\n\n").find(is_it).unwrap();
        assert_eq!(function.contains("%ymm"), has, "{level}");
    }
}

#[test]
fn levels_that_make_no_pack_are_refused() {
    let scratch = Scratch::new("pack-levels");
    let folder = sources(&scratch, MAKEFILE);
    for (levels, reason) in [
        ("x86-64-v1,armv8-a", "of two architectures"),
        ("x86-64-v1,x86-64", "x86-64-v1 is given twice"),
        ("x86-64-v9", "--levels x86-64-v9: unknown target"),
        ("native", "native is another level on each machine"),
    ] {
        let output = pack(&folder, levels, &["make"]);
        assert_eq!(output.status.code(), Some(2), "{levels}");
        assert!(stderr(&output).contains(reason), "{levels}: {}", stderr(&output));
    }
    assert!(!folder.join("deburr-pack").exists());
}

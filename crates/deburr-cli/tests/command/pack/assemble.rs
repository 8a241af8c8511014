//! `deburr pack assemble` as a user meets it.

use super::tree_of;
use crate::{deburr, stderr};
use deburr_test_support::Scratch;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};

fn compile(compiler: &str, program: &Path, source: &str, flags: &[&str]) {
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    let input = program.with_extension("c");
    std::fs::write(&input, source).unwrap();
    let status = Command::new(compiler).args(["-O2", "-o"]).args([program, &input]).args(flags).status();
    assert!(status.unwrap().success(), "{compiler}");
    std::fs::remove_file(input).unwrap();
}

fn assemble(scratch: &Scratch, trees: &[(&str, &str)], more: &[&str]) -> Output {
    let variants: Vec<String> = trees
        .iter()
        .map(|(level, tree)| format!("--variant={level}={}", scratch.join(tree).display()))
        .collect();
    let dist = scratch.join("dist").display().to_string();
    let mut arguments = vec!["pack", "assemble", "-o", &dist];
    arguments.extend(variants.iter().map(String::as_str));
    arguments.extend(more);
    deburr(&arguments)
}

/// Adds integers of 256 bits, whatever the compiler is told.
const AVX2: &str = "#include <immintrin.h>
__attribute__((noinline, target(\"avx2\"))) int sum(const int *at) {
    __m256i all = _mm256_add_epi32(_mm256_loadu_si256((const void *)at), _mm256_set1_epi32(LEVEL));
    return _mm256_extract_epi32(all, 0);
}
int main(int count, char **names) { int a[8] = {count}; (void)names; return sum(a); }";

#[test]
fn a_tree_that_needs_more_than_its_level_is_refused_unless_told_not_to_check() {
    let scratch = Scratch::new("pack-assemble-check");
    compile("gcc", &scratch.join("low/bin/prog"), AVX2, &["-DLEVEL=1"]);
    compile("gcc", &scratch.join("high/bin/prog"), AVX2, &["-DLEVEL=3"]);
    let trees = [("x86-64-v2", "low"), ("x86-64-v3", "high")];
    let refused = assemble(&scratch, &trees, &[]);
    let message = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("x86-64-v2: ") && message.contains("low/bin/prog: sum at 0x"), "{message}");
    assert!(message.contains("AVX2") && message.contains("--no-check"), "{message}");
    assert!(!message.contains("x86-64-v3: ") && !scratch.join("dist").exists(), "{message}");
    // The same program at its own level, and one level more, which it does not use.
    let sound = assemble(&scratch, &[("x86-64-v3", "low"), ("x86-64-v4", "high")], &["--format", "json"]);
    assert_eq!(stderr(&sound), "deburr: x86-64-v4: no instruction needs more than x86-64-v3\n");
    let report: serde_json::Value = serde_json::from_slice(&sound.stdout).unwrap();
    assert_eq!(report["checked"], true);
    std::fs::remove_dir_all(scratch.join("dist")).unwrap();
    let believed = assemble(&scratch, &trees, &["--no-check"]);
    assert_eq!((believed.status.code(), stderr(&believed).as_str()), (Some(0), ""));
    let text = String::from_utf8(believed.stdout).unwrap();
    assert!(text.ends_with("not checked: whether the trees are what their levels say\n"), "{text}");
}

#[test]
fn a_file_for_another_machine_is_copied_where_all_trees_have_it_and_refused_where_they_differ() {
    let scratch = Scratch::new("pack-assemble-other");
    for (tree, level) in [("low", "-DLEVEL=1"), ("high", "-DLEVEL=3")] {
        let program = "int main(void) { return LEVEL; }";
        compile("gcc", &scratch.join(tree).join("bin/prog"), program, &[level]);
    }
    let other = scratch.join("low/share/guest.so");
    let flags = ["-m32", "-shared", "-nostdlib", "-fPIC"];
    compile("gcc", &other, "int level(void) { return 1; }", &flags);
    let copy = scratch.join("high/share/guest.so");
    std::fs::create_dir(copy.parent().unwrap()).unwrap();
    std::fs::copy(&other, &copy).unwrap();
    std::fs::hard_link(&other, scratch.join("low/share/guest.so.1")).unwrap();
    std::fs::copy(&other, scratch.join("high/share/guest.so.1")).unwrap();
    let trees = [("x86-64-v1", "low"), ("x86-64-v3", "high")];
    let copied = assemble(&scratch, &trees, &[]);
    assert_eq!(copied.status.code(), Some(0), "{}", stderr(&copied));
    let inode = |name: &str| std::fs::metadata(scratch.join("dist/share").join(name)).unwrap().ino();
    assert_eq!(inode("guest.so"), inode("guest.so.1"));
    std::fs::remove_dir_all(scratch.join("dist")).unwrap();
    compile("gcc", &copy, "int level(void) { return 3; }", &flags);
    let refused = assemble(&scratch, &trees, &[]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("share/guest.so: cannot be checked: "), "{}", stderr(&refused));
}

#[test]
fn one_file_holds_the_variants_of_a_program_and_starts_each() {
    let scratch = Scratch::new("pack-assemble-single");
    for (tree, level) in [("low", "-DLEVEL=1"), ("high", "-DLEVEL=3")] {
        compile("gcc", &scratch.join(tree).join("bin/prog"), "int main(void) { return LEVEL; }", &[level]);
        compile("gcc", &scratch.join(tree).join("bin/same"), "int main(void) { return 0; }", &[]);
        let flags = [level, "-Wl,-rpath,$ORIGIN/../lib"];
        compile("gcc", &scratch.join(tree).join("bin/origin"), "int main(void) { return LEVEL; }", &flags);
    }
    let trees = [("x86-64-v1", "low"), ("x86-64-v3", "high")];
    let done = assemble(&scratch, &trees, &["--single-file", "bin/prog", "--format", "json"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["levels"], serde_json::json!(["x86-64-v1", "x86-64-v3"]));
    let cache = scratch.join("cache");
    for (level, status) in [("x86-64-v1", 1), ("x86-64-v3", 3), ("x86-64-v3", 3)] {
        let mut run = Command::new(scratch.join("dist"));
        let run = run.env("DEBURR_LEVEL", level).env("DEBURR_CACHE", &cache).status().unwrap();
        assert_eq!(run.code(), Some(status));
    }
    // By the hash of each variant's bytes, as another program computes it.
    for tree in ["low", "high"] {
        let sum = Command::new("sha256sum").arg(scratch.join(tree).join("bin/prog")).output().unwrap();
        let sum = String::from_utf8(sum.stdout).unwrap();
        assert_eq!(
            fs::read(cache.join(&sum[..32]).join("prog")).unwrap(),
            fs::read(scratch.join(tree).join("bin/prog")).unwrap()
        );
    }
    let before = scratch.names();
    for (program, expected) in [
        ("bin/prog", "expected a name at which there is no file yet"),
        ("bin/same", "all variants have the same code"),
        ("bin/origin", "its RUNPATH has $ORIGIN"),
        ("bin/none", "bin/none: "),
    ] {
        let refused = assemble(&scratch, &trees, &["--single-file", program]);
        assert_eq!(refused.status.code(), Some(2), "{program}");
        assert!(stderr(&refused).contains(expected), "{program}: {}", stderr(&refused));
        assert_eq!(scratch.names(), before);
    }
}

/// Counts 1000 more with an atomic addition, and returns 7 where it came to that.
const COUNTER: &str = "static long count = 1;
__attribute__((noinline)) void add(long *at) { __atomic_fetch_add(at, 1, __ATOMIC_SEQ_CST); }
int run(void) { for (int i = 0; i < 1000; i++) add(&count); return count == 1001 ? 7 : 1; }
__asm__(\".globl _start\\n_start: bl run\\nmov x8, 93\\nsvc 0\\n\");";

#[test]
fn an_original_and_its_rewritten_form_are_chosen_between_at_start() {
    let scratch = Scratch::new("pack-assemble-fixed");
    let (old, new) = (scratch.join("old/bin/prog"), scratch.join("new/bin/prog"));
    let flags = ["-mno-outline-atomics", "-static", "-nostdlib"];
    compile("aarch64-linux-gnu-gcc", &old, COUNTER, &flags);
    std::fs::create_dir_all(new.parent().unwrap()).unwrap();
    let fixed = deburr(&["fix", old.to_str().unwrap(), "-o", new.to_str().unwrap()]);
    assert_eq!(fixed.status.code(), Some(0), "{}", stderr(&fixed));
    assert_ne!(std::fs::read(&old).unwrap(), std::fs::read(&new).unwrap());
    // The rewritten program is not what a CPU without LSE can run.
    let wrong = assemble(&scratch, &[("armv8-a", "new"), ("armv8-a+lse", "old")], &[]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("new/bin/prog: add at 0x"), "{}", stderr(&wrong));
    let done = assemble(&scratch, &[("armv8-a", "old"), ("armv8-a+lse", "new")], &[]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let launcher = scratch.join("dist/bin/prog");
    for (cpu, level) in [("cortex-a53", "armv8-a"), ("neoverse-n1", "armv8-a+lse")] {
        let on = |program: &Path| {
            let mut command = Command::new("qemu-aarch64");
            command.args(["-cpu", cpu]).arg(program).env("DEBURR_EXPLAIN", "exit").output().unwrap()
        };
        let said = stderr(&on(&launcher));
        let (_, started) = said.lines().last().unwrap().split_once(": would start ").unwrap();
        let started = Path::new(started).canonicalize().unwrap();
        assert_eq!(started, tree_of(&scratch.join("dist"), level).join("bin/prog").canonicalize().unwrap());
        // qemu-user does not carry on through an execve of another AArch64 file, so the test starts what was chosen.
        assert_eq!(on(&started).status.code(), Some(7), "{cpu}");
    }
    let fixed = Command::new("qemu-aarch64").args(["-cpu", "cortex-a53"]).arg(&new).output().unwrap();
    assert_ne!(fixed.status.code(), Some(7), "the rewritten program runs without LSE");
}

#[test]
fn two_trees_are_assembled_and_the_launcher_says_what_it_starts() {
    let scratch = Scratch::new("pack-assemble");
    for (level, status) in [("x86-64-v1", "1"), ("x86-64-v3", "3")] {
        let input = scratch.file("input.c", format!("int main(void) {{ return {status}; }}").as_bytes());
        std::fs::create_dir_all(scratch.join(level).join("bin")).unwrap();
        let program = scratch.join(level).join("bin/prog");
        assert!(Command::new("gcc").arg("-o").arg(program).arg(&input).status().unwrap().success());
    }
    let dist = scratch.join("dist").to_str().unwrap().to_owned();
    let variant = |level: &str| format!("--variant={level}={}", scratch.join(level).display());
    let (low, high) = (variant("x86-64-v1"), variant("x86-64-v3"));
    let arguments = ["pack", "assemble", &high, &low, "-o", &dist, "--format", "json"];
    let output = deburr(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["levels"], serde_json::json!(["x86-64-v1", "x86-64-v3"]));
    assert_eq!(report["laid"][0]["mechanism"], "launcher");
    for (level, status) in [("x86-64-v1", 1), ("x86-64-v3", 3)] {
        let run = Command::new(format!("{dist}/bin/prog")).env("DEBURR_LEVEL", level).status().unwrap();
        assert_eq!(run.code(), Some(status));
    }
    let again = deburr(&arguments);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        stderr(&again).contains("expected a folder that is empty or does not exist"),
        "{}",
        stderr(&again)
    );
    let wrong = deburr(&["pack", "assemble", "--variant", "x86-64-v3", "-o", "/nonexistent/dist"]);
    assert_eq!((wrong.status.code(), stderr(&wrong).contains("LEVEL=TREE")), (Some(2), true));
}

#[test]
fn layout_that_cannot_be_written_is_an_error_with_the_file_and_leaves_nothing() {
    let scratch = Scratch::new("pack-assemble-full");
    let mut variants = String::new();
    for level in ["x86-64-v1", "x86-64-v3"] {
        let source = format!(
            "const char level[] = \"{level}\"; char big[100000] = {{1}}; int main(void) {{ return big[level[8]]; }}"
        );
        compile("gcc", &scratch.join(level).join("bin/prog"), &source, &[]);
        variants += &format!(" --variant={level}={}", scratch.join(level).display());
    }
    // No file may be larger than 16 KiB, which ends a write as a full disk does.
    let on_full = |more: &str| {
        let script = format!(
            "trap '' XFSZ; ulimit -f 32; exec '{}' pack assemble{variants} {more} -o '{}'",
            crate::program(),
            scratch.join("dist").display()
        );
        Command::new("sh").args(["-c", &script]).output().unwrap()
    };
    for more in ["", "--split", "--single-file bin/prog"] {
        let output = on_full(more);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{more}: {said}");
        assert!(said.contains("dist") && said.to_lowercase().contains("file too large"), "{more}: {said}");
        let left: Vec<String> = scratch.names().into_iter().filter(|name| name.contains("dist")).collect();
        assert!(left.is_empty(), "{more}: {left:?}");
    }
}

#[test]
fn variants_that_are_not_built_are_left_out_with_a_line() {
    let scratch = Scratch::new("pack-assemble-left");
    let pack = scratch.join("pack");
    let mut variants = Vec::new();
    for (level, state) in
        [("x86-64-v1", "done"), ("x86-64-v2", "rejected"), ("x86-64-v3", "done"), ("x86-64-v4", "failed")]
    {
        let input =
            scratch.file("input.c", format!("int main(void) {{ return {}; }}", &level[8..]).as_bytes());
        std::fs::create_dir_all(pack.join(level).join("bin")).unwrap();
        let program = pack.join(level).join("bin/prog");
        assert!(Command::new("gcc").arg("-o").arg(program).arg(&input).status().unwrap().success());
        variants.push(serde_json::json!({ "level": level, "state": state, "tree": level }));
    }
    let record = serde_json::json!({ "schema_version": 1, "command": ["make"], "variants": variants });
    scratch.file("pack/deburr-pack.json", record.to_string().as_bytes());
    let dist = scratch.join("dist").to_str().unwrap().to_owned();
    let output = deburr(&["pack", "assemble", pack.to_str().unwrap(), "-o", &dist, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        stderr(&output),
        "deburr: x86-64-v2: left out: it is not what its level says\ndeburr: x86-64-v4: left out: its build failed or did not end\n"
    );
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["levels"], serde_json::json!(["x86-64-v1", "x86-64-v3"]));
}

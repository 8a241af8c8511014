//! `deburr pack build --dist` on whole projects in five languages: one command, and each level runs from the result.

use super::select::{example, java_headers, selector, tool};
use super::tree_of;
use crate::{stderr, stdout};
use deburr_test_support::Scratch;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What the code of a variant says of itself.
const LEVEL: &str =
    "#ifdef __AVX2__\n#define LEVEL \"x86-64-v3\"\n#else\n#define LEVEL \"x86-64-v1\"\n#endif\n";

fn build(scratch: &Scratch, levels: &str, script: &str) -> Output {
    let mut command = Command::new(crate::program());
    command.current_dir(scratch.join("src")).args(["pack", "build", "--quiet", "--levels", levels]);
    command.args(["-o", "../pack", "--dist", "../dist", "--", "sh", "-ec", script]).stdin(Stdio::null());
    command.env_remove("CC").env_remove("CXX").env_remove("DEBURR_LEVEL").output().unwrap()
}

/// Builds v1 and v3 and lays them out; what was printed.
fn packed(scratch: &Scratch, script: &str) -> String {
    let output = build(scratch, "x86-64-v1,x86-64-v3", script);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// What runs on the CPU of the test.
fn best() -> &'static str {
    let has_all = ["avx2", "fma", "bmi1", "bmi2", "lzcnt", "movbe", "f16c"].map(|name| match name {
        "avx2" => is_x86_feature_detected!("avx2"),
        "fma" => is_x86_feature_detected!("fma"),
        "bmi1" => is_x86_feature_detected!("bmi1"),
        "bmi2" => is_x86_feature_detected!("bmi2"),
        "lzcnt" => is_x86_feature_detected!("lzcnt"),
        "movbe" => is_x86_feature_detected!("movbe"),
        _ => is_x86_feature_detected!("f16c"),
    });
    if has_all.into_iter().all(|has| has) { "x86-64-v3" } else { "x86-64-v1" }
}

/// The best level runs; the lowest one where the user wants it.
fn both_levels_run(command: impl Fn() -> Command) {
    assert_eq!(stdout(&tool(command().env_remove("DEBURR_LEVEL"))).trim(), best());
    assert_eq!(stdout(&tool(command().env("DEBURR_LEVEL", "x86-64-v1"))).trim(), "x86-64-v1");
}

#[test]
fn program_in_cpp_gets_its_libraries_from_its_own_tree_or_from_the_folders_of_the_loader() {
    let scratch = Scratch::new("pack-dist-cpp");
    for name in ["first", "second"] {
        let source = format!("{LEVEL}extern \"C\" const char *{name}() {{ return LEVEL; }}\n");
        scratch.file(&format!("src/{name}.cpp"), source.as_bytes());
    }
    let main = format!(
        "{LEVEL}#include <iostream>\nextern \"C\" const char *first(), *second();\nint main() {{ std::cout << LEVEL << ' ' << first() << ' ' << second() << std::endl; }}\n"
    );
    scratch.file("src/main.cpp", main.as_bytes());
    let makefile = "install:\n\tmkdir -p $(DESTDIR)/bin $(DESTDIR)/lib\n\
        \tfor n in first second; do $(CXX) -O2 -g -shared -fPIC -Wl,-soname,lib$$n.so.1 -o $(DESTDIR)/lib/lib$$n.so.1 $$n.cpp || exit 1; done\n\
        \t$(CXX) -O2 -o $(DESTDIR)/bin/app main.cpp -L$(DESTDIR)/lib -l:libfirst.so.1 -l:libsecond.so.1 '-Wl,-rpath,$$ORIGIN/../lib'\n";
    scratch.file("src/Makefile", makefile.as_bytes());
    let said = packed(&scratch, "make install");
    assert!(said.contains("bin/app: x86-64-v1, x86-64-v3 (launcher)"), "{said}");
    assert!(!said.contains("not checked"), "{said}");
    assert!(said.contains("lib/libsecond.so.1: x86-64-v1, x86-64-v3 (in the tree of each level)"), "{said}");
    let best = best();
    for level in ["x86-64-v1", best] {
        let mut command = Command::new(scratch.join("dist/bin/app"));
        let output = tool(command.env("DEBURR_LEVEL", level));
        assert_eq!(stdout(&output).trim(), format!("{level} {level} {level}"));
    }
    let mut assemble = Command::new(crate::program());
    assemble.args(["pack", "assemble", "--layout", "shared", "-o"]).arg(scratch.join("shared"));
    let said = stdout(&tool(assemble.arg(scratch.join("pack"))));
    assert!(said.contains("lib/libsecond.so.1: x86-64-v1, x86-64-v3 (dynamic loader)"), "{said}");
    let program = scratch.join("shared/bin/app");
    let high = scratch.join("shared/lib/glibc-hwcaps/x86-64-v3/libfirst.so.1");
    assert!(high.is_file());
    for level in ["x86-64-v1", best] {
        let mut command = Command::new(&program);
        let output = tool(command.env("DEBURR_LEVEL", level).env("LD_DEBUG", "libs"));
        // The loader chooses by the CPU, whatever the launcher was made to start.
        assert_eq!(stdout(&output).trim(), format!("{level} {best} {best}"));
        let opened = stderr(&output);
        let is_high = opened.lines().any(|line| {
            line.contains("calling init:") && line.ends_with("lib/glibc-hwcaps/x86-64-v3/libfirst.so.1")
        });
        assert_eq!(is_high, best == "x86-64-v3", "{opened}");
    }
    let mut command = Command::new("qemu-x86_64");
    let low = command.args(["-cpu", "Nehalem"]).arg(scratch.join("shared/bin-x86-64-v1/app"));
    assert_eq!(stdout(&tool(low)).trim(), "x86-64-v1 x86-64-v1 x86-64-v1");
}

#[test]
fn program_in_rust_runs_at_both_levels() {
    let scratch = Scratch::new("pack-dist-rust");
    let manifest = b"[package]\nname = \"level\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    scratch.file("src/Cargo.toml", manifest);
    let main =
        "fn main() { println!(\"x86-64-v{}\", if cfg!(target_feature = \"avx2\") { 3 } else { 1 }); }\n";
    scratch.file("src/src/main.rs", main.as_bytes());
    let install = "cargo build -q --release --offline; mkdir \"$DESTDIR/bin\"; cp target/release/level \"$DESTDIR/bin\"";
    packed(&scratch, install);
    both_levels_run(|| Command::new(scratch.join("dist/bin/level")));
}

#[test]
#[ignore = "compiles Go's library twice, a minute; `cargo xtask nightly` runs it"]
fn program_in_go_runs_at_both_levels() {
    let scratch = Scratch::new("pack-dist-go");
    scratch.file("src/go.mod", b"module level\n\ngo 1.21\n");
    scratch.file("src/main.go", b"package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(level) }\n");
    for (name, tag, level) in [("high", "amd64.v3", "x86-64-v3"), ("low", "!amd64.v3", "x86-64-v1")] {
        let source = format!("//go:build {tag}\n\npackage main\n\nconst level = \"{level}\"\n");
        scratch.file(&format!("src/{name}.go"), source.as_bytes());
    }
    packed(&scratch, "go build -o \"$DESTDIR/bin/level\" .");
    both_levels_run(|| Command::new(scratch.join("dist/bin/level")));
}

#[test]
fn extension_module_of_python_is_imported_at_both_levels() {
    let scratch = Scratch::new("pack-dist-python");
    let source = format!(
        "#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n{LEVEL}\
         static PyObject *name(PyObject *self, PyObject *none) {{ (void)self; (void)none; return PyUnicode_FromString(LEVEL); }}\n\
         static PyMethodDef methods[] = {{{{\"name\", name, METH_NOARGS, NULL}}, {{NULL, NULL, 0, NULL}}}};\n\
         static struct PyModuleDef module = {{PyModuleDef_HEAD_INIT, \"level\", NULL, -1, methods, NULL, NULL, NULL, NULL}};\n\
         PyMODINIT_FUNC PyInit_level(void) {{ return PyModule_Create(&module); }}\n"
    );
    scratch.file("src/level.c", source.as_bytes());
    let script = "include=$(python3 -c 'import sysconfig; print(sysconfig.get_path(\"include\"))'); mkdir \"$DESTDIR/modules\"\n\
        gcc -O2 -shared -fPIC \"-I$include\" -o \"$DESTDIR/modules/level.so\" level.c";
    let said = packed(&scratch, script);
    assert!(said.contains("modules/level.so: x86-64-v1, x86-64-v3 (table, for deburr_select)"), "{said}");
    let sdk = selector(&scratch, "x86-64");
    fs::copy(example("select.py"), scratch.join("select_example.py")).unwrap();
    let main = b"import sys\nfrom select_example import module\nprint(module('level', sys.argv[1], sys.argv[2]).name())\n";
    let main = scratch.file("main.py", main);
    both_levels_run(|| {
        let mut command = Command::new("python3");
        command.arg(&main).arg(scratch.join("dist/modules/level.so")).arg(sdk.join("libdeburr-select.so.0"));
        command
    });
}

#[test]
fn jni_library_is_loaded_at_both_levels() {
    let scratch = Scratch::new("pack-dist-java");
    let source = format!(
        "#include <jni.h>\n{LEVEL}JNIEXPORT jstring JNICALL Java_Level_name(JNIEnv *java, jclass level) {{ (void)level; return (*java)->NewStringUTF(java, LEVEL); }}\n"
    );
    scratch.file("src/level.c", source.as_bytes());
    let main = "public class Level {\n static native String name();\n public static void main(String[] a) { Select.load(a[0]); System.out.println(name()); }\n}\n";
    scratch.file("src/Level.java", main.as_bytes());
    let [first, second] = java_headers();
    let script = format!(
        "mkdir \"$DESTDIR/app\"; javac -d \"$DESTDIR/app\" Level.java '{}'\n\
         gcc -O2 -shared -fPIC '{first}' '{second}' -o \"$DESTDIR/app/liblevel.so\" level.c",
        example("Select.java")
    );
    packed(&scratch, &script);
    let sdk = selector(&scratch, "x86-64");
    let mut command = Command::new("gcc");
    command
        .args(["-shared", "-fPIC", &example("select_jni.c"), &first, &second])
        .arg(sdk.join("deburr_select.c"));
    tool(command.arg(format!("-I{}", sdk.display())).arg("-o").arg(sdk.join("libdeburr-select-jni.so")));
    both_levels_run(|| {
        let mut command = Command::new("java");
        command
            .arg(format!("-Djava.library.path={}", sdk.display()))
            .arg("-cp")
            .arg(scratch.join("dist/app"));
        command.arg("Level").arg(scratch.join("dist/app/liblevel.so"));
        command
    });
}

fn program(scratch: &Scratch, source: &str) {
    scratch.file("src/main.c", source.as_bytes());
}

const COMPILE: &str = "mkdir \"$DESTDIR/bin\"; gcc -O2 -o \"$DESTDIR/bin/app\" main.c";

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[test]
fn rejected_variant_stops_the_layout() {
    let scratch = Scratch::new("pack-dist-rejected");
    program(
        &scratch,
        "int main(int n, char **v) { float a[8]; (void)v; for (int i = 0; i < 8; i++) a[i] = n * 2.5f + i; return a[n & 7] > 4; }\n",
    );
    let output = build(&scratch, "x86-64-v1,x86-64-v3", &format!("{COMPILE} -mavx2 -O3"));
    assert_eq!(output.status.code(), Some(2), "{}{}", stdout(&output), stderr(&output));
    assert!(stderr(&output).contains("a variant is rejected, so nothing is laid out"), "{}", stderr(&output));
    assert!(!is_there(&scratch.join("dist")));
}

#[test]
fn variant_whose_build_failed_is_left_out_and_the_others_are_laid_out() {
    let scratch = Scratch::new("pack-dist-failed");
    program(&scratch, &format!("{LEVEL}#include <stdio.h>\nint main(void) {{ puts(LEVEL); return 0; }}\n"));
    let script = format!("case $PWD in */x86-64-v2/*) exit 7;; esac; {COMPILE}");
    let output = build(&scratch, "x86-64-v1,x86-64-v2,x86-64-v3", &script);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("x86-64-v2: left out: its build failed or did not end"),
        "{}",
        stderr(&output)
    );
    both_levels_run(|| Command::new(scratch.join("dist/bin/app")));
    // What is there is not written over, and nothing is built before that is said.
    let again = build(&scratch, "x86-64-v1,x86-64-v3", "touch ../../../built");
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--dist ../dist: expected a folder that is empty"), "{}", stderr(&again));
    assert!(!is_there(&scratch.join("built")));
}

/// A program, a library that it needs, and a plug-in.
const THREE: &str = "mkdir -p \"$DESTDIR/bin\" \"$DESTDIR/lib\" \"$DESTDIR/plugins\"
for to in lib/libx.so.1 plugins/p.so; do gcc -O2 -g -shared -fPIC -Wl,-soname,${to##*/} -o \"$DESTDIR/$to\" library.c; done
gcc -O2 -o \"$DESTDIR/bin/app\" main.c \"$DESTDIR/lib/libx.so.1\" '-Wl,-rpath,$ORIGIN/../lib'
gcc -O2 -o \"$DESTDIR/bin/alone\" alone.c";

#[test]
fn options_of_the_layout_mean_the_same_as_for_assemble() {
    let scratch = Scratch::new("pack-dist-options");
    scratch.file("src/library.c", format!("{LEVEL}const char *x(void) {{ return LEVEL; }}\n").as_bytes());
    let main = "#include <stdio.h>\nconst char *x(void);\nint main(void) { return puts(x()) < 0; }\n";
    program(&scratch, &format!("{LEVEL}const char level[] = LEVEL;\n{main}"));
    let alone = format!("{LEVEL}#include <stdio.h>\nint main(void) {{ return puts(LEVEL) < 0; }}\n");
    scratch.file("src/alone.c", alone.as_bytes());
    let pack = scratch.join("pack");
    for (name, options) in [
        ("shared", &["--layout", "shared"][..]),
        ("patterns", &["--layout", "shared", "--by-name", "lib/libx*", "--by-loader", "plugins/*"]),
        ("split", &["--split", "--place", "libexec/app"]),
        ("prefix", &["--prefix", "/opt/app"]),
        ("single", &["--single-file", "bin/alone"]),
    ] {
        let (built, assembled) = (scratch.join(format!("{name}-1")), scratch.join(format!("{name}-2")));
        let mut build = Command::new(crate::program());
        build.current_dir(scratch.join("src")).env_remove("CC").stdin(Stdio::null());
        build.args(["pack", "build", "--levels", "x86-64-v1,x86-64-v3", "-o"]).arg(&pack).arg("--dist");
        let first = tool(build.arg(&built).args(options).args(["--", "sh", "-ec", THREE]));
        let mut assemble = Command::new(crate::program());
        let assemble = assemble.args(["pack", "assemble"]).arg(&pack).arg("-o").arg(&assembled);
        let second = tool(assemble.args(options));
        let without_names =
            |text: &str| text.replace(&format!("{name}-1"), "").replace(&format!("{name}-2"), "");
        let (first, second) = (without_names(&stdout(&first)), without_names(&stdout(&second)));
        assert!(first.ends_with(&second), "{name}: {first}\n{second}");
        tool(Command::new("diff").arg("-r").args([&built, &assembled]));
    }
    assert!(is_there(&scratch.join("patterns-1/lib/libx.so.1.deburr")));
    assert!(is_there(&scratch.join("patterns-1/plugins/glibc-hwcaps/x86-64-v3/p.so")));
    assert!(is_there(&scratch.join("shared-1/bin-x86-64-v3/app")));
    let split = tree_of(&scratch.join("split-1/x86-64-v3/libexec/app"), "x86-64-v3");
    let of_base =
        scratch.join("split-1/base").join(split.strip_prefix(scratch.join("split-1/x86-64-v3")).unwrap());
    assert!(is_there(&split.join("bin/app")) && !is_there(&of_base));
    assert!(is_there(&of_base.with_file_name("x86-64-v1").join("lib/libx.so.1")));
    both_levels_run(|| {
        let mut single = Command::new(scratch.join("single-1"));
        single.env("DEBURR_CACHE", "");
        single
    });
    // A prefix that the trees hold themselves.
    let mut build = Command::new(crate::program());
    build.current_dir(scratch.join("src")).env_remove("CC").stdin(Stdio::null());
    build.args(["pack", "build", "--levels", "x86-64-v1,x86-64-v3", "--prefix", "/bin", "-o"]).arg(&pack);
    let refused = build.args(["--dist", "../none", "--", "sh", "-ec", THREE]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("--prefix / instead of /bin"), "{}", stderr(&refused));
}

#[test]
fn cpu_demands_what_its_code_uses_and_not_what_a_virtual_machine_hides() {
    let scratch = Scratch::new("pack-dist-cpu");
    program(&scratch, &format!("{LEVEL}#include <stdio.h>\nint main(void) {{ puts(LEVEL); return 0; }}\n"));
    let output = build(&scratch, "x86-64-v1,skylake", COMPILE);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let hidden = "Skylake-Client,-xsavec,-xsaveopt,-rdrand,-rdseed,-smap,-fsgsbase,-invpcid";
    for (cpu, level) in [("Skylake-Client", "x86-64-v3"), (hidden, "x86-64-v3"), ("Nehalem", "x86-64-v1")] {
        let mut command = Command::new("qemu-x86_64");
        let output = tool(command.args(["-cpu", cpu]).arg(scratch.join("dist/bin/app")));
        assert_eq!(stdout(&output).trim(), level, "{cpu}");
    }
}

#[test]
fn patterns_name_what_is_taken() {
    let scratch = Scratch::new("pack-dist-take");
    program(&scratch, &format!("{LEVEL}#include <stdio.h>\nint main(void) {{ puts(LEVEL); return 0; }}\n"));
    let script = "mkdir -p out/a; gcc -o out/a/app main.c; gcc -o out/a/tool main.c; gcc -o out/other main.c";
    let pack = |take: &[&str]| {
        let mut command = Command::new(crate::program());
        command.current_dir(scratch.join("src")).args([
            "pack",
            "build",
            "--levels",
            "x86-64-v1",
            "-o",
            "../pack",
        ]);
        command.args(take.iter().flat_map(|path| ["--take", path])).args(["--", "sh", "-ec", script]);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let tree = scratch.join("pack/x86-64-v1/tree");
    let output = pack(&["out/*/a*"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(is_there(&tree.join("out/a/app")) && !is_there(&tree.join("out/a/tool")));
    let output = pack(&["out/a", "out/**"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(is_there(&tree.join("out/a/tool")) && is_there(&tree.join("out/other")));
    let output = pack(&["o*/none"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--take o*/none: the command did not make it"), "{}", stderr(&output));
}

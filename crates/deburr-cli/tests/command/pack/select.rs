//! `deburr pack selector`: programs in C, Python and Java open the variant that is selected, here and on emulated CPUs.

use crate::{deburr, stderr, stdout};
use deburr_test_support::Scratch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The programs that users start from.
pub(crate) fn example(name: &str) -> String {
    format!("{}/../../examples/pack-select/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a tool that must succeed.
pub(crate) fn tool(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{:?}: {error}", command.get_program()));
    assert!(output.status.success(), "{command:?}: {}{}", stdout(&output), stderr(&output));
    output
}

/// The folder of the selector, in the scratch folder.
pub(crate) fn selector(scratch: &Scratch, arch: &str) -> PathBuf {
    let folder = scratch.join("sdk");
    let arguments = ["pack", "selector", "--arch", arch, "--source", "-o", folder.to_str().unwrap()];
    let output = deburr(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    folder
}

/// The headers of the Java that compiles.
pub(crate) fn java_headers() -> [String; 2] {
    let javac = Command::new("sh").args(["-c", "readlink -f \"$(command -v javac)\""]).output().unwrap();
    let include = Path::new(stdout(&javac).trim()).parent().unwrap().join("../include");
    [format!("-I{}", include.display()), format!("-I{}", include.join("linux").display())]
}

/// A tree of a library for each level, assembled: the path by which it is opened.
fn library(scratch: &Scratch, compiler: &str, levels: &[&str], source: &str) -> PathBuf {
    let source = scratch.file("x.c", source.as_bytes());
    let dist = scratch.join("dist");
    let mut arguments =
        vec!["pack".to_owned(), "assemble".into(), "-o".into(), dist.to_str().unwrap().into()];
    for level in levels {
        let folder = scratch.join(level).join("plugins");
        fs::create_dir_all(&folder).unwrap();
        let define = format!("-DLEVEL=\"{level}\"");
        let mut command = Command::new(compiler);
        command.args(["-shared", "-fPIC", &define, &source, "-o"]).arg(folder.join("x.so"));
        tool(command.args(java_headers()));
        arguments.push(format!("--variant={level}={}", scratch.join(level).display()));
    }
    let output = deburr(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    dist.join("plugins/x.so")
}

const NAME: &str = "const char *name(void) { return LEVEL; }";
const X86: [&str; 3] = ["x86-64-v1", "x86-64-v2", "x86-64-v3"];

/// The C example, linked with the selector.
fn linked(scratch: &Scratch, compiler: &str, sdk: &Path) -> PathBuf {
    let program = scratch.join("program");
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", &example("select.c"), "-o"]).arg(&program);
    command.arg(format!("-I{}", sdk.display())).arg(format!("-L{}", sdk.display()));
    tool(command.args(["-ldeburr-select", "-ldl", "-Wl,-rpath,$ORIGIN/sdk"]));
    program
}

#[test]
fn program_in_c_opens_the_best_variant_that_an_emulated_cpu_runs() {
    let scratch = Scratch::new("pack-select-c");
    let sdk = selector(&scratch, "x86-64");
    let library = library(&scratch, "gcc", &X86, NAME);
    let program = linked(&scratch, "gcc", &sdk);
    for (cpu, level) in [("qemu64", "x86-64-v1"), ("Nehalem", "x86-64-v2"), ("Haswell", "x86-64-v3")] {
        let mut command = Command::new("qemu-x86_64");
        command.args(["-cpu", cpu]).arg(&program).arg(&library).env("DEBURR_EXPLAIN", "1");
        let output = tool(command.env_remove("DEBURR_LEVEL"));
        assert_eq!(stdout(&output).trim(), level, "{cpu}");
        let line = format!("deburr: {}: {level}, {}", library.display(), library.parent().unwrap().display());
        assert!(stderr(&output).lines().any(|it| it.starts_with(&line)), "{}", stderr(&output));
    }
    let own = Command::new(&program).arg(&library).env("DEBURR_LEVEL", "x86-64-v1").output().unwrap();
    assert_eq!((stdout(&own).trim(), stderr(&own).as_str()), ("x86-64-v1", ""));
    let on = |level: &str| {
        let mut command = Command::new("qemu-x86_64");
        command
            .args(["-cpu", "Nehalem"])
            .arg(&program)
            .arg(&library)
            .env("DEBURR_LEVEL", level)
            .output()
            .unwrap()
    };
    let above = on("x86-64-v3");
    assert_eq!(above.status.code(), Some(6));
    assert!(stderr(&above).contains("DEBURR_LEVEL selects a variant that does not run here"), "{above:?}");
    // The level of another program, which this one has started.
    assert_eq!(stdout(&on("x86-64-v9")).trim(), "x86-64-v2");
    // Without a table the library is opened as it is.
    fs::remove_file(library.with_extension("so.deburr")).unwrap();
    assert_eq!(stdout(&tool(Command::new(&program).arg(&library))).trim(), "x86-64-v1");
}

#[test]
fn program_in_c_opens_the_best_variant_on_emulated_aarch64() {
    let scratch = Scratch::new("pack-select-arm");
    let sdk = selector(&scratch, "aarch64");
    let library = library(&scratch, "aarch64-linux-gnu-gcc", &["armv8-a", "armv8-a+lse"], NAME);
    let program = linked(&scratch, "aarch64-linux-gnu-gcc", &sdk);
    for (cpu, level) in [("cortex-a53", "armv8-a"), ("neoverse-n1", "armv8-a+lse")] {
        let mut command = Command::new("qemu-aarch64");
        command.args(["-L", "/usr/aarch64-linux-gnu", "-cpu", cpu]).arg(&program).arg(&library);
        let output = tool(command.env_remove("DEBURR_LEVEL"));
        assert_eq!(stdout(&output).trim(), level, "{cpu}");
    }
}

#[test]
fn program_with_musl_is_served_by_the_same_library() {
    let scratch = Scratch::new("pack-select-musl");
    let sdk = selector(&scratch, "x86-64");
    let library = library(&scratch, "musl-gcc", &["x86-64-v1", "x86-64-v1+popcnt"], NAME);
    let program = linked(&scratch, "musl-gcc", &sdk);
    let interpreter = stdout(&tool(Command::new("readelf").arg("-lW").arg(&program)));
    assert!(interpreter.contains("/lib/ld-musl-x86_64.so.1"), "{interpreter}");
    for level in ["x86-64-v1", "x86-64-v1+popcnt"] {
        let mut command = Command::new(&program);
        assert_eq!(stdout(&tool(command.arg(&library).env("DEBURR_LEVEL", level))).trim(), level);
    }
}

#[test]
fn selector_exports_its_interface_only_and_needs_no_library() {
    let scratch = Scratch::new("pack-select-exports");
    for arch in ["x86-64", "aarch64"] {
        let file = selector(&scratch, arch).join("libdeburr-select.so.0");
        let symbols = stdout(&tool(Command::new("nm").args(["-D", "--defined-only"]).arg(&file)));
        let names: Vec<&str> =
            symbols.lines().filter_map(|line| line.split_once(" T ")).map(|it| it.1).collect();
        assert_eq!(names, ["deburr_select", "deburr_select_message", "deburr_select_version"], "{symbols}");
        let dynamic = stdout(&tool(Command::new("readelf").arg("-dW").arg(&file)));
        assert!(dynamic.contains("[libdeburr-select.so.0]") && !dynamic.contains("NEEDED"), "{dynamic}");
    }
    let file = scratch.join("sdk/libdeburr-select.so");
    fs::remove_file(&file).unwrap();
    fs::write(&file, "another").unwrap();
    let output = deburr(&["pack", "selector", "-o", scratch.join("sdk").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("libdeburr-select.so: expected a link"), "{}", stderr(&output));
    assert_eq!(fs::read(&file).unwrap(), b"another");
}

#[test]
fn many_threads_with_small_stacks_select_the_same() {
    let scratch = Scratch::new("pack-select-threads");
    let sdk = selector(&scratch, "x86-64");
    let library = library(&scratch, "gcc", &X86, NAME);
    let main = br#"
#include "deburr_select.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static const char *library;
static void *work(void *unused) {
    char first[512], path[512];
    (void)unused;
    deburr_select(library, first, sizeof first);
    for (int at = 0; at < 200; at++)
        if (deburr_select(library, path, sizeof path) != (int)strlen(first) || strcmp(first, path) != 0)
            return "other";
    return NULL;
}
int main(int count, char **arguments) {
    pthread_t threads[8];
    pthread_attr_t small;
    library = arguments[count - 1];
    pthread_attr_init(&small);
    if (pthread_attr_setstacksize(&small, 32768) != 0)
        return 2;
    for (int at = 0; at < 8; at++)
        if (pthread_create(&threads[at], &small, work, NULL) != 0)
            return 3;
    for (int at = 0; at < 8; at++) {
        void *result = "";
        pthread_join(threads[at], &result);
        if (result)
            return 4;
    }
    printf("%d\n", deburr_select_version());
    return 0;
}
"#;
    let source = scratch.file("threads.c", main);
    let program = scratch.join("threads");
    let mut command = Command::new("gcc");
    command.args(["-pthread", &source, "-o"]).arg(&program).arg(format!("-I{}", sdk.display()));
    tool(command.arg(format!("-L{}", sdk.display())).args(["-ldeburr-select", "-Wl,-rpath,$ORIGIN/sdk"]));
    assert_eq!(stdout(&tool(Command::new(&program).arg(&library))), "1\n");
}

#[test]
fn python_opens_the_variant_that_is_selected() {
    let scratch = Scratch::new("pack-select-python");
    let sdk = selector(&scratch, "x86-64");
    let library = library(&scratch, "gcc", &X86, NAME);
    let code = "import ctypes, sys\nfrom select_example import select\n\
        opened = ctypes.CDLL(select(sys.argv[1], sys.argv[2]))\n\
        opened.name.restype = ctypes.c_char_p\nprint(opened.name().decode())\n";
    fs::copy(example("select.py"), scratch.join("select_example.py")).unwrap();
    let main = scratch.file("main.py", code.as_bytes());
    let python = |level: &str| {
        let mut command = Command::new("python3");
        command.arg(&main).arg(&library).arg(sdk.join("libdeburr-select.so.0")).env("DEBURR_LEVEL", level);
        command.output().unwrap()
    };
    for level in &X86[..1] {
        let output = python(level);
        assert_eq!(stdout(&output).trim(), *level, "{}", stderr(&output));
    }
    let best =
        stdout(&tool(Command::new(linked(&scratch, "gcc", &sdk)).arg(&library).env_remove("DEBURR_LEVEL")));
    assert_eq!(stdout(&python("")), best);
    fs::write(library.with_extension("so.deburr"), "no table").unwrap();
    let output = python("");
    assert!(stderr(&output).contains("ImportError") && !output.status.success(), "{}", stderr(&output));
}

#[test]
fn java_loads_the_variant_that_is_selected() {
    let scratch = Scratch::new("pack-select-java");
    let sdk = selector(&scratch, "x86-64");
    let source = "#include <jni.h>\nJNIEXPORT jstring JNICALL Java_Main_name(JNIEnv *java, jclass main) {\n\
        (void)main; return (*java)->NewStringUTF(java, LEVEL); }\n";
    let library = library(&scratch, "gcc", &X86, source);
    let main = "public class Main {\n static native String name();\n public static void main(String[] a) {\n\
        Select.load(a[0]);\n System.out.println(name());\n }\n}\n";
    let main = scratch.file("Main.java", main.as_bytes());
    let classes = scratch.join("classes");
    tool(Command::new("javac").arg("-d").arg(&classes).args([&main, &example("Select.java")]));
    let mut command = Command::new("gcc");
    command
        .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", &example("select_jni.c")])
        .arg(sdk.join("deburr_select.c"));
    command.arg(format!("-I{}", sdk.display())).args(java_headers()).arg("-o");
    tool(command.arg(scratch.join("sdk/libdeburr-select-jni.so")));
    let java = |level: &str| {
        let mut command = Command::new("java");
        command.arg(format!("-Djava.library.path={}", sdk.display())).arg("-cp").arg(&classes).arg("Main");
        command.arg(&library).env("DEBURR_LEVEL", level).output().unwrap()
    };
    let output = java("x86-64-v1");
    assert_eq!(stdout(&output).trim(), "x86-64-v1", "{}", stderr(&output));
    let output = java("");
    assert!(X86.contains(&stdout(&output).trim()), "{}", stderr(&output));
    fs::write(library.with_extension("so.deburr"), "no table").unwrap();
    let output = java("");
    let said = stderr(&output);
    assert!(said.contains("UnsatisfiedLinkError: the table beside the library is damaged"), "{said}");
}

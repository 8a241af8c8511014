//! A table as `assemble` writes it, and `deburr_select.c` in a C program under the sanitizers: the level that is opened,
//! and what damaged tables do.

use deburr_cpu::Target;
use deburr_pack::assemble::{Request, Source, assemble};
use deburr_test_support::Scratch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LEVELS: [&str; 2] = ["x86-64-v1", "x86-64-v3"];

const MAIN: &str = r#"
#include "deburr_select.h"
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments) {
    char path[4096];
    int result = deburr_select(arguments[1], path, count > 2 ? 4 : sizeof path);
    if (result < 0) {
        puts(deburr_select_message(result));
        return -result;
    }
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        return 100;
    const char *(*name)(void) = (const char *(*)(void))dlsym(library, "name");
    puts(name());
    return 0;
}
"#;

fn gcc(to: &Path, arguments: &[&str]) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let output = Command::new("gcc").arg("-o").arg(to).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn select(program: &Path, library: &Path, level: &str, more: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.arg(library).args(more).env("DEBURR_LEVEL", level).env("ASAN_OPTIONS", "detect_leaks=0");
    command.output().unwrap()
}

/// The program, and the library that it opens.
fn prepared(scratch: &Scratch) -> (PathBuf, PathBuf) {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-launcher/c");
    let main = scratch.file("main.c", MAIN.as_bytes());
    let library = scratch.file("x.c", b"const char *name(void) { return LEVEL; }");
    let program = scratch.join("program");
    let strict = ["-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let (folder, selector) = (format!("-I{sources}"), format!("{sources}/deburr_select.c"));
    gcc(&program, &[&strict[..], &[&folder, &main, &selector, "-ldl"]].concat());
    let mut request = Request::default();
    for level in LEVELS {
        let tree = scratch.join(level);
        let define = format!("-DLEVEL=\"{level}\"");
        gcc(&tree.join("plugins/x.so"), &["-shared", "-fPIC", &define, &library]);
        let target = Target::parse(level).unwrap();
        let (arch, features) = (target.arch, target.features);
        request.sources.push(Source { level: level.into(), arch, features, tree, check: None });
    }
    assemble(&request, &scratch.join("dist")).unwrap();
    (program, scratch.join("dist/plugins/x.so"))
}

#[test]
fn the_level_that_is_selected_is_the_one_that_is_opened() {
    let scratch = Scratch::new("select");
    let (program, library) = prepared(&scratch);
    let status = |output: Output| output.status.code();
    for level in LEVELS {
        let output = select(&program, &library, level, &[]);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), level, "{:?}", output.stderr);
    }
    // The library has no such variant: another one is meant.
    assert_eq!(status(select(&program, &library, "x86-64-v2", &[])), Some(0));
    assert_eq!(status(select(&program, &library, "", &["short"])), Some(5));
    assert_eq!(status(select(&program, &scratch.join("none.so"), "", &[])), Some(1));
    // One of another build is no better than none.
    let best = scratch.join("dist/plugins/x.so.variants/x86-64-v3/x.so");
    fs::copy(&library, &best).unwrap();
    assert_eq!(select(&program, &library, "", &[]).stdout, b"x86-64-v1\n");
    // Without the best variant the next one is opened; without any, none is.
    fs::remove_dir_all(scratch.join("dist/plugins/x.so.variants")).unwrap();
    assert_eq!(select(&program, &library, "", &[]).stdout, b"x86-64-v1\n");
    fs::write(&library, b"no library").unwrap();
    assert_eq!(status(select(&program, &library, "", &[])), Some(4));
}

#[test]
fn damaged_tables_are_refused_or_select_a_file_that_is_there() {
    let scratch = Scratch::new("damaged");
    let (program, library) = prepared(&scratch);
    let table = scratch.join("dist/plugins/x.so.deburr");
    let intact = fs::read(&table).unwrap();
    for size in (0..intact.len()).step_by(17) {
        fs::write(&table, &intact[..size]).unwrap();
        assert_eq!(select(&program, &library, "", &[]).status.code(), Some(2), "{size}");
    }
    for at in (0..intact.len()).step_by(5) {
        let mut damaged = intact.clone();
        damaged[at] ^= 0xff;
        fs::write(&table, &damaged).unwrap();
        let output = select(&program, &library, "", &[]);
        let is_sound = matches!(output.status.code(), Some(0 | 2 | 3 | 4 | 5 | 6));
        assert!(is_sound, "byte {at}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn with_more_rights_than_the_user_the_environment_and_relative_paths_do_not_count() {
    let scratch = Scratch::new("secure");
    let (_, library) = prepared(&scratch);
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-launcher/c");
    // AT_SECURE is 23 (getauxval(3)); x86-64 uses no other entry.
    let secure = "unsigned long secure_getauxval(unsigned long type) { return type == 23; }\n";
    let main = scratch.file("secure.c", format!("{secure}{MAIN}").as_bytes());
    let (program, selector) = (scratch.join("secure"), format!("{sources}/deburr_select.c"));
    gcc(&program, &["-Dgetauxval=secure_getauxval", &format!("-I{sources}"), &main, &selector, "-ldl"]);
    // The lower level would be opened where the environment counts.
    let output = select(&program, &library, "x86-64-v1", &[]);
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"x86-64-v3\n"[..]));
    let mut command = Command::new(&program);
    command.current_dir(scratch.join("dist")).arg("plugins/x.so");
    assert_eq!(command.status().unwrap().code(), Some(7));
}

//! `deburr pack build` with CMake, Meson and a configure script: each level gets its flags, and programs that are found or tried
//! by the build system are no part of what is taken.

use super::{MAIN, SUM, command, disassembly, pack, tree};
use crate::stderr;
use deburr_test_support::Scratch;
use std::path::{Path, PathBuf};

fn project(name: &str, files: &[(&str, &str)]) -> (Scratch, PathBuf) {
    let scratch = Scratch::new(name);
    for (path, text) in [("sum.c", SUM), ("main.c", MAIN)].iter().chain(files) {
        scratch.file(&format!("src/{path}"), text.as_bytes());
    }
    let folder = scratch.join("src");
    (scratch, folder)
}

/// Builds v1 and v3, and looks at the files that are taken: these, and no others that are programs.
fn both_levels(folder: &Path, script: &str, library: &str, program: &str) {
    let output = pack(folder, "x86-64-v1,x86-64-v3", &["sh", "-ec", script]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (level, has) in [("x86-64-v1", false), ("x86-64-v3", true)] {
        let tree = tree(folder, level);
        assert!(tree.join(program).is_file(), "{level}");
        assert_eq!(disassembly("objdump", &tree.join(library)).contains("%ymm"), has, "{level}");
        let found = std::process::Command::new("find").arg(&tree).args(["-type", "f"]).output().unwrap();
        assert_eq!(String::from_utf8(found.stdout).unwrap().lines().count(), 2, "{level}");
    }
}

#[test]
fn program_of_cmake_is_built_at_each_level_by_make_and_by_ninja() {
    let lists = "cmake_minimum_required(VERSION 3.13)\nproject(sums C)\nset(CMAKE_C_FLAGS_RELEASE \"-O3 -ffast-math\")\n\
        add_library(sum SHARED sum.c)\nadd_executable(prog main.c)\ntarget_link_libraries(prog sum)\n";
    let (_scratch, folder) = project("pack-cmake", &[("CMakeLists.txt", lists)]);
    both_levels(
        &folder,
        "cmake -B out -DCMAKE_BUILD_TYPE=Release; cmake --build out",
        "out/libsum.so",
        "out/prog",
    );
    let ninja = "cmake -G Ninja -B out -DCMAKE_BUILD_TYPE=Release; cmake --build out";
    both_levels(&folder, ninja, "out/libsum.so", "out/prog");
}

#[test]
fn program_of_meson_is_built_at_each_level() {
    let build = "project('sums', 'c', default_options: ['buildtype=plain', 'c_args=-O3 -ffast-math'])\n\
        sum = shared_library('sum', 'sum.c')\nexecutable('prog', 'main.c', link_with: sum)\n";
    let (_scratch, folder) = project("pack-meson", &[("meson.build", build)]);
    both_levels(&folder, "meson setup out; ninja -C out", "out/libsum.so", "out/prog");
}

/// What a configure script does: finds the compiler, compiles and runs a program, and writes a Makefile.
const CONFIGURE: &str = r#"#!/bin/sh
set -e
CC=${CC-gcc}
echo 'int main(void) { return sizeof(long) != 8; }' > conftest.c
$CC -O2 conftest.c -o conftest
./conftest
rm -f conftest conftest.c
sed "s|@CC@|$(command -v "$CC")|; s|@srcdir@|$(dirname "$0")|" "$(dirname "$0")/Makefile.in" > Makefile
"#;

#[test]
fn configured_project_that_tests_itself_is_built_outside_its_sources() {
    let makefile = "vpath %.c @srcdir@\nall: prog libsum.so\nlibsum.so: sum.c\n\t@CC@ -O3 -ffast-math -fPIC -shared -o $@ $^\n\
        prog: main.c libsum.so\n\t@CC@ -o $@ $< -L. -lsum '-Wl,-rpath,$$ORIGIN'\ncheck: all\n\t./prog\n";
    let (_scratch, folder) =
        project("pack-configure", &[("configure", CONFIGURE), ("Makefile.in", makefile)]);
    let script = "mkdir -p out; cd out; sh ../configure; make check";
    // The tests of a variant run while it is built, so this CPU runs v2; what v3 needs it may not have.
    let output = pack(&folder, "x86-64-v1,x86-64-v2", &["sh", "-ec", script]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(tree(&folder, "x86-64-v2").join("out/prog").is_file());
    both_levels(&folder, &script.replace("check", "all"), "out/libsum.so", "out/prog");
}

#[test]
fn tests_that_fail_at_one_level_fail_that_variant_alone() {
    let makefile = "all: prog libsum.so\nlibsum.so: sum.c\n\t$(CC) -O3 -fPIC -shared -o $@ $^\nprog: main.c libsum.so\n\
        \t$(CC) -o $@ $< -L. -lsum\ncheck: all\n\tobjdump -d libsum.so | grep -q ymm && echo 'FAIL: 1 of 3' && exit 1 || true\n";
    let (_scratch, folder) =
        project("pack-tested", &[("Makefile", &makefile.replace("-O3", "-O3 -ffast-math"))]);
    let output = command(&folder, "x86-64-v1,x86-64-v3", &["make", "check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("x86-64-v1: built and checked") && said.contains("FAIL: 1 of 3"), "{said}");
}

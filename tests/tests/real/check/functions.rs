//! Function bounds: what `.symtab` names in the unstripped program against what deburr finds in the stripped one.
//!
//! The programs are large enough to be real: each takes in a library (glibc, libstdc++, Rust's std) with the hand-written
//! assembly in it; and deburr itself is the Rust program. At least 99 % of the functions must have exactly these bounds.

use deburr_core::function::discover;
use deburr_core::image::{Image, wanted_debug_file};
use deburr_core::insn::sweep::Wants;
use deburr_tests::command::deburr;
use deburr_tests::package::{elf_files, fetch};
use deburr_tests::toolchain::{compile, require, run, stripped, work_dir};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const C: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <regex.h>
#include <netdb.h>
#include <locale.h>
int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv) {
    int numbers[4] = {argc, 3, 2, 1};
    regex_t regex;
    setlocale(LC_ALL, "");
    qsort(numbers, 4, sizeof *numbers, compare);
    printf("%d %s %f %d\n", numbers[0], argv[0], pow(argc, 0.5), regcomp(&regex, argv[0], 0));
    return 0;
}
"#;

const CPP: &str = r#"
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
struct Shape { virtual ~Shape() = default; virtual double area() const = 0; };
struct Square : Shape { double side; explicit Square(double s) : side(s) {} double area() const override { return side * side; } };
static int checked(const std::string &text) { if (text.empty()) throw std::invalid_argument("empty"); return std::stoi(text); }
int main(int argc, char **argv) {
    std::map<std::string, std::vector<int>> all;
    std::regex word("[a-z]+");
    for (int i = 0; i < argc; i++) {
        try { all[argv[i]].push_back(checked(argv[i])); } catch (const std::exception &e) { std::cerr << e.what() << '\n'; }
        if (std::regex_match(argv[i], word)) all["words"].push_back(i);
    }
    std::ostringstream out;
    for (auto &[name, list] : all) { std::sort(list.begin(), list.end()); out << name << ' ' << list.size() << '\n'; }
    std::cout << out.str() << Square(argc).area();
}
"#;

/// The functions that `.symtab` names, by start: all ends that symbols give it (aliases differ), and a name.
fn named(program: &Path) -> BTreeMap<u64, (BTreeSet<u64>, String)> {
    require("readelf");
    let text = run(Command::new("readelf").args(["--syms", "--wide"]).arg(program));
    let mut functions: BTreeMap<u64, (BTreeSet<u64>, String)> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[_, value, size, kind, _, _, section, name, ..] = fields.as_slice() else { continue };
        let size = size
            .strip_prefix("0x")
            .map_or_else(|| size.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok());
        let (Ok(start), Some(size)) = (u64::from_str_radix(value, 16), size) else { continue };
        if (kind == "FUNC" || kind == "IFUNC") && size > 0 && section != "UND" {
            let entry = functions.entry(start).or_default();
            entry.0.insert(start + size);
            entry.1 = name.to_owned();
        }
    }
    functions
}

fn bounds_agree(what: &str, program: &Path, strip: &str) {
    bounds_agree_with(what, &named(program), &stripped(strip, program));
}

/// Holds what deburr finds in a stripped program against the named functions.
fn bounds_agree_with(what: &str, named: &BTreeMap<u64, (BTreeSet<u64>, String)>, program: &Path) {
    let bytes = std::fs::read(program).expect("a program just made or fetched");
    let image = Image::parse(&bytes, None).expect("a program that runs");
    let found: BTreeMap<u64, u64> = discover(&image, Wants::default())
        .functions()
        .iter()
        .map(|function| function.extent(&image))
        .map(|extent| (extent.start.0, extent.end.0))
        .collect();
    let is_right = |start: &u64, ends: &BTreeSet<u64>| found.get(start).is_some_and(|end| ends.contains(end));
    let wrong: Vec<String> = named
        .iter()
        .filter(|(start, (ends, _))| !is_right(start, ends))
        .map(|(start, (ends, name))| format!("{name}: {start:#x}..{ends:x?}, found {:x?}", found.get(start)))
        .collect();
    let share = 1.0 - wrong.len() as f64 / named.len() as f64;
    println!("{what}: {} of {} functions ({:.2} %)", named.len() - wrong.len(), named.len(), share * 100.0);
    for sizes in [0..64, 64..256, 256..1024, 1024..u64::MAX] {
        let length = |start: u64, ends: &BTreeSet<u64>| ends.first().map_or(0, |end| end - start);
        let of_size = || named.iter().filter(|(start, (ends, _))| sizes.contains(&length(**start, ends)));
        let starts = of_size().filter(|(start, _)| found.contains_key(start)).count();
        let right = of_size().filter(|(start, (ends, _))| is_right(start, ends)).count();
        let count = of_size().count();
        println!("  from {} bytes: {count} functions, {starts} starts, {right} with their ends", sizes.start);
    }
    let shown = wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    println!("{shown}");
    assert!(named.len() > 200, "{what}: only {} functions to compare", named.len());
    assert!(share >= 0.99, "{what}: {:.2} % of {} functions; wrong:\n{shown}", share * 100.0, named.len());
}

#[test]
fn a_stripped_c_program_for_x86_64_keeps_its_functions() {
    let program = compile(&work_dir("bounds-c"), "c", ("c", C), "gcc", &["-O2", "-static", "-w", "-lm"]);
    bounds_agree("C, x86-64, static glibc", &program, "strip");
}

#[test]
fn a_stripped_c_program_for_aarch64_keeps_its_functions() {
    let flags = ["-O2", "-static", "-w", "-lm"];
    let program = compile(&work_dir("bounds-c-arm64"), "c", ("c", C), "aarch64-linux-gnu-gcc", &flags);
    bounds_agree("C, AArch64, static glibc", &program, "aarch64-linux-gnu-strip");
}

#[test]
#[ignore = "a quarter of a minute of compiling; `cargo xtask nightly` runs it"]
fn a_stripped_cpp_program_for_x86_64_keeps_its_functions() {
    for level in ["-O0", "-O2", "-Os"] {
        let flags = ["-std=c++17", "-static-libstdc++", "-static-libgcc", level];
        let program = compile(&work_dir("bounds-cpp"), "cpp", ("cc", CPP), "g++", &flags);
        bounds_agree(&format!("C++, x86-64, {level}"), &program, "strip");
    }
}

#[test]
#[ignore = "half a minute of compiling; `cargo xtask nightly` runs it"]
fn a_stripped_cpp_program_for_aarch64_keeps_its_functions() {
    for level in ["-O0", "-O2", "-Os"] {
        let flags = ["-std=c++17", "-static-libstdc++", "-static-libgcc", level];
        let program =
            compile(&work_dir("bounds-cpp-arm64"), "cpp", ("cc", CPP), "aarch64-linux-gnu-g++", &flags);
        bounds_agree(&format!("C++, AArch64, {level}"), &program, "aarch64-linux-gnu-strip");
    }
}

#[test]
fn a_stripped_rust_program_keeps_its_functions() {
    let copy = work_dir("bounds-rust").join("deburr");
    std::fs::copy(deburr(), &copy).expect("a writable folder");
    let strip = if cfg!(target_arch = "x86_64") { "strip" } else { "aarch64-linux-gnu-strip" };
    bounds_agree("Rust, deburr itself", &copy, strip);
}

/// A library as a distribution ships it, with hand-written assembly for each level of the instruction set.
#[test]
#[ignore = "downloads 10 MB; `cargo xtask nightly` runs it"]
fn the_distribution_s_c_library_keeps_its_functions() {
    for architecture in ["amd64", "arm64"] {
        let (_, dir) = fetch(architecture, &["libc6"]);
        let (_, debug_dir) = fetch(architecture, &["libc6-dbg"]);
        let is_library = |path: &&PathBuf| path.ends_with("libc.so.6");
        let files = elf_files(&dir);
        let library = files.iter().find(is_library).expect("libc6 has libc.so.6");
        let bytes = std::fs::read(library).expect("a file just fetched");
        let build_id =
            wanted_debug_file(&bytes).and_then(|wanted| wanted.build_id).expect("Debian states it");
        let (folder, file) = build_id.split_at(2);
        let debug = debug_dir.join(format!("usr/lib/debug/.build-id/{folder}/{file}.debug"));
        bounds_agree_with(&format!("libc.so.6, {architecture}"), &named(&debug), library);
    }
}

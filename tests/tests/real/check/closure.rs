//! What a shared library asks the CPU guards code of the files that need it: two libraries and a program, compiled here,
//! judged alone and with `--closure`.

use deburr_tests::command::{Checked, check, deburr};
use deburr_tests::toolchain::{repository, require, run, work_dir};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn compile(source: &str, to: &Path, options: &[&str]) {
    require("gcc");
    std::fs::create_dir_all(to.parent().expect("a folder")).expect("the work folder is writable");
    let source = repository().join("tests/closure").join(source);
    run(Command::new("gcc").arg(source).args(["-O3", "-g0", "-o"]).arg(to).args(options));
}

fn asks(to: &Path, options: &[&str]) {
    compile("asks.c", to, &[&["-shared", "-fPIC", "-Wl,-soname,libasks.so.1"], options].concat());
}

fn uses(to: &Path, asks: &Path, options: &[&str]) {
    let asks = asks.to_str().expect("UTF-8");
    compile("uses.c", to, &[&["-shared", "-fPIC", asks], options].concat());
}

fn verdicts(report: &Checked) -> BTreeMap<String, String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let functions = report.0["isa_functions"].as_array().expect("isa_functions is a list");
    functions.iter().map(|function| (text(&function["function"]), text(&function["reach"]))).collect()
}

/// The libraries of a report's closure, without the C library's.
fn closure(report: &Checked) -> Vec<PathBuf> {
    let libraries = report.0["closure"].as_array().expect("closure is a list");
    let libraries = libraries.iter().map(|library| PathBuf::from(library.as_str().expect("a path")));
    let is_ours = |library: &PathBuf| {
        library.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.starts_with("libasks") || name.starts_with("libuses")
        })
    };
    libraries.filter(is_ours).collect()
}

fn missing(report: &Checked) -> Vec<&str> {
    let names = report.0["missing_libraries"].as_array().map(Vec::as_slice).unwrap_or_default();
    names.iter().map(|name| name.as_str().expect("a name")).collect()
}

#[track_caller]
fn assert_guarded_by_the_closure(report: &Checked) {
    let expected = [
        ("behind_flags", "guarded"),
        ("behind_less", "under-guarded"),
        ("behind_luck", "required"),
        ("behind_nothing", "required"),
        ("behind_truth", "guarded"),
        ("behind_word", "guarded"),
    ];
    let expected = expected.map(|(name, reach)| (name.to_owned(), reach.to_owned()));
    assert_eq!(verdicts(report), BTreeMap::from(expected), "{}", report.0);
}

#[track_caller]
fn assert_unguarded(report: &Checked) {
    let mut verdicts = verdicts(report);
    assert_eq!(verdicts.len(), 6, "{verdicts:?}");
    // `has_avx2` says by its name that it tells something, and what is not known without its library. The
    // others need the same.
    let truth = verdicts.remove("behind_truth");
    assert!(truth.is_some_and(|reach| reach == "covered" || reach == "required"));
    assert!(verdicts.values().all(|reach| reach == "required"), "{verdicts:?}");
}

#[test]
fn library_beside_is_found_by_its_runpath() {
    let dir = work_dir("closure-runpath");
    let library = dir.join("lib/libasks.so.1");
    asks(&library, &[]);
    let user = dir.join("plugins/libuses.so");
    uses(&user, &library, &["-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib"]);
    assert_unguarded(&check(&user, &[]));
    assert!(check(&user, &[]).0["closure"].is_null());
    let report = check(&user, &["--closure"]);
    assert_guarded_by_the_closure(&report);
    assert_eq!(closure(&report), [library]);
    assert_eq!(missing(&report), [""; 0]);
}

#[test]
fn older_rpath_holds_for_what_the_libraries_need() {
    let dir = work_dir("closure-rpath");
    let (library, user, program) =
        (dir.join("lib/libasks.so.1"), dir.join("lib/libuses.so"), dir.join("bin/program"));
    asks(&library, &[]);
    uses(&user, &library, &[]);
    let lib = format!("-L{}", dir.join("lib").display());
    let options = [&lib, "-luses", "-l:libasks.so.1", "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib"];
    compile("program.c", &program, &options);
    let report = check(&program, &["--closure"]);
    assert_eq!(closure(&report), [user, library], "{}", report.0);
    assert_eq!(verdicts(&report)["own"], "guarded", "the word is copied into the program: {}", report.0);
    assert_eq!(verdicts(&check(&program, &[]))["own"], "required");
}

#[test]
fn library_is_found_below_the_root() {
    let dir = work_dir("closure-root");
    let root = dir.join("root");
    for place in ["opt/lib", "usr/lib/x86_64-linux-gnu", "lib64"] {
        let library = root.join(place).join("libasks.so.1");
        asks(&library, &[]);
        let user = dir.join("libuses.so");
        uses(&user, &library, &["-Wl,-rpath,/opt/lib"]);
        let root = root.to_str().expect("UTF-8");
        let report = check(&user, &["--closure", "--root", root]);
        assert_guarded_by_the_closure(&report);
        assert_eq!(closure(&report), std::slice::from_ref(&library));
        std::fs::remove_file(&library).expect("it was there");
    }
}

#[test]
fn library_that_is_not_found_is_said_and_changes_nothing() {
    let dir = work_dir("closure-missing");
    let library = dir.join("elsewhere/libasks.so.1");
    asks(&library, &[]);
    let user = dir.join("libuses.so");
    uses(&user, &library, &[]);
    let report = check(&user, &["--closure"]);
    assert_eq!(missing(&report), ["libasks.so.1"]);
    assert_unguarded(&report);
    let output = Command::new(deburr()).args(["check", "--closure", "-v"]).arg(&user).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("libraries not found: libasks.so.1\n"), "{text}");
}

#[test]
fn file_of_the_same_run_is_found_by_the_name_it_gives_itself() {
    let dir = work_dir("closure-run");
    let library = dir.join("libs/asks-1.0");
    asks(&library, &[]);
    let user = dir.join("python/uses.so");
    uses(&user, &library, &[]);
    let output = Command::new(deburr())
        .args(["check", "--format", "json", "--closure"])
        .arg(&dir)
        .output()
        .expect("runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let files = report["files"].as_array().expect("files is a list");
    let file = files.iter().find(|file| file["path"] == user.to_str().expect("UTF-8"));
    assert_guarded_by_the_closure(&Checked(file.expect("it is checked").clone()));
}

#[test]
fn library_for_another_architecture_is_passed_over() {
    let dir = work_dir("closure-arch");
    let library = dir.join("real/libasks.so.1");
    asks(&library, &[]);
    let wrong = dir.join("first/libasks.so.1");
    std::fs::create_dir_all(dir.join("first")).expect("the work folder is writable");
    let mut bytes = std::fs::read(&library).expect("it was compiled");
    // `e_machine`: AArch64.
    bytes[18..20].copy_from_slice(&[183, 0]);
    std::fs::write(&wrong, bytes).expect("the work folder is writable");
    let user = dir.join("libuses.so");
    uses(&user, &library, &["-Wl,-rpath,$ORIGIN/first:$ORIGIN/real"]);
    let report = check(&user, &["--closure"]);
    assert_eq!(closure(&report), [library]);
    assert_guarded_by_the_closure(&report);
}

#[test]
fn libraries_that_need_each_other_end() {
    let dir = work_dir("closure-ring");
    let (library, user) = (dir.join("libasks.so.1"), dir.join("libuses.so"));
    let here = "-Wl,--no-as-needed,-rpath,$ORIGIN";
    asks(&library, &[here]);
    uses(&user, &library, &[here, "-Wl,-soname,libuses.so"]);
    asks(&library, &[here, user.to_str().expect("UTF-8"), "-Wl,--allow-shlib-undefined"]);
    for threads in ["1", "2"] {
        let report = check(&user, &["--closure", "--threads", threads]);
        assert_guarded_by_the_closure(&report);
        assert_eq!(closure(&report), std::slice::from_ref(&library));
    }
}

#[test]
fn name_of_a_nearer_library_hides_a_later_one() {
    let dir = work_dir("closure-hidden");
    let asking = dir.join("libasks.so.1");
    asks(&asking, &[]);
    let constant = dir.join("libconstant.so");
    let source = dir.join("constant.c");
    let text = "unsigned fast_flags = 0x8000; unsigned flags_of_cpu(void) { return fast_flags; }\n\
                int has_avx2(void) { return 1; } int has_luck(void) { return 1; }\n";
    std::fs::write(&source, text).expect("the work folder is writable");
    let source = source.to_str().expect("UTF-8");
    run(Command::new("gcc")
        .args(["-O2", "-shared", "-fPIC", "-Wl,-soname,libconstant.so", source, "-o"])
        .arg(&constant));
    let user = dir.join("libuses.so");
    let asking = asking.to_str().expect("UTF-8");
    uses(&user, &constant, &["-Wl,--no-as-needed", asking, "-Wl,-rpath,$ORIGIN"]);
    let report = check(&user, &["--closure"]);
    assert!(report.0["closure"].to_string().contains("libasks"), "{}", report.0);
    assert_unguarded(&report);
}

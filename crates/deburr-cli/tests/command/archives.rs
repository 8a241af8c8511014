//! Static archives: members that only resolvers of the archive choose raise no level, and all others do.

use super::json;
use deburr_test_support::Scratch;
use std::fs;
use std::process::Command;

const SOURCES: [(&str, &str, &[&str]); 7] = [
    (
        "resolver",
        "int f_avx2(int *, int); int f_plain(int *, int);
         static int (*pick(void))(int *, int) {
             __builtin_cpu_init();
             return __builtin_cpu_supports(\"avx2\") ? f_avx2 : f_plain;
         }
         int f(int *, int) __attribute__((ifunc(\"pick\")));",
        &["-O2"],
    ),
    (
        "variant",
        "int five(int *, int); int f_avx2(int *a, int n) { return five(a, n) + 1; }",
        &["-O3", "-mavx2"],
    ),
    (
        "below_variant",
        "int five(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] * 5; return s; }",
        &["-O3", "-mavx2"],
    ),
    ("plain", "int f_plain(int *a, int n) { return n ? a[0] : 0; }", &["-O2"]),
    ("user", "int f_avx2(int *, int); int direct(int *a, int n) { return f_avx2(a, n) + 1; }", &["-O2"]),
    (
        "ping",
        "int pong(int *, int);
         int ping(int *a, int n) { for (int i = 0; i < n; i++) a[i] += 3; return n ? pong(a, n - 1) : 0; }",
        &["-O3", "-mavx2"],
    ),
    (
        "pong",
        "int ping(int *, int);
         int pong(int *a, int n) { for (int i = 0; i < n; i++) a[i] *= 3; return n ? ping(a, n - 1) : 0; }",
        &["-O3", "-mavx2"],
    ),
];

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The level of each member of an archive of some objects.
fn levels(scratch: &Scratch, name: &str, members: &[&str]) -> Vec<(String, String)> {
    let archive = scratch.join(name);
    let objects = members.iter().map(|member| scratch.join(format!("{member}.o")));
    run(Command::new("ar").arg("rcs").arg(&archive).args(objects));
    let (document, _) = json(&["--fail-on", "never", archive.to_str().unwrap()]);
    let reports = document["files"].as_array().unwrap().iter();
    let level = |report: &serde_json::Value| {
        let member = report["path"].as_str().unwrap().split(['(', ')']).nth(1).unwrap().to_owned();
        (member.trim_end_matches(".o").to_owned(), report["level"].as_str().unwrap().to_owned())
    };
    reports.map(level).collect()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn members_that_only_resolvers_choose_need_no_more_than_the_archive() {
    let scratch = Scratch::new("archives");
    for (name, source, flags) in SOURCES {
        let path = scratch.join(format!("{name}.c"));
        fs::write(&path, source).unwrap();
        let object = scratch.join(format!("{name}.o"));
        run(Command::new("gcc").args(flags).arg("-c").arg(&path).arg("-o").arg(&object));
    }
    let above = |name: &str, members: &[&str]| -> Vec<String> {
        let levels = levels(&scratch, name, members).into_iter();
        levels.filter(|(_, level)| level != "x86-64-v1").map(|(member, _)| member).collect()
    };
    let chosen = ["resolver", "variant", "below_variant", "plain"];
    let none: [&str; 0] = [];
    assert_eq!(above("chosen.a", &chosen), none, "what a variant alone refers to is chosen with it");
    // Somebody calls the variant without the resolver.
    let called = [&chosen[..], &["user"]].concat();
    assert_eq!(above("called.a", &called), ["below_variant"], "control gets there through the variant");
    // Without the resolver these are functions like others, also where they refer to each other in a circle.
    assert_eq!(above("below.a", &["variant", "below_variant"]), ["below_variant"]);
    assert_eq!(above("circle.a", &["ping", "pong"]), ["ping", "pong"]);
    assert_eq!(above("both.a", &[&chosen[..], &["ping", "pong"]].concat()), ["ping", "pong"]);
}

/// How each function above the first level of an archive is reached.
fn reach(scratch: &Scratch, name: &str, members: &[&str]) -> Vec<(String, String)> {
    let archive = scratch.join(name);
    let objects = members.iter().map(|member| scratch.join(format!("{member}.o")));
    run(Command::new("ar").arg("rcs").arg(&archive).args(objects));
    let (document, _) = json(&["--fail-on", "never", archive.to_str().unwrap()]);
    let functions = document["files"].as_array().unwrap().iter();
    let functions = functions.flat_map(|file| file["isa_functions"].as_array().unwrap());
    let text = |function: &serde_json::Value, name: &str| function[name].as_str().unwrap().to_owned();
    functions.map(|function| (text(function, "function"), text(function, "reach"))).collect()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_member_that_another_one_chooses_is_offered_and_one_that_is_just_called_is_required() {
    let scratch = Scratch::new("archive-families");
    let sources: [(&str, &str, &[&str]); 5] = [
        ("avx2", "void sum_avx2(int *a, int n) { for (int i = 0; i < n; i++) a[i] += 3; }", &["-O3", "-mavx2"]),
        ("sse2", "void sum_sse2(int *a, int n) { for (int i = 0; i < n; i++) a[i] += 3; }", &["-O2"]),
        (
            "chooser",
            "void sum_avx2(int *, int); void sum_sse2(int *, int);
             void sum(int *a, int n) { if (__builtin_cpu_supports(\"avx2\")) sum_avx2(a, n); else sum_sse2(a, n); }",
            &["-O2"],
        ),
        ("table", "void sum_avx2(int *, int); void (*const sums[])(int *, int) = { sum_avx2 };", &["-O2"]),
        ("user", "void sum_avx2(int *, int); void all(int *a) { sum_avx2(a, 9); a[0]++; }", &["-O2"]),
    ];
    for (name, source, flags) in sources {
        let path = scratch.join(format!("{name}.c"));
        fs::write(&path, source).unwrap();
        let object = scratch.join(format!("{name}.o"));
        run(Command::new("gcc").args(flags).arg("-c").arg(&path).arg("-o").arg(&object));
    }
    for (name, members, expected) in [
        ("family.a", &["avx2", "sse2"][..], "offered"),
        ("chosen.a", &["avx2", "sse2", "chooser"], "offered"),
        ("table.a", &["avx2", "sse2", "table"], "offered"),
        ("alone.a", &["avx2"], "required"),
        ("called.a", &["avx2", "sse2", "chooser", "user"], "required"),
    ] {
        assert_eq!(reach(&scratch, name, members), [("sum_avx2".to_owned(), expected.to_owned())], "{name}");
    }
}

//! Planted violations: each guard of the tidy test finds what it is there for, in small crates written for that.

use crate::{
    Knotted, OUTSIDE, circles, crowded, imported, knots, naming, out_of_order, shared, strayed, unlisted,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the files of a crate into a folder of its own, and returns its `src/`.
fn planted(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let src = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tidy").join(name).join("src");
    let _ = fs::remove_dir_all(&src);
    for (file, text) in files {
        let path = src.join(file);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder in target/");
        fs::write(path, text).expect("a file in target/");
    }
    src
}

/// What one guard finds, as one text.
fn found(guard: impl Fn(&Path) -> Vec<String>, src: &Path) -> String {
    guard(src).join("\n")
}

#[test]
fn a_name_below_the_unit_tests_is_found() {
    let src = planted(
        "below-tests",
        &[("lib.rs", "mod rule;"), ("rule/mod.rs", "#[cfg(test)]\nmod tests;\nuse iced_x86::Code;\n")],
    );
    assert!(found(strayed, &src).contains("iced_x86 belongs in insn/ only"));
    let opens =
        planted("opens", &[("lib.rs", "#[cfg(test)]\nmod tests;\nfn f() {\n    std::fs::read(p);\n}\n")]);
    assert!(found(|src| naming(src, &OUTSIDE), &opens).contains("std::fs"));
    let tests_only = "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
    assert_eq!(found(|src| naming(src, &OUTSIDE), &planted("tests-only", &[("lib.rs", tests_only)])), "");
}

#[test]
fn a_name_in_a_grouped_import_is_found() {
    let src = planted(
        "grouped",
        &[("lib.rs", "use std::{fmt, fs};\nuse iced_x86::{Code, Decoder};\nuse object::*;\n")],
    );
    assert!(found(|src| naming(src, &OUTSIDE), &src).contains("std::fs"));
    assert!(found(strayed, &src).contains("iced_x86") && found(strayed, &src).contains("object"));
    let alike =
        planted("alike", &[("lib.rs", "use std::{fmt, io_other, fsx};\nuse crate::object_like::A;\n")]);
    assert_eq!(found(|src| naming(src, &["std::fs", "std::io"]), &alike), "");
    assert_eq!(found(strayed, &alike), "");
}

#[test]
fn what_is_left_out_of_tests_is_no_test() {
    let not_test = ("a.rs", "#[cfg(not(test))]\nuse crate::b::B;\npub struct A;\n");
    let src = planted(
        "not-test",
        &[("lib.rs", "mod a;\nmod b;\n"), not_test, ("b.rs", "pub struct B(crate::a::A);\n")],
    );
    assert!(found(circles, &src).contains("a.rs names b.rs"));
}

#[test]
fn a_later_stage_and_a_sibling_are_found() {
    let lib = ("lib.rs", "mod address;\nmod image;\nmod insn;\n");
    let src = planted(
        "later",
        &[
            lib,
            ("address.rs", "use crate::image::Image;\n"),
            ("image.rs", "pub struct Image;\n"),
            ("insn.rs", ""),
        ],
    );
    assert!(found(out_of_order, &src).contains("address.rs names image.rs"));
    let inline = ("image.rs", "fn f() {\n    crate::insn::decode();\n}\n");
    let src = planted("sibling", &[lib, ("address.rs", ""), inline, ("insn.rs", "pub fn decode() {}\n")]);
    assert!(found(out_of_order, &src).contains("image.rs names insn.rs"));
    let earlier = ("image.rs", "use crate::address::Svma;\n");
    let src = planted("earlier", &[lib, ("address.rs", "pub struct Svma;\n"), earlier, ("insn.rs", "")]);
    assert_eq!(found(out_of_order, &src), "");
}

#[test]
fn a_module_in_no_stage_is_found() {
    let src = planted("stage", &[("lib.rs", "mod sundries;\n"), ("sundries.rs", "")]);
    assert!(found(out_of_order, &src).contains("sundries is in no stage"));
}

#[test]
fn a_circle_is_found_also_through_what_others_hand_on() {
    let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\n");
    let src = planted(
        "circle",
        &[
            lib,
            ("a.rs", "use crate::b::B;\npub struct A;\n"),
            ("b/mod.rs", "mod inner;\npub use inner::B;\n"),
            ("b/inner.rs", "use crate::c::C;\npub struct B;\n"),
            ("c.rs", "pub struct C(crate::a::A);\n"),
        ],
    );
    assert!(found(circles, &src).contains("a.rs names b/inner.rs"), "{}", found(circles, &src));
    assert!(!found(circles, &src).contains("b/mod.rs"));
}

#[test]
fn a_knot_of_rooms_is_found_where_no_file_is_on_a_circle() {
    let lib = ("lib.rs", "mod a;\nmod b;\n");
    let rooms = |back: &'static str| {
        [
            lib,
            ("a/mod.rs", "pub mod one;\npub mod two;\n"),
            ("a/one.rs", "use crate::b::three::Three;\npub struct One;\n"),
            ("a/two.rs", "pub struct Two;\n"),
            ("b/mod.rs", "pub mod three;\npub mod four;\n"),
            ("b/three.rs", "pub struct Three;\n"),
            ("b/four.rs", back),
        ]
    };
    let src = planted("knot", &rooms("use crate::a::two::Two;\n"));
    assert_eq!(found(circles, &src), "");
    let told = found(knots, &src);
    assert!(told.contains("a knot of a, b") && told.contains("b/four.rs names a/two.rs"), "{told}");
    let src = planted("no-knot", &rooms("use super::three::Three;\n"));
    assert_eq!(found(knots, &src), "");
    // What a room's own `mod.rs` names of what is in it is no import of a room.
    let src = planted(
        "own",
        &[
            lib,
            ("a.rs", ""),
            ("b/mod.rs", "mod c;\nuse c::C;\npub struct B(C);\n"),
            ("b/c.rs", "use super::B;\npub struct C;\n"),
        ],
    );
    assert_eq!(found(knots, &src), "");
}

#[test]
fn a_knot_that_grows_or_is_untied_is_not_the_one_that_is_listed() {
    let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\n");
    let crates = |name: &str, c: &'static str| {
        let b = ("b.rs", "use crate::a::A;\nuse crate::c::C;\npub struct B;\n");
        let files = [lib, ("a.rs", "pub struct A(crate::b::B);\n"), b, ("c.rs", c)];
        vec![("house".to_owned(), planted(name, &files))]
    };
    let listed = |rooms| [Knotted { crate_name: "house", folder: "", rooms, reason: "old" }];
    let two = crates("listed", "pub struct C;\n");
    assert_eq!(unlisted(&two, &listed(&["a", "b"])), Vec::<String>::new());
    let untied = unlisted(&two, &listed(&["a", "b", "c"])).join("\n");
    assert!(untied.contains("a knot of a, b\n") && untied.contains("not the knot of a, b, c"), "{untied}");
    let grown = crates("grown", "pub struct C(crate::a::A);\n");
    let told = unlisted(&grown, &listed(&["a", "b"])).join("\n");
    assert!(told.contains("a knot of a, b, c") && told.contains("c.rs names a.rs"), "{told}");
}

#[test]
fn no_circle_is_one_way_or_in_tests() {
    let back = "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n";
    let src = planted(
        "no-circle",
        &[("lib.rs", "mod a;\nmod b;\n"), ("a.rs", "use crate::b::B;\npub struct A;\n"), ("b.rs", back)],
    );
    assert_eq!(found(circles, &src), "");
}

#[test]
fn statistics_that_measure_are_found() {
    let src = planted(
        "statistics",
        &[
            ("lib.rs", "mod stats;\nmod measure;\n"),
            ("stats/mod.rs", "mod mean;\n"),
            ("stats/mean.rs", "use crate::measure::Run;\n"),
            ("measure.rs", "pub struct Run;\n"),
        ],
    );
    let foreign = |src: &Path| imported(src, "stats", |target| !target.starts_with("stats/"));
    assert!(found(foreign, &src).contains("stats/mean.rs names measure.rs"));
}

#[test]
fn an_audit_that_names_the_plan_is_found() {
    let files = |audit: &'static str| {
        planted(
            "audit",
            &[
                ("lib.rs", "mod audit;\nmod prove;\nmod subject;\npub use prove::Prover;\n"),
                ("audit/mod.rs", "mod graph;\n"),
                ("audit/graph.rs", audit),
                ("prove/mod.rs", "pub struct Prover;\n"),
                ("subject/mod.rs", "pub struct Subject;\n"),
            ],
        )
    };
    let names = |audit| found(shared, &files(audit));
    assert!(names("use crate::prove::Prover;\n").contains("audit/graph.rs names prove/mod.rs"));
    // Through what the crate hands on, within a function, and in a group.
    assert!(names("use crate::Prover;\n").contains("audit/graph.rs names prove/mod.rs"));
    assert!(names("fn f() {\n    crate::prove::Prover;\n}\n").contains("audit/graph.rs names prove/mod.rs"));
    assert!(names("use crate::{prove::Prover, subject::Subject};\n").contains("names prove/mod.rs"));
    assert_eq!(names("use crate::subject::Subject;\nuse super::graph;\n"), "");
}

#[test]
fn a_crowded_folder_is_found_but_for_the_rules() {
    let files: Vec<String> = (0..15).map(|number| format!("rule/r{number}.rs")).collect();
    let all: Vec<(&str, &str)> = files.iter().map(|file| (file.as_str(), "")).collect();
    assert_eq!(found(crowded, &planted("rules", &all)), "");
    let files: Vec<String> = files.iter().map(|file| file.replace("rule/", "insn/")).collect();
    let all: Vec<(&str, &str)> = files.iter().map(|file| (file.as_str(), "")).collect();
    assert!(found(crowded, &planted("crowded", &all)).contains("15 files"));
}

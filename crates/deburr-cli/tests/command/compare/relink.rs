//! Layouts of code: those that the linkers make of a seed, and what is said where layouts alone make a
//! difference.

use super::{RATE, Scratch, Value, compare, document, run, scratch};
use std::collections::BTreeSet;
use std::fs;

/// As many different programs as there are functions whose order can be seen from outside: the rate that each
/// prints is its layout's.
const PROGRAM: &str = "
#include <unistd.h>
int first(void) { return 1; } int second(void) { return 2; } int third(void) { return 3; }
int fourth(void) { return 4; } int fifth(void) { return 5; } int sixth(void) { return 6; }
int main(int count, char **words) {
    usleep(10000);
    int (*all[])(void) = {first, second, third, fourth, fifth, sixth};
    return all[count % 6]() != count % 6 + 1;
}
";

/// As docs/reference/compare.md has it, for a linker that is called so.
fn makefile(linker: &str, shuffle: &str) -> String {
    format!(
        "relink:\n\tgcc -fuse-ld={linker} -Wl,{shuffle} -o server-$(DEBURR_SIDE) server-$(DEBURR_SIDE).o\n\
         \tnm -n server-$(DEBURR_SIDE) | sed -n 's/.* [Tt] //p' | grep -xE 'first|second|third|fourth|fifth|sixth' | \
         xargs echo $(DEBURR_SIDE) $(DEBURR_LAYOUT_SEED) >> layouts\n"
    )
}

#[test]
fn linkers_give_each_seed_a_layout_of_its_own() {
    for (linker, shuffle) in [
        ("lld", "--shuffle-sections='*=$(DEBURR_LAYOUT_SEED)'"),
        ("mold", "--shuffle-sections=$(DEBURR_LAYOUT_SEED)"),
    ] {
        let scratch = scratch(linker);
        scratch.file("server.c", PROGRAM.as_bytes());
        scratch.file("Makefile", makefile(linker, shuffle).as_bytes());
        for side in ["a", "b"] {
            run(
                "/usr/bin:/bin",
                &scratch,
                &format!("gcc -c -ffunction-sections -o server-{side}.o server.c"),
            );
        }
        let arguments = [
            "--a",
            "./server-a",
            "--b",
            "./server-b",
            "--relink",
            "make relink",
            "--layout-floor=5",
            "--pairs",
            "2",
        ];
        let told = document(&scratch, &[&arguments[..], &["--seed", "1"]].concat());
        assert_eq!(told["placement"]["layouts"], 5, "{told:#}");
        let text = fs::read_to_string(scratch.join("layouts")).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
        // A warm-up and three rounds of five, then each side once; what the machine has disturbed is made again.
        assert!(lines.len() >= 18, "{text}");
        assert!(lines.iter().all(|line| line.len() == 8), "{text}");
        let times = |layout: &[&str]| lines.iter().filter(|line| line[1..] == *layout).count();
        let layouts: BTreeSet<&[&str]> =
            lines.iter().map(|line| &line[1..]).filter(|layout| times(layout) >= 3).collect();
        // The same seed, the same layout.
        assert_eq!(layouts.len(), 5, "{text}");
        let orders: BTreeSet<&[&str]> = layouts.iter().map(|layout| &layout[1..]).collect();
        assert!(orders.len() >= 3, "{text}");
    }
}

/// Writes what a layout costs to where its side finds it: up to a tenth, by the seed.
const LINK: &str = "echo $((DEBURR_LAYOUT_SEED % 1000)) > layout-$DEBURR_SIDE";

/// A command whose rate depends on its side's layout.
fn printing(side: &str, rate: u32) -> String {
    format!(
        "sleep 0.01; echo rate = $(({rate} + $(cat layout-{side}) + $(od -An -N1 -tu1 /dev/urandom) % 8))"
    )
}

fn measured(scratch: &Scratch, b: u32, more: &[&str]) -> Value {
    let (a, b) = (printing("a", 10_000), printing("b", b));
    let arguments = ["--shell", "sh", "--metric", RATE, "--seed", "3", "--a", &a, "--b", &b];
    document(scratch, &[&arguments[..], more].concat())
}

#[test]
fn what_layouts_alone_may_do_is_no_difference() {
    let scratch = scratch("floor");
    scratch.file("layout-a", b"100");
    scratch.file("layout-b", b"600");
    assert_eq!(measured(&scratch, 10_000, &[])["verdict"], "better");
    let floor = ["--relink", LINK, "--layout-floor"];
    let same = measured(&scratch, 10_000, &floor);
    let deviation = same["placement"]["deviation"].as_f64().unwrap();
    // 1000/√12 of 10500.
    assert!((0.015..0.045).contains(&deviation), "{same:#}");
    let region = same["region"].as_f64().unwrap();
    assert!((0.04..0.15).contains(&region), "{same:#}");
    assert!(["same", "inconclusive"].contains(&same["verdict"].as_str().unwrap()), "{same:#}");
    assert_eq!(measured(&scratch, 14_000, &floor)["verdict"], "better");
    // With a layout for each run there is nothing that only one pair of layouts says.
    let each = measured(&scratch, 10_000, &["--relink", LINK]);
    assert_eq!((&each["placement"], &each["region"]), (&Value::Null, &Value::from(0.01)));
    assert!(["same", "inconclusive"].contains(&each["verdict"].as_str().unwrap()), "{each:#}");
}

#[test]
fn layouts_are_in_the_record_and_are_not_measured_again() {
    let scratch = scratch("floor-record");
    let floor = ["--relink", LINK, "--layout-floor=5", "--pairs", "2"];
    let first = measured(&scratch, 10_000, &[&floor[..], &["--record", "record"]].concat());
    let lines = |scratch: &Scratch| fs::read_to_string(scratch.join("record")).unwrap().lines().count();
    // The header, a warm-up and three rounds of five, a warm-up pair and two pairs; what is disturbed is made again.
    let made = lines(&scratch);
    assert!(made >= 1 + 16 + 6, "{made}");
    let again = measured(&scratch, 10_000, &[&floor[..], &["--resume=record"]].concat());
    assert_eq!((lines(&scratch), &again), (made, &first));
    assert_eq!(document(&scratch, &["--pairs", "2", "record"]), first);
    let text = super::stdout(&compare(
        &scratch,
        &["--aa", "sleep 0.01", "--relink", "true", "--layout-floor=5", "--pairs", "2"],
    ));
    assert!(text.contains("  placement   5 layouts of A differ by "), "{text}");
}

#[test]
fn an_interrupted_sweep_is_judged_by_the_points_whose_layouts_were_all_measured() {
    let scratch = scratch("floor-sweep");
    let link = &format!("{LINK} # {{n}}");
    let floor = ["--relink", link, "--layout-floor=5", "--pairs", "2", "--param", "n=1,2"];
    let whole = measured(&scratch, 10_000, &[&floor[..], &["--record", "record"]].concat());
    assert_eq!(whole["sweep"]["points"].as_array().unwrap().len(), 2);
    let widest = whole["sweep"]["points"].as_array().unwrap().iter().map(|point| &point["metrics"][0]);
    let widest = widest.map(|metric| metric["region"].as_f64().unwrap()).fold(0.0, f64::max);
    // All points together have room for what placement does at any.
    assert_eq!(whole["region"].as_f64(), Some(widest));
    assert!(whole["placement"].is_object(), "{whole:#}");
    let text = fs::read_to_string(scratch.join("record")).unwrap();
    // The header, the first point's layouts and pairs, and three runs of layouts of the second.
    let runs = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap()["point"].clone());
    let runs: Vec<Value> = runs.collect();
    let first = runs.iter().take_while(|point| **point == runs[0]).count();
    assert!((22..runs.len() - 3).contains(&first), "{text}");
    let cut: String = text.lines().take(1 + first + 3).flat_map(|line| [line, "\n"]).collect();
    scratch.file("cut", cut.as_bytes());
    let again = document(&scratch, &["cut"]);
    let points = again["sweep"]["points"].as_array().unwrap();
    assert_eq!(points.len(), 1);
    assert_eq!(points[0], whole["sweep"]["points"][0]);
}

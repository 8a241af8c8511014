//! Profiles: programs that spend their time in a known place, and profiles that say so. The times themselves are constructed, as
//! `perf script` writes them, so that a machine without counters tests as much.

use deburr_tests::command::deburr;
use deburr_tests::toolchain::{compile, run, work_dir};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../../../crates/deburr-profile/tests/profile/recording.rs"]
#[expect(dead_code, reason = "the tests of the reader use more of it")]
mod recording;

/// Two functions add by a helper; nobody else calls it.
const SOURCE: &str = "#include <stdatomic.h>
#include <stdlib.h>
_Atomic long hits, misses;
long __attribute__((noinline)) hit(long by) { return atomic_fetch_add(&hits, by) + 1; }
long __attribute__((noinline)) miss(long by) { return atomic_fetch_add(&misses, by) - 1; }
int main(int argc, char **argv) {
    long sum = 0;
    for (long i = 0; i < 1000; i++)
        sum += i % 100 ? hit(i) : miss(i);
    return argc > 1 && sum == atol(argv[1]);
}
";

fn program(dir: &Path, compiler: &str, flags: &[&str]) -> PathBuf {
    compile(dir, "counts", ("counts.c", SOURCE), compiler, flags)
}

/// Samples as `perf script` writes them: a weight, and frames, the innermost first.
pub(super) fn profile(dir: &Path, program: &Path, samples: &[(u64, &[(&str, u64)])]) -> PathBuf {
    let mut text = String::new();
    for (number, (weight, frames)) in samples.iter().enumerate() {
        writeln!(text, "counts  42 1.{number:06}: {weight:>10}   cpu-clock: ").expect("a text");
        for (name, offset) in *frames {
            writeln!(text, "\t    {:>12x} {name}+{offset:#x} ({})", 0x40_0000 + offset, program.display())
                .expect("a text");
        }
        text.push('\n');
    }
    let path = dir.join("counts.script");
    fs::write(&path, text).expect("a file in a work folder");
    path
}

/// The functions of a program: where they begin, and how long they are.
pub(super) fn functions_of(program: &Path, nm: &str) -> HashMap<String, (u64, u64)> {
    let listing = run(Command::new(nm).arg("-S").arg(program));
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let function = |line: &str| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        [at, size, _, name] => Some(((*name).to_owned(), (number(at)?, number(size)?))),
        _ => None,
    };
    listing.lines().filter_map(function).collect()
}

fn address(value: &Value) -> u64 {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x")).expect("an address");
    u64::from_str_radix(digits, 16).expect("an address")
}

fn check(arguments: &[&Path]) -> Command {
    let mut check = Command::new(deburr());
    check.args(["check", "--fail-on=never", "--profile"]).args(arguments);
    check
}

fn report(arguments: &[&Path]) -> Value {
    let document: Value =
        serde_json::from_str(&run(check(arguments).args(["--format=json", "--schema-version=1"])))
            .expect("JSON");
    document["files"][0].clone()
}

#[test]
fn a_hot_helper_ranks_its_call_sites_first() {
    let dir = work_dir("check-profile-outlined");
    let program = program(&dir, "aarch64-linux-gnu-gcc", &["-O2", "-static", "-moutline-atomics"]);
    let helper = "__aarch64_ldadd8_acq_rel";
    let functions = functions_of(&program, "aarch64-linux-gnu-nm");
    let place = profile(&dir, &program, &[(1, &[("main", 0)])]);
    let calls = report(&[&place, &program]);
    let call = |function: &str| {
        let mut findings = calls["findings"].as_array().expect("findings").iter();
        let finding = findings.find(|it| it["function"] == function).expect("a call of the helper");
        address(&finding["svma"]) - functions[function].0
    };
    // Return addresses: after the call of the helper, and after main's call of the function that calls it.
    let (in_hit, in_miss) = (call("hit") + 4, call("miss") + 4);
    let code =
        run(Command::new("aarch64-linux-gnu-objdump").args(["-d", "--disassemble=main"]).arg(&program));
    let call_of = |name: &str| {
        let line = code.lines().find(|line| line.contains("\tbl\t") && line.ends_with(&format!("<{name}>")));
        let at = line.and_then(|line| line.trim().split_once(':')).expect("a call in main").0;
        u64::from_str_radix(at, 16).expect("an address") - functions["main"].0 + 4
    };
    let samples: &[(u64, &[(&str, u64)])] = &[
        (600, &[(helper, 0x14), ("hit", in_hit), ("main", call_of("hit"))]),
        // The helper sets up no frame: by frame pointers its caller is missing, and that one's caller is there.
        (300, &[(helper, 0x10), ("main", call_of("hit"))]),
        (50, &[(helper, 0x14), ("miss", in_miss), ("main", call_of("miss"))]),
        (50, &[("main", 0x30)]),
    ];
    let profile = profile(&dir, &program, samples);
    let report = report(&[&profile, &program]);
    let first = &report["findings"][0];
    assert_eq!((&first["rule"], &first["function"]), (&"outlined-atomic".into(), &"hit".into()));
    assert_eq!(first["weight"]["by"], "call-chains");
    assert!(first["weight"]["share"].as_f64().is_some_and(|share| (share - 0.9).abs() < 0.001), "{first}");
    assert_eq!(report["findings"][1]["function"], "miss");
    assert_eq!(report["profile"]["functions"][0]["function"], helper);
    let text = run(&mut check(&[&profile, &program]));
    let line = text.lines().find(|line| line.contains("[outlined-atomic]")).expect("the rule");
    // Those of the C library that is linked in do not count.
    assert!(line.contains("95 % of the run in 2 findings"), "{text}");
}

#[test]
fn a_hot_compare_and_swap_is_weighed_by_its_loop() {
    let dir = work_dir("check-profile-locked");
    let text = "long total; long add(long v) { long old = total;
        while (!__atomic_compare_exchange_n(&total, &old, old + v, 0, 5, 5)) ;
        return old; } int main(void) { return (int)add(1); }";
    let program = compile(&dir, "locked", ("locked.c", text), "gcc", &["-O2", "-fno-inline"]);
    let functions = functions_of(&program, "nm");
    let (start, size) = functions["add"];
    let place = profile(&dir, &program, &[(1, &[("main", 0)])]);
    let found = report(&[&place, &program]);
    let at = address(&found["findings"][0]["svma"]) - start;
    // `ret` is all that comes after the loop; there most of the time shows.
    let samples: &[(u64, &[(&str, u64)])] =
        &[(20, &[("add", at)]), (70, &[("add", size - 1)]), (10, &[("main", 0)])];
    let profile = profile(&dir, &program, samples);
    let first = report(&[&profile, &program])["findings"][0].clone();
    assert_eq!((&first["rule"], &first["weight"]["share"]), (&"cas-for-rmw".into(), &0.9.into()), "{first}");
}

/// A perf.data with a trace of Arm SPE: operations of a program that is mapped at `base`, each with a latency.
fn traced(dir: &Path, program: &Path, base: u64, operations: &[(u64, u16)]) -> PathBuf {
    use recording::{Attributes, CPU_CLOCK, IDENTIFIER, IP, Recording, TID, TIME};
    let (kind, sample_type) = (8, IDENTIFIER | IP | TID | TIME);
    let mut recording = Recording::new(&[Attributes { kind, sample_type, ..CPU_CLOCK }]);
    recording.record(70, 0, &[4u64, 8, 1].map(u64::to_le_bytes).concat());
    recording.map(10, 1, [base, 0x100_0000, 0], program.to_str().expect("UTF-8"), 5);
    let packets = operations.iter().flat_map(|(at, latency)| {
        let pc = (*at | 1 << 63).to_le_bytes();
        [&[0xb0], &pc[..], &[0x98], &latency.to_le_bytes(), &[0x65, 10, 0, 0, 0, 0x01]].concat()
    });
    let trace: Vec<u8> = packets.collect();
    let cpu = [0u32, u32::MAX, 0, 0].map(u32::to_le_bytes).concat();
    recording.record(71, 0, &[[trace.len() as u64, 0, 0].map(u64::to_le_bytes).concat(), cpu].concat());
    recording.records.extend(trace);
    // Truncated.
    recording.timed(11, 0, [0u64, 0, 1].map(u64::to_le_bytes).concat(), 10, 2);
    let path = dir.join("spe.data");
    fs::write(&path, recording.finish()).expect("a file in a work folder");
    path
}

#[test]
fn operations_of_spe_count_where_they_are_and_not_before() {
    let dir = work_dir("check-profile-spe");
    let program = program(&dir, "aarch64-linux-gnu-gcc", &["-O2", "-static", "-mno-outline-atomics"]);
    let (start, size) = functions_of(&program, "aarch64-linux-gnu-nm")["hit"];
    // The sequence of `hit`, and the instruction after it.
    let code = run(Command::new("aarch64-linux-gnu-objdump").args(["-d", "--disassemble=hit"]).arg(&program));
    let of = |mnemonic: &str| {
        let line = code.lines().find(|line| line.contains(mnemonic)).expect("an instruction of the loop");
        u64::from_str_radix(line.trim().split_once(':').expect("an address").0, 16).expect("an address")
    };
    let (load, after) = (of("\tldaxr\t"), of("\tcbnz\t"));
    assert!(start <= load && load < after && after < start + size, "{code}");
    let base = 0x40_0000;
    let spe = traced(&dir, &program, base, &[(load, 300), (after, 600), (after, 100)]);
    let share = |profile: &Path| {
        let report = report(&[profile, &program]);
        let mut findings = report["findings"].as_array().expect("findings").iter();
        let hit = findings.find(|it| it["function"] == "hit").expect("the loop of hit");
        hit["weight"]["share"].as_f64().expect("a share")
    };
    assert!((share(&spe) - 0.3).abs() < 1e-6, "{}", share(&spe));
    // The same samples of an interrupt, which skids.
    let samples: &[(u64, &[(&str, u64)])] =
        &[(300, &[("hit", load - start)]), (700, &[("hit", after - start)])];
    assert!((share(&profile(&dir, &program, samples)) - 1.0).abs() < 1e-6);
    let text = run(&mut check(&[&spe, &program]));
    assert!(text.contains("of arm_spe/latency/, 3 samples"), "{text}");
    assert!(text.contains("the trace lacks records in 1 place: shares are of what it has"), "{text}");
    // By the number of operations instead.
    let counted = run(check(&[&spe, &program]).args(["--profile-event", "type8/config=0x0"]));
    assert!(counted.contains("33 %") && counted.contains("hit"), "{counted}");
}

#[test]
fn what_is_wrong_with_a_profile_is_said() {
    let dir = work_dir("check-profile-wrong");
    let program = program(&dir, "gcc", &["-O2"]);
    let told = |arguments: &[&Path], more: &[&str]| {
        let output = check(arguments).args(more).output().expect("deburr runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let good = profile(&dir, &program, &[(1, &[("main", 0)])]);
    let (status, message) = told(&[&good, &program], &["--profile-event", "cycles"]);
    assert_eq!(status, Some(2));
    assert!(message.contains("--profile-event cycles: the profile has cpu-clock"), "{message}");
    let cut = dir.join("cut.data");
    fs::write(&cut, b"PERFILE2\x68\0\0\0").expect("a file in a work folder");
    let (status, message) = told(&[&cut, &program], &[]);
    assert_eq!(status, Some(2));
    assert!(message.contains("cut.data: at offset 0x"), "{message}");
    // The profile saw another program: the check goes on, and says so.
    let other = Path::new("/usr/bin/true");
    let (status, message) = told(&[&good, other], &[]);
    assert_eq!(status, Some(0));
    assert!(
        message.contains("the profile saw nothing of the files that were checked; most of it is in"),
        "{message}"
    );
}

#[test]
fn a_recorded_run_names_the_loop_that_took_it() {
    let dir = work_dir("check-profile-recorded");
    let text = "long total; long add(long v) { long old = total;
        while (!__atomic_compare_exchange_n(&total, &old, old + v, 0, 5, 5)) ;
        return old; } int main(void) { for (long i = 0; i < 60000000; i++) add(i); return 0; }";
    let flags = ["-O2", "-fno-inline", "-fno-omit-frame-pointer"];
    let program = compile(&dir, "locked", ("locked.c", text), "gcc", &flags);
    let profile = dir.join("perf.data");
    let mut record = Command::new(deburr());
    record.args(["record", "-o"]).arg(&profile).arg("--").arg(&program);
    let output = record.output().expect("deburr runs");
    let said = String::from_utf8_lossy(&output.stderr);
    if !profile.exists() {
        // A container may forbid it; then that is what is said.
        assert!(said.contains("perf_event_paranoid"), "{said}");
        eprintln!("not recorded here: {said}");
        return;
    }
    let report = report(&[&profile, &program]);
    let first = &report["findings"][0];
    assert_eq!((&first["rule"], &first["function"]), (&"cas-for-rmw".into(), &"add".into()));
    assert!(
        first["weight"]["share"].as_f64().is_some_and(|share| share > 0.3),
        "{first} {}",
        report["profile"]
    );
    // The share that perf itself gives the function.
    let mut perf = Command::new("perf");
    perf.args(["report", "--stdio", "--no-children", "-g", "none", "--sort", "sym", "-i"]).arg(&profile);
    let listed = run(&mut perf);
    let line = listed.lines().find(|line| line.ends_with(" add")).expect("the function");
    let percent =
        line.trim().split_once('%').and_then(|(number, _)| number.parse::<f64>().ok()).expect("a share");
    let hot = &report["profile"]["functions"][0];
    assert_eq!(hot["function"], "add");
    assert!((100.0 * hot["share"].as_f64().expect("a share") - percent).abs() < 1.0, "{hot}, perf: {line}");
}

//! Code made at run time: jitdumps as files to check, and as what a profile names.

use super::{deburr, json, stderr, stdout};
use deburr_test_support::{Scratch, schema_faults};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// `e_machine`.
const X86_64: u32 = 62;
const AARCH64: u32 = 183;

/// Where the function is whose samples were recorded.
const SAMPLED: u64 = 0x7f72_1f95_9000;

/// mov (%rdi),%eax; loop: lea 1(%rax),%ecx; lock cmpxchg %ecx,(%rdi); jne loop; ret
const CAS: [u8; 12] = [0x8b, 0x07, 0x8d, 0x48, 0x01, 0xf0, 0x0f, 0xb1, 0x0f, 0x75, 0xf7, 0xc3];
/// vpaddd %ymm0,%ymm1,%ymm0; ret
const AVX2: [u8; 5] = [0xc5, 0xf5, 0xfe, 0xc0, 0xc3];
/// loop: ldaxr w1, [x0]; add w1, w1, #1; stlxr w2, w1, [x0]; cbnz w2, loop; ret
const LLSC: [u32; 5] = [0x885f_fc01, 0x1100_0421, 0x8802_fc01, 0x35ff_ffa2, 0xd65f_03c0];

/// A jitdump: functions by name, address and code.
fn dump(machine: u32, functions: &[(&str, u64, &[u8])]) -> Vec<u8> {
    let mut dump = [0x4a69_5444u32, 1, 40, machine, 0, 10].map(u32::to_le_bytes).concat();
    dump.extend([0u64; 2].map(u64::to_le_bytes).concat());
    for (name, svma, code) in functions {
        let size = u32::try_from(56 + name.len() + 1 + code.len()).unwrap();
        dump.extend([0, size].map(u32::to_le_bytes).concat());
        dump.extend([0, 10 | 10 << 32, *svma, *svma, code.len() as u64, 0].map(u64::to_le_bytes).concat());
        dump.extend([name.as_bytes(), &[0], code].concat());
    }
    dump
}

fn written(scratch: &Scratch, name: &str, bytes: &[u8]) -> String {
    let path = scratch.join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A file among those that perf recorded.
fn recorded(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../deburr-profile/tests/recordings").join(name))
        .unwrap()
}

fn assert_follows_schema(document: &Value) {
    let schema: Value = serde_json::from_slice(&deburr(&["schema"]).stdout).unwrap();
    let faults = schema_faults(&schema, document);
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn a_jitdump_is_checked_like_a_program() {
    let scratch = Scratch::new("jit-alone");
    let llsc = LLSC.map(u32::to_le_bytes).concat();
    for (machine, arch, code, rule) in
        [(X86_64, "x86_64", &CAS[..], "cas-for-rmw"), (AARCH64, "aarch64", &llsc, "llsc-loop")]
    {
        let bytes = dump(
            machine,
            &[("Lazy:add x.js:1", SAMPLED, code), ("other", SAMPLED + 0x1000, &code[code.len() - 4..])],
        );
        let path = written(&scratch, "jit-10.dump", &bytes);
        let (document, output) = json(&[&path]);
        assert_follows_schema(&document);
        let file = &document["files"][0];
        assert_eq!((&file["path"], &file["arch"]), (&path.as_str().into(), &arch.into()));
        assert_eq!(
            (&file["made_at_run_time"], &file["coverage"]["named_functions"]),
            (&true.into(), &2.into())
        );
        let findings = file["findings"].as_array().unwrap();
        let found: Vec<_> = findings.iter().map(|it| (&it["rule"], &it["function"])).collect();
        assert_eq!(found, [(&rule.into(), &"Lazy:add x.js:1".into())], "{arch}");
        let svma = u64::from_str_radix(&findings[0]["places"][0]["svma"].as_str().unwrap()[2..], 16).unwrap();
        assert!((SAMPLED..SAMPLED + code.len() as u64).contains(&svma));
        // Nobody can compile it again by other flags.
        assert_eq!((&file["advice"], output.status.code()), (&Value::Array(Vec::new()), Some(1)));
        let shown = stdout(&deburr(&["show", &path, &format!("{SAMPLED:#x}")]));
        assert!(shown.contains(rule) && shown.contains("Lazy:add x.js:1"), "{shown}");
    }
}

#[test]
fn code_made_at_run_time_is_held_to_no_baseline() {
    let scratch = Scratch::new("jit-level");
    let path = written(&scratch, "jit-10.dump", &dump(X86_64, &[("sum", 0x1000, &AVX2)]));
    let (document, output) = json(&["--baseline", "x86-64-v1", &path]);
    assert_follows_schema(&document);
    let file = &document["files"][0];
    assert_eq!((&file["level"], &file["level_present"]), (&"x86-64-v3".into(), &"x86-64-v3".into()));
    assert_eq!((&file["needed_by"], &file["runs_on"]["levels"]), (&Value::Null, &Value::Array(Vec::new())));
    assert_eq!((&file["findings"], output.status.code()), (&Value::Array(Vec::new()), Some(0)));
    let text = stdout(&deburr(&["check", &path, &path]));
    assert!(text.contains("jit-10.dump: x86_64, made at run time, uses up to x86-64-v3\n"), "{text}");
    let claimed = deburr(&["check", "--baseline", "claim", &path]);
    assert_eq!((claimed.status.code(), stderr(&claimed)), (Some(0), String::new()));
    let other = written(&scratch, "jit-11.dump", &dump(X86_64, &[("sum", 0x2000, &AVX2)]));
    let both = stdout(&deburr(&["check", &path, &other]));
    assert!(both.contains("2 files checked") && !both.contains("Levels needed"), "{both}");
    let variant: Value =
        serde_json::from_slice(&deburr(&["check", "--format", "variant-json", &path]).stdout).unwrap();
    assert_eq!(variant["packages"], Value::Array(Vec::new()));
    let fix = deburr(&["fix", "--output", scratch.join("new").to_str().unwrap(), &path]);
    assert!(stderr(&fix).contains("a jitdump: code made at run time is in no program"), "{}", stderr(&fix));
}

#[test]
fn a_jitdump_that_cannot_be_read_says_why() {
    let scratch = Scratch::new("jit-wrong");
    let whole = dump(X86_64, &[("whole", 0x1000, &CAS), ("cut", 0x2000, &CAS)]);
    let mut swapped = whole.clone();
    swapped[..4].reverse();
    for (bytes, says) in [
        (
            dump(243, &[("risc", 0x1000, &CAS)]),
            "expected code of x86-64 or AArch64, found that of machine 243",
        ),
        (swapped, "expected a jitdump of a little-endian machine"),
        (dump(X86_64, &[]), "a jitdump without functions"),
        (whole[..20].to_vec(), "more bytes in this record"),
        (dump(X86_64, &[("cut", 0x1000, &CAS)])[..60].to_vec(), "expected the rest of a record"),
    ] {
        let output = deburr(&["check", &written(&scratch, "jit-1.dump", &bytes)]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
    // What comes before a last record that is cut off is checked, and what is missing is said.
    let path = written(&scratch, "jit-2.dump", &whole[..whole.len() - 3]);
    let output = deburr(&["check", &path]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.contains("fault: file offset") && text.contains("expected the rest of a record: left out"),
        "{text}"
    );
    assert!(text.contains("whole") && !text.contains("cut\n"), "{text}");
}

#[test]
fn a_hundred_thousand_functions_are_checked_each_by_its_name() {
    let scratch = Scratch::new("jit-many");
    let names: Vec<String> = (0..100_000).map(|number| format!("f{number}")).collect();
    let functions: Vec<(&str, u64, &[u8])> =
        (0x1_0000..).step_by(32).zip(&names).map(|(svma, name)| (name.as_str(), svma, &CAS[..])).collect();
    let path = written(&scratch, "jit-1.dump", &dump(X86_64, &functions));
    let (document, _) = json(&[&path]);
    let file = &document["files"][0];
    assert_eq!(file["coverage"]["named_functions"], 100_000);
    let findings = file["findings"].as_array().unwrap();
    assert_eq!((findings.len(), &findings[99_999]["function"]), (100_000, &"f99999".into()));
}

#[test]
fn functions_far_apart_are_parts_of_one_jitdump() {
    let scratch = Scratch::new("jit-far");
    let path =
        written(&scratch, "jit-1.dump", &dump(X86_64, &[("low", 0x1000, &CAS), ("high", 1 << 46, &CAS)]));
    let (document, _) = json(&[&path]);
    let found: Vec<String> =
        document["files"].as_array().unwrap().iter().map(|file| file["path"].to_string()).collect();
    assert_eq!(found, [format!("\"{path}(0x1000)\""), format!("\"{path}(0x400000000000)\"")]);
    assert!(stdout(&deburr(&["show", &path, "high"])).contains("high at 0x400000000000"));
}

/// perf recorded two functions at one address, of which the second replaced the first.
#[test]
fn a_profile_brings_the_jitdumps_that_it_names() {
    let scratch = Scratch::new("jit-profile");
    let profile = written(&scratch, "perf.data", &recorded("jit.data"));
    let dump = written(&scratch, "jit-27922.dump", &recorded("jit.dump"));
    let other = written(&scratch, "empty", b"");
    let arguments = ["--profile", &profile, &other];
    let (document, _) = json(&arguments);
    assert_follows_schema(&document);
    let (seen, file) = (&document["profile"], &document["files"][0]);
    assert_eq!((&file["path"], document["files"].as_array().unwrap().len()), (&dump.as_str().into(), 1));
    assert_eq!(file["profile"]["functions"][0]["function"], "times_33");
    assert_eq!((&file["profile"]["share"], &file["profile"]["lost"]), (&seen["checked"], &0.0.into()));
    let replaced = &seen["jit_functions"][0];
    assert_eq!((&replaced["name"], &replaced["reason"]), (&"times_31".into(), &"replaced".into()));
    let share = |value: &Value| value.as_f64().unwrap();
    assert!((share(&seen["checked"]) + share(&seen["jit"]) - 1.0).abs() < 1e-5, "{seen}");
    assert_eq!((&seen["anonymous"], &seen["jit"]), (&0.0.into(), &replaced["share"]));
    let text = stdout(&deburr(&[&["check"], &arguments[..]].concat()));
    assert!(text.contains("times_31 (made at run time, and replaced later: not checked)"), "{text}");
    // Named as well, it is one file all the same.
    let (again, _) = json(&["--profile", &profile, &dump]);
    assert_eq!(again["files"].as_array().unwrap().len(), 1);
    assert_eq!(again["profile"], document["profile"]);
    // No report takes the place of what is read.
    for input in [&profile, &dump] {
        let before = std::fs::read(input).unwrap();
        let output = deburr(&[&["check", "--format", &format!("json={input}")], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(input.as_str()), "{}", stderr(&output));
        assert!(std::fs::read(input).unwrap() == before, "{input}");
    }
}

#[test]
fn a_burr_in_code_made_at_run_time_is_weighed_by_name_in_every_format() {
    let scratch = Scratch::new("jit-burr");
    let profile = written(&scratch, "perf.data", &recorded("jit.data"));
    let functions = [("add", SAMPLED, &CAS[..]), ("cold", SAMPLED + 64, &CAS[..])];
    let path = written(&scratch, "jit-27922.dump", &dump(X86_64, &functions));
    let (document, _) = json(&["--profile", &profile, &path]);
    let findings = document["files"][0]["findings"].as_array().unwrap();
    let found: Vec<_> = findings
        .iter()
        .map(|it| (&it["rule"], &it["function"], &it["places"][0]["weight"]["share"]))
        .collect();
    let rule = Value::from("cas-for-rmw");
    assert_eq!(found, [(&rule, &"add".into(), &1.0.into()), (&rule, &"cold".into(), &0.0.into())]);
    assert_eq!(document["profile"]["checked"], 1.0);
    let run = |more: &[&str]| stdout(&deburr(&[&["check", "--profile", &profile, &path], more].concat()));
    let text = run(&["--top", "1"]);
    assert!(
        text.contains("100 % of the run") && text.contains("add\n") && text.contains("… and 1 more"),
        "{text}"
    );
    assert!(!text.contains("0x7f721f959040"), "{text}");
    let sarif: Value = serde_json::from_str(&run(&["--format", "sarif"])).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let ranked = results.iter().find(|it| it["rank"] == 100.0).expect("a rank");
    assert!(
        ranked.to_string().contains("\"add\"") && ranked.to_string().contains("jit-27922.dump"),
        "{ranked}"
    );
    let page = run(&["--format", "html"]);
    assert!(page.contains("\"made_at_run_time\":true") && page.contains("cas-for-rmw"));
}

#[test]
fn what_no_jitdump_describes_is_named_by_a_perf_map_or_said_to_be_missing() {
    let scratch = Scratch::new("jit-map");
    let profile = written(&scratch, "perf.data", &recorded("jit.data"));
    let other = written(&scratch, "empty", b"");
    let check = || deburr(&["check", "--profile", &profile, &other]);
    assert!(stderr(&check()).contains("jit-27922.dump: not there: what it describes is not checked"));
    written(&scratch, "perf-27922.map", format!("{SAMPLED:x} b multiply by name\n").as_bytes());
    let text = stdout(&check());
    assert!(text.contains("100 %  multiply by name (made at run time: only its name is known)"), "{text}");
    // A damaged jitdump costs no more than itself.
    written(&scratch, "jit-27922.dump", &recorded("jit.dump")[..30]);
    let output = check();
    assert!(stderr(&output).contains("jit-27922.dump: at offset"), "{}", stderr(&output));
    assert!(stdout(&output).contains("multiply by name"));
}

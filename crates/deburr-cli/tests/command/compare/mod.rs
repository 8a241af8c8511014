//! `deburr compare`: verdicts on commands whose difference is known, records that go on, and what is said
//! where nothing can be.

mod benchstat;
mod counted;
mod course;
mod functions;
mod history;
mod judged;
mod kept;
mod page;
mod relink;
mod reports;

use super::{Scratch, assert_as_recorded, compare, document, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn scratch(name: &str) -> Scratch {
    Scratch::new(&format!("compare-{name}"))
}

/// Prints numbers that are known, with a little noise that has no order.
fn printing(rate: u32) -> String {
    format!("sleep 0.01; echo rate = $(({rate} + $(od -An -N1 -tu1 /dev/urandom) % 8))")
}

/// A number that the program counts, so that it is the same on a busy machine.
const RATE: &str = "rate,larger,count=rate = ([0-9]+)";

/// The verdict to expect of a document: where other programs or a hypervisor took the CPUs meanwhile, it is none.
fn on_this_machine<'v>(document: &Value, quiet: &'v str) -> &'v str {
    let warnings = document["warnings"].as_array().unwrap().iter().map(Value::to_string);
    let mut limits = warnings.filter(|warning| warning.contains("no verdict: "));
    let is_disturbed = limits.any(|limit| limit.contains("foreign load") || limit.contains("hypervisor"));
    if is_disturbed { "inconclusive" } else { quiet }
}

#[test]
fn a_slower_command_is_worse_and_a_faster_one_better() {
    let scratch = scratch("verdicts");
    for (a, b, verdict) in [(10_000, 9_000, "worse"), (10_000, 11_000, "better"), (10_000, 10_000, "same")] {
        let (a, b) = (printing(a), printing(b));
        let arguments = ["--shell", "sh", "--metric", RATE, "--seed", "1", "--a", &a, "--b", &b];
        let told = document(&scratch, &arguments);
        assert_eq!(told["verdict"], verdict, "{told:#}");
        // The next look where chance makes neighbours alike.
        assert!([16, 24, 40].contains(&told["pairs"].as_u64().unwrap()), "{told:#}");
        assert_eq!(told["metric"]["better"], "larger");
        for (expected, holds) in
            [("better", verdict == "better"), ("same", verdict == "same"), ("not-worse", verdict != "worse")]
        {
            let output = compare(&scratch, &[&arguments[..], &["--expect", expected]].concat());
            assert_eq!(output.status.code(), Some(if holds { 0 } else { 1 }), "{verdict}, {expected}");
        }
    }
    // Time is measured, not printed. Whether ten times as long is proven depends on what else the machine does.
    let told = document(&scratch, &["--a", "sleep 0.01", "--b", "sleep 0.1", "--pairs", "16"]);
    assert!(["worse", "inconclusive"].contains(&told["verdict"].as_str().unwrap()), "{told:#}");
    assert!(told["benchstat"]["a"]["median"].as_f64().unwrap() >= 0.01, "{told:#}");
    assert!(told["benchstat"]["b"]["median"].as_f64().unwrap() >= 0.1, "{told:#}");
}

#[test]
fn numbers_from_elsewhere_are_compared_as_recorded() {
    let scratch = scratch("values");
    let numbers = |factor: f64| -> String {
        (0..20).map(|index| format!("{}\n", factor * (100.0 + f64::from(index * 7 % 5)))).collect()
    };
    scratch.file("a.txt", format!("# seconds\n{}", numbers(1.0)).as_bytes());
    scratch.file("b.txt", numbers(0.9).as_bytes());
    let mut session = String::new();
    for arguments in [&["--values", "a.txt", "b.txt", "--paired"][..], &["--values", "a.txt", "b.txt"]] {
        let output = compare(&scratch, arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        session += &format!("$ deburr compare {}\n{}\n", arguments.join(" "), stdout(&output));
    }
    assert_as_recorded("compare-values.session", &session);
    let told = document(&scratch, &["--values", "a.txt", "b.txt", "--paired", "--better", "larger"]);
    assert_eq!(told["verdict"], "worse");
    assert!((told["effect"].as_f64().unwrap() + 0.1).abs() < 1e-9);
    assert_eq!(told["files"], serde_json::json!(["a.txt", "b.txt"]));
}

#[test]
fn an_experiment_goes_on_with_its_record() {
    let scratch = scratch("resume");
    let (a, b) = (printing(10_000), printing(9_000));
    let arguments = ["--shell", "sh", "--metric", RATE, "--a", &a, "--b", &b];
    let begun = document(&scratch, &[&arguments[..], &["--pairs", "4", "--record", "runs"]].concat());
    assert_eq!((&begun["pairs"], &begun["record"]), (&4.into(), &"runs".into()));
    let gone_on = document(&scratch, &[&arguments[..], &["--resume=runs", "--pairs", "40"]].concat());
    assert_eq!((&gone_on["verdict"], &gone_on["seed"]), (&"worse".into(), &begun["seed"]));
    let pairs = gone_on["pairs"].as_u64().unwrap() as usize;
    let lines = fs::read_to_string(scratch.join("runs")).unwrap();
    // A header, a warm-up pair each time, and the pairs. One that the machine has disturbed was made again.
    let runs: Vec<serde_json::Value> =
        lines.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let (warming, counted): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run["is_warm_up"] == true);
    assert_eq!(warming.len(), 2 * 2);
    let made: BTreeSet<String> =
        counted.iter().map(|run| format!("{} {}", run["pair"], run["side"])).collect();
    assert_eq!(made.len(), 2 * pairs);
    let refused = compare(&scratch, &["--resume=runs", "--a", "true", "--b", "true"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("runs: a record of another experiment: commands"),
        "{}",
        stderr(&refused)
    );
    let none = compare(&scratch, &["--resume", "--a", "true", "--b", "true"]);
    assert!(stderr(&none).contains("no record of these commands"), "{}", stderr(&none));
    // The last one of the same commands, where nobody named a place.
    document(&scratch, &[&arguments[..], &["--pairs", "2"]].concat());
    let last = document(&scratch, &[&arguments[..], &["--resume", "--pairs", "40"]].concat());
    assert_eq!(last["verdict"], "worse");
}

/// An experiment that shells run in the scratch folder, to be interrupted.
fn begun(scratch: &Scratch, arguments: &[&str]) -> Child {
    // Whoever runs the tests may have done so with nohup.
    started(scratch, &["--default-signal=HUP"], arguments)
}

fn started(scratch: &Scratch, signals: &[&str], arguments: &[&str]) -> Child {
    let mut command = Command::new("env");
    command.args(signals).arg(crate::program());
    command.current_dir(scratch.path()).args(["compare", "--no-gate", "--record", "runs", "--shell", "sh"]);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interrupt(child: &Child) {
    send("INT", child);
}

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_terminal_that_is_gone_ends_an_experiment_in_order_unless_nohup_is_in_the_way() {
    let scratch = scratch("hangup");
    let run = "echo x >> runs-made; sleep 0.01";
    let hang_up = |child: &Child| {
        await_file(&scratch, "runs-made");
        assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
    };
    let child =
        begun(&scratch, &["--aa", run, "--pairs", "10000", "--region", "0", "--cleanup", "touch cleaned"]);
    hang_up(&child);
    let output = child.wait_with_output().unwrap();
    assert!(scratch.join("cleaned").exists(), "{:?} {}", output.status, stderr(&output));

    fs::remove_file(scratch.join("runs")).unwrap();
    fs::remove_file(scratch.join("runs-made")).unwrap();
    let mut command = Command::new("nohup");
    command.current_dir(scratch.path()).arg(crate::program());
    command.args(["compare", "--no-gate", "--shell", "sh", "--record", "runs", "--pairs", "20", "--aa", run]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    hang_up(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Waits until there is something in a file.
fn await_file(scratch: &Scratch, name: &str) {
    let begun = Instant::now();
    while fs::metadata(scratch.join(name)).map_or(0, |file| file.len()) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no {name}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for the end after an interrupt: with the verdict so far, and nothing left of the processes that
/// wrote their numbers to files named `pid-…`, of which there are so many.
fn assert_ended_in_order(scratch: &Scratch, child: Child, processes: usize) {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stdout(&output).contains("inconclusive: wall"), "{}", stdout(&output));
    let entries = fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().path());
    let pids = entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("pid-"));
    let pids: Vec<String> = pids.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert_eq!(pids.len(), processes);
    for pid in pids {
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid} still runs");
    }
}

/// Makes two pairs after those that warm up, and hangs in the third. A pair that the machine disturbs is made again, so runs are
/// not counted: the record has them.
const TWO_PAIRS: &str = "sleep 0.01; ! grep -q '\"pair\":2,' runs || { echo $$ > pid-run; sleep 600; }";

#[test]
fn an_interrupt_ends_with_the_verdict_so_far() {
    for signal in ["INT", "TERM", "HUP"] {
        let scratch = scratch(&format!("interrupt-{signal}"));
        let child = begun(&scratch, &["--a", TWO_PAIRS, "--b", TWO_PAIRS]);
        await_file(&scratch, "pid-run");
        send(signal, &child);
        assert_ended_in_order(&scratch, child, 1);
    }
}

#[test]
fn a_terminal_that_is_closed_ends_nothing_under_nohup() {
    let scratch = scratch("nohup");
    let run = "echo $$ > running; sleep 0.1";
    let child = started(&scratch, &["--ignore-signal=HUP"], &["--a", run, "--b", run, "--pairs", "2"]);
    await_file(&scratch, "running");
    send("HUP", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_second_interrupt_kills_client_and_servers_that_are_deaf() {
    let scratch = scratch("twice");
    let server = "trap '' TERM; echo $$ > pid-{port}; while :; do sleep 1; done";
    // Deaf from the third pair on.
    let client = "grep -q '\"pair\":2,' runs || exit 0; \
                  trap 'echo > told' TERM; echo $$ > pid-client; while :; do sleep 1; done";
    let child = begun(
        &scratch,
        &["--server-a", server, "--server-b", server, "--ready", "test -e pid-{port}", "--client", client],
    );
    await_file(&scratch, "pid-client");
    interrupt(&child);
    await_file(&scratch, "told");
    interrupt(&child);
    assert_ended_in_order(&scratch, child, 3);
}

#[test]
fn cleaning_up_goes_on_until_the_second_interrupt() {
    let scratch = scratch("cleanup");
    let cleanup = "echo $$ > pid-cleanup; trap '' TERM; while :; do sleep 1; done";
    let child = begun(&scratch, &["--a", TWO_PAIRS, "--b", TWO_PAIRS, "--cleanup", cleanup]);
    await_file(&scratch, "pid-run");
    interrupt(&child);
    await_file(&scratch, "pid-cleanup");
    interrupt(&child);
    assert_ended_in_order(&scratch, child, 2);
}

/// A process that is gone when the test is over.
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn what_others_do_on_other_processors_is_no_load_for_pinned_runs() {
    let scratch = scratch("pinned");
    let last = std::thread::available_parallelism().unwrap().get() - 1;
    let mut other = Command::new("taskset");
    other.args(["-c", &last.to_string(), "sh", "-c", "while :; do :; done"]);
    let _beside = Beside(other.spawn().unwrap());
    let server = "nproc > nproc-{port}; while :; do sleep 1; done";
    let client = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.2";
    let arguments = ["--shell", "sh", "--pin", "0", "--pairs", "2", "--record", "runs", "--client", client];
    let servers = ["--server-a", server, "--server-b", server, "--ready", "test -s nproc-{port}"];
    let output = compare(&scratch, &[&arguments[..], &servers].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record = fs::read_to_string(scratch.join("runs")).unwrap();
    let mut lines = record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(lines.next().unwrap()["options"]["pin"], "0");
    for run in lines {
        // Whatever else runs on it, a processor has no more time than passes, in ticks; the loop's would come
        // to that.
        let [busy, wall] = [&run["busy"], &run["usage"]["wall"]].map(|time| time.as_f64().unwrap());
        assert!(busy < wall + 0.05, "{run}");
    }
    let files = fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("nproc-"));
    let seen: Vec<String> = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    assert_eq!(seen, ["1\n", "1\n"]);
}

#[test]
fn sweeps_and_servers_are_compared_point_by_point() {
    let scratch = scratch("sweep");
    // Serves nothing, but reports that it is there until it is ended.
    let server = "trap 'rm up-{port}; exit' TERM; echo > up-{port}; while :; do sleep 0.02; done";
    let client =
        "test -e up-$DEBURR_PORT && test $DEBURR_PORT = {port} && echo rate = $(({n} * (1000 + $$ % 7)))";
    let told = document(
        &scratch,
        &[
            &["--shell", "sh", "--metric", RATE, "--server-a", server, "--server-b", server][..],
            &["--ready", "test -e up-{port}", "--client", client, "--param", "n=1,4", "--pairs", "2"],
        ]
        .concat(),
    );
    let points = told["sweep"]["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    let median = |at: usize| points[at]["metrics"][0]["benchstat"]["a"]["median"].as_f64().unwrap();
    assert!((3.9..4.1).contains(&(median(1) / median(0))), "{told:#}");
    assert_eq!(told["pairs"], 4);
    let left: Vec<_> =
        fs::read_dir(scratch.path()).unwrap().filter_map(Result::ok).map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["state"], "a server still runs");
}

#[test]
fn every_format_has_every_point_of_a_sweep_as_recorded() {
    let scratch = scratch("sweep-formats");
    // What is printed is the same in every run, and with it all that is said.
    let (a, b) = ("sh -c 'sleep 0.01; echo rate = 10{n}0'", "sh -c 'sleep 0.01; echo rate = 10{n}9'");
    let arguments = ["--metric", RATE, "--a", a, "--b", b, "--param", "n=1,4", "--pairs", "4", "--seed", "1"];
    let mut session = String::new();
    for format in ["csv", "markdown", "benchstat"] {
        let output = compare(&scratch, &[&arguments[..], &["--format", format]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        session += &format!("$ deburr compare --param n=1,4 --format {format}\n{}\n", stdout(&output));
    }
    assert_as_recorded("compare-sweep.session", &session);
}

#[test]
fn a_record_is_judged_again_without_running_anything() {
    let scratch = scratch("record-again");
    let run = |rate: u32| format!("{} && touch ran", printing(rate));
    let (a, b) = (run(10_000), run(9_500));
    let common = ["--shell", "sh", "--metric", RATE, "--metric", "memory", "--a", &a, "--b", &b];
    let measured = document(&scratch, &[&common[..], &["--seed", "3", "--record", "runs"]].concat());
    fs::remove_file(scratch.join("ran")).unwrap();
    let again = document(&scratch, &["runs"]);
    assert_eq!(again, measured);
    assert_eq!(again["verdict"], "worse");
    // Another region is another question. Only a busy machine leaves it without an answer, and a note or a warning says so.
    let wide = document(&scratch, &["--region", "20", "runs"]);
    let is_noted = ["notes", "warnings"].iter().any(|what| !wide[what].as_array().unwrap().is_empty());
    assert!(wide["verdict"] == "same" || is_noted && wide["verdict"] == "inconclusive", "{wide:#}");
    let output = compare(&scratch, &["--expect", "better", "--format", "benchstat", "runs"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("rate"), "{}", stdout(&output));

    let sweep = ["--shell", "sh", "--metric", RATE, "--a", "echo rate = {n}1", "--b", "echo rate = {n}2"];
    let sweep = [&sweep[..], &["--param", "n=1,4", "--pairs", "4", "--record", "sweep"]].concat();
    assert_eq!(document(&scratch, &sweep), document(&scratch, &["--pairs", "4", "sweep"]));
    let fitness = ["--aa", "sleep 0.01", "--pairs", "2", "--record", "aa"];
    assert_eq!(document(&scratch, &fitness), document(&scratch, &["--pairs", "2", "aa"]));
    assert!(!scratch.join("ran").exists());

    let lines = fs::read_to_string(scratch.join("runs")).unwrap();
    let header = lines.lines().next().unwrap();
    scratch.file("empty", format!("{header}\n").as_bytes());
    scratch.file("broken", format!("{header}\n{{}}\n").as_bytes());
    scratch.file("newer", format!("{}\n", header.replace("\"memory\"", "\"energy\"")).as_bytes());
    let cases: [(&[&str], &str); 4] = [
        (&["empty"], "empty: fewer than two pairs"),
        (&["broken"], "broken: line 2: missing field"),
        (&["newer"], "newer: metric \"energy\": nothing that this version knows"),
        (&["runs", "--metric", "memory"], "--metric: a record is judged by what was measured: rate, memory"),
    ];
    for (arguments, message) in cases {
        let output = compare(&scratch, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{arguments:?}: {}", stderr(&output));
    }
}

/// A PostgreSQL that writes its log to the disk before it answers, and one that does not.
#[test]
#[ignore = "runs PostgreSQL for a minute; `cargo xtask nightly` runs it"]
fn postgresql_is_compared_at_two_settings_under_pgbench() {
    let folder = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let folder = folder.map(|entry| entry.path().join("bin")).find(|bin| bin.join("pgbench").exists());
    let bin = folder.expect("PostgreSQL: `scripts/install-tools nightly` installs it");
    let scratch = scratch("postgres");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    // The server refuses to run as root.
    let is_root = run(&path, &scratch, "id -u") == "0\n";
    let user = if is_root { "setpriv --reuid=65534 --regid=65534 --clear-groups " } else { "" };
    if is_root {
        run(&path, &scratch, "chown 65534:65534 .");
    }
    run(&path, &scratch, &format!("{user}initdb -A trust -U postgres -D a"));
    let start = format!("{user}postgres -D a -p {{port}} -k ''");
    let client = |rest: &str| format!("pgbench -h 127.0.0.1 -p {{port}} -U postgres {rest} postgres");
    let server = |data: &str, rest: &str| format!("{user}postgres -D {data} -p {{port}} -k '' {rest}");
    let ready = "pg_isready -q -h 127.0.0.1 -p {port}";
    let told = |server_a: &str, server_b: &str, client: &str, rest: &[&str]| {
        let mut command = Command::new(crate::program());
        command
            .current_dir(scratch.path())
            .env("PATH", &path)
            .args(["compare", "--format", "json", "--record"]);
        command.arg(scratch.join(format!("record-{}", rest.len())));
        command.args(["--server-a", server_a, "--server-b", server_b, "--ready", ready, "--client", client]);
        let output = command.args(rest).stdin(Stdio::null()).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    // The tables of pgbench, made by pgbench as a client.
    let create = "sh -c 'pgbench -q -i -h 127.0.0.1 -p {port} -U postgres postgres'";
    told(&start, &start.replace("-D a", "-D a -c fsync=off"), create, &["--alternate", "--pairs", "2"]);
    run(&path, &scratch, "cp -a a b");
    let clients = client("-n -S -c {clients} -T 1");
    let arguments = ["--metric", "pgbench:tps", "--param", "clients=1,4", "--pairs", "16"];
    // Whole tables are read for a row each: nothing that a disk or a neighbour could make up for.
    let slower = "-c enable_indexscan=off -c enable_indexonlyscan=off -c enable_bitmapscan=off";
    let found = told(&server("a", ""), &server("b", slower), &clients, &arguments);
    let is_worse = |found: &Value| {
        found["verdict"] == on_this_machine(found, "worse")
            && found["paired"]["worse"].as_f64().unwrap() > 0.99
    };
    assert!(is_worse(&found), "{found:#}");
    let points = found["sweep"]["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    for point in points {
        assert!(is_worse(&point["metrics"][0]), "{point:#}");
    }
    let record = fs::read_to_string(scratch.join(format!("record-{}", arguments.len()))).unwrap();
    for run in record.lines().skip(1) {
        let run: Value = serde_json::from_str(run).unwrap();
        let [busy, served] = ["busy", "served"].map(|time| run[time].as_f64().unwrap());
        // Most of the work is the server's, and the machine's busy time is counted in ticks.
        let client = run["usage"]["user"].as_f64().unwrap() + run["usage"]["system"].as_f64().unwrap();
        assert!(served > client && busy - served - client > -0.5, "{run}");
    }
    let still = Command::new("pgrep").args(["-f", &format!("postgres -D [ab] .*{}", "-k")]).output().unwrap();
    assert_eq!(stdout(&still), "", "a server still runs");
}

fn run(path: &str, scratch: &Scratch, script: &str) -> String {
    let mut command = Command::new("sh");
    let output = command.current_dir(scratch.path()).env("PATH", path).args(["-c", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn what_runs_print_is_kept_on_request() {
    let scratch = scratch("kept");
    let arguments = [
        "--pairs",
        "2",
        "--output",
        "kept/here",
        "--param",
        "n=3,4",
        "--a",
        "sh -c 'echo {n}; sleep 0.01'",
        "--b",
        "sh -c 'echo b; sleep 0.01'",
    ];
    assert_eq!(compare(&scratch, &arguments).status.code(), Some(0));
    let mut names: Vec<String> = fs::read_dir(scratch.join("kept/here"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    // A pair that other work has disturbed is run again.
    names.retain(|name| !name.contains("-again-"));
    // Two points, a warm-up and two pairs, two sides, two streams.
    assert_eq!((names.len(), names[0].as_str()), (24, "3-pair-1-a.err"));
    assert_eq!(fs::read_to_string(scratch.join("kept/here/4-pair-2-a.out")).unwrap(), "4\n");
}

#[test]
fn a_command_against_itself_shows_what_the_machine_can_distinguish() {
    let scratch = scratch("aa");
    let told = document(&scratch, &["--aa", "sleep 0.01", "--pairs", "12"]);
    assert_eq!(told["is_aa"], true);
    assert!(told["fitness"]["noise"].as_f64().unwrap() > 0.0);
    let resolves = told["fitness"]["resolves"].as_array().unwrap();
    assert_eq!(resolves.len(), 2, "{told:#}");
    let text = stdout(&compare(&scratch, &["--aa", "sleep 0.01", "--pairs", "2"]));
    assert!(text.contains("This machine: pairs of one command differ by"), "{text}");
}

#[test]
fn what_cannot_be_compared_is_reported_and_no_verdict_is_made_up() {
    let scratch = scratch("refused");
    scratch.file("one", b"1\n");
    scratch.file("words", b"1\nmany\n");
    scratch.file("zero", b"0\n1\n");
    scratch.file("two", b"1\n2\n");
    scratch.file("three", b"1\n2\n3\n");
    let cases: [(&[&str], &str); 35] = [
        (
            &["--a", "true", "--b", "false"],
            "the warm-up run of B ended with exit status 1; it printed nothing",
        ),
        (&["--a", "/no/such/program", "--b", "true"], "--a: /no/such/program: no such file"),
        (&["--a", "sleep 60", "--b", "sleep 60", "--timeout", "0.1"], "ended with the time limit"),
        (&["--a", "true", "--b", "true", "--metric", RATE], "its pattern matches nothing"),
        (&["--a", "true", "--b", "true", "--metric", "speed"], "--metric \"speed\": unknown"),
        (&["--a", "true", "--b", "true", "--metric", "wall", "--metric", "wall"], "given twice"),
        (&["--a", "echo 'x", "--b", "true"], "a quote is not closed"),
        (&["--a", "", "--b", "true"], "an empty command"),
        (&["--a", "true", "--b", "true", "--env-a", "x"], "expected NAME=VALUE"),
        (&["--a", "true", "--b", "true", "--region=-1"], "--region"),
        (
            &["--a", "true", "--b", "true", "--region", "1e9"],
            "--region 1000000000: percent; expected no more than 1000",
        ),
        (&["--a", "true", "--b", "true", "--pin", "9999"], "9999"),
        (&["--a", "true", "--b", "true", "--setup", "false"], "--setup ended with exit status 1"),
        (&["--a", "true", "--b", "true", "--record", "one"], "one: File exists"),
        (&["--a", "true", "--b", "true", "--param", "n=1,1"], "twice"),
        (&["--a", "true"], "--b"),
        (&["--a", "true", "--b", "true", "--layout-floor"], "--relink"),
        (&["--a", "true", "--b", "true", "--output", "one"], "--output one: "),
        (
            &[
                "--client",
                "true",
                "--server-a",
                "true",
                "--server-b",
                "true",
                "--ready",
                "true",
                "--relink",
                "true",
            ],
            "--relink: servers that run all the time cannot be linked before each run: add --alternate, or --layout-floor",
        ),
        (
            &["--a", "echo rate = 0", "--b", "echo rate = 1", "--metric", RATE],
            "value 1 is 0: relative differences need positive numbers",
        ),
        (
            &["--aa", "head -c 70000000 /dev/zero", "--metric", RATE],
            "printed more than 64 MiB, which is not looked through for metrics",
        ),
        (&["--a", "true", "--b", "true", "--cwd", "none"], "--cwd none: no such folder"),
        (&["--a", "true", "--b", "true", "--input", "none"], "--input none: no such file"),
        (&["--a", "true", "--b", "true", "--pin", "1000"], "--pin 1000: no processor 1000 here"),
        (&["--aa", "true", "--b", "true"], "cannot be used with"),
        (&["--aa", "true", "--env-a", "x=1"], "cannot be used with"),
        (&["one", "two", "--setup", "true"], "cannot be used with"),
        (&["none"], "none: no such file"),
        (&["one"], "one: give a second file, to compare it with; it is no record of deburr compare"),
        (
            &[
                "--client",
                "sleep 0.5",
                "--server-a",
                "sleep 60",
                "--server-b",
                "sleep 0.2",
                "--ready",
                "true",
            ],
            "the server of B ended with exit status 0 while it was to serve; it printed nothing",
        ),
        (&["--values", "one", "three"], "at least 2"),
        (&["--values", "three", "words"], "words: line 2: \"many\" is no number"),
        (&["--values", "two", "zero", "--paired"], "positive"),
        (&["--values", "one", "three", "--paired"], "--paired: A has 1 values of value, B has 3"),
        (&["--values", "three", "none"], "none: "),
    ];
    for (arguments, message) in cases {
        let output = compare(&scratch, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn a_further_metric_that_cannot_be_compared_is_left_out_of_the_verdict() {
    let scratch = scratch("further");
    let none = "faults,smaller=faults = ([0-9]+)";
    for (value, more) in [("0", &["--pairs", "6"][..]), ("0 # {n}", &["--pairs", "6", "--param", "n=1,2"])] {
        let command = format!("echo rate = 1000; echo faults = {value}");
        let arguments =
            ["--a", &command, "--b", &command, "--shell", "sh", "--metric", RATE, "--metric", none];
        let told = document(&scratch, &[&arguments[..], more].concat());
        assert_eq!(told["verdict"], on_this_machine(&told, "same"), "{told:#}");
        assert_eq!(told["other_metrics"], Value::Array(Vec::new()));
        let note = "faults: a run has 0: relative differences need positive numbers; B − A is 0.000 in a typical pair";
        assert_eq!(told["notes"], Value::from(vec![note]));
    }
}

#[test]
fn cleaning_up_comes_after_a_setup_that_failed() {
    let scratch = scratch("half-set-up");
    let output = compare(
        &scratch,
        &["--aa", "true", "--setup", "false", "--cleanup", "touch cleaned", "--pairs", "2"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--setup ended with exit status 1"), "{}", stderr(&output));
    assert!(scratch.join("cleaned").exists());
}

#[test]
fn a_record_that_is_hostile_is_reported_or_tamed() {
    let scratch = scratch("hostile");
    let printing = printing(1000);
    let arguments = [
        "--a", &printing, "--b", &printing, "--pairs", "4", "--metric", RATE, "--record", "record",
        "--shell", "sh",
    ];
    document(&scratch, &arguments);
    let record = fs::read_to_string(scratch.join("record")).unwrap();
    let told = |from: &str, to: &str| {
        let changed = record.replacen(from, to, 1);
        assert_ne!(changed, record, "{from}");
        scratch.file("changed", changed.as_bytes());
        compare(&scratch, &["changed"])
    };
    let tamed = told(r#""commands":[""#, r#""commands":["\u001b[2J"#);
    assert!(tamed.status.success() && stdout(&tamed).starts_with("A: \\x1b[2J"), "{}", stdout(&tamed));
    let other = told(r#""format":1"#, r#""format":2"#);
    assert!(stderr(&other).contains("changed: format 2, where this version knows 1"), "{}", stderr(&other));
    let (before, behind) = record.split_once(r#""metrics":["#).unwrap();
    let (metrics, _) = behind.split_once(r#","cores""#).unwrap();
    assert!(before.len() < 1000 && metrics.len() < 1000);
    let none = told(&format!(r#""metrics":[{metrics}"#), r#""metrics":[]"#);
    assert!(stderr(&none).contains("changed: it names no metric"), "{}", stderr(&none));
    let beside = compare(&scratch, &["record", "record"]);
    assert!(
        stderr(&beside).contains("record: a record of deburr compare: give it alone"),
        "{}",
        stderr(&beside)
    );
    let last = told(r#""pair":3,"#, r#""pair":4294967295,"#);
    assert!(last.status.success(), "{}", stderr(&last));
}

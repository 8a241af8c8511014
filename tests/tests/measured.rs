//! What `deburr compare` records of a run, compared with GNU time's account of the same run.
//!
//! A program of its own: until a child process has its own memory, its peak is that of the process which starts it, and a
//! process with all tests in it has half a gigabyte.

use deburr_lab::measure::process::{End, Streams, Task, Usage, run};
use deburr_lab::measure::stop::Stop;
use deburr_tests::toolchain::require;
use std::fs::File;
use std::io::{Read, Seek};

/// What GNU time prints with `-f`, for one run of a shell's command, and what was counted for both.
fn both(script: &str) -> (Usage, [f64; 5]) {
    require("/usr/bin/time");
    let words = ["/usr/bin/time", "-q", "-f", "%U %S %M %w %c", "sh", "-c", script];
    let task = Task { words: words.map(Into::into).to_vec(), ..Task::default() };
    let mut errors = tempfile::tempfile().expect("a file");
    let output = File::options().write(true).open("/dev/null").expect("a device");
    let (end, usage) =
        run(&task, Streams { output: &output, errors: &errors }, &Stop::default()).expect("a run");
    assert_eq!(end, End::Status(0));
    let mut text = String::new();
    errors.rewind().and_then(|()| errors.read_to_string(&mut text)).expect("what it told");
    let told: Vec<f64> = text.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    (usage, told.try_into().expect("five numbers"))
}

#[test]
fn cpu_time_memory_and_switches_are_those_that_gnu_time_tells() {
    // GNU time itself is counted, too: some milliseconds, and two more switches.
    for script in [
        "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done",
        "head -c 96M /dev/zero | tail -c 96M >/dev/null",
        "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done",
    ] {
        let (usage, [user, system, memory, voluntary, involuntary]) = both(script);
        let cpu = usage.user + usage.system - user - system;
        // Both numbers of GNU time are cut to hundredths.
        assert!((-0.001..0.03).contains(&cpu), "{script}: {usage:?}, {user} {system}");
        let peak = usage.peak_memory as f64 / (memory * 1024.0);
        let is_small = usage.peak_memory < 64 << 20;
        assert!(
            (0.999..1.02).contains(&peak) || is_small && peak >= 0.999,
            "{script}: {usage:?}, {memory} KiB"
        );
        let switches = usage.voluntary_switches as f64 - voluntary;
        assert!((0.0..8.0).contains(&switches), "{script}: {usage:?}, {voluntary}");
        let switches = usage.involuntary_switches as f64 - involuntary;
        assert!((0.0..8.0).contains(&switches), "{script}: {usage:?}, {involuntary}");
    }
}

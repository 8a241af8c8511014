//! Prints what measuring adds to a run: `true`, started and waited for as plainly as can be, and as
//! `deburr compare` does.
//!
//! `cargo run --release -p deburr-lab --example overhead [RUNS]`: medians of 1000 runs by default, in turn.
#![expect(clippy::print_stdout, reason = "the example is its line")]

use deburr_lab::measure::process::{Streams, Task, run};
use deburr_lab::measure::stop::Stop;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let runs: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let null = File::options().write(true).open("/dev/null")?;
    let task = Task { words: vec!["/bin/true".into()], ..Task::default() };
    let (mut plain, mut told) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let start = Instant::now();
        Command::new("/bin/true")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        plain.push(start.elapsed().as_secs_f64());
        let streams = Streams { output: &null, errors: &null };
        told.push(run(&task, streams, &Stop::default())?.1.wall);
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        1e6 * values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let (plain, told) = (median(&mut plain), median(&mut told));
    println!(
        "{:.0} µs (`true` takes {told:.0} µs as it is told, {plain:.0} µs in the plainest way; medians of {runs})",
        // Nothing has no sign.
        (told - plain).round() + 0.0
    );
    Ok(())
}

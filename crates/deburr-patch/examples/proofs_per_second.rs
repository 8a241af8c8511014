//! How many replacements are proven in a second on one core: each anew, and by templates that are known
//! already.
//!
//! The pairs are those of the tests. Prints both rates, and what the slowest pair takes.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example for developers, which measures"
)]

#[path = "../tests/patch/listing.rs"]
mod listing;
#[path = "../tests/patch/pairs.rs"]
mod pairs;

use deburr_patch::{Prover, prove};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A sequence: instructions with their text.
type Sequence = &'static [(u32, &'static str)];

/// A sequence and what may take its place.
struct Pair {
    name: &'static str,
    old: Sequence,
    new: Sequence,
}

/// How long each of the pairs takes, the least of so many runs.
fn measure(
    runs: usize,
    pairs: &[(Vec<u32>, Vec<u32>)],
    prove: impl Fn(&[u32], &[u32]) -> bool,
) -> Vec<Duration> {
    let mut least = vec![Duration::MAX; pairs.len()];
    for _ in 0..runs {
        for ((old, new), least) in pairs.iter().zip(&mut least) {
            let start = Instant::now();
            let proven = prove(black_box(old), black_box(new));
            *least = start.elapsed().min(*least);
            assert!(proven);
        }
    }
    least
}

fn main() {
    let words = |sequence: &[(u32, &str)]| sequence.iter().map(|(word, _)| *word).collect::<Vec<u32>>();
    let pairs: Vec<_> = pairs::PAIRS.iter().map(|pair| (words(pair.old), words(pair.new))).collect();
    let report = |what: &str, times: &[Duration]| {
        let per_second = times.len() as f64 / times.iter().sum::<Duration>().as_secs_f64();
        let slowest = times.iter().zip(pairs::PAIRS.iter()).max_by_key(|(time, _)| **time);
        let slowest = slowest.map_or_else(String::new, |(time, pair)| format!("{}, {time:?}", pair.name));
        println!("{what}: {per_second:.0} proofs/s (slowest: {slowest})");
    };
    report("each anew", &measure(20, &pairs, |old, new| prove(old, new).is_ok()));
    let prover = Prover::default();
    report("by template", &measure(2_000, &pairs, |old, new| prover.prove(old, new).is_ok()));
    // Without the clock between them.
    let (runs, start) = (20_000, Instant::now());
    for (old, new) in (0..runs).flat_map(|_| &pairs) {
        assert!(prover.prove(black_box(old), black_box(new)).is_ok());
    }
    let per_second = (runs * pairs.len()) as f64 / start.elapsed().as_secs_f64();
    println!("by template, {} of them, in one go: {per_second:.0} proofs/s", prover.templates());
}

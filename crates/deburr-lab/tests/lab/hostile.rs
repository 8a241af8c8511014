//! Whatever comes in: an error or a number, but no panic and no wait. Numbers at the ends of what there is,
//! and result files that are cut, mixed up or not text.

use deburr_lab::benchfmt::{Input, Options, tables};
use deburr_lab::side::Side;
use deburr_lab::stats::benchstat::{self, Assumption, Upstream};
use deburr_lab::stats::drift::Drift;
use deburr_lab::stats::modes::{self, Modes, Null};
use deburr_lab::stats::random::Random;
use deburr_lab::stats::unpaired::{self, Arm};
use deburr_lab::stats::verdict::{Rule, Sequence};
use deburr_lab::stats::{Direction, Rope, bootstrap, holm, load, paired, signed_rank, spending, student};
use std::time::{Duration, Instant};

const EXTREMES: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e-300,
    f64::MIN_POSITIVE,
    5e-324,
    1e300,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    0.1,
];

fn sample(random: &mut Random) -> Vec<f64> {
    let count = (random.uniform() * 12.0) as usize;
    (0..count).map(|_| EXTREMES[(random.uniform() * EXTREMES.len() as f64) as usize]).collect()
}

#[test]
fn numbers_at_the_ends_of_what_there_is_give_an_error_or_a_number() {
    let mut random = Random::new(1);
    let null = Null::simulate(8, 50, 1);
    let is_share = |p: f64| (0.0..=1.0).contains(&p);
    for _ in 0..3000 {
        let (a, b) = (sample(&mut random), sample(&mut random));
        if let (Ok(a), Ok(b)) = (Arm::of(&a), Arm::of(&b)) {
            let found = unpaired::probabilities(&a, &b, Rope::ONE_PERCENT);
            assert!(
                is_share(found.worse) && is_share(found.better) && is_share(found.next),
                "{a:?} {b:?} {found:?}"
            );
        }
        if let Ok(posterior) = paired::Posterior::of(&a) {
            let found = posterior.probabilities(Rope::ONE_PERCENT);
            assert!(found.worse.is_nan() || is_share(found.worse), "{a:?} {found:?}");
        }
        let _ = bootstrap::probabilities(&a, Rope::ONE_PERCENT, 10, 1);
        let _ = signed_rank::test(&a, 0.01);
        let _ = signed_rank::location(&a, a.len() as f64, 1.96);
        let _ = (Direction::Smaller.log_ratios(&a, &b), Direction::Larger.orient_all(&a));
        let _ = (modes::dip(&a), Modes::against(&a, &null));
        let _ = (holm::adjusted(&a), benchstat::geomean(&a));
        let runs: Vec<(Side, f64)> = a.iter().map(|value| (Side::A, *value)).collect();
        let _ = (Drift::of(&a).fires(), Drift::within_sides(&runs).fires());
        for assumption in [Assumption::Nothing, Assumption::Normal, Assumption::Exact] {
            for upstream in [Upstream::Corrected, Upstream::AsPrinted] {
                let _ = benchstat::summary(&a, assumption, 0.95, upstream).map(|summary| summary.percent());
                let _ = benchstat::compare(&a, &b, assumption, 0.05, upstream).map(|found| found.to_string());
            }
        }
        let mut sequence = Sequence::new(Rule::new(Rope::ONE_PERCENT, &[2, 4, 6], 0.1).unwrap());
        for value in &a {
            let _ = sequence.push(*value);
        }
        let _ = sequence.verdict(None, 1);
        if let [wall, own, machine, cores, stolen, queued, queues, ..] = a[..] {
            for (queued, queues) in [(None, None), (Some(queued), None), (Some(queued), Some(queues))] {
                let run =
                    load::RunLoad { wall, own, machine: Some(machine), stolen: Some(stolen), queued, queues };
                let gap = load::gap(&[run, run], own, cores);
                let foreign = load::foreign_together(&[run, run]);
                let demand = load::demand(&[run, run], foreign, cores);
                for gap in [gap, Some(own), None] {
                    let machine = load::Machine { cores, demand, gap, is_robbed: own > 1.0, foreign };
                    let _ = load::disturbance(&run, &machine, true);
                    let share = load::loss(&run, &machine, true);
                    assert!((0.0..=load::MOST_LOST).contains(&share), "{run:?} {machine:?}: {share}");
                }
            }
        }
    }
    for t in EXTREMES {
        for nu in EXTREMES {
            let _ = (student::survival(t, nu), student::density(t, nu), student::quantile(t, nu));
        }
        let _ = (Rope::new(t), spending::bounds(&[1, 1000], t));
    }
}

#[test]
fn many_numbers_take_no_long_time() {
    let begun = Instant::now();
    let mut random = Random::new(2);
    let many: Vec<f64> = (0..100_000).map(|_| 1.0 + 0.01 * random.normal()).collect();
    let other: Vec<f64> = many.iter().rev().copied().collect();
    let d = Direction::Larger.log_ratios(&many, &other).unwrap();
    assert!(paired::Posterior::of(&d).is_ok() && signed_rank::test(&d, 0.01).is_ok());
    assert!(Drift::of(&many[..20_000]).von_neumann.is_some());
    assert!(Modes::of(&many, 1).is_ok());
    assert!(benchstat::compare(&many, &other, Assumption::Nothing, 0.05, Upstream::Corrected).is_ok());
    let every: Vec<usize> = (1..=1000).collect();
    assert!(spending::bounds(&every[..200], 0.05).is_ok());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn broken_result_files_make_tables_or_messages() {
    let whole = "Unit x assume=exact\ngoos: linux\nnote: é\nBenchmarkA/b=1-8 10 5 ns/op 3 MB/s 7 x\nBenchmarkA/b=2 1 1e9 µs/op\n\nnote:\nBenchmarkB 1 -2 ns/op\n";
    let mut random = Random::new(3);
    for round in 0..2000 {
        let mut bytes = whole.as_bytes().to_vec();
        for _ in 0..round % 8 {
            let at = (random.uniform() * bytes.len() as f64) as usize;
            match random.bits() % 3 {
                0 => bytes[at] = random.bits() as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, *b"/-=:\n 9*".get((random.bits() % 8) as usize).unwrap()),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let inputs =
            [Input { path: "a", label: None, text: &text }, Input { path: "b", label: None, text: whole }];
        for (row, column) in [(".fullname", ".file"), (".name", "note"), ("/b@num", ".file goos"), ("", "")] {
            let options = Options { row: row.to_owned(), column: column.to_owned(), ..Options::default() };
            let (found, _) = tables(&inputs, &options).unwrap();
            assert!(found.text().ends_with('\n') && found.csv().0.ends_with('\n'));
        }
    }
}

#[test]
fn a_file_of_many_names_and_keys_takes_no_long_time() {
    let begun = Instant::now();
    let lines: String = (0..20_000)
        .map(|line| format!("key{}: {line}\nBenchmarkN{line} 1 {line} ns/op\n", line % 50))
        .collect();
    let input = [Input { path: "a", label: None, text: &lines }];
    let options = Options { table: "goos".to_owned(), row: ".name".to_owned(), ..Options::default() };
    let (found, _) = tables(&input, &options).unwrap();
    assert_eq!(found.tables.iter().map(|table| table.rows.len()).sum::<usize>(), 20_000);
    assert!(!found.text().is_empty());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

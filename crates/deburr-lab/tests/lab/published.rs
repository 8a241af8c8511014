//! The published verdicts (`evidence/bayesian_verdicts.csv`), from what was published of their runs.
//!
//! Of the workload RW, 512 clients, pareto, number, minimum, mean and maximum of the runs are published
//! (`evidence/mysql_rw512_pareto_tps.csv`), standard deviations are not. A minimum, a mean and a maximum
//! bound them, though. Within those bounds one deviation a build is fitted here; five of them must bring
//! twenty published percentages within five points. Of a noisier workload (PS, 512, pareto) only the means
//! are known; three deviations meet twelve numbers.

use deburr_lab::stats::unpaired::{Arm, probabilities};
use deburr_lab::stats::{Probabilities, Rope};
use std::path::Path;

/// Commits of the verdicts, and names of the same builds in the table of runs.
const BUILDS: [(&str, &str); 5] = [
    ("f730c2dd69", "trunk"),
    ("9e3f4f945e", "trunk+std_atomics"),
    ("7865c90afc", "trunk+std_atomics+isb"),
    ("05ba503b3c", "trunk+std_atomics+isb+outline_atomics"),
    ("0c9b81704d", "trunk+isb+outline_atomics"),
];

fn table(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evidence").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    // The only quoted field is the first, and only it has commas inside.
    let fields = |line: &str| -> Vec<String> {
        let (first, rest) = match line.strip_prefix('"') {
            Some(quoted) => quoted.split_once("\",").unwrap(),
            None => line.split_once(',').unwrap(),
        };
        std::iter::once(first).chain(rest.split(',')).map(str::to_owned).collect()
    };
    text.lines().skip(1).map(fields).collect()
}

/// What is published of a build's runs.
struct Runs {
    count: usize,
    low: f64,
    mean: f64,
    high: f64,
}

impl Runs {
    /// The least and the largest standard deviation that they allow.
    fn deviations(&self) -> (f64, f64) {
        let n = self.count as f64;
        let square = |value: f64| (value - self.mean) * (value - self.mean);
        let ends = square(self.low) + square(self.high);
        // Least: all others equal, where they must be for the mean. Most: all but one at either end.
        let others = 2.0 * self.mean - self.low - self.high;
        let least = ends + others * others / (n - 2.0);
        let at_high = (1..self.count - 1).map(|count| {
            let (high, low) = (count as f64, n - 1.0 - count as f64);
            let rest = n * self.mean - high * self.high - low * self.low;
            let possible = rest >= self.low && rest <= self.high;
            if possible { high * square(self.high) + low * square(self.low) + square(rest) } else { 0.0 }
        });
        let most = at_high.fold(0.0, f64::max);
        ((least / (n - 1.0)).sqrt(), (most / (n - 1.0)).sqrt())
    }
}

fn points(found: &Probabilities) -> [f64; 4] {
    [found.worse, found.same, found.better, found.next].map(|probability| 100.0 * probability)
}

/// A published row: which builds, and worse, same, better, next in percent.
struct Row {
    a: usize,
    b: usize,
    percent: [f64; 4],
}

fn rows(workload: [&str; 3], runs: &str) -> Vec<Row> {
    let place = |commit: &str| BUILDS.iter().position(|build| build.0 == commit).unwrap();
    let published = table("bayesian_verdicts.csv").into_iter();
    let chosen = published.filter(|row| row[4..7] == workload && (runs.is_empty() || row[3] == runs));
    chosen
        .map(|row| Row {
            a: place(&row[1]),
            b: place(&row[2]),
            percent: [7, 8, 9, 10].map(|column| row[column].parse().unwrap()),
        })
        .collect()
}

#[test]
fn fitted_deviations_reproduce_twenty_published_numbers() {
    let published = table("mysql_rw512_pareto_tps.csv");
    let runs: Vec<Runs> = BUILDS
        .iter()
        .map(|(_, name)| {
            let row = published.iter().find(|row| row[0] == *name).unwrap();
            let number = |column: usize| row[column].parse::<f64>().unwrap();
            Runs { count: row[1].parse().unwrap(), low: number(2), mean: number(3), high: number(4) }
        })
        .collect();
    let rows = rows(["RW", "512", "pareto"], "");
    assert_eq!(rows.len(), 5);
    let error = |deviations: &[f64]| {
        let arm = |index: usize| Arm::new(runs[index].mean, deviations[index], runs[index].count).unwrap();
        let of = |row: &Row| {
            let found = points(&probabilities(&arm(row.a), &arm(row.b), Rope::ONE_PERCENT));
            found.iter().zip(row.percent).map(|(found, percent)| (found - percent).abs()).fold(0.0, f64::max)
        };
        rows.iter().map(of).fold(0.0, f64::max)
    };
    let bounds: Vec<(f64, f64)> = runs.iter().map(Runs::deviations).collect();
    let mut fitted: Vec<f64> = bounds.iter().map(|(least, most)| (least * most).sqrt()).collect();
    let (mut best, mut step) = (error(&fitted), 0.4);
    while step > 0.005 {
        let before = best;
        for index in 0..fitted.len() {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let mut tried = fitted.clone();
                tried[index] = (tried[index] * factor).clamp(bounds[index].0, bounds[index].1);
                let error = error(&tried);
                if error < best {
                    (best, fitted) = (error, tried);
                }
            }
        }
        if best == before {
            step /= 2.0;
        }
    }
    println!("within {best:.2} points with deviations {fitted:.1?} in {bounds:.1?}");
    assert!(best <= 5.0, "{best} points with {fitted:?} in {bounds:?}");
}

/// Means and deviations as `tests/benchstat/verdict_values.json` sums these builds up.
#[test]
fn three_deviations_reproduce_twelve_numbers_of_a_noisier_workload() {
    let (std, isb, outline) = ((838_511.8, 17_500.0), (828_718.33, 17_200.0), (837_648.8, 13_100.0));
    let arm = |(mean, deviation): (f64, f64)| Arm::new(mean, deviation, 15).unwrap();
    let arms = [None, Some(arm(std)), Some(arm(isb)), Some(arm(outline)), None];
    let mut compared = 0;
    for row in rows(["PS", "512", "pareto"], "15") {
        let (Some(a), Some(b)) = (&arms[row.a], &arms[row.b]) else { continue };
        let found = points(&probabilities(a, b, Rope::ONE_PERCENT));
        for (found, percent) in found.iter().zip(row.percent) {
            assert!((found - percent).abs() <= 5.0, "{found} for {percent}");
            compared += 1;
        }
    }
    assert_eq!(compared, 12);
}

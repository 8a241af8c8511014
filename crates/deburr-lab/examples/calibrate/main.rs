//! Prints how often each method of judging is wrong, and how often the rule finds a real difference, on
//! simulated experiments.
//!
//! `cargo run --release -p deburr-lab --example calibrate [EXPERIMENTS] [SEED]`: 4000 experiments a cell by
//! default, a minute or two on two cores. `tests/calibration.rs` holds the results to their limits.
#![expect(clippy::print_stdout, reason = "the example is its table")]

mod experiment;
mod robbed;

use deburr_lab::stats::Rope;
use deburr_lab::stats::verdict::Order;
use experiment::{Layouts, NOISES, Noise, different, early, false_alarms, peeking, placed};
use robbed::{Length, STEALS, shares};

/// Half the width of the region of equivalence.
fn edge() -> f64 {
    Rope::ONE_PERCENT.half_width()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (experiments, seed) = (number(4000) as usize, number(1));
    println!("{experiments} experiments a cell, seed {seed}.\n");
    let tables: [fn(usize, u64); 9] = [
        blocks_and_pairs,
        rule,
        large_noise,
        hypervisor,
        early_ends,
        without_stopping,
        heavy_tails,
        layouts,
        unsteady_layouts,
    ];
    for table in tables {
        table(experiments, seed);
    }
}

/// Runs in blocks and in pairs, judged by every method.
fn blocks_and_pairs(experiments: usize, seed: u64) {
    let orders = [("interleaved", Order::Interleaved), ("blocked", Order::Blocked)];
    println!("A = B, 15 runs a side, run sd 1 %: how often they are called different");
    println!(
        "| noise | order of runs | Mann-Whitney p<.05 | mean ± sd | published marks | paired, ROPE > 95 % |"
    );
    println!("|---|---|---|---|---|---|");
    for noise in NOISES {
        for (name, order) in orders {
            let found = false_alarms(noise, order, experiments, seed);
            println!(
                "| {} | {name} | {:.3} | {:.3} | {:.3} | {:.3} |",
                noise.name(),
                found.mann_whitney,
                found.mean_sd,
                found.marks,
                found.paired
            );
        }
    }
}

/// The rule itself.
fn rule(experiments: usize, seed: u64) {
    println!("\nThe rule (looks at 10, 16, 24, 40 pairs), pair sd 2 %: signed ranks / t form");
    println!(
        "| noise | A = B, interleaved | A = B, blocked, capped by drift | at the ROPE's edge | power at 2 % |"
    );
    println!("|---|---|---|---|---|");
    for noise in NOISES {
        let cell = |order, effect| {
            let found = different(noise, order, 0.02, effect, experiments, seed);
            format!("{:.3} / {:.3}", found.ranks, found.mean)
        };
        println!(
            "| {} | {} | {} | {} | {} |",
            noise.name(),
            cell(Order::Interleaved, 0.0),
            cell(Order::Blocked, 0.0),
            cell(Order::Interleaved, edge()),
            cell(Order::Interleaved, 1.02f64.ln())
        );
    }
}

/// The rule where noise is large next to the region, and the wrong direction.
fn large_noise(experiments: usize, seed: u64) {
    println!(
        "\nThe same rule where noise is large beside the region: A = B; and B that is truly 2 % better, called worse"
    );
    println!("| noise | pair sd 2 % | pair sd 8 % | pair sd 30 % | the wrong direction, pair sd 2 % |");
    println!("|---|---|---|---|---|");
    for noise in NOISES {
        let equal = |pair_sd| different(noise, Order::Interleaved, pair_sd, 0.0, experiments, seed).ranks;
        let [small, large, huge] = [0.02, 0.08, 0.30].map(equal);
        let wrong = different(noise, Order::Interleaved, 0.02, 1.02f64.ln(), experiments, seed).wrong;
        println!("| {} | {small:.3} | {large:.3} | {huge:.3} | {wrong:.4} |", noise.name());
    }
}

/// What it saves and costs to end where a verdict has become improbable.
fn early_ends(experiments: usize, seed: u64) {
    println!(
        "\nEnds where a verdict has become improbable: decided without / with them, and pairs on average"
    );
    println!("| noise | true change | pair sd | decided | pairs |");
    println!("|---|---|---|---|---|");
    for noise in NOISES {
        for (effect, pair_sd) in [(0.0, 0.02), (0.0, 0.10), (0.02, 0.02), (0.05, 0.08)] {
            let found = early(noise, pair_sd, f64::ln_1p(effect), experiments, seed);
            let ([plain, ended], [all, fewer]) = (found.decided, found.pairs);
            println!(
                "| {} | {:.0} % | {:.0} % | {plain:.3} / {ended:.3} | {all:.1} / {fewer:.1} |",
                noise.name(),
                100.0 * effect,
                100.0 * pair_sd
            );
        }
    }
}

/// The rule where a hypervisor takes the processor away.
fn hypervisor(experiments: usize, seed: u64) {
    println!(
        "\nA hypervisor that takes the processor away, runs that differ by 1 % besides: A = B called different / the same; and B that"
    );
    println!("computes 2 % longer called worse / better");
    println!(
        "| what it takes | a run computes | wall, A = B | wall, 2 % more | user, A = B | user, 2 % more |"
    );
    println!("|---|---|---|---|---|---|");
    for steal in STEALS {
        for length in [Length(0.5), Length(0.02)] {
            let cell = |metric: &str, effect: f64| {
                let found = shares(steal, length, metric, effect, experiments, seed);
                match effect {
                    0.0 => format!("{:.3} / {:.3}", found.better + found.worse, found.same),
                    _ => format!("{:.3} / {:.4}", found.worse, found.better),
                }
            };
            let more = 1.02f64.ln();
            let cells = [("wall", 0.0), ("wall", more), ("user", 0.0), ("user", more)];
            let cells = cells.map(|(metric, effect)| cell(metric, effect));
            println!("| {} | {} ms | {} |", steal.name(), 1000.0 * length.0, cells.join(" | "));
        }
    }
}

/// An analysis after every pair.
fn without_stopping(experiments: usize, seed: u64) {
    println!("\nWithout a stopping rule: looking after every pair, normal noise, pair sd 2 %");
    println!("| until | A = B | at the ROPE's edge | true 2 % |");
    println!("|---|---|---|---|");
    let peeks = [0.0, edge(), 1.02f64.ln()].map(|effect| peeking(0.02, effect, experiments, seed));
    println!("| p < .05 | {:.3} | {:.3} | {:.3} |", peeks[0].p_value, peeks[1].p_value, peeks[2].p_value);
    println!("| Bayes > 90 % | {:.3} | {:.3} | {:.3} |", peeks[0].bayes, peeks[1].bayes, peeks[2].bayes);
}

/// Heavy tails.
fn heavy_tails(experiments: usize, seed: u64) {
    println!("\nHeavy tails, pair sd 4 %: signed ranks / t form");
    println!("| noise | at the ROPE's edge | power at 2 % |");
    println!("|---|---|---|");
    for noise in [Noise::Spikes, Noise::Flips] {
        let cell = |effect| {
            let found = different(noise, Order::Interleaved, 0.04, effect, experiments, seed);
            format!("{:.3} / {:.3}", found.ranks, found.mean)
        };
        println!("| {} | {} | {} |", noise.name(), cell(edge()), cell(1.02f64.ln()));
    }
}

/// Layouts that differ.
fn layouts(experiments: usize, seed: u64) {
    println!("\nLayouts that differ: the rule, pair sd 2 % besides");
    println!(
        "| sd of layouts | layouts | A = B | at the ROPE's edge | power at 2 % | power at 5 % | power at 10 % |"
    );
    println!("|---|---|---|---|---|---|---|");
    for layout_sd in [0.0, 0.003, 0.01, 0.026] {
        for (name, layouts) in [
            ("one a build", Layouts::One),
            ("one a build, `--layout-floor`", Layouts::OneBehindFloor),
            ("one a run, `--relink`", Layouts::EachRun),
        ] {
            let effects = [0.0, edge(), 1.02f64.ln(), 1.05f64.ln(), 1.10f64.ln()];
            let cells = effects.map(|effect| {
                format!("{:.3}", placed(layouts, Noise::Normal, layout_sd, 0.02, effect, experiments, seed))
            });
            println!("| {:.1} % | {name} | {} |", 100.0 * layout_sd, cells.join(" | "));
        }
    }
}

/// Layouts measured on a machine that is not calm.
fn unsteady_layouts(experiments: usize, seed: u64) {
    println!(
        "\nThe same with `--layout-floor` where the machine is not calm when layouts are measured: A = B / at the ROPE's edge"
    );
    println!("| sd of layouts | pair sd | normal | spikes (10 %) | regime flips (5 %) |");
    println!("|---|---|---|---|---|");
    for (layout_sd, pair_sd) in [(0.003, 0.005), (0.01, 0.02), (0.01, 0.04), (0.026, 0.04)] {
        let cells = [Noise::Normal, Noise::Spikes, Noise::Flips].map(|noise| {
            let found = |effect| {
                placed(Layouts::OneBehindFloor, noise, layout_sd, pair_sd, effect, experiments, seed)
            };
            format!("{:.3} / {:.3}", found(0.0), found(edge()))
        });
        println!("| {:.1} % | {:.1} % | {} |", 100.0 * layout_sd, 100.0 * pair_sd, cells.join(" | "));
    }
}

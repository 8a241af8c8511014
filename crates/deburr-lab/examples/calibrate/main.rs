//! Prints how often each way of judging is wrong, and how often the rule finds a real difference, on simulated experiments.
//!
//! `cargo run --release -p deburr-lab --example calibrate [EXPERIMENTS] [SEED]`: 4000 experiments a cell by default, a minute or two
//! on two cores. `tests/calibration.rs` holds the results to their limits.
#![allow(clippy::print_stdout)] // The example is its table.

mod experiment;

use deburr_lab::stats::Rope;
use deburr_lab::stats::verdict::Order;
use experiment::{Layouts, NOISES, Noise, different, false_alarms, peeking, placed};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (experiments, seed) = (number(4000) as usize, number(1));
    let orders = [("interleaved", Order::Interleaved), ("blocked", Order::Blocked)];

    println!("{experiments} experiments a cell, seed {seed}.\n");
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

    let edge = Rope::ONE_PERCENT.half_width();
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
            cell(Order::Interleaved, edge),
            cell(Order::Interleaved, 1.02f64.ln())
        );
    }
    println!("\nWithout a stopping rule: looking after every pair, normal noise, pair sd 2 %");
    println!("| until | A = B | at the ROPE's edge | true 2 % |");
    println!("|---|---|---|---|");
    let peeks = [0.0, edge, 1.02f64.ln()].map(|effect| peeking(0.02, effect, experiments, seed));
    println!("| p < .05 | {:.3} | {:.3} | {:.3} |", peeks[0].p_value, peeks[1].p_value, peeks[2].p_value);
    println!("| Bayes > 90 % | {:.3} | {:.3} | {:.3} |", peeks[0].bayes, peeks[1].bayes, peeks[2].bayes);

    println!("\nHeavy tails, pair sd 4 %: signed ranks / t form");
    println!("| noise | at the ROPE's edge | power at 2 % |");
    println!("|---|---|---|");
    for noise in [Noise::Spikes, Noise::Flips] {
        let cell = |effect| {
            let found = different(noise, Order::Interleaved, 0.04, effect, experiments, seed);
            format!("{:.3} / {:.3}", found.ranks, found.mean)
        };
        println!("| {} | {} | {} |", noise.name(), cell(edge), cell(1.02f64.ln()));
    }

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
            let effects = [0.0, edge, 1.02f64.ln(), 1.05f64.ln(), 1.10f64.ln()];
            let cells = effects.map(|effect| {
                format!("{:.3}", placed(layouts, Noise::Normal, layout_sd, 0.02, effect, experiments, seed))
            });
            println!("| {:.1} % | {name} | {} |", 100.0 * layout_sd, cells.join(" | "));
        }
    }

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
            format!("{:.3} / {:.3}", found(0.0), found(edge))
        });
        println!("| {:.1} % | {:.1} % | {} |", 100.0 * layout_sd, 100.0 * pair_sd, cells.join(" | "));
    }
}

//! The limits that the rule keeps on simulated experiments: false verdicts where A = B and at the edge of the
//! region of equivalence, and the power to find a real difference; and that the usual methods of judging do
//! not keep them.
//!
//! The short form runs with the other tests;
//! `cargo test --release -p deburr-lab --test lab -- --ignored calibration` is the long one, and
//! `cargo run --release -p deburr-lab --example calibrate` prints its table. Seeds are fixed: a run gives
//! what the last one gave.

#[path = "../../examples/calibrate/experiment.rs"]
mod experiment;
#[path = "../../examples/calibrate/robbed.rs"]
mod robbed;

use deburr_lab::stats::Rope;
use deburr_lab::stats::verdict::Order;
use experiment::{Layouts, NOISES, Noise, different, early, false_alarms, peeking, placed};
use robbed::{Length, STEALS, Steal, shares};

fn limits_hold(experiments: usize) {
    let edge = Rope::ONE_PERCENT.half_width();
    let effect = 1.02f64.ln();
    for (index, noise) in NOISES.into_iter().enumerate() {
        let seed = index as u64;
        let equal = different(noise, Order::Interleaved, 0.02, 0.0, experiments, seed);
        assert!(equal.ranks <= 0.01 && equal.mean <= 0.01, "{}, A = B: {equal:?}", noise.name());
        let few = false_alarms(noise, Order::Interleaved, experiments, seed);
        assert!(few.paired <= 0.01, "{}, A = B, 15 pairs: {few:?}", noise.name());
        let at_edge = different(noise, Order::Interleaved, 0.02, edge, experiments, seed);
        let most = if noise == Noise::Normal { 0.06 } else { 0.10 };
        assert!(at_edge.ranks <= most && at_edge.mean <= most, "{}, edge: {at_edge:?}", noise.name());
    }
    let power = different(Noise::Normal, Order::Interleaved, 0.02, effect, experiments, 1);
    assert!(power.ranks >= 0.85 && power.mean >= 0.85, "power: {power:?}");
}

#[test]
fn false_verdicts_and_power_keep_their_limits() {
    limits_hold(1000);
}

#[test]
#[ignore = "the long form: some minutes"]
fn false_verdicts_and_power_keep_their_limits_in_ten_thousand_experiments() {
    limits_hold(10_000);
}

#[test]
fn ends_where_a_verdict_is_improbable_save_pairs_and_find_nearly_as_much() {
    for noise in [Noise::Normal, Noise::Spikes, Noise::Wandering] {
        let found = early(noise, 0.02, 1.02f64.ln(), 1000, 1);
        let [plain, ended] = found.decided;
        assert!(ended <= plain && plain - ended < 0.02, "{}: {found:?}", noise.name());
        // Without a difference, in noise that is large next to the region.
        let hopeless = early(noise, 0.10, 0.0, 1000, 1);
        let [all, fewer] = hopeless.pairs;
        assert!(fewer < 0.75 * all, "{}: {hopeless:?}", noise.name());
    }
}

/// However large the noise is: a difference has to be beyond the region, and it also has to be one at all.
fn noise_makes_no_difference(experiments: usize) {
    for (index, noise) in NOISES.into_iter().enumerate() {
        for pair_sd in [0.08, 0.30] {
            let equal = different(noise, Order::Interleaved, pair_sd, 0.0, experiments, index as u64);
            assert!(equal.ranks <= 0.01, "{}, pair sd {pair_sd}: {equal:?}", noise.name());
        }
    }
}

#[test]
fn equal_builds_differ_by_no_noise_however_large() {
    noise_makes_no_difference(1000);
}

#[test]
#[ignore = "the long form: some minutes"]
fn equal_builds_differ_by_no_noise_however_large_in_ten_thousand_experiments() {
    noise_makes_no_difference(10_000);
}

fn direction_is_right(experiments: usize) {
    for (index, noise) in NOISES.into_iter().enumerate() {
        for effect in [1.02f64.ln(), -(1.02f64.ln())] {
            let found = different(noise, Order::Interleaved, 0.02, effect, experiments / 2, index as u64);
            assert_eq!(found.wrong, 0.0, "{}", noise.name());
        }
    }
}

#[test]
fn a_better_build_is_never_called_worse() {
    direction_is_right(1000);
}

#[test]
#[ignore = "the long form: some minutes"]
fn a_better_build_is_never_called_worse_in_ten_thousand_experiments_of_each_noise() {
    direction_is_right(10_000);
}

fn steal_decides_nothing(experiments: usize) {
    let more = 1.02f64.ln();
    for (index, steal) in STEALS.into_iter().enumerate() {
        for length in [Length(0.5), Length(0.02)] {
            for metric in ["wall", "user"] {
                let equal = shares(steal, length, metric, 0.0, experiments, index as u64);
                let slower = shares(steal, length, metric, more, experiments, index as u64);
                assert!(
                    equal.better + equal.worse <= 0.01,
                    "{}, {length:?}, {metric}: {equal:?}",
                    steal.name()
                );
                assert_eq!(slower.better, 0.0, "{}, {length:?}, {metric}: {slower:?}", steal.name());
                // CPU time is what it was. Of a run that waits for what is not counted it is not known that
                // it was a hypervisor.
                let is_known = metric == "user" && steal != Steal::Uncounted;
                let is_found = equal.same > 0.5 && slower.worse > 0.9;
                assert!(!is_known || is_found, "{}, {length:?}: {equal:?} {slower:?}", steal.name());
            }
        }
    }
}

#[test]
fn what_a_hypervisor_takes_decides_nothing() {
    steal_decides_nothing(200);
}

#[test]
#[ignore = "the long form: some minutes"]
fn what_a_hypervisor_takes_decides_nothing_in_ten_thousand_experiments() {
    steal_decides_nothing(10_000);
}

#[test]
fn blocked_runs_on_a_drifting_machine_fool_the_usual_tests() {
    for noise in [Noise::Sticky, Noise::Wandering, Noise::Drift, Noise::Step] {
        let blocked = false_alarms(noise, Order::Blocked, 500, 1);
        assert!(blocked.mann_whitney > 0.25, "{}: {blocked:?}", noise.name());
        assert!(blocked.mean_sd > 0.10 && blocked.marks > 0.25, "{}: {blocked:?}", noise.name());
    }
}

#[test]
fn looking_after_every_pair_costs_what_is_stated() {
    let equal = peeking(0.02, 0.0, 2000, 1);
    assert!((equal.p_value - 0.25).abs() < 0.03 && (equal.bayes - 0.04).abs() < 0.03, "{equal:?}");
    let edge = peeking(0.02, Rope::ONE_PERCENT.half_width(), 2000, 1);
    assert!((edge.p_value - 0.93).abs() < 0.03 && (edge.bayes - 0.34).abs() < 0.04, "{edge:?}");
}

#[test]
fn signed_ranks_find_under_heavy_tails_what_the_mean_does_not() {
    let effect = 1.02f64.ln();
    for noise in [Noise::Spikes, Noise::Flips] {
        let found = different(noise, Order::Interleaved, 0.04, effect, 500, 1);
        assert!(found.ranks > found.mean + 0.15, "{}: {found:?}", noise.name());
    }
}

#[test]
#[ignore = "a third of a minute of arithmetic; `cargo xtask nightly` runs it"]
fn layouts_alone_make_no_difference_where_they_are_known_or_drawn_anew() {
    let edge = Rope::ONE_PERCENT.half_width();
    let found = |layouts, effect| placed(layouts, Noise::Normal, 0.01, 0.02, effect, 1000, 1);
    assert!(found(Layouts::One, 0.0) > 0.2);
    for (layouts, most) in [(Layouts::OneBehindFloor, 0.05), (Layouts::EachRun, 0.01)] {
        let (equal, at_edge) = (found(layouts, 0.0), found(layouts, edge));
        assert!(equal <= most && at_edge <= 0.08, "{layouts:?}: {equal}, {at_edge}");
    }
    assert!(found(Layouts::OneBehindFloor, 1.10f64.ln()) > 0.85);
}

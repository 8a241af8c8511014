//! The contention model: what holds of any simulation, whatever the constants are, and what it does with numbers that make no sense.

use deburr_lab::model::fit::{Observation, fit};
use deburr_lab::model::published::{Role, microbenchmarks, sweep};
use deburr_lab::model::{
    Arbitration, Constants, Effort, LoadExclusive, MOST_THREADS, ModelError, Operation, Outcome, Topology,
    Workload, simulate,
};
use std::time::{Duration, Instant};

const OWNED: Operation = Operation::Exclusive { window: 0.5, load: LoadExclusive::Owned };
const ALL: [Operation; 6] = [
    Operation::Read,
    Operation::Near,
    Operation::Far,
    Operation::EXCLUSIVE,
    Operation::Exclusive { window: 0.0, load: LoadExclusive::Owned },
    Operation::CompareAndSwapLoop,
];
const MACHINE: Constants = Constants::of(40.0, 25.0, 40.0);

fn workload(operation: Operation, threads: usize) -> Workload {
    Workload { operation, threads, cost_ns: 15.0, think_ns: 0.0 }
}

fn run(constants: &Constants, operation: Operation, threads: usize) -> Outcome {
    simulate(constants, &workload(operation, threads), &Effort::standard(threads)).unwrap()
}

fn rate(constants: &Constants, operation: Operation, threads: usize) -> f64 {
    run(constants, operation, threads).rate
}

#[test]
fn one_thread_pays_what_the_operation_costs_alone_and_its_thinking() {
    for operation in ALL.into_iter().chain([OWNED]) {
        for think_ns in [0.0, 7.5] {
            let workload = Workload { think_ns, ..workload(operation, 1) };
            let outcome = simulate(&MACHINE, &workload, &Effort::standard(1)).unwrap();
            let expected = 1e9 / (15.0 + think_ns);
            assert!((outcome.rate / expected - 1.0).abs() < 1e-9, "{operation:?}: {outcome:?}");
            assert_eq!((outcome.retries, outcome.fairness, outcome.is_cut), (0.0, Some(1.0), false));
            assert!((outcome.longest_wait_ns - 15.0).abs() < 1e-6, "{operation:?}: {outcome:?}");
        }
    }
}

#[test]
fn rates_of_threads_are_the_rate_of_all() {
    for operation in ALL {
        let outcome = run(&MACHINE, operation, 12);
        let sum: f64 = outcome.thread_rates.iter().sum();
        assert!((sum / outcome.rate - 1.0).abs() < 1e-9 && outcome.thread_rates.len() == 12, "{outcome:?}");
        assert!(!outcome.is_cut && outcome.operations >= Effort::standard(12).operations, "{outcome:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_and_another_one_nearly_the_same() {
    for operation in ALL {
        let with = |seed| {
            let effort = Effort { seed, operations: 4_000, ..Effort::standard(16) };
            simulate(&MACHINE, &workload(operation, 16), &effort).unwrap()
        };
        assert_eq!(with(1), with(1));
        let ratio = with(1).rate / with(2).rate;
        assert!((0.9..1.1).contains(&ratio), "{operation:?}: {ratio}");
    }
}

#[test]
fn readers_do_not_disturb_each_other() {
    let ratio = rate(&MACHINE, Operation::Read, 64) / rate(&MACHINE, Operation::Read, 1);
    assert!((63.9..64.1).contains(&ratio), "{ratio}");
}

#[test]
fn nobody_starves_where_the_oldest_request_is_served_and_others_may_where_the_nearest_is() {
    for operation in [Operation::Near, Operation::Far] {
        let outcome = run(&MACHINE, operation, 24);
        assert!(
            outcome.fairness.unwrap() > 0.9 && outcome.longest_wait_ns < 40.0 * 1.5 * 24.0 * 4.0,
            "{outcome:?}"
        );
    }
    // A store-exclusive waits for luck, and luck takes long.
    let long = Effort { operations: 20_000, ..Effort::standard(24) };
    for operation in ALL {
        let outcome = simulate(&MACHINE, &workload(operation, 24), &long).unwrap();
        assert!(outcome.thread_rates.iter().all(|&rate| rate > 0.0), "{operation:?}: {outcome:?}");
    }
    let topology = Topology { cluster: 12, far_factor: 3.0 };
    let nearest = Constants { topology, arbitration: Arbitration::Nearest, ..MACHINE };
    let outcome = simulate(&nearest, &workload(Operation::Near, 24), &Effort::standard(24)).unwrap();
    assert!(outcome.fairness.unwrap() < 0.1, "{outcome:?}");
    let random = Constants { arbitration: Arbitration::Random, ..MACHINE };
    assert!(run(&random, Operation::Near, 24).fairness.unwrap() > 0.5);
}

#[test]
fn a_longer_transfer_never_raises_the_rate() {
    for operation in ALL {
        for threads in [2, 3, 8, 32] {
            let rates = [10.0, 20.0, 40.0, 80.0, 160.0, 320.0].map(|transfer_ns| {
                rate(&Constants { transfer_ns, far_ns: transfer_ns, ..MACHINE }, operation, threads)
            });
            // Where nothing is random any more, the last digits are; where it is, the rate is an estimate.
            let is_falling = rates.windows(2).all(|pair| pair[1] <= pair[0] * 1.02);
            assert!(is_falling, "{operation:?} with {threads} threads: {rates:?}");
        }
    }
}

#[test]
fn distance_costs_only_those_who_are_far() {
    let far = |cluster| Constants { topology: Topology { cluster, far_factor: 4.0 }, ..MACHINE };
    let alike = rate(&MACHINE, Operation::Near, 8);
    assert_eq!(rate(&far(8), Operation::Near, 8), alike);
    assert!(rate(&far(4), Operation::Near, 8) < 0.8 * alike);
    assert!(rate(&far(1), Operation::Near, 8) < rate(&far(4), Operation::Near, 8));
}

#[test]
fn an_exclusive_pair_without_a_window_is_one_instruction() {
    let pair = Operation::Exclusive { window: 0.0, load: LoadExclusive::Owned };
    for threads in [1, 2, 3, 16, 64] {
        let (pair, one) = (run(&MACHINE, pair, threads), run(&MACHINE, Operation::Near, threads));
        assert_eq!(pair, one);
    }
}

#[test]
fn a_longer_window_fails_more_often_and_a_core_that_holds_the_line_through_it_never_fails() {
    let with = |window, hold_ns| {
        let constants = Constants { hold_ns, ..MACHINE };
        let operation = Operation::Exclusive { window, load: LoadExclusive::Owned };
        simulate(&constants, &workload(operation, 2), &Effort::standard(2)).map(|it| it.retries)
    };
    assert_eq!(with(0.5, 7.5), Ok(0.0));
    let (short, long) = (with(0.05, 0.0).unwrap(), with(0.9, 0.0).unwrap());
    assert!(short < long, "{short} {long}");
}

/// Every load-exclusive takes the line from the thread before, so that no store-exclusive succeeds.
#[test]
fn a_livelock_ends_and_says_what_it_is() {
    let effort = Effort { events: 100_000, ..Effort::standard(32) };
    let eager = Constants { request_ns: 0.0, ..MACHINE };
    let stuck = simulate(&eager, &workload(OWNED, 32), &effort);
    assert_eq!(stuck, Err(ModelError::NoProgress { events: 100_000 }));
    assert!(stuck.unwrap_err().to_string().ends_with("100000 events: a livelock"));
    // The same threads get on once a core holds the line for as long as its pair takes.
    assert!(simulate(&Constants { hold_ns: 7.5, ..eager }, &workload(OWNED, 32), &effort).is_ok());
}

#[test]
fn a_failing_pair_that_only_reads_first_always_lets_somebody_succeed() {
    for threads in [2, 7, 64] {
        for constants in [MACHINE, Constants::of(0.0, 0.0, 0.0), Constants::of(1e3, 1.0, 0.0)] {
            for window in [0.0, 0.5, 1.0] {
                let operation = Operation::Exclusive { window, load: LoadExclusive::Shared };
                let outcome =
                    simulate(&constants, &workload(operation, threads), &Effort::standard(threads)).unwrap();
                assert!(!outcome.is_cut, "{constants:?} {window} {threads}: {outcome:?}");
            }
        }
    }
}

#[test]
fn numbers_that_make_no_sense_are_refused_by_name() {
    let constants = |change: fn(&mut Constants, f64)| {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300] {
            let mut constants = MACHINE;
            change(&mut constants, value);
            let refused = simulate(&constants, &workload(Operation::Near, 2), &Effort::standard(2));
            assert!(matches!(refused, Err(ModelError::Constant { .. })), "{value}: {refused:?}");
        }
    };
    constants(|it, value| it.transfer_ns = value);
    constants(|it, value| it.share_ns = value);
    constants(|it, value| it.request_ns = value);
    constants(|it, value| it.far_ns = value);
    constants(|it, value| it.hold_ns = value);
    constants(|it, value| it.topology.far_factor = value);
    constants(|it, _| it.topology.cluster = 0);
    for value in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
        let alone = Workload { cost_ns: value, ..workload(Operation::Near, 2) };
        let error = simulate(&MACHINE, &alone, &Effort::standard(2)).unwrap_err();
        assert!(matches!(error, ModelError::Constant { name: "cost_ns", .. }), "{error}");
    }
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        let thinking = Workload { think_ns: value, ..workload(Operation::Near, 2) };
        assert!(simulate(&MACHINE, &thinking, &Effort::standard(2)).is_err());
        let operation = Operation::Exclusive { window: value, load: LoadExclusive::Shared };
        assert!(simulate(&MACHINE, &workload(operation, 2), &Effort::standard(2)).is_err());
    }
    for threads in [0, MOST_THREADS + 1, 1_000_000, usize::MAX] {
        let refused = simulate(&MACHINE, &workload(Operation::Near, threads), &Effort::standard(2));
        assert_eq!(refused, Err(ModelError::Threads { threads, allowed: MOST_THREADS }));
    }
    for effort in
        [Effort { operations: 0, ..Effort::standard(1) }, Effort { events: 0, ..Effort::standard(1) }]
    {
        assert_eq!(simulate(&MACHINE, &workload(Operation::Near, 1), &effort), Err(ModelError::Effort));
    }
    let text = ModelError::Constant { name: "share_ns", value: -1.0, allowed: (0.0, 1e7) }.to_string();
    assert_eq!(text, "share_ns is -1, and must be from 0 to 10000000");
}

/// The extremes of what is allowed, in all combinations: an outcome or an honest error, within the events allowed.
#[test]
fn the_work_is_bounded_whatever_the_constants() {
    let (mut outcomes, mut cut, mut stuck) = (0, 0, 0);
    let began = Instant::now();
    let times = [0.0, 1e-3, 40.0, 1e7];
    for operation in ALL.into_iter().chain([OWNED]) {
        for (transfer, share, request) in times.iter().flat_map(|&transfer| {
            times.iter().flat_map(move |&share| times.map(move |request| (transfer, share, request)))
        }) {
            for (cost_ns, think_ns, threads) in
                [(1e-2, 0.0, 2), (1e-2, 1e7, 5), (1e7, 0.0, 5), (1.0, 0.0, MOST_THREADS)]
            {
                let effort = Effort { operations: 100, events: 4_000, seed: 3 };
                let workload = Workload { operation, threads, cost_ns, think_ns };
                match simulate(&Constants::of(transfer, share, request), &workload, &effort) {
                    Ok(outcome) => {
                        assert!(
                            outcome.events <= effort.events && outcome.rate > 0.0 && outcome.rate.is_finite()
                        );
                        assert!(outcome.fairness.is_none_or(|fairness| (0.0..=1.0).contains(&fairness)));
                        (outcomes, cut) = (outcomes + 1, cut + usize::from(outcome.is_cut));
                    }
                    Err(ModelError::NoProgress { events }) => {
                        assert!(events <= effort.events);
                        stuck += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
    assert!(outcomes > 1_000 && cut > 0 && stuck > 0, "{outcomes} {cut} {stuck}");
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn constants_are_found_again_from_what_they_predict() {
    let truth = Constants::of(60.0, 20.0, 90.0);
    let observed = |(operation, threads)| {
        let mut it = Observation { operation, threads, cost_ns: 15.0, ns: 1.0 };
        it.ns = it.predicted(&truth, &Effort::standard(threads)).unwrap();
        it
    };
    let cases =
        [(Operation::Near, 2), (Operation::Near, 12), (Operation::EXCLUSIVE, 2), (Operation::EXCLUSIVE, 12)];
    let found = fit(&cases.map(observed)).unwrap();
    for (found, truth) in [
        (found.constants.transfer_ns, truth.transfer_ns),
        (found.constants.share_ns, truth.share_ns),
        (found.constants.request_ns, truth.request_ns),
    ] {
        assert!((0.85..1.15).contains(&(found / truth)), "{found} for {truth}");
    }
    assert!(found.error < 1.05, "{found:?}");
    assert_eq!(fit(&[]), Err(ModelError::NothingToFit));
    let alone = Observation { operation: Operation::Near, threads: 1, cost_ns: 15.0, ns: 15.0 };
    assert_eq!(fit(&[alone]), Err(ModelError::NothingToFit));
    let none = Observation { ns: f64::NAN, threads: 2, ..alone };
    assert_eq!(fit(&[none]), Err(ModelError::NothingToFit));
}

#[test]
fn a_table_that_is_none_is_refused_at_its_line() {
    let header = "source_date,machine,threads,iterations_per_thread,op,build,real_s,cpu_user_s\n";
    let line = "3 Sep 2020,A,16,100,EXCHANGE,-march=armv8-a,1.5,20\n";
    let rows = microbenchmarks(&format!("{header}{line}")).unwrap();
    assert_eq!((rows.len(), rows[0].threads, rows[0].ns, rows[0].role), (1, 16, 1.5e7, Role::Fitted));
    for (old, new, expected) in [
        ("16", "x", "line 3: expected a number of threads"),
        ("16", "0", "line 3: expected a number of threads"),
        ("1.5", "NaN", "line 3: expected a positive number"),
        ("1.5", "-1", "line 3: expected a positive number"),
        ("100", "inf", "line 3: expected a positive number"),
        (",20", "", "line 3: expected eight fields"),
    ] {
        let text = format!("{header}{line}{}", line.replace(old, new));
        assert_eq!(microbenchmarks(&text).unwrap_err().to_string(), expected);
    }
    assert!(microbenchmarks("").is_err() && sweep("threads\n1\n").is_err());
    assert_eq!(
        sweep("threads,armv8_a_real_s,armv8_a_lse_real_s\n1,2\n").unwrap_err().to_string(),
        "line 2: expected three fields"
    );
}

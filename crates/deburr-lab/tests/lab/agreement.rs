//! Verdict, estimate and interval are one computation: what one of them says no other contradicts, on
//! simulated series and on those that somebody would make up to break them.

use deburr_lab::side::Side;
use deburr_lab::stats::effect::Difference;
use deburr_lab::stats::position::Position;
use deburr_lab::stats::random::Random;
use deburr_lab::stats::verdict::{Outcome, Rule, Sequence, Verdict, VerdictLimit};
use deburr_lab::stats::{Rope, normal, paired, signed_rank};

fn judged(rule: &Rule, pairs: &[Difference], limit: Option<VerdictLimit>) -> Verdict {
    let mut sequence = Sequence::new(rule.clone());
    for pair in pairs {
        sequence.push(*pair).unwrap();
    }
    sequence.verdict(limit, 1).unwrap()
}

/// Insists that all that is said of some pairs agrees, and that the other side says the opposite.
fn assert_agreement(rule: &Rule, pairs: &[Difference]) {
    let verdict = judged(rule, pairs, None);
    let (edge, effect) = (rule.rope().half_width(), verdict.effect);
    let (low, high) = effect.interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    assert!(low <= effect.estimate && effect.estimate <= high, "{pairs:?}: {effect:?}");
    let said = [
        (Outcome::Better, low > edge),
        (Outcome::Worse, high < -edge),
        (Outcome::Same, low > -edge && high < edge),
    ];
    let shown: Vec<Outcome> =
        said.into_iter().filter(|(_, holds)| *holds).map(|(outcome, _)| outcome).collect();
    let expected = if verdict.outcome == Outcome::Inconclusive { vec![] } else { vec![verdict.outcome] };
    assert_eq!(shown, expected, "{pairs:?}: {effect:?}");
    assert!(effect.pairs <= verdict.pairs && (0.5..1.0).contains(&effect.level), "{effect:?}");
    assert_eq!(verdict.decided_at.is_some(), verdict.outcome != Outcome::Inconclusive);
    // Without an interval, nothing at all.
    assert!(effect.interval.is_some() || verdict.outcome == Outcome::Inconclusive);

    let turned: Vec<Difference> = pairs
        .iter()
        .map(|pair| Difference {
            ratio: -pair.ratio,
            first: pair.first.map(|side| if side == Side::A { Side::B } else { Side::A }),
        })
        .collect();
    let mirrored = judged(rule, &turned, None);
    let opposite = match verdict.outcome {
        Outcome::Better => Outcome::Worse,
        Outcome::Worse => Outcome::Better,
        outcome => outcome,
    };
    assert_eq!(mirrored.outcome, opposite, "{pairs:?}");
    assert_eq!(mirrored.effect.estimate, -effect.estimate, "{pairs:?}");
    assert_eq!(mirrored.effect.interval, effect.interval.map(|(low, high)| (-high, -low)), "{pairs:?}");
    assert_eq!(mirrored.effect.level, effect.level);
    let p = |verdict: &Verdict| verdict.position.map_or(1.0, |found| found.p);
    assert!((p(&mirrored) - p(&verdict)).abs() < 1e-12, "{pairs:?}");

    let limited = judged(rule, pairs, Some(VerdictLimit::UnknownOrder));
    assert_eq!((limited.outcome, limited.effect.interval), (Outcome::Inconclusive, None));
}

fn rules() -> Vec<Rule> {
    let rope = |relative| Rope::new(relative).unwrap();
    let mut rules: Vec<Rule> =
        [0.0, 0.001, 0.01, 0.2].into_iter().map(|relative| Rule::standard(rope(relative)).unwrap()).collect();
    rules.push(Rule::once(rope(0.01), 24).unwrap());
    rules.push(Rule::new(rope(0.01), &[4, 12, 30], 0.02).unwrap());
    rules.push(Rule::over(rope(0.01), &[10, 20]).unwrap());
    rules
}

/// A random number of pairs of some kind of noise, with an order inside of the pairs, a balanced or a
/// lopsided one, or none.
fn series(kind: usize, random: &mut Random) -> Vec<Difference> {
    let pairs = 2 + (random.uniform() * 44.0) as usize;
    let scale = 10f64.powf(-4.0 + 4.0 * random.uniform());
    let theta = scale * random.normal();
    let ahead = if random.chance(0.5) { 3.0 * scale * random.normal() } else { 0.0 };
    let (is_known, share) = (random.chance(0.7), random.uniform());
    let mut state = random.normal();
    (0..pairs)
        .map(|pair| {
            let first = if random.chance(if kind.is_multiple_of(2) { 0.5 } else { share }) {
                Side::A
            } else {
                Side::B
            };
            state = 0.8 * state + 0.6 * random.normal();
            let noise = match kind {
                0 => random.normal(),
                1 => (3.0 * random.normal()).round(),
                2 => state,
                3 => random.normal() / random.normal(),
                4 => {
                    if random.chance(0.1) {
                        50.0 * random.exponential()
                    } else {
                        0.1 * random.normal()
                    }
                }
                5 => {
                    if random.chance(0.5) {
                        1.0
                    } else {
                        -1.0
                    }
                }
                6 => {
                    if random.chance(0.8) {
                        0.0
                    } else {
                        random.normal()
                    }
                }
                7 => 0.1 * random.normal() + 0.2 * pair as f64,
                _ => 0.0,
            };
            let place = if first == Side::A { ahead } else { -ahead };
            Difference { ratio: theta + place + scale * noise, first: is_known.then_some(first) }
        })
        .collect()
}

#[test]
#[ignore = "half a minute of arithmetic; `cargo xtask nightly` runs it"]
fn verdict_estimate_and_interval_agree_on_simulated_series() {
    let (rules, mut random, mut said) = (rules(), Random::new(1), [0usize; 4]);
    for round in 0..1800 {
        let pairs = series(round % 9, &mut random);
        let rule = &rules[round / 9 % rules.len()];
        assert_agreement(rule, &pairs);
        said[judged(rule, &pairs, None).outcome as usize] += 1;
    }
    assert!(said.iter().all(|count| *count > 60), "of each verdict there are many: {said:?}");
}

#[test]
#[ignore = "a minute of arithmetic; `cargo xtask nightly` runs it"]
fn verdict_estimate_and_interval_agree_on_series_made_up_to_break_them() {
    let edge = Rope::ONE_PERCENT.half_width();
    let next = |value: f64, up: bool| if up { value.next_up() } else { value.next_down() };
    let mut all: Vec<Vec<f64>> = Vec::new();
    for centre in
        [0.0, -0.0, edge, -edge, next(edge, true), next(edge, false), 5e-324, 1e300, f64::MAX, -1e-300]
    {
        all.push(vec![centre; 40]);
        // All but a few, which are anywhere.
        for odd in [0.0, -edge, 1e308] {
            for many in [1, 9] {
                all.push((0..40).map(|pair| if pair % (40 / many) == 0 { odd } else { centre }).collect());
            }
        }
        // On either side of it, by the least there is.
        all.push((0..40).map(|pair| next(centre, pair % 2 == 0)).collect());
    }
    // Means of pairs that are the edge exactly; steps; one side of spikes; what grows without end.
    all.push((0..40).map(|pair| if pair % 2 == 0 { 2.0 * edge } else { 0.0 }).collect());
    all.push((0..40).map(|pair| f64::from(pair / 10) * edge).collect());
    all.push((0..40).map(|pair| if pair % 7 == 3 { 9.0 } else { -1e-3 * f64::from(pair % 3) }).collect());
    all.push((0..40).map(|pair| f64::from(pair).exp()).collect());
    // Beyond the largest number there is none.
    all.retain(|values| values.iter().all(|value| value.is_finite()));
    for values in all {
        for rule in rules() {
            for firsts in [
                &[][..],
                &[Side::A, Side::B, Side::B, Side::A],
                &[Side::A, Side::A, Side::A, Side::B],
                &[Side::B],
            ] {
                let first = |pair: usize| (!firsts.is_empty()).then(|| firsts[pair % firsts.len()]);
                let pairs: Vec<Difference> = values
                    .iter()
                    .enumerate()
                    .map(|(pair, &ratio)| Difference { ratio, first: first(pair) })
                    .collect();
                assert_agreement(&rule, &pairs);
            }
        }
    }
}

#[test]
fn the_verdict_is_the_signed_rank_tests_where_nothing_ties() {
    let (mut random, rule) = (Random::new(4), Rule::once(Rope::ONE_PERCENT, 24).unwrap());
    let (edge, bound) = (rule.rope().half_width(), rule.bounds()[0]);
    let mut agreed = [0usize; 2];
    for _ in 0..2000 {
        let shift = 0.02 * random.normal();
        let d: Vec<f64> = (0..24).map(|_| shift + 0.01 * random.normal()).collect();
        let pairs: Vec<Difference> = d.iter().map(|d| Difference::from(*d)).collect();
        let effective = paired::effective_pairs(&d);
        let most = normal::survival(bound * (24.0 / effective).sqrt());
        let above = |edge: f64| signed_rank::test(&d, edge).unwrap().above <= most;
        let below = |edge: f64| signed_rank::test(&d, edge).unwrap().below <= most;
        let verdict = judged(&rule, &pairs, None);
        // A difference has to exclude 0, too, more strictly: which widens nothing here but what is next to
        // the edge.
        let expected = if above(edge) {
            Outcome::Better
        } else if below(-edge) {
            Outcome::Worse
        } else if below(edge) && above(-edge) {
            Outcome::Same
        } else {
            Outcome::Inconclusive
        };
        if verdict.effect.level < 0.95 {
            assert_eq!(verdict.outcome, expected, "{d:?}");
        }
        agreed[usize::from(verdict.outcome == expected)] += 1;
    }
    assert!(agreed[0] < 40 && agreed[1] > 1900, "{agreed:?}");
}

#[test]
fn the_interval_holds_the_truth_as_often_as_it_says_however_early_it_stops() {
    let (mut random, rule) = (Random::new(9), Rule::standard(Rope::ONE_PERCENT).unwrap());
    for theta in [0.0, 0.01, 0.02] {
        let (mut held, series) = (0, 800);
        for _ in 0..series {
            let mut sequence = Sequence::new(rule.clone());
            while !sequence.is_over() {
                sequence.push(theta + 0.02 * random.normal()).unwrap();
            }
            let (low, high) = sequence.verdict(None, 1).unwrap().effect.interval.unwrap();
            held += usize::from(low <= theta && theta <= high);
        }
        let share = f64::from(held as u32) / f64::from(series);
        assert!(share >= 0.87, "θ = {theta}: {share}, where .90 is stated");
    }
}

#[test]
fn an_order_that_is_not_balanced_decides_nothing() {
    // 15 of 24 pairs with A first, whose first runs are 6 % slower: builds that are equal are not called
    // different.
    let (mut random, rule) = (Random::new(5), Rule::once(Rope::ONE_PERCENT, 24).unwrap());
    let (mut different, mut naive) = (0, 0);
    for _ in 0..500 {
        let pairs: Vec<Difference> = (0..24)
            .map(|pair| {
                let first = if pair % 8 < 5 { Side::A } else { Side::B };
                let ahead = if first == Side::A { 0.06 } else { -0.06 };
                Difference { ratio: ahead + 0.03 * random.normal(), first: Some(first) }
            })
            .collect();
        let position = Position::of(&pairs).unwrap();
        assert_eq!((position.first, position.matters()), ([15, 9], true));
        let is_different = |outcome| matches!(outcome, Outcome::Better | Outcome::Worse);
        different += usize::from(is_different(judged(&rule, &pairs, None).outcome));
        let unknown: Vec<Difference> = pairs.iter().map(|pair| Difference::from(pair.ratio)).collect();
        naive += usize::from(is_different(judged(&rule, &unknown, None).outcome));
    }
    assert!(different <= 5, "{different} of 500, and {naive} without the order");
}

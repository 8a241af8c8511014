//! The laws that values obey: an operation on two values allows every number that it makes of their numbers, and says
//! no more of it than they said.

use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::state::State;
use crate::function::reach::domain::value::Value;
use crate::insn::{Reg, RegSet};
use deburr_cpu::{Arch, Feature, FeatureSet};

/// What is known when a number comes out: `None` if the value does not allow it.
fn known(value: &Value, number: u64) -> Option<Proof> {
    let (equal, _) = value.equals(number, 8);
    (!equal.impossible).then_some(equal.proven)
}

fn of(features: &[Feature]) -> Proof {
    Proof::of(FeatureSet::of(features))
}

/// Some small values of each kind, and for each the numbers that it stands for with what each of them truly proves.
fn samples() -> Vec<(Value, Vec<(u64, Proof)>)> {
    let avx = of(&[Feature::AVX]);
    let bmi = of(&[Feature::BMI1]);
    let mut found = Vec::new();
    let choices: [&[(u64, Proof)]; 5] = [
        &[(0, Proof::EMPTY)],
        &[(5, Proof::EMPTY)],
        &[(0, Proof::EMPTY), (1, avx)],
        &[(0, bmi), (2, Proof::EMPTY), (7, avx)],
        &[(3, avx), (0xffff_ffff, Proof::EMPTY)],
    ];
    for choice in choices {
        let value = choice
            .iter()
            .map(|&(number, proof)| Value::constant(number).under(proof))
            .reduce(|a, b| a.join(&b))
            .unwrap_or_default();
        found.push((value, choice.to_vec()));
    }
    // Words of bits: each number proves what all of its bits prove.
    for bits in [&[(0u8, avx), (1, bmi)][..], &[(2, bmi), (3, avx)]] {
        let word = Value::word(bits.iter().copied(), 4).and_mask(0xf);
        let numbers = (0..16u64).map(|number| {
            let set = bits.iter().filter(|(bit, _)| number >> bit & 1 != 0);
            (number, set.fold(Proof::EMPTY, |all, (_, proof)| all.union(*proof)))
        });
        found.push((word, numbers.collect()));
    }
    found.push((Value::Unknown, (0..8).map(|number| (number, Proof::EMPTY)).collect()));
    found
}

/// Fails if a value forbids a number that can come out, or says more of it than is true.
fn allows(value: &Value, number: u64, truth: Proof, of: &str) {
    let known = known(value, number);
    let known = known.unwrap_or_else(|| panic!("{of}: {value:?} forbids {number:#x}"));
    assert!(known.features.is_subset(truth.features), "{of}: {value:?} invents {known:?} for {number:#x}");
}

#[test]
fn joins_commute_and_change_nothing_twice() {
    for (a, _) in samples() {
        assert_eq!(a.join(&a), a);
        for (b, _) in samples() {
            let joined = a.join(&b);
            assert_eq!(joined, b.join(&a));
            assert_eq!(joined.join(&a), joined, "{a:?} and {b:?}");
        }
    }
}

#[test]
fn what_is_lost_stays_lost_bit_by_bit() {
    let bits = Value::Tainted.join(&Value::Unknown);
    assert_ne!(bits, Value::Tainted);
    for lost in [Value::Tainted, bits.clone()] {
        for (value, _) in samples() {
            for value in [value.presumed(1), value.under(of(&[Feature::AES])), value] {
                let merged = lost.merged(&value);
                assert_eq!(lost.join(&value), merged, "{value:?}");
                assert_eq!(value.join(&lost), merged, "{value:?}");
            }
        }
    }
    // What is presumed of one side goes on.
    let presumed = Value::word([(1, of(&[Feature::AVX]))], 4).presumed(1);
    assert_ne!(bits.join(&presumed), bits);
}

#[test]
fn joins_allow_what_either_allows_and_invent_nothing() {
    for (a, of_a) in samples() {
        for (b, of_b) in samples() {
            let joined = a.join(&b);
            for &(number, truth) in of_a.iter().chain(&of_b) {
                // Of a number that both allow, what is true on one path only is not.
                let both = of_a.iter().chain(&of_b).filter(|(other, _)| *other == number);
                let truth = both.fold(truth, |all, (_, proof)| all.intersection(*proof));
                allows(&joined, number, truth, "join");
            }
        }
    }
}

#[test]
fn operations_allow_what_comes_out_and_invent_nothing() {
    type Operation = (&'static str, fn(&Value, &Value) -> Value, fn(u64, u64) -> u64);
    let operations: [Operation; 6] = [
        ("and", Value::and, |a, b| a & b),
        ("or", Value::or, |a, b| a | b),
        ("xor", Value::xor, |a, b| a ^ b),
        ("add", Value::add, u64::wrapping_add),
        ("sub", |a, b| a.add(&b.negate()), u64::wrapping_sub),
        ("twice", |a, _| a.twice(), |a, _| a << 32 | a & 0xffff_ffff),
    ];
    for (name, abstractly, truly) in operations {
        for (a, of_a) in samples() {
            for (b, of_b) in samples() {
                let result = abstractly(&a, &b);
                for &(x, of_x) in &of_a {
                    for &(y, of_y) in &of_b {
                        allows(&result, truly(x, y), of_x.union(of_y), name);
                    }
                }
            }
        }
    }
}

#[test]
fn shifts_and_extensions_allow_what_comes_out_and_invent_nothing() {
    for (value, numbers) in samples() {
        for (number, truth) in numbers {
            for count in [0, 1, 2, 22, 31] {
                allows(&value.shift(count), number << count, truth, "left");
                allows(&value.shift(-count), number >> count, truth, "right");
                let signed = ((number as u32 as i32) >> count) as u32;
                allows(&value.shift_signed(count as u64, 4), signed.into(), truth, "signed right");
            }
            allows(&value.truncate(1), number & 0xff, truth, "truncate");
            allows(&value.sign_extend(4), number as u32 as i32 as u64, truth, "extend");
            allows(&value.and_mask(6), number & 6, truth, "mask");
            allows(&value.xor_mask(6), number ^ 6, truth, "flip");
            allows(&value.negate(), number.wrapping_neg(), truth, "negate");
        }
    }
}

#[test]
fn comparisons_prove_what_every_number_that_passes_tells() {
    for (value, numbers) in samples() {
        for limit in 0..8u64 {
            let (below, above) = value.compares(|number| number < limit, 8);
            for &(number, truth) in &numbers {
                let outcome = if number < limit { below } else { above };
                assert!(!outcome.impossible, "{value:?} < {limit}: {number}");
                assert!(outcome.proven.features.is_subset(truth.features), "{value:?} < {limit}: {number}");
            }
        }
    }
}

#[test]
fn what_a_callee_leaves_is_in_no_copy() {
    let [kept, left, other] = [3, 4, 5].map(Reg::general);
    let mut state = State::entry(Arch::Aarch64);
    for reg in [kept, left, other] {
        state.write(reg, Value::constant(7));
    }
    state.set_text(left);
    state.set_same(kept, other);
    let mut one_by_one = state.clone();
    state.set_same(kept, left);
    state.set_same(left, kept);
    state.leave(RegSet::EMPTY.with(left));
    assert_eq!(state.read(left), Value::Unknown);
    assert!(state.is_left(left) && !state.is_left(kept) && !state.is_text(left));
    assert_eq!(state.read(kept), Value::constant(7));
    // The copies that the register had no part in stay.
    one_by_one.leave(RegSet::EMPTY.with(left));
    assert_eq!(state, one_by_one);
}

#[test]
fn states_join_as_their_values_do() {
    let reg = Reg::general(3);
    for (a, _) in samples() {
        for (b, _) in samples() {
            let with = |value: &Value| {
                let mut state = State::entry(Arch::X86_64);
                state.write(reg, value.clone());
                state.store(-16, 4, value.truncate(4));
                state.store_word(0x1000, 4, value.truncate(4));
                state
            };
            let (mut one, mut other) = (with(&a), with(&b));
            let first = one.clone();
            one.join(&with(&b));
            other.join(&with(&a));
            assert_eq!(one, other);
            assert_eq!(one.read(reg), a.join(&b));
            let mut again = one.clone();
            assert!(!again.join(&first), "a join must not change what took it in: {a:?}, {b:?}");
            assert_eq!(again, one);
        }
    }
}

#[test]
fn what_a_user_states_proves_what_the_answer_does_and_nothing_else() {
    let avx = of(&[Feature::AVX]);
    let answer = Value::constant(0).join(&Value::constant(1).under(avx));
    let stated = Value::constant(1).join(&Value::constant(6));
    let either = answer.stated_as(&stated);
    assert_eq!(known(&either, 1).map(|proof| proof.features), Some(avx.features));
    assert_eq!(known(&either, 6), Some(Proof::doubt(true)), "a number that no answer is");
    assert_eq!(known(&either, 7), None, "nobody says that");
    // What comes from the CPU itself is no statement.
    let bmi = Value::constant(1).under(of(&[Feature::BMI1]));
    assert_eq!(answer.stated_as(&bmi), answer.join(&bmi));
    assert_eq!(known(&answer.stated_as(&bmi), 1), Some(Proof::EMPTY));
}

#[test]
fn a_slot_that_is_wider_on_one_path_is_known_by_its_parts() {
    let avx = of(&[Feature::AVX]);
    let (mut cleared, mut filled) = (State::entry(Arch::X86_64), State::entry(Arch::X86_64));
    cleared.store(-16, 4, Value::constant(0));
    for (at, value) in [(-16, 1), (-15, 0), (-14, 1)] {
        filled.store(at, 1, Value::constant(value).under(if at == -15 { Proof::EMPTY } else { avx }));
    }
    let mut joined = cleared.clone();
    assert!(joined.join(&filled));
    let mut other = filled;
    other.join(&cleared);
    for state in [&joined, &other] {
        assert_eq!(known(&state.load(-16, 1), 1).map(|proof| proof.features), Some(avx.features));
        assert_eq!(state.load(-15, 1), Value::constant(0));
        assert_eq!(known(&state.load(-14, 1), 0), Some(Proof::EMPTY));
        // One path has not written it by itself.
        assert_eq!(known(&state.load(-13, 1), 9), Some(Proof::EMPTY));
    }
    assert!(!joined.join(&cleared), "nothing new");
}

//! The laws of the domain, and that operations allow what they make of the numbers.

use super::arithmetic::concrete;
use super::condition::{Flags, holds};
use super::pool::{Bits, Places, Pool, Shape, Value, low_bytes};
use crate::engine::laws::{assert_laws, assert_widening_ends};
use crate::insn::operations::{Arithmetic, Condition};

const DATA: u64 = 0x3000_0000_4000;
const CODE: u64 = 0x3000_0000_1000;

fn pool() -> Pool {
    let runs = vec![(CODE, CODE + 0x1000, true), (DATA, DATA + 0x1000, false)];
    Pool::new(Places { runs, objects: vec![DATA, DATA + 0x40], taken: vec![DATA, DATA + 0x40] })
}

/// Values of every shape, small enough that each number of most can be tried.
fn values(pool: &mut Pool) -> Vec<Value> {
    let shapes = [
        Shape::Bits(Bits::between(0, 40)),
        Shape::Bits(Bits { known: !0b1010, value: 0b100, low: 4, high: 14, ..Bits::ANY }),
        Shape::Bits(Bits { least: i32::MIN, most: 3, ..Bits::between(0, 0xffff_ffff) }),
        Shape::Bits(Bits { least: -5, most: 40, ..Bits::ANY }),
        Shape::Bits(Bits::between(0xffff_0000, 0xffff_ffff)),
        Shape::Within([DATA].into()),
        Shape::Numbers([0, 1].into()),
        Shape::Numbers([0, DATA + 8].into()),
        Shape::Numbers([CODE + 4].into()),
        Shape::Numbers([3, 0x80, u64::MAX].into()),
    ];
    let mut values = vec![Value::BOTTOM, Value::TOP, Value::LOST];
    values.extend(shapes.map(|shape| pool.intern(shape)));
    values.push(pool.constant(1).opened(true));
    values
}

/// Some numbers that a value allows.
fn members(pool: &Pool, value: Value) -> Vec<u64> {
    match pool.shape(value) {
        Shape::Bottom => Vec::new(),
        Shape::Top | Shape::Lost => vec![0, 1, 5, 0x1_0000_0001, u64::MAX],
        Shape::Numbers(numbers) => numbers.to_vec(),
        Shape::Within(objects) => objects.iter().flat_map(|&it| [it, it + 8]).collect(),
        Shape::Bits(bits) => {
            let all = (0..64).chain([
                0x7fff_ffff,
                0x8000_0000,
                0xffff_0000,
                0xffff_00ff,
                0xffff_ffff,
                u64::MAX - 2,
            ]);
            all.filter(|number| allows(pool, value, *number) && *number <= bits.high).collect()
        }
    }
}

fn allows(pool: &Pool, value: Value, number: u64) -> bool {
    match pool.shape(value) {
        Shape::Bottom => false,
        Shape::Top | Shape::Lost => true,
        Shape::Numbers(numbers) => numbers.contains(&number),
        Shape::Within(objects) => objects.iter().any(|&it| pool.places.object(number) == it),
        Shape::Bits(bits) => {
            let signed = (bits.least..=bits.most).contains(&low_bytes(number));
            (bits.low..=bits.high).contains(&number) && number & bits.known == bits.value && signed
        }
    }
}

#[test]
fn values_are_a_lattice() {
    let mut pool = pool();
    let values = values(&mut pool);
    assert_laws(&values, &mut pool);
    let counting: Vec<Value> = (0..400).map(|number| pool.constant(number * 3)).collect();
    assert_widening_ends(&counting, 40, &mut pool);
}

#[test]
fn operations_allow_what_they_make_of_the_numbers() {
    use Arithmetic as A;
    let kinds = [
        A::Add,
        A::Sub,
        A::And,
        A::Or,
        A::Xor,
        A::Multiply,
        A::ShiftLeft,
        A::ShiftRight,
        A::ShiftRightSigned,
        A::RotateLeft,
        A::RotateRight,
        A::SetBit,
        A::ClearBit,
        A::FlipBit,
        A::Not,
        A::Negate,
        A::SwapBytes,
        A::LowestBit,
        A::HighestBit,
        A::LeadingZeros,
        A::CountBits,
        A::Extract,
    ];
    let mut pool = pool();
    let values = values(&mut pool);
    for (kind, size) in kinds.into_iter().flat_map(|kind| [(kind, 1), (kind, 2), (kind, 4), (kind, 8)]) {
        for (&left, &right) in values.iter().flat_map(|left| values.iter().map(move |right| (left, right))) {
            let result = pool.compute(kind, left, right, size);
            for one in members(&pool, left) {
                for other in members(&pool, right) {
                    // An address that leaves its object is no longer one of it.
                    if matches!(pool.shape(result), Shape::Within(_)) {
                        continue;
                    }
                    let number = concrete(kind, one, other, size);
                    let leaves = |from: u64| {
                        pool.places.is_address(from) && pool.places.object(from) != pool.places.object(number)
                    };
                    if matches!(kind, A::Add | A::Sub) && size == 8 && (leaves(one) || leaves(other)) {
                        continue;
                    }
                    let shape = pool.shape(result);
                    assert!(
                        allows(&pool, result, number),
                        "{kind:?} {size} {one:#x} {other:#x}: {number:#x} {shape:x?}"
                    );
                }
            }
        }
    }
}

#[test]
fn conditions_allow_what_holds_and_narrow_to_it() {
    let mut pool = pool();
    let values = values(&mut pool);
    for (condition, size) in
        (0..16).map(Condition).flat_map(|condition| [(condition, 1), (condition, 4), (condition, 8)])
    {
        for (&left, &right) in values.iter().flat_map(|left| values.iter().map(move |right| (left, right))) {
            let outcomes = pool.outcomes(condition, Flags::Difference(left, right, size));
            for one in members(&pool, left) {
                for other in members(&pool, right) {
                    let holds = holds(condition, one, other, size);
                    assert!(
                        if holds { outcomes.may_hold } else { outcomes.may_fail },
                        "{condition:?} {one:#x} {other:#x}"
                    );
                    if holds && pool.as_constant(right) == Some(other) {
                        let narrowed = pool.narrowed(left, condition, other, size);
                        assert!(allows(&pool, narrowed, one), "{condition:?} {one:#x} {other:#x} {size}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_lost_address_is_an_event_of_each_join() {
    let mut pool = pool();
    let address = pool.constant(DATA + 8);
    for _ in 0..2 {
        pool.join(address, Value::TOP, false);
        assert_eq!(std::mem::take(&mut pool.lost), [DATA + 8]);
        let other = Value::LOST;
        pool.compute(Arithmetic::Xor, address, other, 8);
        assert_eq!(std::mem::take(&mut pool.lost), [DATA + 8]);
    }
}

#[test]
fn what_rests_on_a_lost_value_stays_a_doubt() {
    let mut pool = pool();
    let one = pool.constant(1);
    let bit = pool.compute(Arithmetic::And, Value::LOST, one, 4);
    assert!(bit.is_doubt() && pool.outcomes(Condition::EQUAL, Flags::Result(bit, 4)).is_doubt);
}

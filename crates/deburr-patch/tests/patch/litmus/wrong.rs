//! Replacements that are wrong in their order or their dependencies: the model finds an outcome that is new in each.
//!
//! Each is what deburr writes over a site, with one instruction changed. Without these the other tests could not fail.

use super::containment::first_added;
use super::execution::Outcome;
use super::shape::{ACQUIRE, Exit, ORDERS, RELEASE, Shape, shapes};
use super::state::Thread;
use super::surroundings::{
    Access, DMB_ISH, Dependence, Function, NOWHERE, Neighbour, Other, Surroundings, Y, Z, all, function,
    others,
};
use super::written::{original, rewritten, with};

const NOP: u32 = 0xd503_201f;

fn shape(name: &str) -> Shape {
    shapes().into_iter().find(|shape| shape.name == name).expect("a shape of that name")
}

fn depending(access: Access, location: usize, dependence: Dependence) -> Neighbour {
    Neighbour { access, location, dependence }
}

fn new_outcome(shape: &Shape, old: &Thread, new: &Thread, around: &Surroundings) -> Option<(Other, Outcome)> {
    first_added(old, new, shape.size, &others(&around.locations()))
}

/// The rewritten function with some words for others, which it must have.
fn changed(function: &Function, changes: &[(u32, u32)]) -> Thread {
    let mut thread = rewritten(function).expect("a replacement");
    for &(from, to) in changes {
        let mut words = thread.code.iter_mut().flat_map(|segment| &mut segment.words);
        *words.find(|word| **word == from).unwrap_or_else(|| panic!("no {from:08x}")) = to;
    }
    thread
}

/// Without its changes the function allows nothing new, with them it does.
fn found(name: &str, order: u32, around: &Surroundings, changes: &[(u32, u32)]) {
    let shape = shape(name);
    let function = function(&shape, order, around);
    let (old, right) = (original(&function), changed(&function, &[]));
    assert_eq!(new_outcome(&shape, &old, &right, around), None, "{name}, {around:?}");
    let wrong = changed(&function, changes);
    assert_ne!(new_outcome(&shape, &old, &wrong, around), None, "{name}, {around:?}: {wrong:08x?}");
}

#[test]
fn a_branch_dropped_before_a_store_is_found() {
    let around = Surroundings { after: vec![depending(Access::Write, Z, Dependence::None)], ..NOWHERE };
    let b_ne = 0x5400_0021; // b.ne #4
    found("pair, the second compared if the first is equal", 0, &around, &[(b_ne, NOP)]);
    found("pair, the second compared if the first is equal", RELEASE, &around, &[(b_ne, NOP)]);
    // Acquire orders the store after the load of the pair, and not after that of the expected value.
    let before = Some(depending(Access::Read, Y, Dependence::Data));
    let expected = Surroundings { before, ..around.clone() };
    found("pair, the second compared if the first is equal", ACQUIRE, &expected, &[(b_ne, NOP)]);
    // cbnz x8, #4 where the loop compares with zero
    found("compare-and-swap from zero", 0, &around, &[(0x3500_0048, NOP)]);
}

#[test]
fn the_expected_value_in_place_of_the_loaded_one_is_found() {
    for (access, dependence) in [
        (Access::Read, Dependence::Address),
        (Access::Read, Dependence::ControlBarrier),
        (Access::Write, Dependence::Address),
    ] {
        let after = vec![depending(access, Z, dependence)];
        let around = Surroundings { after, exit: Exit::Skips, ..NOWHERE };
        let shape = shape("compare-and-swap of what the other stores");
        let function = function(&shape, 0, &around);
        // mov w10, wzr becomes mov w8, w4: the bits are the same.
        let wrong = changed(&function, &[(0x2a1f_03ea, 0x2a04_03e8)]);
        let is_new = new_outcome(&shape, &original(&function), &wrong, &around).is_some();
        // A store and an isb are ordered by the branch, which is still there.
        assert_eq!(
            is_new,
            access == Access::Read && dependence == Dependence::Address,
            "{access:?} {dependence:?}"
        );
    }
}

/// Every atomic instruction of a thread without one of its letters.
fn without(thread: &Thread, letter: u32) -> Thread {
    let mut thread = thread.clone();
    for word in thread.code.iter_mut().flat_map(|segment| &mut segment.words) {
        let is_update = *word & 0x3f20_0c00 == 0x3820_0000 && *word & 0x3fff_fc00 != 0x38bf_c000;
        let is_compare = *word & 0x3fa0_7c00 == 0x08a0_7c00 || *word & 0xbfa0_7c00 == 0x0820_7c00;
        *word &= match (is_update, is_compare, letter) {
            (true, _, ACQUIRE) => !(1 << 23),
            (true, _, _) => !(1 << 22),
            (_, true, ACQUIRE) => !(1 << 22),
            (_, true, _) => !(1 << 15),
            _ => !0,
        };
    }
    thread
}

#[test]
fn a_letter_dropped_is_found_for_every_shape_and_order() {
    let before = [Access::Read, Access::Write]
        .map(|access| Surroundings { before: Some(depending(access, Y, Dependence::None)), ..NOWHERE });
    let after = [Access::Read, Access::Write]
        .map(|access| Surroundings { after: vec![depending(access, Z, Dependence::None)], ..NOWHERE });
    let mut dropped = 0;
    // What expects another's store needs a third access there to show that its own is released.
    for shape in shapes().into_iter().filter(|shape| shape.expected == 0) {
        for (name, order) in ORDERS {
            for (letter, all) in [(ACQUIRE, &after), (RELEASE, &before)] {
                if order & letter == 0 {
                    continue;
                }
                let mut news = Vec::new();
                for around in all {
                    let function = function(&shape, order, around);
                    let Ok(right) = rewritten(&function) else { continue };
                    let wrong = without(&right, letter);
                    assert_ne!(wrong.code[0].words, function.words, "{}", shape.name);
                    news.push(new_outcome(&shape, &original(&function), &wrong, around).is_some());
                }
                assert!(news.is_empty() || news.contains(&true), "{}, {name}", shape.name);
                dropped += usize::from(!news.is_empty());
            }
        }
    }
    println!("{dropped} letters dropped");
    assert!(dropped > 160, "{dropped}");
}

/// The original stores what it loaded where the comparison fails, with release; a compare-and-swap stores nothing there.
#[test]
fn the_store_of_a_failing_compare_and_swap_is_found_missing() {
    let around = Surroundings { before: Some(depending(Access::Write, Y, Dependence::None)), ..NOWHERE };
    let mut shape = shape("unsigned maximum");
    shape.name = "a store in any case";
    let mut function = function(&shape, RELEASE, &around);
    // cmp w8, w4; csel w6, w8, w4, hi: with ne what is not equal is stored back.
    let csel = function.words.iter_mut().find(|word| **word == 0x1a84_8106).expect("csel");
    *csel = 0x1a84_1106;
    // mov w8, w4; casl w8, w4, [x2]; cmp w8, w4; csel w6, w8, w4, ne; mov w10, wzr
    let new = [0x2a04_03e8, 0x88a8_fc44, 0x6b04_011f, 0x1a84_1106, 0x2a1f_03ea];
    let wrong = with(&function, &new);
    assert_ne!(new_outcome(&shape, &original(&function), &wrong, &around), None);
    // Without release nothing is ordered before that store.
    let relaxed: Vec<u32> =
        function.words.iter().map(|&word| if word == 0x880a_fc46 { 0x880a_7c46 } else { word }).collect();
    let function = Function { words: relaxed, ..function };
    let right = with(&function, &[new[0], 0x88a8_7c44, new[2], new[3], new[4]]);
    assert_eq!(new_outcome(&shape, &original(&function), &right, &around), None);
}

#[test]
fn a_barrier_dropped_next_to_a_weaker_atomic_is_found() {
    let before = Surroundings {
        before: Some(depending(Access::Write, Y, Dependence::None)),
        barriers: [Some(DMB_ISH), None],
        ..NOWHERE
    };
    let after = Surroundings {
        barriers: [None, Some(DMB_ISH)],
        after: vec![depending(Access::Read, Z, Dependence::None)],
        ..NOWHERE
    };
    for order in [0, ACQUIRE] {
        found("add", order, &before, &[(DMB_ISH, NOP)]);
    }
    for order in [0, RELEASE] {
        found("add", order, &after, &[(DMB_ISH, NOP)]);
    }
    // Where it fails, a compare-and-swap is no barrier.
    let around = Surroundings { before: before.before, ..after };
    found("compare-and-swap of what the other stores", ACQUIRE | RELEASE, &around, &[(DMB_ISH, NOP)]);
}

/// The rule `redundant-barrier` removes the barrier next to an atomic that acquires, releases and always stores.
#[test]
fn a_barrier_next_to_a_full_atomic_is_redundant() {
    for shape in ["swap", "add", "unsigned maximum"].map(shape) {
        let with_barrier = all(&shape).into_iter().filter(|around| around.barriers.contains(&Some(DMB_ISH)));
        for around in with_barrier {
            let function = function(&shape, ACQUIRE | RELEASE, &around);
            let old = rewritten(&function).expect("a replacement");
            let mut new = old.clone();
            new.code[0].words.iter_mut().filter(|word| **word == DMB_ISH).for_each(|word| *word = NOP);
            assert_eq!(new_outcome(&shape, &old, &new, &around), None, "{}, {around:?}", shape.name);
        }
    }
}

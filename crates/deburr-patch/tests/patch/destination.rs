//! Where a replacement leaves the old value: in the register that the load-exclusive wrote, and never in the zero register.
//! An atomic without a destination is a store form, which cores may execute far, and which is no load for a barrier.
//!
//! In: loops of every operation, size and order, as words that this file encodes by itself (Arm ARM, C4.1). They are planned for
//! in whole files, with what follows reading the old value or overwriting it.

use super::apply::{CODE, Made, SMALL, made, put};
use deburr_cpu::{Feature, FeatureSet};
use deburr_patch::{ApplyOptions, Plan, PlanRequest, apply, plan, verify};
use std::collections::BTreeMap;

const RET: u32 = 0xd65f03c0; // ret
const ZERO: u32 = 31;
/// The operand, the address, the new value, and the status.
const OPERAND: u32 = 1;
const BASE: u32 = 2;
const NEW: u32 = 3;
const STATUS: u32 = 4;
/// Registers for the old value: one of its own, that of the new value, and one that veneers may overwrite.
const OLD: [u32; 3] = [0, NEW, 17];

/// What follows a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// The old value is stored.
    Read,
    /// Its register is written over, so that it is dead.
    Overwritten,
}

/// A loop, and the register that its load-exclusive writes.
struct Loop {
    words: Vec<u32>,
    old: u32,
}

/// The instructions that make the new value of the old one, by name; none for a copy of the operand.
fn bodies(old: u32, wide: u32) -> Vec<(&'static str, Vec<u32>)> {
    let sf = wide << 31;
    let three = |word: u32| vec![word | sf | OPERAND << 16 | old << 5 | NEW];
    let constant = |word: u32| vec![word | sf | wide << 22 | old << 5 | NEW];
    let chosen = |condition: u32| {
        let compare = 0x6b00_001f | sf | OPERAND << 16 | old << 5; // cmp old, operand
        vec![compare, 0x1a80_0000 | sf | OPERAND << 16 | condition << 12 | old << 5 | NEW] // csel
    };
    vec![
        ("add", three(0x0b00_0000)),
        ("add immediate", vec![0x1100_0400 | sf | old << 5 | NEW]),
        ("sub", three(0x4b00_0000)),
        ("sub immediate", vec![0x5100_0400 | sf | old << 5 | NEW]),
        ("and", three(0x0a00_0000)),
        ("bic", three(0x0a20_0000)),
        ("orr", three(0x2a00_0000)),
        ("orn", three(0x2a20_0000)),
        ("eor", three(0x4a00_0000)),
        ("eon", three(0x4a20_0000)),
        ("mvn", vec![0x2a20_03e0 | sf | old << 16 | NEW]),
        ("and immediate", constant(0x1200_0000)),
        ("orr immediate", constant(0x3200_0000)),
        ("eor immediate", constant(0x5200_0000)),
        ("signed maximum", chosen(0xc)),
        ("signed minimum", chosen(0xb)),
        ("unsigned maximum", chosen(0x8)),
        ("unsigned minimum", chosen(0x3)),
    ]
}

/// `ldxr`, a body, `stxr` of a register, `cbnz`; `order` has acquire in bit 1 and release in bit 0.
fn exclusives(size: u32, order: u32, old: u32, body: &[u32], new: u32) -> Vec<u32> {
    let load = 0x085f_7c00 | size << 30 | (order >> 1) << 15 | BASE << 5 | old;
    let store = 0x0800_7c00 | size << 30 | STATUS << 16 | (order & 1) << 15 | BASE << 5 | new;
    let back = (-(body.len() as i32 + 2) as u32 & 0x7_ffff) << 5;
    [&[load], body, &[store, 0x3500_0000 | back | STATUS]].concat()
}

/// Every loop of one size and order, by name.
fn loops(size: u32, order: u32) -> Vec<(String, Loop)> {
    let mut all = Vec::new();
    for old in OLD {
        let mut add = |name: &str, body: &[u32], new: u32| {
            let words = exclusives(size, order, old, body, new);
            all.push((name.to_owned(), Loop { words, old }));
        };
        for (name, body) in bodies(old, u32::from(size == 3)) {
            add(name, &body, NEW);
        }
        add("what was loaded", &[], old);
        if old != NEW {
            add("swap", &[], NEW);
            let compare = 0x6b00_001f | u32::from(size == 3) << 31 | OPERAND << 16 | old << 5;
            add("compare-and-swap", &[compare, 0x5400_0061], NEW); // b.ne #12
        }
    }
    // Nobody wants the old value: the load-exclusive leaves it in the zero register.
    let words = exclusives(size, order, ZERO, &[], NEW);
    all.push(("swap without the old value".to_owned(), Loop { words, old: ZERO }));
    all
}

/// A file with the loops one after another, each with what follows it; and where each is in the code.
fn file(loops: &[(String, Loop)], after: After) -> (Vec<u8>, BTreeMap<u64, &(String, Loop)>) {
    let (mut code, mut starts) = (Vec::new(), BTreeMap::new());
    for named in loops {
        starts.insert(CODE.start + 4 * code.len() as u64, named);
        code.extend(&named.1.words);
        code.push(match after {
            After::Read => 0xf900_0120 | named.1.old,        // str old, [x9]
            After::Overwritten => 0xd280_00e0 | named.1.old, // mov old, #7
        });
    }
    code.push(RET);
    let mut bytes = made(Made { words: code.len() as u64, ..SMALL });
    for (at, word) in (CODE.start as usize..).step_by(4).zip(code) {
        put(&mut bytes, at, u64::from(word), 4);
    }
    (bytes, starts)
}

fn planned(bytes: &[u8]) -> Plan {
    let target = Some(FeatureSet::of(&[Feature::FEAT_LSE]));
    plan(bytes, &PlanRequest { target, trampolines: true, ..PlanRequest::default() }).unwrap()
}

/// Where an LSE atomic leaves the old value: of `cas` the register with what is expected.
fn destination(word: u32) -> Option<u32> {
    match word {
        _ if word & 0x3f20_0c00 == 0x3820_0000 => Some(word & 31),
        _ if word & 0x3fa0_7c00 == 0x08a0_7c00 => Some(word >> 16 & 31),
        _ => None,
    }
}

#[test]
fn the_old_value_goes_where_it_went_and_never_to_the_zero_register() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (size, order, after) in (0..4).flat_map(|size| {
        (0..4).flat_map(move |order| [After::Read, After::Overwritten].map(|after| (size, order, after)))
    }) {
        let loops = loops(size, order);
        let (bytes, starts) = file(&loops, after);
        let plan = planned(&bytes);
        for site in &plan.sites {
            let (name, Loop { words, old }) = starts[&site.file_offset];
            let context =
                || format!("{name}, size {size}, order {order}, {after:?}: {words:x?}, {:x?}", site.new);
            let added = site.trampoline.iter().flat_map(|trampoline| &trampoline.words);
            let found: Vec<u32> = site.new.iter().chain(added).copied().filter_map(destination).collect();
            let [found] = found[..] else { panic!("{}: {found:?}", context()) };
            assert_ne!(found, ZERO, "{}", context());
            // In added space a plain load has the old value, and a compare-and-swap of its own leaves it in the status.
            let is_status = site.trampoline.is_some() && found == STATUS;
            assert!(found == *old || *old == ZERO || is_status, "{}", context());
            *seen.entry(name.clone()).or_default() += 1;
        }
        let patched = apply(&bytes, &plan, &ApplyOptions::default()).unwrap();
        assert_eq!(verify(&bytes, &patched).unwrap().changes.len(), plan.sites.len());
    }
    // Of each name those of four and eight bytes, in every order and with both that follow.
    let names: Vec<String> = loops(3, 0).into_iter().map(|(name, _)| name).collect();
    for name in names {
        assert!(seen.get(&name).is_some_and(|count| *count >= 16), "{name}: {:?}", seen.get(&name));
    }
}

#[test]
fn a_store_form_that_somebody_else_wrote_is_not_verified_even_where_the_old_value_is_dead() {
    let mut tried = 0;
    for (size, order) in (0..4).flat_map(|size| [0, 1].map(|order| (size, order))) {
        let loops: Vec<(String, Loop)> =
            loops(size, order).into_iter().filter(|(_, it)| it.old == 0).collect();
        let (bytes, _) = file(&loops, After::Overwritten);
        let good = planned(&bytes);
        for number in 0..good.sites.len() {
            let mut plan = good.clone();
            let words = &mut plan.sites[number].new;
            let at = words.iter().position(|&word| word & 0x3f20_8c00 == 0x3820_0000);
            let Some(word) = at.and_then(|at| words.get_mut(at)) else { continue };
            *word |= ZERO; // stadd, stset, …
            let patched = apply(&bytes, &plan, &ApplyOptions::default()).unwrap();
            assert!(verify(&bytes, &patched).is_err(), "{:x?}", plan.sites[number]);
            tried += 1;
        }
    }
    assert!(tried >= 40, "{tried}");
}

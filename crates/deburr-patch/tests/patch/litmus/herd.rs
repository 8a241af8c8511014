//! The same tests for herd7, and what it answers: the model of this folder allows exactly what aarch64.cat allows.
//!
//! `herd/tests.litmus` holds the tests one after another, `herd/answers.log` what herd7 7.57 (revision 30fad5436, with the
//! aarch64.cat that comes with it) prints for them:
//!
//! ```text
//! awk '/^AArch64 /{file=$2".litmus"} {print > file}' tests.litmus
//! herd7 *.litmus | grep -v -e '^Time' -e '^Hash' -e '^Flag' > answers.log
//! ```
//!
//! A test is a function with a site, original or rewritten, and another thread, as in the other tests of this folder. What
//! is left out: pairs and sizes below 4 bytes (herd7 takes each for several accesses), and loops that herd7 would unroll. A
//! store-exclusive that fails goes to the end and sets x29; these states are not compared.

use super::containment::{Side, allowed};
use super::execution::Outcome;
use super::shape::{ORDERS, Shape, shapes};
use super::state::{FIRST_LOCATION, ONCE, Thread};
use super::surroundings::{Other, SEEN, SEEN_BY_OTHER, Surroundings, all, function, others};
use super::written::{original, rewritten};
use crate::states::Random;
use deburr_core::Svma;
use deburr_core::insn::disassemble;
use deburr_core::insn::text::Syntax;
use deburr_cpu::Arch;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const TESTS: &str = include_str!("herd/tests.litmus");
const ANSWERS: &str = include_str!("herd/answers.log");
const RET: u32 = 0xd65f_03c0;
/// Orders of each shape, and tests of each order, that are committed.
const COMMITTED: usize = 1;
/// From which surroundings, orders and other threads are drawn.
const SEED: u64 = 7;

/// A test, and what the model of this folder allows in it.
struct Test {
    name: String,
    source: String,
    allowed: BTreeSet<Outcome>,
    bits: u32,
}

/// Whether herd7 has a form for the shape.
fn has_form(shape: &Shape) -> bool {
    // Loops, and `eon`, which herd7 7.57 computes as `eor`.
    let has_none = ["rotated", "nand", "flags", "xor with the complement"];
    matches!(shape.size, 2 | 3) && !has_none.iter().any(|part| shape.name.contains(part))
}

/// Whether an outcome may be forbidden by more than the order of accesses to one location.
fn is_telling(around: &Surroundings, other: &Other) -> bool {
    let has_two = other.second.is_some_and(|(_, location)| location != other.first.1);
    around.weight() > 2 && other.is_ordered && has_two
}

/// Tests of every shape: for each of some orders a number of them.
fn tests(orders: usize, each: usize, seed: u64) -> Vec<Test> {
    let mut random = Random(seed);
    let mut draw = |count: usize| (random.next() % count as u64) as usize;
    let mut tests = Vec::new();
    for (number, shape) in shapes().iter().enumerate().filter(|(_, shape)| has_form(shape)) {
        let all = all(shape);
        for at in 0..orders {
            let order = if orders == ORDERS.len() { at } else { draw(ORDERS.len()) };
            for sample in 0..each {
                let (around, other) = loop {
                    let around = &all[draw(all.len())];
                    let others = others(&around.locations());
                    let other = others[draw(others.len())];
                    if is_telling(around, &other) {
                        break (around, other);
                    }
                };
                let function = function(shape, ORDERS[order].1, around);
                let threads = [("old", Ok(original(&function))), ("new", rewritten(&function))];
                for (side, thread) in threads {
                    let Some(thread) = thread.ok().filter(|thread| thread.code.len() == 1) else { continue };
                    let name = format!("S{number}O{order}N{sample}{side}");
                    tests.push(test(name, shape, thread, other));
                }
            }
        }
    }
    tests
}

fn test(name: String, shape: &Shape, thread: Thread, other: Other) -> Test {
    let mut source = format!("AArch64 {name}\n{{\n");
    if shape.size == 3 {
        source.push_str("uint64_t x;\n");
    }
    let second = other.words(shape.size);
    for (number, registers) in [&thread.registers, &Other::registers()].into_iter().enumerate() {
        let mut registers: BTreeMap<u32, u64> = registers.iter().copied().collect();
        if number == 0 {
            registers.extend([(10, 1), (11, 1)]);
        }
        let each = registers.iter().map(|(register, value)| match value.checked_sub(FIRST_LOCATION) {
            Some(offset) => format!("{number}:X{register}={};", ["x", "y", "z"][offset as usize >> 12]),
            None => format!("{number}:X{register}={value};"),
        });
        writeln!(source, "{}", each.collect::<Vec<_>>().join(" ")).expect("a string");
    }
    source.push_str("}\n P0 | P1 ;\n");
    let first = listing(0, &thread.code[0].words);
    let second = listing(1, &second);
    for at in 0..first.len().max(second.len()) {
        let cell = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
        writeln!(source, " {} | {} ;", cell(&first), cell(&second)).expect("a string");
    }
    let seen = SEEN.iter().map(|register| format!("0:X{register};"));
    let seen = seen.chain(SEEN_BY_OTHER.iter().map(|register| format!("1:X{register};")));
    let seen = seen.chain(["0:X29;", "x;", "y;", "z;"].map(str::to_owned)).collect::<Vec<_>>().join(" ");
    writeln!(source, "locations [{seen}]\nforall (true)\n").expect("a string");
    let allowed = allowed(&mut Side::of(thread, ONCE), shape.size, &other);
    Test { name, source, allowed, bits: 8 << shape.size }
}

/// The lines of a thread, with labels for its branches.
fn listing(thread: usize, words: &[u32]) -> Vec<String> {
    let (mut lines, mut labels) = (Vec::new(), BTreeSet::new());
    for (at, &word) in words.iter().enumerate() {
        let text = disassemble(Arch::Aarch64, &word.to_le_bytes(), Svma(4 * at as u64), Syntax::Att);
        let text = text.expect("an instruction");
        let distance = if word & 0xfc00_0000 == 0x1400_0000 {
            (word << 6) as i32 >> 6
        } else if word & 0x7e00_0000 == 0x3400_0000 || word & 0xff00_0010 == 0x5400_0000 {
            (word << 8) as i32 >> 13
        } else {
            lines.push(if word == RET { format!("b END{thread}") } else { decimal(&text) });
            continue;
        };
        let (instruction, _) = text.rsplit_once(' ').expect("a target");
        // The test of a status, cbnz w10, and what goes back.
        if distance < 0 || word & 0xff00_001f == 0x3500_000a {
            lines.push(format!("{instruction} FAIL{thread}"));
        } else {
            let target = at + distance as usize;
            labels.insert(target);
            lines.push(format!("{instruction} L{thread}{target}"));
        }
    }
    for target in labels {
        lines[target] = format!("L{thread}{target}: {}", lines[target]);
    }
    lines.extend([format!("FAIL{thread}: mov x29, #1"), format!("END{thread}: nop")]);
    lines
}

/// A text as herd7 reads it, with decimal constants.
fn decimal(text: &str) -> String {
    // It has no `clrex`, which is no event.
    if text.starts_with("clrex") {
        return "nop".to_owned();
    }
    let Some((before, after)) = text.split_once("#0x") else { return text.to_owned() };
    let end = after.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(after.len());
    let value = u64::from_str_radix(&after[..end], 16).expect("digits");
    // herd7 takes a word's complement as a negative number only.
    let value = if value >> 31 == 1 { i64::from(value as i32) } else { value as i64 };
    format!("{before}#{value}{}", &after[end..])
}

/// The states by name in herd7's log, without those in which a store-exclusive failed.
fn answers(log: &str) -> BTreeMap<&str, Vec<BTreeMap<&str, i64>>> {
    let mut found = BTreeMap::new();
    let mut name = "";
    for line in log.lines() {
        if let Some(rest) = line.strip_prefix("Test ") {
            name = rest.split(' ').next().unwrap_or_default();
            found.insert(name, Vec::new());
        } else if line.contains("0:X19=") {
            let values = line.split_terminator(';').map(|part| {
                let (place, value) = part.trim().split_once('=').expect("a value");
                (place, value.parse().expect("a number"))
            });
            let state: BTreeMap<&str, i64> = values.collect();
            if state["0:X29"] == 0 {
                found.entry(name).or_default().push(state);
            }
        }
    }
    found
}

/// Compares the model's outcomes with those of a log.
fn compare(tests: &[Test], log: &str) -> usize {
    let answers = answers(log);
    for test in tests {
        let states = answers.get(test.name.as_str()).unwrap_or_else(|| panic!("no answer to {}", test.name));
        let seen = SEEN.iter().map(|register| format!("0:X{register}"));
        let seen = seen.chain(SEEN_BY_OTHER.iter().map(|register| format!("1:X{register}")));
        let places: Vec<String> = seen.chain(["[x]", "[y]", "[z]"].map(str::to_owned)).collect();
        let cut = |value: i64| u128::from(value as u64 & (u64::MAX >> (64 - test.bits)));
        let outcome =
            |state: &BTreeMap<&str, i64>| places.iter().map(|place| cut(state[place.as_str()])).collect();
        let expected: BTreeSet<Outcome> = states.iter().map(outcome).collect();
        assert_eq!(test.allowed, expected, "{}\n{}", test.name, test.source);
    }
    tests.len()
}

#[test]
fn the_model_allows_what_herd7_allows() {
    let tests = tests(COMMITTED, COMMITTED, SEED);
    let sources: String = tests.iter().map(|test| test.source.as_str()).collect();
    assert_eq!(sources, TESTS, "generate them and herd7's answers again");
    assert!(compare(&tests, ANSWERS) > 50);
}

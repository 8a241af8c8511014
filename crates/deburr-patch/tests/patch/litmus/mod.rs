//! Litmus tests: the outcomes that the Arm memory model allows of a site's replacement are outcomes of the original.
//!
//! The prover compares values, acquire and release; this is the other half of "the same", by a model of its own. Nothing here
//! knows the crate's decoder, prover or candidates: instructions become events by a table of this folder.
//!
//! | file | from | to |
//! |---|---|---|
//! | `event` | | reads, writes and barriers, and what they depend on |
//! | `state` | | a thread on its way |
//! | `thread`, `compute` | instructions | the runs of a thread, by the values that it reads |
//! | `order` | a run | the order that a thread keeps by itself |
//! | `execution` | runs of two threads | the outcomes that the axioms allow |
//! | `shape` | | every shape of a site, in every order |
//! | `surroundings` | a shape | a function around it, and other threads |
//! | `table` | | the right pairs of `pairs.rs` as functions |
//! | `written` | a function | what deburr makes of it |
//! | `containment` | both | the outcomes that are new |
//! | `wrong` | | tests of wrong replacements, in which there must be some |

mod compute;
mod containment;
mod event;
mod execution;
mod herd;
mod order;
mod shape;
mod state;
mod surroundings;
mod table;
mod thread;
mod written;
mod wrong;

use crate::states::Random;
use containment::first_added;
use shape::{ORDERS, Shape, shapes};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use surroundings::{Surroundings, all, function, others};

/// Functions of the sample for each shape and order.
const SAMPLE: usize = 30;

/// A shape in an order and in surroundings.
type Case = (Shape, (&'static str, u32), Surroundings);

/// What became of some cases.
#[derive(Default)]
struct Count {
    written: usize,
    refused: usize,
    tests: usize,
    /// Shape, order, weight of the surroundings, and the test.
    faults: Vec<(&'static str, &'static str, usize, String)>,
}

impl Count {
    fn judge(&mut self, (shape, (name, order), around): &Case) {
        let function = function(shape, *order, around);
        let Ok(new) = written::rewritten(&function) else {
            self.refused += 1;
            return;
        };
        let others = others(&around.locations());
        self.written += 1;
        self.tests += others.len();
        if let Some((other, outcome)) = first_added(&written::original(&function), &new, shape.size, &others)
        {
            let words = (&function.words, &new.code);
            let text = format!("{}, {name}: {around:?}\n{other:?}: {outcome:x?}\n{words:08x?}", shape.name);
            self.faults.push((shape.name, name, around.weight(), text));
        }
    }

    /// The lightest fault of each shape and order, and what there was.
    fn report(&mut self) -> String {
        self.faults.sort();
        self.faults.dedup_by_key(|(shape, order, ..)| (*shape, *order));
        let texts: String = self.faults.iter().map(|(.., text)| format!("{text}\n\n")).collect();
        format!("{texts}{} functions written, {} refused, {} tests", self.written, self.refused, self.tests)
    }

    fn faulty(&self) -> BTreeSet<&'static str> {
        self.faults.iter().map(|(shape, ..)| *shape).collect()
    }
}

#[test]
fn a_sample_of_replacements_allows_nothing_new() {
    let mut random = Random(50);
    let mut count = Count::default();
    for shape in shapes() {
        let all = all(&shape);
        for order in ORDERS {
            for _ in 0..SAMPLE {
                let around = all[(random.next() % all.len() as u64) as usize].clone();
                count.judge(&(shape.clone(), order, around));
            }
        }
    }
    println!("{}", count.report());
    let faulty = count.faulty();
    assert!(faulty.is_empty(), "{faulty:?}");
    assert!(count.written > 4_000, "{}", count.written);
}

#[test]
#[ignore = "25 million litmus tests, a quarter of an hour; `cargo xtask nightly` runs it"]
fn no_replacement_allows_anything_new() {
    let work: Vec<(Shape, (&str, u32))> =
        shapes().into_iter().flat_map(|shape| ORDERS.map(|order| (shape.clone(), order))).collect();
    let (next, whole) = (AtomicUsize::new(0), Mutex::new(Count::default()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let mut count = Count::default();
                while let Some((shape, order)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    all(shape).into_iter().for_each(|around| count.judge(&(shape.clone(), *order, around)));
                }
                let mut whole = whole.lock().expect("no thread fails");
                whole.written += count.written;
                whole.refused += count.refused;
                whole.tests += count.tests;
                whole.faults.append(&mut count.faults);
            });
        }
    });
    let mut whole = whole.into_inner().expect("no thread fails");
    println!("{}", whole.report());
    assert_eq!(whole.faulty(), BTreeSet::new());
}

#[test]
fn the_table_of_pairs_allows_nothing_new() {
    let swap = &shapes()[0];
    let mut random = Random(51);
    let all = all(swap);
    let mut tests = 0;
    for _ in 0..SAMPLE {
        let around =
            Surroundings { before: None, ..all[(random.next() % all.len() as u64) as usize].clone() };
        for exit in [shape::Exit::Joins, shape::Exit::Skips] {
            let around = Surroundings { exit, ..around.clone() };
            for pair in table::listed(&around) {
                let (old, new) = (written::original(&pair.old), written::with(&pair.old, &pair.new));
                let others = others(&around.locations());
                tests += others.len();
                let added = first_added(&old, &new, pair.size, &others);
                assert_eq!(
                    added, None,
                    "{}: {around:?} {:08x?} {:08x?}",
                    pair.name, pair.old.words, pair.new
                );
            }
        }
    }
    println!("{tests} tests");
}

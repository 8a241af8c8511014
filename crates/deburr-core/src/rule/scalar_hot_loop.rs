//! `scalar-hot-loop`: a small loop that computes on arrays element by element, and that a compiler could have turned
//! into vector code.

use super::{Context, Rule};
use crate::address::Extent;
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::idiom::counted::{Counted, Step};
use crate::insn::sweep::{Loops, Wants};
use crate::insn::{ClassSet, Memory, Operation, Reg, RegSet};
use std::collections::{BTreeMap, BTreeSet};

/// The rule. Whether a loop is hot, nothing in the file shows.
pub(super) const RULE: Rule = Rule {
    id: "scalar-hot-loop",
    summary: "innermost loop of element-wise arithmetic over arrays left scalar; guesses that it is hot",
    severity: "note",
    page: include_str!("../../pages/scalar-hot-loop.md"),
    remedies: &[],
    preview: true,
    benchmark: Some(Benchmark::new(
        "checksum",
        &["no vectors"],
        &["x86-64-v3, compiled", "Advanced SIMD, compiled"],
    )),
    wants: Wants { classes: ClassSet::EMPTY, loops: Loops::All, computing: true },
    check,
};

/// Elements that make no loop worth it.
const FEW: u64 = 16;

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (image, program) = (context.image, context.program);
    let place = |at| program.whole_index_at(at);
    // What is left over of a vector loop is done one by one, and so is what could overlap: such loops were turned.
    let turned: BTreeSet<usize> = program
        .computing_loops()
        .filter(|noted| noted.is_vector)
        .filter_map(|noted| place(noted.from))
        .collect();
    let loops =
        program.back_edges().filter(|edge| place(edge.from).is_some_and(|index| !turned.contains(&index)));
    let read = loops.filter_map(|edge| Counted::read(image, program, edge.from, edge.to));
    read.filter_map(|counted| Some(finding(&counted, elementwise(&counted)?))).collect()
}

/// What a loop does.
struct Work {
    /// Bytes of the smallest element.
    element: u16,
    /// Element operations in it.
    operations: usize,
    is_float: bool,
    stores: bool,
    /// Whether it sums floating-point numbers.
    is_ordered: bool,
}

fn finding(counted: &Counted, work: Work) -> Finding {
    let start = counted.steps.first().map_or(crate::Svma(0), |step| step.insn.svma);
    let end = counted.steps.last().map_or(start, |step| step.insn.next());
    let kind = if work.is_float { "floating-point" } else { "integer" };
    let shape = if work.stores { "loop over arrays" } else { "sum over arrays" };
    let hint = if work.is_ordered { ", in an order that only -fassociative-math may change" } else { "" };
    Finding {
        rule: RULE.id,
        at: start,
        extent: Extent { start, end },
        severity: Severity::Note,
        message: format!("{kind} {shape}, one element of {} at a time{hint}", bytes(work.element)).into(),
        evidence: Evidence::from([
            ("element_bytes", Value::Number(work.element.into())),
            ("operations", Value::Number(work.operations as u64)),
            ("floating_point", Value::Flag(work.is_float)),
            ("stores", Value::Flag(work.stores)),
            ("order_matters", Value::Flag(work.is_ordered)),
        ]),
    }
}

fn bytes(count: u16) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// What the loop does, if it is arithmetic on elements of arrays that are next to each other, where no element needs
/// another.
fn elementwise(counted: &Counted) -> Option<Work> {
    let streams = streams(counted)?;
    let reductions = counted.reductions()?;
    let is_few = counted.at_most().is_some_and(|most| most <= FEW);
    let (operations, is_float) = operations(counted)?;
    let stores = streams.keys().any(|(_, _, writes)| *writes);
    let reads = streams.keys().any(|(_, _, writes)| !*writes);
    let element = streams.values().map(|stream| stream.size).min()?;
    let works = operations > 0 && reads && (stores || !reductions.is_empty()) && !is_few;
    works.then(|| Work {
        element,
        operations,
        is_float,
        stores,
        is_ordered: reductions.iter().any(|reduction| reduction.is_ordered),
    })
}

/// Accesses through the same registers.
struct Stream {
    stride: u64,
    size: u16,
    places: BTreeSet<i64>,
}

type Streams = BTreeMap<(Option<Reg>, Option<Reg>, bool), Stream>;

/// The arrays that the loop goes through, without gaps and without reading what it has just written; `None` where it
/// goes through memory by any other means.
fn streams(counted: &Counted) -> Option<Streams> {
    let mut streams = Streams::new();
    let accesses = counted.steps.iter().filter_map(|step| step.insn.memory).filter(|m| m.read || m.write);
    for memory in accesses {
        let Memory { base, index, size, displacement, .. } = memory;
        let stride = counted.stride(&memory)?.unsigned_abs();
        if stride == 0 && !memory.write {
            continue;
        }
        if stride == 0 || size == 0 || size > 8 {
            return None;
        }
        // `add dword ptr [rdi], eax` does both.
        for (does, writes) in [(memory.read, false), (memory.write, true)] {
            if !does {
                continue;
            }
            let new = || Stream { stride, size, places: BTreeSet::new() };
            let stream = streams.entry((base, index, writes)).or_insert_with(new);
            if stream.size != size {
                return None;
            }
            stream.places.insert(displacement);
        }
    }
    let is_dense = |stream: &Stream| stream.places.len() as u64 * u64::from(stream.size) == stream.stride;
    let elements: BTreeSet<usize> = streams.values().map(|stream| stream.places.len()).collect();
    let rereads = streams.iter().any(|((base, index, writes), stream)| {
        let read = streams.get(&(*base, *index, false)).filter(|_| *writes);
        read.is_some_and(|read| read.places != stream.places)
    });
    (streams.values().all(is_dense) && elements.len() == 1 && !rereads).then_some(streams)
}

/// How many operations on what was loaded there are, and whether any is on floating-point numbers; `None` where one is
/// of a kind that vectors do not have.
fn operations(counted: &Counted) -> Option<(usize, bool)> {
    use Operation as O;
    let mut loaded = RegSet::EMPTY;
    let (mut count, mut is_float) = (0, false);
    let (_, body) = counted.steps.split_last()?;
    for Step { insn, arithmetic } in body {
        let is_data = insn.reads.intersects(loaded) || insn.memory.is_some_and(|memory| memory.read);
        let computes = match (arithmetic, insn.operation) {
            (Some(done), _) if done.is_vector() => return None,
            (Some(done), _) => {
                is_float |= done.is_float;
                true
            }
            (None, O::Add | O::Sub | O::And | O::Or | O::Xor | O::AndNot | O::OrNot | O::XorNot) => true,
            // Not every level shifts each lane by a count of its own.
            (None, O::ShiftLeft | O::ShiftRight | O::ShiftRightSigned) if insn.imm.is_none() => return None,
            (None, O::ShiftLeft | O::ShiftRight | O::ShiftRightSigned) => true,
            (None, O::Move | O::Extend | O::Compare | O::Test | O::Select | O::SetCondition) => false,
            (None, O::EffectiveAddress) => true,
            (None, O::Other) if insn.memory.is_some() || insn.dst.is_none_or(Reg::is_vector) => false,
            _ if is_data => return None,
            _ => false,
        };
        count += usize::from(computes && is_data && !insn.writes.contains(Reg::OTHER));
        loaded =
            if is_data { loaded.union(insn.writes.without(Reg::FLAGS)) } else { loaded.minus(insn.writes) };
    }
    Some((count, is_float))
}

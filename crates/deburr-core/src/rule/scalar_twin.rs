//! `scalar-twin`: a function that is compiled to vector code in one place of a run and to scalar code in another. Those
//! are different files, or two copies in one file. The machines of the scalar copy have the same vectors.

use super::{Across, Context, FileFacts, Needs, Rule};
use crate::address::Extent;
use crate::benchmark::Benchmark;
use crate::finding::{AcrossFinding, Evidence, Finding, Located, Severity, Value};
use crate::idiom::shape::{DISTINCTIVE, Shape};
use crate::image::demangle;
use crate::insn::ClassSet;
use crate::insn::arithmetic::SCALABLE;
use crate::insn::sweep::{Loops, Wants};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "scalar-twin",
    summary: "function left scalar here and compiled to vector code elsewhere in the run",
    severity: "warning",
    page: include_str!("../../pages/scalar-twin.md"),
    remedies: &[],
    preview: true,
    benchmark: Some(Benchmark::new(
        "checksum",
        &["no vectors"],
        &["x86-64-v3, compiled", "Advanced SIMD, compiled"],
    )),
    wants: Wants { classes: ClassSet::EMPTY, loops: Loops::None, computing: true },
    check,
};

/// What it does at the end of a run.
pub(super) const ACROSS: Across = Across { rule: RULE.id, needs: Needs::Shapes, check: across };

/// A shape, and the number of its file.
type Placed<'a> = (usize, &'a Shape);

fn check(context: &Context<'_>) -> Vec<Finding> {
    let facts = context.facts(&[Needs::Shapes]);
    let twins = twins(std::slice::from_ref(&facts));
    let finding = |((_, scalar), (_, vector)): (Placed<'_>, Placed<'_>)| Finding {
        rule: RULE.id,
        at: scalar.at,
        extent: Extent::sized(scalar.at, 1),
        severity: Severity::Warning,
        message: message(scalar, vector, &format!("the copy at {:#x}", vector.address)).into(),
        evidence: evidence(scalar, vector),
    };
    twins.into_iter().map(finding).collect()
}

fn across(files: &[FileFacts]) -> Vec<AcrossFinding> {
    let located = |(file, shape): Placed<'_>| Located {
        path: files.get(file).map(|file| file.path.clone()).unwrap_or_default(),
        function: shape.name.clone(),
        section: shape.section.clone(),
        address: shape.address,
    };
    let twins = twins(files).into_iter().filter(|(scalar, vector)| scalar.0 != vector.0);
    let finding = |(scalar, vector)| {
        let (at, other) = (located(scalar), located(vector));
        AcrossFinding {
            rule: RULE.id,
            severity: Severity::Warning,
            message: message(scalar.1, vector.1, &other.path).into(),
            evidence: evidence(scalar.1, vector.1),
            at,
            other,
        }
    };
    twins.map(finding).collect()
}

/// Each scalar shape that has a twin on vectors, with the first such. A copy in the same file goes before others, and
/// one of the same name before one that only has the same table.
fn twins(files: &[FileFacts]) -> Vec<(Placed<'_>, Placed<'_>)> {
    let mut by_name: BTreeMap<&str, (Vec<Placed<'_>>, Vec<Placed<'_>>)> = BTreeMap::new();
    let mut distinct: (Vec<Placed<'_>>, Vec<Placed<'_>>) = Default::default();
    for (number, file) in files.iter().enumerate() {
        for shape in file.shapes.iter() {
            let place = |(scalars, vectors): &mut (Vec<_>, Vec<_>)| {
                if shape.bits == 0 { scalars } else { vectors }.push((number, shape));
            };
            if let Some(name) = &shape.name {
                place(by_name.entry(name).or_default());
            }
            if shape.table.len() >= DISTINCTIVE {
                place(&mut distinct);
            }
        }
    }
    let mut found = Vec::new();
    for (scalars, vectors) in by_name.into_values().filter(|(_, vectors)| !vectors.is_empty()) {
        for scalar in scalars {
            let is_twin = |vector: &&Placed<'_>| {
                // A compiler makes clones of one function, and not all of them have the loop.
                let is_clone = scalar.0 == vector.0 && (scalar.1.is_clone || vector.1.is_clone);
                !is_clone && runs_there(files, scalar, **vector) && is_same_source(scalar.1, vector.1)
            };
            let here = vectors.iter().filter(|vector| vector.0 == scalar.0).find(is_twin);
            if let Some(vector) = here.or_else(|| vectors.iter().find(is_twin)) {
                found.push((scalar, *vector));
            }
        }
    }
    let by_table = twins_by_table(files, &distinct.0, &distinct.1);
    let is_new = |(scalar, _): &(Placed<'_>, _)| {
        !found.iter().any(|(known, _): &(Placed<'_>, _)| (known.0, known.1.at) == (scalar.0, scalar.1.at))
    };
    let new: Vec<_> = by_table.into_iter().filter(is_new).collect();
    found.extend(new);
    found.sort_by_key(|(scalar, _)| (scalar.0, scalar.1.at));
    found
}

/// Whether the machines of the scalar copy have what the other needs.
fn runs_there(files: &[FileFacts], scalar: Placed<'_>, vector: Placed<'_>) -> bool {
    let both = files.get(scalar.0).zip(files.get(vector.0)).filter(|(of, with)| of.arch == with.arch);
    both.is_some_and(|(of, _)| {
        let has = of.guaranteed.union(scalar.1.features);
        vector.1.features.is_subset(has)
    })
}

/// The twins in other files of scalar shapes that a table identifies. Where a shape's own file has them in vector code
/// too, that one is chosen at run time, or is next to it for another reason.
fn twins_by_table<'a>(
    files: &[FileFacts],
    scalars: &[Placed<'a>],
    vectors: &[Placed<'a>],
) -> Vec<(Placed<'a>, Placed<'a>)> {
    let mut with: HashMap<u64, Vec<Placed<'a>>> = HashMap::new();
    for vector in vectors {
        for number in &vector.1.table {
            with.entry(*number).or_default().push(*vector);
        }
    }
    let twin = |scalar: &Placed<'a>| {
        let sharing = scalar.1.table.iter().filter_map(|number| with.get(number)).flatten();
        let mut sharing: Vec<Placed<'a>> = sharing.copied().collect();
        sharing.sort_by_key(|vector| (vector.0, vector.1.at));
        sharing.dedup_by_key(|vector| (vector.0, vector.1.at));
        sharing.retain(|vector| shares_most(scalar.1, vector.1));
        if sharing.iter().any(|vector| vector.0 == scalar.0) {
            return None;
        }
        let vector = sharing.into_iter().find(|vector| {
            runs_there(files, *scalar, *vector)
                && scalar.1.on_numbers.covers(vector.1.on_vectors)
                && scalar.1.on_numbers.floats().is_empty() == vector.1.on_vectors.floats().is_empty()
        });
        Some((*scalar, vector?))
    };
    scalars.iter().filter_map(twin).collect()
}

/// Whether two functions load the same table: so many numbers of it, and most of those of either.
fn shares_most(a: &Shape, b: &Shape) -> bool {
    let (shared, _) = overlap(&a.table, &b.table);
    let more = a.table.len().max(b.table.len());
    shared >= DISTINCTIVE && shared * 4 >= more * 3
}

/// Whether two functions of one name do the same work, and something shows that it is no accident. That is a rare
/// constant, or a mangled name, which shows the types of the arguments.
fn is_same_source(scalar: &Shape, vector: &Shape) -> bool {
    let all = vector.on_vectors.union(vector.on_numbers);
    let same_work = scalar.on_numbers.covers(vector.on_vectors) && all.covers(scalar.on_numbers.floats());
    let (shared, fewer) = overlap(&scalar.constants, &vector.constants);
    let name = vector.name.as_deref().unwrap_or_default();
    let is_mangled = name.len() > 16 && (name.starts_with("_Z") || name.starts_with("_R"));
    same_work && shared * 2 >= fewer && (shared > 0 || is_mangled)
}

/// How many values two sorted lists share, and how many the shorter has.
fn overlap<T: Ord>(a: &[T], b: &[T]) -> (usize, usize) {
    let shared = a.iter().filter(|value| b.binary_search(value).is_ok()).count();
    (shared, a.len().min(b.len()))
}

fn message(scalar: &Shape, vector: &Shape, place: &str) -> String {
    let width = match vector.bits {
        SCALABLE => "scalable".to_owned(),
        bits => format!("{bits}-bit"),
    };
    let other_name = vector.name.as_deref().filter(|_| vector.name != scalar.name);
    let there = other_name.map(|name| format!(", in {}", demangle(name))).unwrap_or_default();
    format!("scalar loop, where {place} has it on {width} vectors{there}")
}

fn evidence(scalar: &Shape, vector: &Shape) -> Evidence {
    let common = scalar.constants.iter().filter(|value| vector.constants.binary_search(value).is_ok());
    let shared: Vec<String> = common.map(|value| format!("{value:#x}")).collect();
    let mut facts = vec![
        ("vector_bits", Value::Number(if vector.bits == SCALABLE { 0 } else { vector.bits.into() })),
        ("vector_copy", Value::Text(Arc::from(format!("{:#x}", vector.address)))),
    ];
    if !shared.is_empty() {
        facts.push(("shared_constants", Value::List(shared)));
    }
    Evidence::from(facts)
}

//! `scalar-twin`: a function that is compiled to vector code in one place of a run (another file, or another copy in the same
//! one) and to scalar code in another, though the machines of the scalar copy have the same vectors.

use super::{Across, Context, FileFacts, Rule};
use crate::address::Extent;
use crate::finding::{AcrossFinding, Evidence, Finding, Located, Severity, Value};
use crate::function::shape::Shape;
use crate::insn::ClassSet;
use crate::insn::arithmetic::SCALABLE;
use crate::insn::sweep::{Loops, Wants};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "scalar-twin",
    summary: "function left scalar here and compiled to vector code elsewhere in the run",
    severity: "warning",
    page: include_str!("../../pages/scalar-twin.md"),
    remedies: &[],
    preview: true,
    wants: Wants { classes: ClassSet::EMPTY, loops: Loops::None, computing: true },
    check,
};

/// What it does at the end of a run.
pub(super) const ACROSS: Across = Across { rule: RULE.id, check: across };

/// A shape, and the number of its file.
type Placed<'a> = (usize, &'a Shape);

fn check(context: &Context<'_>) -> Vec<Finding> {
    let facts = context.facts("");
    let twins = twins(std::slice::from_ref(&facts));
    let finding = |((_, scalar), (_, vector)): (Placed<'_>, Placed<'_>)| Finding {
        rule: RULE.id,
        at: scalar.at,
        extent: Extent::sized(scalar.at, 1),
        severity: Severity::Warning,
        message: message(vector, &format!("the copy at {:#x}", vector.address)).into(),
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
            message: message(vector.1, &other.path).into(),
            evidence: evidence(scalar.1, vector.1),
            at,
            other,
        }
    };
    twins.map(finding).collect()
}

/// Each scalar shape that has a twin on vectors, with the first such; a copy in the same file goes before others.
fn twins(files: &[FileFacts]) -> Vec<(Placed<'_>, Placed<'_>)> {
    let mut by_name: BTreeMap<&str, (Vec<Placed<'_>>, Vec<Placed<'_>>)> = BTreeMap::new();
    for (number, file) in files.iter().enumerate() {
        for shape in file.shapes.iter() {
            let (scalars, vectors) = by_name.entry(&shape.name).or_default();
            if shape.bits == 0 { scalars } else { vectors }.push((number, shape));
        }
    }
    let mut found = Vec::new();
    for (scalars, vectors) in by_name.into_values().filter(|(_, vectors)| !vectors.is_empty()) {
        for scalar in scalars {
            let is_twin = |vector: &&Placed<'_>| {
                let (of, with) = (files.get(scalar.0), files.get(vector.0));
                let both = of.zip(with).filter(|(of, with)| of.arch == with.arch);
                // A compiler makes clones of one function, and not all of them have the loop.
                let is_clone = scalar.0 == vector.0 && (scalar.1.is_clone || vector.1.is_clone);
                !is_clone
                    && both.is_some_and(|(of, _)| {
                        let has = of.guaranteed.union(scalar.1.features);
                        vector.1.features.is_subset(has) && is_same_source(scalar.1, vector.1)
                    })
            };
            let here = vectors.iter().filter(|vector| vector.0 == scalar.0).find(is_twin);
            if let Some(vector) = here.or_else(|| vectors.iter().find(is_twin)) {
                found.push((scalar, *vector));
            }
        }
    }
    found.sort_by_key(|(scalar, _)| (scalar.0, scalar.1.at));
    found
}

/// Whether two functions of one name do the same work, and something shows that it is no accident: a rare constant, or a
/// mangled name, which tells the types of the arguments.
fn is_same_source(scalar: &Shape, vector: &Shape) -> bool {
    let all = vector.on_vectors.union(vector.on_numbers);
    let same_work = scalar.on_numbers.covers(vector.on_vectors) && all.covers(scalar.on_numbers.floats());
    let (shared, fewer) = overlap(&scalar.constants, &vector.constants);
    let is_mangled =
        vector.name.len() > 16 && (vector.name.starts_with("_Z") || vector.name.starts_with("_R"));
    same_work && shared * 2 >= fewer && (shared > 0 || is_mangled)
}

/// How many values two sorted lists share, and how many the shorter has.
fn overlap<T: Ord>(a: &[T], b: &[T]) -> (usize, usize) {
    let shared = a.iter().filter(|value| b.binary_search(value).is_ok()).count();
    (shared, a.len().min(b.len()))
}

fn message(vector: &Shape, place: &str) -> String {
    match vector.bits {
        SCALABLE => format!("scalar loop, where {place} has it on scalable vectors"),
        bits => format!("scalar loop, where {place} has it on {bits}-bit vectors"),
    }
}

fn evidence(scalar: &Shape, vector: &Shape) -> Evidence {
    let shared = scalar.constants.iter().filter(|value| vector.constants.binary_search(value).is_ok());
    let shared: Vec<String> = shared.map(|value| format!("{value:#x}")).collect();
    let mut facts = vec![
        ("vector_bits", Value::Number(if vector.bits == SCALABLE { 0 } else { vector.bits.into() })),
        ("vector_copy", Value::Text(Arc::from(format!("{:#x}", vector.address)))),
    ];
    if !shared.is_empty() {
        facts.push(("shared_constants", Value::List(shared)));
    }
    Evidence::from(facts)
}

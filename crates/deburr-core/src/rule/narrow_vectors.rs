//! `narrow-vectors`: a loop on vectors of 128 bits, where the target has 256 (x86-64).

use super::{Context, Rule};
use crate::address::CodeOffset;
use crate::address::Extent;
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::Function;
use crate::function::reach::{Reach, Verdict};
use crate::idiom::counted::Counted;
use crate::insn::sweep::{Loops, Wants};
use crate::insn::{self, ClassSet};
use crate::remedy::{Compiler, Remedy};
use deburr_cpu::{Arch, Feature, FeatureSet};
use std::collections::{BTreeMap, BTreeSet};

/// The rule. It is silent unless the user states a target.
pub(super) const RULE: Rule = Rule {
    id: "narrow-vectors",
    summary: "loop on 128-bit vectors where the stated target has 256-bit ones",
    severity: "note",
    page: include_str!("../../pages/narrow-vectors.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (11, 1), "-march=x86-64-v3").needing("x86-64-v3"),
        Remedy::new(Compiler::Clang, (12, 0), "-march=x86-64-v3").needing("x86-64-v3"),
        Remedy::new(Compiler::Rustc, (1, 52), "-C target-cpu=x86-64-v3").needing("x86-64-v3"),
    ],
    preview: true,
    benchmark: Some(Benchmark::new("checksum", &["x86-64-v1, compiled"], &["x86-64-v3, compiled"])),
    wants: Wants { classes: ClassSet::EMPTY, loops: Loops::None, computing: true },
    check,
};

/// Bytes of the vectors that the rule is about.
const NARROW: u16 = 16;
/// Iterations that are worth nothing.
const FEW: u64 = 4;
/// Features whose instructions work on blocks of 128 bits.
const BLOCKS: FeatureSet = FeatureSet::of(&[Feature::AES, Feature::PCLMULQDQ, Feature::SHA, Feature::GFNI]);
/// How authors name the variants that they choose between at run time.
const VARIANTS: [&str; 6] = ["sse", "avx", "mmx", "xmm", "simd", "intrin"];

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (image, program) = (context.image, context.program);
    let Some(target) = context.target.filter(|_| image.arch == Arch::X86_64) else { return Vec::new() };
    let (has_avx, has_avx2) = (target.contains(Feature::AVX), target.contains(Feature::AVX2));
    if !has_avx {
        return Vec::new();
    }
    let mut by_function: BTreeMap<CodeOffset, (Function, Vec<(Counted, bool)>)> = BTreeMap::new();
    for noted in program.computing_loops().filter(|noted| noted.is_vector) {
        let Some(function) = program.function_at(noted.from) else { continue };
        let whole = program.whole(function);
        let counted = Counted::read(image, program, noted.from, noted.to);
        let Some(counted) = counted.filter(|_| !is_variant(context, whole)) else { continue };
        let is_float = match widening(context, &counted) {
            Some(is_float) if has_avx2 || is_float => is_float,
            _ => continue,
        };
        by_function.entry(whole.start).or_insert_with(|| (*whole, Vec::new())).1.push((counted, is_float));
    }
    let called = by_function.values().any(|_| chooses_wider(context)).then(|| called(context));
    let chosen = |function: &Function| {
        let exported = program.symbol(function, image).is_some_and(|symbol| symbol.is_global);
        called.as_ref().is_some_and(|called| !called.contains(&function.start)) && !exported
    };
    let found = by_function.into_values().filter(|(function, _)| !chosen(function));
    found.filter_map(|(_, loops)| finding(&loops)).collect()
}

fn finding(loops: &[(Counted, bool)]) -> Option<Finding> {
    let (first, _) = loops.first()?;
    let (start, end) = (first.steps.first()?.insn.svma, first.steps.last()?.insn.next());
    let floats = loops.iter().filter(|(_, is_float)| *is_float).count();
    let count = loops.len();
    let what = if count == 1 { "a loop works".to_owned() } else { format!("{count} loops work") };
    Some(Finding {
        rule: RULE.id,
        at: start,
        extent: Extent { start, end },
        severity: Severity::Note,
        message: format!("{what} on 128-bit vectors, where the target has 256-bit ones").into(),
        evidence: Evidence::from([
            ("loops", Value::Number(count as u64)),
            ("floating_point", Value::Number(floats as u64)),
            ("vector_bits", Value::Number(128)),
        ]),
    })
}

/// Whether the loop could do the same on vectors of twice the width, and then whether on floating-point numbers alone.
fn widening(context: &Context<'_>, counted: &Counted) -> Option<bool> {
    if counted.at_most().is_some_and(|most| most < FEW) {
        return None;
    }
    let mut is_float = true;
    let mut works = false;
    for step in &counted.steps {
        let features = insn::features_of(context.image.arch, step.insn.features);
        let wide = step.insn.memory.is_some_and(|memory| memory.size > NARROW);
        if wide || !features.intersection(BLOCKS).is_empty() {
            return None;
        }
        if let Some(done) = step.arithmetic.filter(|done| done.is_vector()) {
            if done.bits != 8 * NARROW {
                return None;
            }
            works = true;
            is_float &= done.is_float;
        }
    }
    (works && has_streams(counted) && counted.reductions().is_some()).then_some(is_float)
}

/// Whether all accesses of 16 bytes go through arrays without gaps, and at least one of them reads.
fn has_streams(counted: &Counted) -> bool {
    let accesses = counted.steps.iter().filter_map(|step| step.insn.memory).filter(|m| m.read || m.write);
    // By registers and direction: the stride, and the bytes of all accesses.
    let mut streams = BTreeMap::new();
    let mut reads = false;
    for memory in accesses {
        let Some(stride) = counted.stride(&memory) else { return false };
        if stride == 0 && !memory.write {
            continue;
        }
        reads |= memory.read && memory.size == NARROW;
        let stream =
            streams.entry((memory.base, memory.index, memory.write)).or_insert((stride.unsigned_abs(), 0));
        stream.1 += u64::from(memory.size);
    }
    // What moves two vectors at a time has two accesses of 16 bytes; an access may also be repeated.
    let is_dense = |(stride, bytes): &(u64, u64)| *stride > 0 && stride % 8 == 0 && bytes >= stride;
    reads && streams.values().all(is_dense)
}

/// Whether a function is one of several that are chosen between at run time, by its verdict or by its name.
fn is_variant(context: &Context<'_>, function: &Function) -> bool {
    let found = context.verdicts.binary_search_by_key(&function.start, |verdict| verdict.start).ok();
    let verdict = found.and_then(|index| context.verdicts.get(index));
    let name = context.program.name(function, context.image).unwrap_or_default().to_ascii_lowercase();
    verdict.is_some_and(|verdict| verdict.reach == Reach::Guarded)
        || VARIANTS.iter().any(|part| name.contains(part))
}

/// Whether the file seems to choose wider vectors at run time somewhere: it has some that it does not simply run into.
fn chooses_wider(context: &Context<'_>) -> bool {
    let wide = FeatureSet::of(&[Feature::AVX2, Feature::AVX512F]);
    let is_wide = |verdict: &Verdict| {
        verdict.reach != Reach::Required && !verdict.features.intersection(wide).is_empty()
    };
    context.verdicts.iter().any(is_wide)
}

/// The functions that are called by name: those that only pointers lead to may be what is left of a choice.
fn called(context: &Context<'_>) -> BTreeSet<CodeOffset> {
    context.program.calls().chain(context.program.jumps()).map(|edge| edge.to).collect()
}

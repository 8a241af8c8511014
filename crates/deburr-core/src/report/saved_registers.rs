//! Whether a file trusts CPUID alone where the operating system has a say: it must save the registers of AVX and AMX
//! before a program can use them, and says so in XCR0, which `xgetbv` reads.
//!
//! In: what the file's code tests, and the verdicts. Out: a remark. It is a property of the query, and does not depend on
//! whether the way from the query to the functions was followed. Source: Intel SDM, volume 1, section 14.3.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::Program;
use crate::function::reach::{Checks, Reach, Verdict};
use crate::image::{Image, Linkage};
use crate::insn::{self, Class, Insn, Operation};
use deburr_cpu::query::cpuid_place;
use deburr_cpu::{Arch, FeatureSet};
use std::collections::BTreeSet;

/// Whether code tests what CPUID says of such registers, and uses them, and nothing in the file reads XCR0 or tests
/// whether the system lets programs read it.
pub(super) fn trusts_cpuid_alone(
    (image, program): (&Image<'_>, &Program),
    linkage: Option<&Linkage<'_>>,
    checks: Option<&Checks>,
    verdicts: &[Verdict],
) -> bool {
    let is_chosen = |verdict: &&Verdict| {
        matches!(verdict.reach, Reach::Guarded | Reach::UnderGuarded | Reach::Unknown | Reach::Presumed)
    };
    let chosen = verdicts.iter().filter(is_chosen).map(|verdict| verdict.features.union(verdict.guarded));
    let guarded = verdicts.iter().map(|verdict| verdict.guarded);
    if image.arch != Arch::X86_64 || !chosen.chain(guarded).any(has_saved_state) {
        return false;
    }
    let queries: Vec<Svma> = (program.marks())
        .filter(|mark| mark.class == Class::FeatureQuery)
        .map(|mark| image.svma(mark.at))
        .collect();
    let decoded = |svma: &Svma| insn::decode(image.arch, image.bytes_at(*svma)?, *svma);
    let operations = || queries.iter().filter_map(decoded).map(|insn| insn.operation);
    operations().any(|operation| operation == Operation::CpuId)
        && !operations().any(|operation| operation == Operation::ReadExtendedControl)
        && !linkage.is_some_and(|linkage| linkage.imports.iter().any(|import| Checks::answers(import.name)))
        && checks.is_some_and(|checks| has_saved_state(checks.tested()))
        && !receivers(image, program, &queries).into_iter().any(|function| tests_osxsave(image, function))
}

/// Whether a feature is among them that works on registers which the operating system must save.
fn has_saved_state(features: FeatureSet) -> bool {
    features.iter().any(|feature| cpuid_place(feature).is_some_and(|place| place.xcr0 != 0))
}

/// The functions that queries are in, and those that call them: unoptimised code has `__get_cpuid` of <cpuid.h> as a function of its
/// own, and tests what that brings.
fn receivers(image: &Image<'_>, program: &Program, queries: &[Svma]) -> BTreeSet<Extent> {
    let whole_at = |at| program.function_at(at).map(|function| program.whole(function));
    let queriers = queries.iter().filter_map(|&query| whole_at(image.code_offset(query)?));
    let starts: BTreeSet<CodeOffset> = queriers.clone().map(|function| function.start).collect();
    let calls = program.calls().filter(|call| starts.contains(&call.to));
    let callers = calls.filter_map(|call| whole_at(call.from));
    queriers.chain(callers).map(|function| function.extent(image)).collect()
}

/// Whether a function tests the bit that says whether `xgetbv` can be run (leaf 1, ECX, bit 27): what it goes on to trust may be
/// read elsewhere, and the system saves at least something.
fn tests_osxsave(image: &Image<'_>, function: Extent) -> bool {
    let decoded = |svma: Svma| insn::decode(image.arch, image.bytes_at(svma)?, svma);
    let insns = std::iter::successors(decoded(function.start), |insn| decoded(insn.next()));
    insns.take_while(|insn| insn.svma < function.end).any(|insn| is_test_of_osxsave(&insn))
}

fn is_test_of_osxsave(insn: &Insn) -> bool {
    const OSXSAVE: i64 = 27;
    /// Bits of a mask that is made for a test: others keep most of a word.
    const FEW: u32 = 8;
    let Some(imm) = insn.imm else { return false };
    match insn.operation {
        Operation::And | Operation::Test => imm >> OSXSAVE & 1 != 0 && (imm as u32).count_ones() <= FEW,
        Operation::BitTest | Operation::ShiftRight => imm == OSXSAVE,
        Operation::ExtractBits => imm & 0xff == OSXSAVE,
        _ => false,
    }
}

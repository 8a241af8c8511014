//! `isa-note-missing`: x86-64 code that needs more than the ELF note says, so that the loader starts it where it dies.

use super::{Context, Rule};
use crate::danger::{Leak, insn_at};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::reach::{Need, Reach, Verdict};
use crate::image::{Kind, demangle};
use crate::insn::{Class, ClassSet, sweep::Wants};
use crate::remedy::{BUILD_FOR, CLANG_LOWEST, Compiler, GCC_LOWEST, RUSTC_LOWEST, Remedy, ZIG_LOWEST};
use deburr_cpu::{Arch, Feature};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "isa-note-missing",
    summary: "the ELF note claims a lower x86-64 level than the code needs",
    severity: "warning",
    page: include_str!("../../pages/isa-note-missing.md"),
    remedies: &[
        GCC_LOWEST,
        CLANG_LOWEST,
        RUSTC_LOWEST,
        ZIG_LOWEST,
        Remedy::new(Compiler::Gcc, (11, 1), "-mneeded"),
        Remedy::new(Compiler::Clang, (1, 0), "-Wl,-z,x86-64-v2").only("level", "x86-64-v2"),
        Remedy::new(Compiler::Clang, (1, 0), "-Wl,-z,x86-64-v3").only("level", "x86-64-v3"),
        Remedy::new(Compiler::Clang, (1, 0), "-Wl,-z,x86-64-v4").only("level", "x86-64-v4"),
        Remedy::new(Compiler::Rustc, (1, 0), "-C link-arg=-Wl,-z,x86-64-v2").only("level", "x86-64-v2"),
        Remedy::new(Compiler::Rustc, (1, 0), "-C link-arg=-Wl,-z,x86-64-v3").only("level", "x86-64-v3"),
        Remedy::new(Compiler::Rustc, (1, 0), "-C link-arg=-Wl,-z,x86-64-v4").only("level", "x86-64-v4"),
    ],
    preview: false,
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| finding(context).into_iter().collect(),
};

fn finding(context: &Context<'_>) -> Option<Finding> {
    let image = context.image;
    let is_loaded = image.kind != Kind::Relocatable && !image.build.is_linux_kernel;
    if image.arch != Arch::X86_64 || !is_loaded {
        return None;
    }
    let claimed = image.build.isa_needed.as_deref();
    let levels = deburr_cpu::levels(image.arch);
    let need = Need::of(image.arch, context.verdicts);
    let level = need.level?;
    // `x86-64-baseline` is the first level.
    let stated = levels.iter().position(|level| Some(level.name) == claimed).unwrap_or(0);
    if levels.iter().position(|known| known == level)? <= stated {
        return None;
    }
    let raises = |verdict: &&Verdict| verdict.reach == Reach::Required && need.is_raised_by(verdict);
    let required: Vec<&Verdict> = context.verdicts.iter().filter(raises).collect();
    let most = need.most_needing(required.iter().copied()).filter(|_| is_proven(context, &required))?;
    let at = image.svma(most.at);
    let says = claimed.map_or("there is no note".to_owned(), |claimed| format!("the note says {claimed}"));
    let needs = most.features.iter().map(Feature::name).collect::<Vec<_>>().join(", ");
    let function = context.program.function_at(most.at);
    let symbol = function.and_then(|function| context.program.name(function, image)).map(demangle);
    let name = symbol.map_or_else(|| format!("code at {}", image.shown(at)), |name| name.to_string());
    let message = format!("the file needs {} and {says}: {name} needs {needs} without a check", level.name);
    let mut evidence = vec![
        ("level", Value::Text(level.name.into())),
        ("claimed", Value::Text(claimed.unwrap_or("none").into())),
        ("functions", Value::Number(required.len() as u64)),
    ];
    let first = deburr_cpu::first_level(image.arch);
    if let Some(leak) = Leak::find((image, context.program), context.verdicts, first) {
        evidence.push((BUILD_FOR, Value::Text(leak.build_for.name.into())));
    }
    Some(Finding {
        rule: RULE.id,
        at,
        extent: insn_at(image, at),
        severity: Severity::Warning,
        message: message.into(),
        evidence: Evidence::from(evidence),
    })
}

/// Whether a file needs what some required functions need. It does where the loader or the system makes one of them
/// run. It also does where they are reached from what the file exports, are more than a few, and the file never queries
/// the CPU. A file that queries it may leave it to callers to query it, too; and a few may be variants that another
/// library chooses.
fn is_proven(context: &Context<'_>, required: &[&Verdict]) -> bool {
    /// One function in so many.
    const FEW: usize = 100;
    let roots = || required.iter().filter_map(|verdict| verdict.path.first()).filter(|root| root.is_function);
    let queries = || context.program.marks().any(|mark| mark.class == Class::FeatureQuery);
    roots().any(|root| context.image.entries.contains(&root.svma))
        || roots().count() > context.program.functions().len() / FEW && !queries()
}

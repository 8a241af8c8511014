//! `unoptimised-code`: a file, or a stretch of it, that no optimiser has seen.

use super::{Context, Rule};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::image::{Image, Producers, SymbolKind, demangle};
use crate::insn::{ClassSet, sweep::Wants};
use crate::provenance::{Optimisation, Stretch};
use crate::remedy::{Compiler, Remedy};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "unoptimised-code",
    summary: "a file, or a part of it, that was compiled without optimisation",
    severity: "warning",
    page: include_str!("../../pages/unoptimised-code.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (1, 0), "-O2"),
        Remedy::new(Compiler::Clang, (1, 0), "-O2"),
        Remedy::new(Compiler::Rustc, (1, 0), "-C opt-level=3"),
        Remedy::new(Compiler::Zig, (0, 6), "-Doptimize=ReleaseFast"),
    ],
    preview: false,
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| finding(context).into_iter().collect(),
};

/// Stretches that are named.
const MAX_NAMED: usize = 3;

fn finding(context: &Context<'_>) -> Option<Finding> {
    let (image, optimisation) = (context.image, context.optimisation());
    let per_mille = optimisation.per_mille();
    if !optimisation.is_notable() {
        return None;
    }
    let mut worst: Vec<&Stretch> = optimisation.stretches.iter().collect();
    worst.sort_by_key(|stretch| (std::cmp::Reverse(stretch.bytes), stretch.extent.start));
    let first = worst.first()?;
    let named = worst.iter().take(MAX_NAMED).map(|stretch| described(image, stretch)).collect();
    let mut evidence = vec![
        ("functions", Value::Number(optimisation.unoptimised_functions())),
        ("of_functions", Value::Number(optimisation.functions)),
        ("bytes", Value::Number(optimisation.unoptimised_bytes())),
        ("per_mille", Value::Number(per_mille)),
        ("stretches", Value::List(named)),
    ];
    if let Some(producer) = producer(image, first) {
        evidence.push(("producer", Value::Text(producer.into())));
    }
    if let Some(system) = build_system(image) {
        evidence.push(("build_system", Value::Text(system.into())));
    }
    Some(Finding {
        rule: RULE.id,
        at: first.extent.start,
        extent: first.extent,
        severity: if per_mille > 500 { Severity::Error } else { Severity::Warning },
        message: message(optimisation, build_system(image)).into(),
        evidence: Evidence::from(evidence),
    })
}

fn message(optimisation: &Optimisation, system: Option<&str>) -> String {
    let (functions, all) = (optimisation.unoptimised_functions(), optimisation.functions);
    let share = percent(optimisation.per_mille());
    let hint = match system {
        Some(SETUPTOOLS) => {
            "; since setuptools 75.7, CFLAGS replaces its flags: set CPPFLAGS, or append to CFLAGS"
        }
        _ => "",
    };
    format!("{share} of this file's code is unoptimised: {functions} of {all} functions{hint}")
}

/// `12 %`; below 1 %, `0.6 %`.
fn percent(per_mille: u64) -> String {
    match per_mille {
        0 => "less than 0.1 %".to_owned(),
        1..10 => format!("0.{per_mille} %"),
        _ => format!("{} %", per_mille / 10),
    }
}

/// `0x4899: 164 functions, 96844 bytes, with _ULx86_64_step`.
fn described(image: &Image<'_>, stretch: &Stretch) -> String {
    // The first function may be the last of what is before the stretch.
    let after = image.symbols.partition_point(|symbol| symbol.svma <= stretch.extent.start);
    let inside = image.symbols.get(after..).unwrap_or_default().iter();
    let mut inside = inside.take_while(|symbol| stretch.extent.contains(symbol.svma));
    let name = inside.find(|symbol| symbol.kind == SymbolKind::Function);
    let with = name.map(|symbol| format!(", with {}", demangle(&symbol.name))).unwrap_or_default();
    let (start, functions, bytes) = (image.shown(stretch.extent.start), stretch.functions, stretch.bytes);
    format!("{start}: {functions} functions, {bytes} bytes{with}")
}

/// What the debug information says of a stretch, or `.comment` where one compiler made all.
fn producer(image: &Image<'_>, stretch: &Stretch) -> Option<String> {
    let producers = (!image.build.producers.is_empty()).then(|| Producers::of(image));
    let stated = producers.and_then(|producers| producers.at(stretch.extent.start).map(str::to_owned));
    stated.or_else(|| match image.build.compilers.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    })
}

/// What builds Python's extension modules, unless a project says otherwise.
const SETUPTOOLS: &str = "setuptools";

/// The build system that a file shows.
fn build_system(image: &Image<'_>) -> Option<&'static str> {
    let is_module = image.symbols.iter().any(|symbol| symbol.is_global && symbol.name.starts_with("PyInit_"));
    is_module.then_some(SETUPTOOLS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Svma;
    use crate::address::Extent;

    #[test]
    fn the_message_has_the_share_of_the_code() {
        let extent = Extent { start: Svma(0x1000), end: Svma(0x3000) };
        let stretch = Stretch { extent, functions: 164, bytes: 1200 };
        let some = Optimisation { stretches: vec![stretch], functions: 1041, bytes: 10_000 };
        assert_eq!(message(&some, None), "12 % of this file's code is unoptimised: 164 of 1041 functions");
        let little = Optimisation { bytes: 200_000, ..some };
        assert!(message(&little, None).starts_with("0.6 % of"));
        assert!(message(&little, Some(SETUPTOOLS)).ends_with("set CPPFLAGS, or append to CFLAGS"));
    }
}

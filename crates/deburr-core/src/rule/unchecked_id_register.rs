//! `unchecked-id-register`: programs that read an identification register of AArch64, such as MIDR_EL1, before or without
//! a test that the kernel emulates that. One finding a function, at the first such read.

use super::{Context, Rule};
use crate::address::{CodeOffset, Extent};
use crate::danger;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::reach::{Verdict, id_register_reads};
use crate::idiom::privileged::is_privileged;
use crate::image::{Image, Kind};
use crate::insn::text::Syntax;
use crate::insn::{self, Class, ClassSet, Flow, sweep::Wants};
use crate::reach::verdict::unchecked_reads;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "unchecked-id-register",
    summary: "mrs of an identification register before or without a test of HWCAP_CPUID",
    severity: "warning",
    page: include_str!("../../pages/unchecked-id-register.md"),
    remedies: &[],
    preview: false,
    // It ends the program, or does nothing.
    benchmark: None,
    wants: Wants::classes(ClassSet::of(&[Class::FeatureQuery])),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (image, program) = (context.image, context.program);
    if id_register_reads(image, program).is_empty() || is_privileged(image, program) {
        return Vec::new();
    }
    let verdicts = unchecked_reads(image, context.linkage(), program);
    let unchecked = verdicts.iter().filter(|verdict| verdict.reach.is_unsafe());
    unchecked
        .filter(|verdict| !is_left_to_callers(context, verdict))
        .map(|verdict| finding(context, verdict))
        .collect()
}

/// Whether a function of a relocatable object only hands out the register: its callers, in other objects, may test.
fn is_left_to_callers(context: &Context<'_>, verdict: &Verdict) -> bool {
    let is_alone = context.image.kind == Kind::Relocatable && verdict.path.len() <= 1;
    let function = context.program.function_from(verdict.start);
    is_alone && function.is_some_and(|function| is_accessor(context.image, (function.start, function.end)))
}

/// Whether code is `mrs x0, …` and `ret` alone.
fn is_accessor(image: &Image<'_>, (start, end): (CodeOffset, CodeOffset)) -> bool {
    let mut at = image.svma(start);
    let mut reads = 0;
    while at < image.svma(end) {
        let Some(insn) = image.bytes_at(at).and_then(|code| insn::decode(image.arch, code, at)) else {
            return false;
        };
        match (insn.class, insn.flow) {
            (Class::FeatureQuery, _) => reads += 1,
            (Class::Hint, Flow::Next) => {}
            (_, Flow::Return) => return reads == 1,
            _ => return false,
        }
        at = insn.next();
    }
    false
}

/// The name of the register that an `mrs` reads.
fn register(image: &Image<'_>, at: CodeOffset) -> String {
    let svma = image.svma(at);
    let code = image.bytes_at(svma).unwrap_or_default();
    let text = insn::disassemble(image.arch, code, svma, Syntax::default()).unwrap_or_default();
    text.rsplit([' ', ',']).next().unwrap_or_default().to_lowercase()
}

fn finding(context: &Context<'_>, verdict: &Verdict) -> Finding {
    let (image, code) = (context.image, (context.image, context.program));
    let at = image.svma(verdict.at);
    let register = register(image, verdict.at);
    let path: Vec<(String, bool)> =
        verdict.path.iter().map(|step| (danger::named(code, step.svma), step.is_stored)).collect();
    let by = if path.len() < 2 { String::new() } else { format!(": {}", danger::shortened(&path)) };
    let message = format!(
        "reads {register} with no test of HWCAP_CPUID before it, which raises SIGILL on Linux before 4.11{by}"
    );
    let mut evidence =
        vec![("register", Value::Text(register.into())), ("reads", Value::Number(verdict.instructions))];
    if !path.is_empty() {
        evidence.push(("path", Value::List(path.into_iter().map(|(name, _)| name).collect())));
    }
    Finding {
        rule: RULE.id,
        at,
        extent: Extent::sized(at, 4),
        severity: Severity::Warning,
        message: message.into(),
        evidence: Evidence::from(evidence),
    }
}

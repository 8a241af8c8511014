//! `tls-by-call`: thread-local variables that are found by a call of `__tls_get_addr`. One finding a file.

use super::{Context, Rule, functions};
use crate::address::CodeOffset;
use crate::finding::{Finding, Severity, Value};
use crate::image::Image;
use crate::insn::{ClassSet, sweep::Wants};
use crate::remedy::{Compiler, Remedy};
use deburr_cpu::Arch;

/// The function of the loader that returns the address of a thread's variable (ELF Handling For Thread-Local Storage, section 3.4).
const LOOK_UP: &str = "__tls_get_addr";
/// Calls of a file that are reported: a few are not worth a flag.
const LEAST_CALLS: usize = 10;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "tls-by-call",
    summary: "thread-local variables that are found by a call of the loader",
    severity: "note",
    page: include_str!("../../pages/tls-by-call.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (4, 3), "-mtls-dialect=gnu2"),
        Remedy::new(Compiler::Clang, (18, 1), "-mtls-dialect=gnu2"),
    ],
    preview: false,
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| finding(context).into_iter().collect(),
};

fn finding(context: &Context<'_>) -> Option<Finding> {
    let image = context.image;
    let (calls, callers) = context.of_build(|source| {
        let calls: Vec<CodeOffset> =
            source.calls(&|name| name == LOOK_UP).iter().map(|call| call.from).collect();
        let callers = source.count_functions(calls.iter().copied());
        (calls, callers)
    });
    let first = calls.first().copied().filter(|_| calls.len() >= LEAST_CALLS)?;
    let general = calls.iter().filter(|&&at| is_general(image, at)).count();
    let local = calls.len() - general;
    let models = match (image.arch, general, local) {
        (Arch::Aarch64, ..) => "by the traditional dialect".to_owned(),
        (_, _, 0) => "of the general-dynamic model".to_owned(),
        (_, 0, _) => "of the local-dynamic model".to_owned(),
        _ => format!("{general} of the general-dynamic and {local} of the local-dynamic model"),
    };
    let functions = functions(callers);
    let message =
        format!("{} calls of {LOOK_UP} in {functions} for thread-local variables, {models}", calls.len());
    let evidence = vec![
        ("calls", Value::Number(calls.len() as u64)),
        ("general_dynamic", Value::Number(general as u64)),
        ("callers", Value::Number(callers)),
    ];
    Some(context.finding(RULE.id, Severity::Note, image.svma(first), message, evidence))
}

/// Whether a call is padded, so that a linker may replace it and what sets up its argument, 16 bytes, by the code of another model
/// (`data16 data16 rex.W call`, and with `-fno-plt` `data16 rex.W call *`): that of a single variable is. The local-dynamic model has one
/// call for all variables of a function.
fn is_general(image: &Image<'_>, at: CodeOffset) -> bool {
    const DATA16: u8 = 0x66;
    const REX_W: u8 = 0x48;
    let Some(code) = image.code_at(image.svma(at)) else { return false };
    let into = image.svma(at).since(code.extent.start).and_then(|into| usize::try_from(into).ok());
    let split = into.and_then(|into| code.bytes.split_at_checked(into));
    let is_padded =
        |(before, from): (&[u8], &[u8])| from.first() == Some(&DATA16) || before.ends_with(&[DATA16, REX_W]);
    image.arch == Arch::X86_64 && split.is_some_and(is_padded)
}

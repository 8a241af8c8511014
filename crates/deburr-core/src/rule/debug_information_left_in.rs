//! `debug-information-left-in`: debug information that is shipped within a file. One finding a file.

use super::{Context, Rule};
use crate::finding::{Finding, Severity, Value};
use crate::image::{Kind, debug_bytes};
use crate::insn::{ClassSet, sweep::Wants};
use crate::remedy::{Compiler, Remedy};

/// Least bytes of debug information that are reported, and its least share of a file in per cent.
const LEAST_BYTES: u64 = 64 << 10;
const LEAST_PERCENT: u64 = 10;
/// From which share on, in per cent, a finding is a warning.
const WARNING_PERCENT: u64 = 50;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "debug-information-left-in",
    summary: "debug information within a file that is shipped",
    severity: "note; warning where it is more than half of a file in a package",
    page: include_str!("../../pages/debug-information-left-in.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (1, 0), "-Wl,--strip-debug"),
        Remedy::new(Compiler::Clang, (1, 0), "-Wl,--strip-debug"),
        Remedy::new(Compiler::Rustc, (1, 45), "-C strip=debuginfo"),
        Remedy::new(Compiler::Go, (1, 0), "-ldflags=-w"),
    ],
    preview: false,
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| finding(context).into_iter().collect(),
};

fn finding(context: &Context<'_>) -> Option<Finding> {
    let image = context.image;
    // Of what is yet to be linked, the linker decides.
    if image.kind == Kind::Relocatable {
        return None;
    }
    let (debug, whole) = (debug_bytes(image.bytes).ok()?, image.bytes.len() as u64);
    let percent = debug.saturating_mul(100).checked_div(whole)?;
    // Go's linker adds it by default.
    let least = if image.build.is_go { WARNING_PERCENT + 1 } else { LEAST_PERCENT };
    if debug < LEAST_BYTES || percent < least {
        return None;
    }
    // What a developer has just built is measured with it, and stripped when it is packed.
    let is_shipped = context.is_packed && percent > WARNING_PERCENT;
    let severity = if is_shipped { Severity::Warning } else { Severity::Note };
    let message = format!("{percent} % of the file is debug information: {debug} of {whole} bytes");
    let evidence = vec![
        ("debug_bytes", Value::Number(debug)),
        ("file_bytes", Value::Number(whole)),
        ("percent", Value::Number(percent)),
    ];
    Some(context.finding(RULE.id, severity, context.start()?, message, evidence))
}

//! `split-frame-reload`: Go functions for AArch64 that store the return address and the frame pointer one by one and
//! load both with one `ldp`. One finding a function, at the first such load, with the number of all.

use super::{Context, Rule};
use crate::address::Extent;
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::idiom::split_frame::{SplitFrame, split_frames};
use crate::image::Image;
use crate::insn::{ClassSet, sweep::Wants};
use crate::remedy::{Compiler, Remedy};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "split-frame-reload",
    summary: "Go function that stores x30 and x29 apart and loads both with one ldp (Go before 1.24)",
    severity: "note",
    page: include_str!("../../pages/split-frame-reload.md"),
    remedies: &[Remedy::new(Compiler::Go, (1, 24), "")],
    preview: false,
    benchmark: Some(Benchmark::new("frame", &["two stores, one ldp"], &["two stores, two loads"])),
    wants: Wants::classes(ClassSet::EMPTY),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    split_frames(context.image, context.program)
        .iter()
        .filter_map(|frame| finding(context.image, frame))
        .collect()
}

fn finding(image: &Image<'_>, frame: &SplitFrame) -> Option<Finding> {
    let at = *frame.reloads.first()?;
    let sites = frame.reloads.len();
    let places = if sites == 1 { String::new() } else { format!(", at {sites} places") };
    let message =
        format!("ldp loads x29 and x30, which two stores put there{places}: Go 1.24 loads them apart");
    Some(Finding {
        rule: RULE.id,
        at,
        extent: Extent::sized(at, 4),
        severity: Severity::Note,
        message: message.into(),
        evidence: Evidence::from([
            ("sites", Value::Number(sites as u64)),
            ("frame_size", Value::Number(frame.size.into())),
            ("store", Value::Text(image.shown(frame.store).into())),
        ]),
    })
}

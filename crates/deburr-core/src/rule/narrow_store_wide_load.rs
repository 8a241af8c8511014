//! `narrow-store-wide-load`: loads whose bytes come from several recent stores, or only in part from one, so that none
//! can be forwarded. In preview: it decodes every function, and most of what it finds runs rarely.

use super::{Context, Rule};
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::idiom::forwarding::{BlockedLoad, blocked_loads};
use crate::image::Image;
use crate::insn::{ClassSet, sweep::Wants};
use deburr_cpu::Arch;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "narrow-store-wide-load",
    summary: "load of bytes that several recent stores wrote, or one wrote in part: not forwarded",
    severity: "warning; on AArch64 a note for two halves of 16 bytes or more",
    page: include_str!("../../pages/narrow-store-wide-load.md"),
    remedies: &[],
    preview: true,
    benchmark: Some(Benchmark::new("forwarding", &["one wide load", "one ldp"], &["two loads"])),
    wants: Wants::classes(ClassSet::EMPTY),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let loads = blocked_loads(context.image, context.program);
    loads.iter().map(|load| finding(context.image, load)).collect()
}

fn finding(image: &Image<'_>, load: &BlockedLoad) -> Finding {
    let sizes: Vec<String> = load.stores.iter().map(|store| store.size.to_string()).collect();
    let count = sizes.len();
    let stores = if count == 1 { "a store".to_owned() } else { format!("{count} stores") };
    let rest = match load.older_bytes {
        0 => String::new(),
        bytes => format!(", and {bytes} from before"),
    };
    let distance = load.distance;
    let last =
        if distance == 1 { "just before".to_owned() } else { format!("{distance} instructions before") };
    // Arm's Software Optimization Guides, "Store to Load Forwarding".
    let forwarded_by_some = image.arch == Arch::Aarch64 && load.is_halves && load.size >= 16;
    let hint = if forwarded_by_some { " (Cortex-A78, Neoverse V2 and V3 join two halves)" } else { "" };
    Finding {
        rule: RULE.id,
        at: load.load.start,
        extent: load.load,
        severity: if forwarded_by_some { Severity::Note } else { Severity::Warning },
        message: format!(
            "load of {} bytes gets them from {stores} of {} bytes{rest}, the last {last}{hint}",
            load.size,
            sizes.join(" and ")
        )
        .into(),
        evidence: Evidence::from([
            ("size", Value::Number(load.size.into())),
            ("store_sizes", Value::List(sizes)),
            ("stores", Value::List(load.stores.iter().map(|store| image.shown(store.at)).collect())),
            ("older_bytes", Value::Number(load.older_bytes.into())),
            ("halves", Value::Flag(load.is_halves)),
            ("distance", Value::Number(distance.into())),
        ]),
    }
}

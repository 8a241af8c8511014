//! `software-crc`: CRC-32 or CRC-32C of a buffer computed with a table, in a file that has no hardware path for it; that of
//! a few bytes too, if the user names the rule.

use super::{Context, Rule};
use crate::address::Extent;
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::idiom::crc::{self, Polynomial, Table, User};
use crate::idiom::repeated::{Repeated, Repetition};
use crate::image::Kind;
use crate::insn::{ClassSet, sweep::Wants};
use deburr_cpu::Arch;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "software-crc",
    summary: "CRC-32 or CRC-32C of a buffer computed with a table, with no hardware path in the file",
    severity: "note; warning for a target that has the instruction",
    page: include_str!("../../pages/software-crc.md"),
    remedies: &[],
    preview: false,
    benchmark: Some(Benchmark::new("crc", &["table, byte by byte"], &["instruction"])),
    wants: Wants::classes(ClassSet::EMPTY),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut tables = crc::tables(context.data());
    for polynomial in Polynomial::ALL {
        let is_there = tables.iter().any(|table| table.polynomial == polynomial);
        if is_there && crc::has_instructions(context.image, context.program, polynomial) {
            tables.retain(|table| table.polynomial != polynomial);
        }
    }
    if tables.is_empty() {
        return Vec::new();
    }
    let users = crc::users(context.image, context.linkage(), context.program, &tables);
    let lookups = users.iter().flat_map(|user| &user.lookups).copied();
    let repeated = Repeated::new(context.image, context.program, lookups);
    let is_named = context.is_named(RULE.id);
    let worth_reporting = users.iter().filter_map(|user| {
        let how = user.lookups.iter().filter_map(|&lookup| repeated.at(lookup)).min();
        (is_named || how.is_some()).then(|| finding(context, user, how))
    });
    worth_reporting.collect()
}

/// `how`: whether a loop takes one byte after the other, so that it is the checksum of a buffer.
fn finding(context: &Context<'_>, user: &User, how: Option<Repetition>) -> Finding {
    let Table { polynomial, extent, slices } = user.table;
    let arch = context.image.arch;
    let feature = polynomial.feature(arch);
    let is_there = context.guaranteed().is_some_and(|features| features.contains(feature));
    let instead = match (arch, polynomial) {
        (Arch::X86_64, Polynomial::Castagnoli) => "crc32 of SSE4_2",
        (Arch::X86_64, Polynomial::Ieee) => "multiplication by PCLMULQDQ",
        (Arch::Aarch64, Polynomial::Castagnoli) => "crc32cx of FEAT_CRC32",
        (Arch::Aarch64, Polynomial::Ieee) => "crc32x of FEAT_CRC32",
    };
    let (name, bytes) = (polynomial.name(), extent.len());
    let message =
        format!("{name} with a table of {bytes} bytes, and no hardware path in the file ({instead})");
    let mut evidence = vec![
        ("checksum", Value::Text(name.into())),
        ("table_bytes", Value::Number(bytes)),
        ("slices", Value::Number(slices as u64)),
        ("feature", Value::Text(feature.name().into())),
        ("repeated", Value::Text(how.map_or("no", Repetition::name).into())),
    ];
    if context.image.kind != Kind::Relocatable {
        evidence.push(("table", Value::Text(extent.start.to_string().into())));
    }
    Finding {
        rule: RULE.id,
        at: user.at.svma,
        extent: Extent { start: user.at.svma, end: user.at.next() },
        severity: if is_there { Severity::Warning } else { Severity::Note },
        message: message.into(),
        evidence: Evidence::from(evidence),
    }
}

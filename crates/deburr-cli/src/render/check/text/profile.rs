//! Text for people: what a profile saw of a file, and of the rest of the run.
//!
//! In: a report with weights, and what the profiles saw elsewhere. Out: lines for a terminal.

use super::detail::Detail;
use crate::config::allow::NO_NAME;
use crate::profile::{Elsewhere, UncheckedJit};
use crate::text::line::{fit, wrapped};
use crate::text::number::{counted, grouped};
use deburr_core::Report;
use deburr_core::profile::{Share, WeighedBy};
use deburr_core::report::{PlacedFinding, Profiled};
use deburr_text::one_line;
use std::io::{self, Write};

/// Functions that are named, the heaviest.
const NAMED: usize = 5;

/// What was counted: `cycles, 12,345 samples`.
fn what(profile: &Profiled) -> String {
    let event = one_line(&profile.event);
    match profile.samples {
        0 => event.into_owned(),
        samples => format!("{event}, {}", counted(samples, "sample")),
    }
}

/// What a profile saw of a file: `88 % of cycles, 12,345 samples; most in crc 50 %`.
pub(crate) fn seen(profile: &Profiled) -> String {
    let mut line = format!("{} of {}", profile.share, what(profile));
    if profile.lost > Share::default() {
        line.push_str(&format!(", and {} at no place of it", profile.lost));
    }
    let named = profile.functions.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|hot| {
            let name = hot.function.clone().unwrap_or_else(|| hot.svma.to_string());
            format!("{} {}", fit(&name, Some(40)), hot.share)
        })
        .collect();
    if !named.is_empty() {
        let more = if profile.functions.len() > NAMED { ", …" } else { "" };
        line.push_str(&format!("; most in {}{more}", named.join(", ")));
    }
    line
}

/// What a profile saw of a file.
pub(super) fn write(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    let Some(profile) = &report.profile else { return Ok(()) };
    let line = seen(profile);
    let room = detail.width.map(|width| width.saturating_sub(11));
    let mut lines = wrapped(&line, room).into_iter();
    writeln!(out, "  profile: {}", lines.next().unwrap_or_default())?;
    lines.try_for_each(|line| writeln!(out, "           {line}"))
}

/// What says how heavy a finding is, and the calls of the function that it is about.
pub(super) fn callers(out: &mut dyn Write, finding: &PlacedFinding, detail: &Detail) -> io::Result<()> {
    /// Calls that are named.
    const NAMED: usize = 3;
    // As far in as its message: after a share and the address.
    let indent = 16 + finding.svma.to_string().len();
    if let Some(says) = finding.weight.and_then(|weight| said_by(weight.by)) {
        writeln!(out, "{:indent$}{}", "", detail.palette.dim(&format!("({says})")))?;
    }
    let limit = if detail.verbose { finding.callers.len() } else { NAMED };
    for caller in finding.callers.iter().take(limit) {
        let name = caller.function.as_deref().unwrap_or(NO_NAME);
        let line = format!("{} when called from {name} ({})", caller.weight.share, caller.svma);
        writeln!(
            out,
            "{:indent$}{}",
            "",
            fit(&line, detail.width.map(|width| width.saturating_sub(indent)))
        )?;
    }
    Ok(())
}

/// What says how heavy a call is, where that is more than the samples in its code.
pub(crate) fn said_by(by: WeighedBy) -> Option<&'static str> {
    match by {
        WeighedBy::Function => Some("all of its function: the profile names no instructions"),
        WeighedBy::CallChains => Some("with what it calls, by call chains"),
        WeighedBy::Branches => Some("with what it calls, by recorded branches"),
        WeighedBy::CallCounts => Some("with what it calls, by counted calls"),
        _ => None,
    }
}

/// What the profiles saw of the whole run.
pub(super) fn write_elsewhere(out: &mut dyn Write, elsewhere: &Elsewhere, detail: &Detail) -> io::Result<()> {
    let parts = [
        ("in the files checked", elsewhere.checked),
        ("in other files", elsewhere.other),
        ("in the kernel", elsewhere.kernel),
        ("in guests", elsewhere.guest),
        ("in code made at run time that is not checked", elsewhere.jit),
        ("in memory that is no file's", elsewhere.anonymous),
        ("at no known place", elsewhere.unknown),
    ];
    let some = parts.iter().filter(|(_, share)| *share > Share::default());
    let some: Vec<String> = some.map(|(what, share)| format!("{share} {what}")).collect();
    let line = format!("Profile: {}: {}", one_line(&elsewhere.event), some.join(", "));
    wrapped(&line, detail.width).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    for file in elsewhere.other_files.iter().filter(|file| file.share >= detail.min_share).take(NAMED) {
        let path = fit(&one_line(&file.path), detail.width.map(|width| width.saturating_sub(26)));
        writeln!(out, "  {:>8}  {path} (not checked)", file.share.to_string())?;
    }
    let named = elsewhere.jit_functions.iter().filter(|it| it.share >= detail.min_share).take(NAMED);
    for UncheckedJit { name, reason, share } in named {
        let name = fit(&one_line(name), detail.width.map(|width| width.saturating_sub(60)));
        writeln!(out, "  {:>8}  {name} ({})", share.to_string(), reason.text())?;
    }
    if elsewhere.lost_records > 0 {
        writeln!(
            out,
            "  the profiler lost {} records: shares are of what it kept",
            grouped(elsewhere.lost_records)
        )?;
    }
    if elsewhere.trace_gaps > 0 {
        let places = counted(elsewhere.trace_gaps, "place");
        writeln!(out, "  the trace lacks records in {places}: shares are of what it has")?;
    }
    if elsewhere.unread_trace > 0 {
        writeln!(out, "  {} bytes of hardware traces are not read", grouped(elsewhere.unread_trace))?;
    }
    Ok(())
}

/// The part of some findings in a run; `None` without a profile. Where findings share code, it counts for each.
pub(super) fn share_of<'f>(findings: impl IntoIterator<Item = &'f PlacedFinding>) -> Option<Share> {
    let mut shares = findings.into_iter().map(|finding| finding.weight.map(|weight| weight.share)).peekable();
    shares.peek()?;
    shares.try_fold(Share::default(), |sum, share| Some(sum.plus(share?)))
}

/// The share that a finding is known to have, or none.
pub(super) fn own_share(finding: &PlacedFinding) -> Share {
    finding.weight.map(|weight| weight.share).unwrap_or_default()
}

/// The least share that makes a finding one of the `top` heaviest of a file, and no less than what is worth a line.
pub(super) fn threshold(report: &Report, detail: &Detail) -> Share {
    let mut shares: Vec<Share> = report.counted().map(own_share).collect();
    shares.sort_unstable_by(|a, b| b.cmp(a));
    let of_top = detail.top.map(|top| match top.checked_sub(1) {
        Some(last) => shares.get(last).copied().unwrap_or_default(),
        None => Share::parts_per_million(u32::MAX),
    });
    of_top.unwrap_or_default().max(detail.min_share).max(Share::parts_per_million(1))
}

//! Data in code, where it can be known.
//!
//! In: the image's symbols, and what the first sweep found. Out: runs of data. Certain are AArch64 mapping
//! symbols and object symbols. Deduced are literal pools, which only loads reach, and tables of hand-written
//! assembly: bytes between described functions to which nothing goes but a reference. In doubt it is code.

use super::known::{Known, bytes, is_known};
use super::offsets::Offsets;
use crate::address::CodeOffset;
use crate::image::{Image, SymbolKind, TransferTarget};
use crate::insn::sweep::{Edge, Reference, ReferenceKind, Sweep};
use crate::insn::{self, Class};
use deburr_cpu::Arch;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Instructions by which code is distinguished from data, and bytes that they cannot exceed.
const FIRST_INSNS: usize = 64;
const FIRST_BYTES: u32 = 16 * FIRST_INSNS as u32;

/// Data that symbols name, sorted, disjoint.
pub(super) fn known_data(image: &Image<'_>) -> Vec<Range<CodeOffset>> {
    let mut runs = Vec::new();
    let mut mapped: Option<CodeOffset> = None;
    for symbol in &image.symbols {
        let Some(at) = image.code_offset(symbol.svma) else { continue };
        match symbol.kind {
            SymbolKind::MapData => mapped = mapped.or(Some(at)),
            SymbolKind::MapCode => runs.extend(mapped.take().map(|start| start..at)),
            SymbolKind::Object => {
                let length = u32::try_from(symbol.size).unwrap_or(u32::MAX);
                runs.push(at..at.saturating_add(length));
            }
            SymbolKind::Function | SymbolKind::IfuncResolver | SymbolKind::Label => {}
        }
    }
    runs.extend(mapped.map(|start| start..CodeOffset::MAX));
    within_sections(image, runs)
}

/// Cuts runs at the ends of the sections in which they begin, drops those that begin between sections, sorts them,
/// and joins those that overlap. A run that began in an earlier section (no mapping symbol closed it) does not reach
/// into the next.
fn within_sections(image: &Image<'_>, mut runs: Vec<Range<CodeOffset>>) -> Vec<Range<CodeOffset>> {
    for run in &mut runs {
        let end = image.code_at(image.svma(run.start)).map_or(run.start, |code| {
            let length = u32::try_from(code.extent.len()).unwrap_or(u32::MAX);
            code.at.saturating_add(length)
        });
        run.end = run.end.min(end);
    }
    runs.retain(|run| run.start < run.end);
    runs.sort_by_key(|run| run.start);
    let mut joined: Vec<Range<CodeOffset>> = Vec::with_capacity(runs.len());
    for run in runs {
        match joined.last_mut() {
            Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
            _ => joined.push(run),
        }
    }
    joined
}

/// References that could lead to data as far as known functions and distances show, sorted by where they lead. Where
/// nearly all code is described, hardly any are left.
pub(super) fn references_to_data(image: &Image<'_>, known: &[Known], sweeps: &[&Sweep]) -> Vec<Reference> {
    /// Pointers that one thread examines together.
    const SHARD: usize = 8192;
    let in_code =
        sweeps.par_iter().flat_map_iter(|sweep| sweep.references.iter().copied()).filter(|reference| {
            let is_literal = matches!(reference.kind, ReferenceKind::Load(_)) && is_near(known, reference);
            is_literal || gap_before(known, reference.to).is_some()
        });
    let mut references: Vec<Reference> = in_code.collect();
    if image.arch == Arch::Aarch64 {
        // Other files' code finds a table through a pointer, too.
        let pointers = image.pointers.par_chunks(SHARD).flat_map_iter(|pointers| {
            let pointers = pointers.iter().filter_map(|&at| image.code_offset(at));
            pointers.filter(|&to| gap_before(known, to).is_some())
        });
        references.par_extend(pointers.map(|to| Reference { from: to, to, kind: ReferenceKind::Address }));
    }
    // What reaches furthest first: a table whose address is made, then the widest load.
    references.sort_by_key(|reference| match reference.kind {
        ReferenceKind::Address => (reference.to, 0),
        ReferenceKind::Load(size) => (reference.to, u16::MAX - size),
    });
    references
}

/// Data that references give away (see [`references_to_data`]), sorted, disjoint, and outside `data`. `called` are the
/// targets of all calls.
pub(super) fn code_data(
    image: &Image<'_>,
    known: &[Known],
    data: &[Range<CodeOffset>],
    sweeps: &[&Sweep],
    called: &Offsets,
    references: &[Reference],
) -> Vec<Range<CodeOffset>> {
    if references.is_empty() {
        return Vec::new();
    }
    // A table that was swept as code calls and jumps too, mostly into itself. On AArch64, where `code_begins` finds
    // what only hand-written code calls, the edges of described functions alone count.
    let counted = if image.arch == Arch::Aarch64 { Some(known) } else { None };
    let by_described: Offsets;
    let called = match counted {
        Some(_) => {
            by_described = called_by(image, described(counted, sweeps.iter().flat_map(|sweep| &sweep.calls)));
            &by_described
        }
        None => called,
    };
    // What described functions and pointers lead to is surely data; what such data "refers" to is not.
    let is_trusted =
        |reference: &&Reference| reference.from == reference.to || is_known(known, reference.from);
    let surely = runs_at(image, known, called, references.iter().filter(is_trusted));
    let holds = |at: CodeOffset| {
        let run = surely.partition_point(|run| run.start <= at).checked_sub(1).and_then(|i| surely.get(i));
        run.is_some_and(|run| run.contains(&at))
    };
    let kept = references.iter().filter(|reference| is_trusted(reference) || !holds(reference.from));
    let mut runs = runs_at(image, known, called, kept);
    if image.arch == Arch::Aarch64 {
        // A string or a short literal may begin or end in the middle of 4 bytes, but an instruction never does.
        for run in &mut runs {
            *run = CodeOffset(run.start.0 & !3)..CodeOffset(run.end.0.saturating_add(3) & !3);
        }
    }
    let mut runs = within_sections(image, runs);
    runs.retain(|run| {
        let after = data.get(data.partition_point(|old| old.end <= run.start));
        after.is_none_or(|old| run.end <= old.start)
    });
    if runs.is_empty() {
        return runs;
    }
    let entered: FxHashSet<CodeOffset> = described(counted, sweeps.iter().flat_map(|sweep| &sweep.jumps))
        .map(|jump| jump.to)
        .chain(image.entries.iter().chain(&image.pointers).filter_map(|&at| image.code_offset(at)))
        .filter_map(|to| {
            let run = runs.get(runs.partition_point(|run| run.start <= to).checked_sub(1)?)?;
            // A pointer to a table's start is what found it.
            let is_table =
                image.arch == Arch::Aarch64 && to == run.start && reads_as_data(image, run.clone());
            (run.contains(&to) && !is_table).then_some(run.start)
        })
        .collect();
    runs.retain(|run| !entered.contains(&run.start));
    runs
}

/// Of edges in order of `from`, those that leave described functions; all of them where no functions are given.
fn described<'s>(
    known: Option<&[Known]>,
    edges: impl Iterator<Item = &'s Edge>,
) -> impl Iterator<Item = &'s Edge> {
    let mut next = 0;
    edges.filter(move |edge| {
        let Some(known) = known else { return true };
        while known.get(next).is_some_and(|function| function.end <= edge.from) {
            next += 1;
        }
        known.get(next).is_some_and(|function| function.start <= edge.from)
    })
}

/// The data that references lead to, which come sorted by where they lead.
fn runs_at<'r>(
    image: &Image<'_>,
    known: &[Known],
    called: &Offsets,
    references: impl Iterator<Item = &'r Reference>,
) -> Vec<Range<CodeOffset>> {
    let mut runs: Vec<Range<CodeOffset>> = Vec::new();
    for reference in references {
        let after_run = runs.last().is_some_and(|run| run.end == reference.to);
        if runs.last().is_some_and(|run| reference.to < run.end) {
            continue;
        }
        if let ReferenceKind::Load(size) = reference.kind
            && is_literal(image, known, reference, after_run)
        {
            runs.push(reference.to..reference.to.saturating_add(u32::from(size)));
        } else if let Some(run) = table(image, known, called, reference) {
            runs.push(run);
        }
    }
    runs
}

/// The targets of some calls, and of those that the linker fills in.
pub(super) fn called_by<'s>(image: &Image<'_>, calls: impl Iterator<Item = &'s Edge>) -> Offsets {
    let last = image.code.last();
    let length = last.and_then(|code| CodeOffset::try_from(code.extent.end.since(image.code_base)?).ok());
    let mut called =
        Offsets::below(length.unwrap_or_default(), if image.arch == Arch::Aarch64 { 2 } else { 0 });
    calls.for_each(|call| called.insert(call.to));
    for transfer in image.transfers.iter().filter(|transfer| transfer.is_call) {
        if let TransferTarget::Here(to) = transfer.to
            && let Some(to) = image.code_offset(to)
        {
            called.insert(to);
        }
    }
    called
}

/// Whether a loaded place is a literal: nothing falls into it, and no function begins there.
fn is_literal(image: &Image<'_>, known: &[Known], reference: &Reference, after_literal: bool) -> bool {
    let to = reference.to;
    is_near(known, reference)
        && (after_literal
            || (!is_known(known, to) || image.arch == Arch::Aarch64) && falls_not_into(image, to))
}

/// Whether a loaded place is near its code, as a pool does, and no known function begins there.
fn is_near(known: &[Known], reference: &Reference) -> bool {
    /// `ldr` (literal) reaches no further.
    const REACH: u32 = 1 << 20;
    let to = reference.to;
    to.0.abs_diff(reference.from.0) <= REACH
        && known.binary_search_by_key(&to, |function| function.start).is_err()
}

/// Whether the instruction before a place ends its path.
fn falls_not_into(image: &Image<'_>, at: CodeOffset) -> bool {
    match image.arch {
        Arch::Aarch64 => {
            let at = CodeOffset(at.0 & !3);
            let from = at.saturating_sub(4);
            let word = bytes(image, from..at);
            let is_padding = matches!(word, [0x1f, 0x20, 0x03, 0xd5] | [0, 0, 0, 0]);
            let insn = insn::decode(image.arch, word, image.svma(from));
            is_padding || insn.is_none_or(|insn| !insn.flow.falls_through())
        }
        Arch::X86_64 => {
            matches!(bytes(image, at.saturating_sub(1)..at), [] | [0xc3 | 0xcc | 0x90 | 0x00])
        }
    }
}

/// The table that a reference between described functions leads to: up to the next function, if nothing
/// calls into it and it does not read as code. Where descriptions are sparse, it could as well be a function.
fn table(
    image: &Image<'_>,
    known: &[Known],
    called: &Offsets,
    reference: &Reference,
) -> Option<Range<CodeOffset>> {
    let to = reference.to;
    let next = gap_before(known, to)?;
    if !falls_not_into(image, to) {
        return None;
    }
    let section = image.code_at(image.svma(to))?;
    let section_end = section.at.checked_add(u32::try_from(section.extent.len()).ok()?)?;
    let limit = next.map_or(section_end, |function| function.start.min(section_end));
    // Most places read as code, which the first bytes show: the next call's target may be far away.
    let seen = limit.min(to.saturating_add(FIRST_BYTES));
    let near = called.first_in(to..seen).unwrap_or(limit);
    if near <= to || !reads_as_data(image, to..near) {
        return None;
    }
    let called_next = called.first_in(to..near).unwrap_or(near);
    let end = match image.arch {
        Arch::Aarch64 => code_begins(image, to..called_next).unwrap_or(called_next),
        Arch::X86_64 => called_next,
    };
    Some(to..end)
}

/// Whether an offset is in a gap between known functions, and in sight of the one before; then the one after, if there
/// is one.
fn gap_before(known: &[Known], at: CodeOffset) -> Option<Option<&Known>> {
    /// Maximum number of bytes between described functions for a table to be distinguished from functions.
    const SPARSE: u32 = 64 * 1024;
    let after = known.partition_point(|function| function.start <= at);
    let before = after.checked_sub(1).and_then(|i| known.get(i))?;
    (at >= before.end && at - before.end <= SPARSE).then(|| known.get(after))
}

/// Where, after a table, hand-written code begins that nothing calls directly. It begins at a landing pad or prologue,
/// or at a run of instructions that every AArch64 machine has. Such a run is longer than tables happen to have them.
fn code_begins(image: &Image<'_>, range: Range<CodeOffset>) -> Option<CodeOffset> {
    /// Instructions in a row from which on it is code. About half of all words are such instructions.
    const MANY: usize = 32;
    /// Different ones among them: a table may repeat a few words.
    const DIFFERENT: usize = 16;
    let code = bytes(image, range.clone());
    let (words, _) = code.get(range.start.0.wrapping_neg() as usize & 3..)?.as_chunks::<4>();
    let permitted = deburr_cpu::levels(image.arch).first()?.features;
    let is_plain = |word: &[u8; 4]| {
        let insn = insn::decode(image.arch, word, image.svma(range.start));
        insn.is_some_and(|insn| {
            insn.class != Class::Trap && insn::features_of(image.arch, insn.features).is_subset(permitted)
        })
    };
    let mut row = 0usize;
    let mut begins = None;
    for (i, word) in words.iter().enumerate() {
        if begins_function(u32::from_le_bytes(*word)) {
            begins = Some(i);
            break;
        }
        row = if is_plain(word) { row.saturating_add(1) } else { 0 };
        if row >= MANY {
            let first = i.saturating_add(1).saturating_sub(row);
            let different: FxHashSet<&[u8; 4]> = words.get(first..=i).unwrap_or_default().iter().collect();
            if different.len() >= DIFFERENT {
                begins = Some(first);
                break;
            }
        }
    }
    let offset = u32::try_from(begins?.checked_mul(4)?).ok()?;
    // What begins where the table does is no table.
    CodeOffset(range.start.0.checked_next_multiple_of(4)?).checked_add(offset).filter(|&at| at > range.start)
}

/// Whether an instruction is a landing pad (`bti c`, `bti jc`), signs the return address (`paciasp`), or opens a
/// frame (`stp x29, x30, [sp, #-n]!`).
fn begins_function(word: u32) -> bool {
    matches!(word, 0xd503_245f | 0xd503_24df | 0xd503_233f) || word & 0xffe0_7fff == 0xa9a0_7bfd
}

/// Whether bytes cannot be code: one of the first instructions is undecodable, or the first path runs to the
/// end without leaving.
fn reads_as_data(image: &Image<'_>, range: Range<CodeOffset>) -> bool {
    let code = bytes(image, range.clone());
    let mut at = 0usize;
    for _ in 0..FIRST_INSNS {
        let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) else { return true };
        match insn::decode(image.arch, rest, image.svma(range.start)) {
            None => return true,
            // `udf`: small numbers, whose upper half is zero.
            Some(insn)
                if image.arch == Arch::Aarch64
                    && insn.class == Class::Trap
                    && rest.get(2..4) == Some(&[0, 0]) =>
            {
                return true;
            }
            Some(insn) if !insn.flow.falls_through() => return false,
            Some(insn) => at += usize::from(insn.length),
        }
    }
    false
}

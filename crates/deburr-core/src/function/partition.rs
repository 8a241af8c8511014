//! Code, cut into the runs that one thread sweeps at a time.
//!
//! In: the places where an instruction is known to begin, and the known data. Out: *units* (no instruction
//! crosses a unit's start) in *chunks* of some hundred KiB. The cut depends on the file only, never on the
//! number of threads, so neither does the report.

use crate::address::CodeOffset;
use std::ops::Range;

/// Bytes that one chunk holds at least, unless its section ends: few enough that threads finish together.
const CHUNK: u32 = 128 * 1024;
/// Bytes between the arbitrary cuts of a run without known starts. Each costs a run-up.
const CUT: u32 = 256 * 1024;

/// A run of code between two places where an instruction is known to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    /// Its first byte.
    pub start: CodeOffset,
    /// Where it is left to the next unit: no instruction begins at or after it.
    pub end: CodeOffset,
    /// The next place where an instruction is known to begin, or the end of the section: no instruction
    /// crosses it. Later than `end` only where a long run is cut at an arbitrary place.
    pub limit: CodeOffset,
}

impl Unit {
    /// Whether the run was cut at an arbitrary place: where the next unit begins, only this one's sweep shows.
    pub(super) fn is_cut(&self) -> bool {
        self.end < self.limit
    }
}

/// Cuts one section, `section`, at `starts` (sorted), leaves out `data` (sorted, disjoint), and groups the
/// units into chunks.
pub(super) fn partition(
    section: Range<CodeOffset>,
    starts: &[CodeOffset],
    data: &[Range<CodeOffset>],
) -> Vec<Vec<Unit>> {
    let mut chunks = Vec::new();
    let mut chunk = Vec::new();
    let mut chunk_bytes = 0u32;
    let mut push = |unit: Unit, chunks: &mut Vec<Vec<Unit>>| {
        chunk_bytes += unit.end - unit.start;
        chunk.push(unit);
        if chunk_bytes >= CHUNK {
            chunks.push(std::mem::take(&mut chunk));
            chunk_bytes = 0;
        }
    };
    let first_run = data.partition_point(|run| run.end <= section.start);
    let runs = data.get(first_run..).unwrap_or_default().iter();
    let mut data = runs.take_while(|run| run.start < section.end).peekable();
    let first_start = starts.partition_point(|&start| start < section.start);
    let rest = starts.get(first_start..).unwrap_or_default().iter().copied();
    let mut starts = rest.take_while(|&start| start < section.end).peekable();
    let mut at = section.start;
    while at < section.end {
        if let Some(run) = data.next_if(|run| run.start <= at) {
            at = at.max(run.end.min(section.end));
            continue;
        }
        while starts.next_if(|&start| start <= at).is_some() {}
        let limit = section
            .end
            .min(starts.peek().copied().unwrap_or(section.end))
            .min(data.peek().map_or(section.end, |run| run.start));
        // A run without known starts is cut so that threads can share it.
        while limit - at > 2 * CUT {
            push(Unit { start: at, end: at + CUT, limit }, &mut chunks);
            at += CUT;
        }
        push(Unit { start: at, end: limit, limit }, &mut chunks);
        at = limit;
    }
    if !chunk.is_empty() {
        chunks.push(chunk);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_tile_the_section_without_its_data() {
        let units: Vec<Unit> = partition(
            CodeOffset(10)..CodeOffset(100),
            &[0, 10, 40, 70, 200].map(CodeOffset),
            std::slice::from_ref(&(CodeOffset(50)..CodeOffset(60))),
        )
        .concat();
        let ranges: Vec<_> = units.iter().map(|unit| (unit.start.0, unit.end.0, unit.limit.0)).collect();
        assert_eq!(ranges, [(10, 40, 40), (40, 50, 50), (60, 70, 70), (70, 100, 100)]);
    }

    #[test]
    fn a_long_run_without_known_starts_is_cut_softly() {
        let chunks = partition(CodeOffset(0)..CodeOffset(5 * CUT), &[CodeOffset(0)], &[]);
        assert_eq!(chunks.len(), 4);
        let units = chunks.concat();
        assert!(units.iter().all(|unit| unit.limit == CodeOffset(5 * CUT)));
        assert_eq!(units.iter().map(|unit| unit.end - unit.start).sum::<u32>(), 5 * CUT);
        assert!(!units.last().unwrap().is_cut());
    }
}

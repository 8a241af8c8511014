//! Which code a finding is about, for its weight.
//!
//! In: a finding. Out: ranges of code. Mostly it is the finding's own extent. What says of a function that it does by hand what
//! one instruction does is about the whole function where others call it, and about its loop where it is in one. Where samples
//! skid, the instruction after the last range counts as well.

use crate::address::{CodeOffset, Extent, Svma};
use crate::finding::Finding;
use crate::function::Program;
use crate::function::block::Graph;
use crate::function::loops::natural_loops;
use crate::idiom::repeated::Repetition;
use crate::image::Image;
use crate::{finding, insn};

/// The function that a finding is about as a whole, since others call it; its beginning.
pub(super) fn helper(finding: &Finding, image: &Image<'_>, program: &Program) -> Option<CodeOffset> {
    finding.evidence.get("callers")?;
    let function = program.function_at(image.code_offset(finding.at)?)?;
    Some(program.whole(function).start)
}

/// The code that a finding is about.
pub(super) fn region(finding: &Finding, image: &Image<'_>, program: &Program, skids: bool) -> Vec<Extent> {
    if let Some(whole) = helper(finding, image, program) {
        let parts = program.functions().iter().filter(|part| program.whole(part).start == whole);
        return parts.map(|part| part.extent(image)).collect();
    }
    let is_in_loop = matches!(
        finding.evidence.get("repeated"),
        Some(finding::Value::Text(how)) if **how == *Repetition::InLoop.name()
    );
    let ranges = is_in_loop.then(|| innermost_loop(finding.at, image, program)).flatten();
    let mut ranges = ranges.unwrap_or_else(|| vec![finding.extent]);
    if skids && let Some(last) = ranges.last_mut() {
        last.end = after_next(last.end, image);
    }
    ranges
}

/// The end of the instruction at an address; the address itself where there is none.
fn after_next(at: Svma, image: &Image<'_>) -> Svma {
    let insn = image.bytes_at(at).and_then(|bytes| insn::decode(image.arch, bytes, at));
    insn.map_or(at, |insn| insn.next())
}

/// The blocks of the innermost loop around an address.
fn innermost_loop(at: Svma, image: &Image<'_>, program: &Program) -> Option<Vec<Extent>> {
    let function = program.function_at(image.code_offset(at)?)?;
    let graph = Graph::of(image, program, function, at);
    let (block, _) = graph.find(at)?;
    let loops = natural_loops(&graph);
    let innermost = loops.get(loops.around(block).next()?)?;
    let mut ranges: Vec<Extent> = innermost
        .blocks
        .iter()
        .filter_map(|&block| {
            let block = graph.blocks.get(block)?;
            Some(Extent { start: block.start(), end: block.last()?.next() })
        })
        .collect();
    ranges.sort_unstable();
    Some(ranges)
}

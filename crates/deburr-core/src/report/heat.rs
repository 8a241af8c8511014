//! Report stage: places of findings → how often they are likely to run, as far as code alone shows it.
//!
//! In: findings by address. Out: whether each is in a loop of its function, and how many direct calls that function has.
//! A long list of one fact is shown by its worst places; this is the order.

use crate::address::{CodeOffset, Svma};
use crate::function::Program;
use crate::idiom::repeated::loops_at;
use crate::image::Image;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// How often a place is likely to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Heat {
    /// Whether control comes back to it within its function.
    pub in_loop: bool,
    /// Direct calls of its function in the file, and jumps to it from others.
    pub calls: u64,
}

/// The heat of some places, sorted by address.
pub(crate) fn heat(image: &Image<'_>, program: &Program, places: &[Svma]) -> Vec<Heat> {
    let function = |svma: Svma| image.code_offset(svma).and_then(|at| program.function_at(at));
    let runs: Vec<&[Svma]> = places.chunk_by(|&a, &b| function(a) == function(b)).collect();
    let wholes: Vec<Option<CodeOffset>> = runs
        .iter()
        .map(|run| run.first().and_then(|&svma| function(svma)).map(|it| program.whole(it).start))
        .collect();
    let mut calls: FxHashMap<CodeOffset, u64> = wholes.iter().flatten().map(|&start| (start, 0)).collect();
    if !calls.is_empty() {
        for edge in program.calls().chain(program.jumps()) {
            if let Some(count) = calls.get_mut(&edge.to) {
                *count += 1;
            }
        }
    }
    let heats = runs.par_iter().zip(wholes).map(|(run, whole)| {
        let calls = whole.and_then(|start| calls.get(&start).copied()).unwrap_or(0);
        let first = run.first().and_then(|&svma| function(svma));
        let loops = first.map_or_else(Vec::new, |function| loops_at(image, program, function, run));
        let in_loop = |index: usize| loops.get(index).copied().unwrap_or(false);
        (0..run.len()).map(|index| Heat { in_loop: in_loop(index), calls }).collect::<Vec<Heat>>()
    });
    heats.flatten_iter().collect()
}

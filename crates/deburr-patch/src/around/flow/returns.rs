//! Patch stage: which calls come back.
//!
//! In: an image and its program. Out: [`Returns`]: the functions that are called and from which no path leads
//! to a return, as the least fixpoint over the call graph. What follows a call of one is another block's
//! code, or a landing pad's. Everything that is not followed is taken to return: calls and jumps through
//! registers, other files' functions except those whose contract forbids it.

use super::edges;
use deburr_core::address::CodeOffset;
use deburr_core::function::Program;
use deburr_core::image::{Image, SymbolOrigin};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Instructions of a function that are looked at; a longer one is taken to return.
const LONGEST: usize = 1 << 14;
/// Functions of other files that never return, by ISO C, POSIX, the Itanium C++ ABI and glibc.
const NEVER: &[&str] = &[
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "__assert_fail",
    "__stack_chk_fail",
    "__chk_fail",
    "__fortify_fail",
    "pthread_exit",
    "thrd_exit",
    "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    "__cxa_deleted_virtual",
    "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
    "__cxa_rethrow",
    "__cxa_bad_cast",
    "__cxa_pure_virtual",
    "_Unwind_Resume",
    "_ZSt9terminatev",
    "longjmp",
    "siglongjmp",
];

/// Whether a function of another file never returns; libstdc++ has one for each of its exceptions,
/// `std::__throw_…`.
fn is_never(name: &str) -> bool {
    let thrower =
        name.strip_prefix("_ZSt").map(|name| name.trim_start_matches(|it: char| it.is_ascii_digit()));
    NEVER.contains(&name) || thrower.is_some_and(|name| name.starts_with("__throw_"))
}

/// The functions that never return, by start.
#[derive(Debug, Default)]
pub(crate) struct Returns {
    never: Vec<CodeOffset>,
}

impl Returns {
    /// Looks at every function that something calls.
    pub(crate) fn find(image: &Image<'_>, program: &Program) -> Returns {
        let mut starts: Vec<CodeOffset> = Vec::new();
        for code in &image.code {
            let words = code.bytes.as_chunks::<4>().0.par_iter().enumerate();
            starts.par_extend(words.filter_map(|(index, word)| {
                let word = u32::from_le_bytes(*word);
                let from = image.svma(code.at + 4 * index as u32);
                edges::is_call(word).then(|| image.code_offset(from.offset(edges::distance(word)?))).flatten()
            }));
        }
        starts.par_sort_unstable();
        starts.dedup();
        let names = image.symbols.iter().filter(|symbol| symbol.origin == SymbolOrigin::Plt);
        let external: FxHashSet<CodeOffset> = names
            .filter(|symbol| symbol.name.strip_suffix("@plt").is_some_and(is_never))
            .filter_map(|symbol| image.code_offset(symbol.svma))
            .collect();
        let returning: Vec<AtomicBool> = starts.iter().map(|_| AtomicBool::new(false)).collect();
        let search = Search { image, program, starts: &starts, returning: &returning, external: &external };
        loop {
            let found = starts.par_iter().zip(&returning).filter(|(start, returns)| {
                let is_new = !returns.load(Ordering::Relaxed) && search.returns(**start);
                if is_new {
                    returns.store(true, Ordering::Relaxed);
                }
                is_new
            });
            if found.count() == 0 {
                break;
            }
        }
        let never = starts.iter().zip(&returning).filter(|(_, returns)| !returns.load(Ordering::Relaxed));
        Returns { never: never.map(|(&start, _)| start).collect() }
    }

    /// Whether control can come back from a call of what begins at a place.
    pub(crate) fn may_return(&self, start: CodeOffset) -> bool {
        self.never.binary_search(&start).is_err()
    }

    /// Whether the next instruction can run after the one at a place.
    pub(crate) fn falls_through(&self, image: &Image<'_>, at: CodeOffset) -> bool {
        let svma = image.svma(at);
        let Some(word) = image.word_at(svma) else { return false };
        if !edges::is_call(word) {
            return edges::falls_through(word);
        }
        let to = edges::distance(word).and_then(|distance| image.code_offset(svma.offset(distance)));
        to.is_none_or(|to| self.may_return(to))
    }
}

struct Search<'s, 'a> {
    image: &'s Image<'a>,
    program: &'s Program,
    starts: &'s [CodeOffset],
    returning: &'s [AtomicBool],
    external: &'s FxHashSet<CodeOffset>,
}

impl Search<'_, '_> {
    /// Whether a path leads from a place to a return, as far as is known of what it calls.
    fn returns(&self, start: CodeOffset) -> bool {
        if self.external.contains(&start) {
            return false;
        }
        let (mut pending, mut seen) = (vec![start], FxHashSet::default());
        while let Some(at) = pending.pop() {
            if !seen.insert(at) {
                continue;
            }
            let svma = self.image.svma(at);
            let Some(word) = self.image.word_at(svma).filter(|_| seen.len() < LONGEST) else { return true };
            let is_gone = edges::is_return(word) || edges::is_indirect_jump(word);
            if is_gone || word & 0xfe00_0000 == 0xd600_0000 && !edges::is_indirect_call(word) {
                return true;
            }
            let to = edges::distance(word).map(|distance| self.image.code_offset(svma.offset(distance)));
            let is_call = edges::is_call(word);
            match to {
                // Out of the file's code.
                Some(None) => return true,
                Some(Some(to)) if !is_call => pending.push(to),
                _ => {}
            }
            if is_call || edges::is_indirect_call(word) {
                pending.extend(self.landing_pads(at));
            }
            if edges::falls_through(word) && (!is_call || to.flatten().is_some_and(|to| self.is_known(to))) {
                pending.push(at + 4);
            }
        }
        false
    }

    fn is_known(&self, start: CodeOffset) -> bool {
        let index = self.starts.binary_search(&start).ok();
        index.and_then(|index| self.returning.get(index)).is_some_and(|is| is.load(Ordering::Relaxed))
    }

    /// Where what a call throws may be caught: anywhere in its function.
    fn landing_pads(&self, call: CodeOffset) -> impl Iterator<Item = CodeOffset> {
        let extent =
            self.program.function_at(call).map(|function| self.program.whole(function).extent(self.image));
        let all = &self.image.landing_pads;
        let range = extent.map_or(0..all.len(), |extent| {
            all.partition_point(|&pad| pad < extent.start)..all.partition_point(|&pad| pad < extent.end)
        });
        all.get(range).unwrap_or_default().iter().filter_map(|&pad| self.image.code_offset(pad))
    }
}

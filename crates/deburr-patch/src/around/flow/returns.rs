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
use rustc_hash::{FxHashMap, FxHashSet};
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
        let mut paths: Vec<Option<Paths>> = starts.par_iter().map(|&start| search.begin(start)).collect();
        search.resume(&mut paths);
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

/// How far the paths of one function were followed, of which none has led to a return so far.
#[derive(Debug, Default)]
struct Paths {
    pending: Vec<CodeOffset>,
    seen: FxHashSet<CodeOffset>,
    /// The functions whose landing pads are among them.
    caught: FxHashSet<Option<CodeOffset>>,
    /// The calls and tail calls of functions that may yet turn out to return, by the callee's index, and where the path goes on
    /// after a call.
    waits: Vec<(usize, Option<CodeOffset>)>,
}

/// By callee, which callers wait for it and where they go on.
type Waiting = FxHashMap<usize, Vec<(usize, Option<CodeOffset>)>>;

impl Paths {
    fn wait(&mut self, caller: usize, waiting: &mut Waiting) {
        for (callee, then) in self.waits.drain(..) {
            waiting.entry(callee).or_default().push((caller, then));
        }
    }
}

impl Search<'_, '_> {
    /// Follows the paths of the function that begins at a place, as far as is known of what it calls; `None` where it is settled.
    fn begin(&self, start: CodeOffset) -> Option<Paths> {
        if self.external.contains(&start) {
            return None;
        }
        let mut paths = Paths { pending: vec![start], ..Paths::default() };
        if self.follow(start, &mut paths) {
            self.note(self.starts.binary_search(&start).ok()?);
            return None;
        }
        Some(paths)
    }

    /// Goes on with what waits for a function, once for each that turns out to return.
    fn resume(&self, paths: &mut [Option<Paths>]) {
        let mut waiting = Waiting::default();
        for (caller, paths) in paths.iter_mut().enumerate() {
            if let Some(paths) = paths {
                paths.wait(caller, &mut waiting);
            }
        }
        let mut settled: Vec<usize> = (0..self.starts.len()).filter(|&index| self.is_noted(index)).collect();
        while let Some(callee) = settled.pop() {
            for (caller, then) in waiting.remove(&callee).unwrap_or_default() {
                let Some(slot) = paths.get_mut(caller) else { continue };
                let Some((start, open)) = self.starts.get(caller).zip(slot.as_mut()) else { continue };
                open.pending.extend(then);
                if then.is_none() || self.follow(*start, open) {
                    *slot = None;
                    self.note(caller);
                    settled.push(caller);
                } else {
                    open.wait(caller, &mut waiting);
                }
            }
        }
    }

    /// Follows what is pending. Whether a path leads to a return.
    fn follow(&self, start: CodeOffset, paths: &mut Paths) -> bool {
        while let Some(at) = paths.pending.pop() {
            if !paths.seen.insert(at) {
                continue;
            }
            let svma = self.image.svma(at);
            let Some(word) = self.image.word_at(svma).filter(|_| paths.seen.len() < LONGEST) else {
                return true;
            };
            let is_gone = edges::is_return(word) || edges::is_indirect_jump(word);
            if is_gone || word & 0xfe00_0000 == 0xd600_0000 && !edges::is_indirect_call(word) {
                return true;
            }
            let to = edges::distance(word).map(|distance| self.image.code_offset(svma.offset(distance)));
            let is_call = edges::is_call(word);
            match to {
                // Out of the file's code.
                Some(None) => return true,
                Some(Some(to)) if !is_call => match self.tail_callee(start, to) {
                    Some(callee) if self.is_noted(callee) => return true,
                    Some(callee) => paths.waits.push((callee, None)),
                    None => paths.pending.push(to),
                },
                _ => {}
            }
            if is_call || edges::is_indirect_call(word) {
                self.catch(at, paths);
            }
            if !edges::falls_through(word) {
                continue;
            }
            if !is_call {
                paths.pending.push(at + 4);
            } else if let Some(to) = to.flatten()
                && let Ok(callee) = self.starts.binary_search(&to)
            {
                if self.is_noted(callee) {
                    paths.pending.push(at + 4);
                } else {
                    paths.waits.push((callee, Some(at + 4)));
                }
            }
        }
        false
    }

    /// The index of the function that a jump leads to, where something calls it.
    fn tail_callee(&self, start: CodeOffset, to: CodeOffset) -> Option<usize> {
        if to == start || self.external.contains(&to) {
            return None;
        }
        self.starts.binary_search(&to).ok()
    }

    fn note(&self, index: usize) {
        if let Some(returns) = self.returning.get(index) {
            returns.store(true, Ordering::Relaxed);
        }
    }

    fn is_noted(&self, index: usize) -> bool {
        self.returning.get(index).is_some_and(|returns| returns.load(Ordering::Relaxed))
    }

    /// Adds where what a call throws may be caught: anywhere in its function, or in the file where that is not known.
    fn catch(&self, call: CodeOffset, paths: &mut Paths) {
        let function = self.program.function_at(call).map(|function| self.program.whole(function));
        if !paths.caught.insert(function.map(|function| function.start)) {
            return;
        }
        let all = &self.image.landing_pads;
        let range = function.map(|function| function.extent(self.image)).map_or(0..all.len(), |extent| {
            all.partition_point(|&pad| pad < extent.start)..all.partition_point(|&pad| pad < extent.end)
        });
        let pads = all.get(range).unwrap_or_default().iter();
        paths.pending.extend(pads.filter_map(|&pad| self.image.code_offset(pad)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_core::function::discover;
    use deburr_core::insn::sweep::Wants;
    use std::collections::BTreeSet;

    const RET: u32 = 0xd65f_03c0;
    const NOP: u32 = 0xd503_201f;
    /// Where the code begins: after the ELF header and one program header.
    const BEGIN: u64 = 64 + 56;

    /// An executable for AArch64 that has only code, and no symbols.
    fn executable(words: &[u32]) -> Vec<u8> {
        let size = BEGIN + 4 * words.len() as u64;
        let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let halves =
            |bytes: &mut Vec<u8>, halves: &[u16]| bytes.extend(halves.iter().flat_map(|it| it.to_le_bytes()));
        let longs =
            |bytes: &mut Vec<u8>, longs: &[u64]| bytes.extend(longs.iter().flat_map(|it| it.to_le_bytes()));
        halves(&mut bytes, &[2, 183, 1, 0]);
        longs(&mut bytes, &[BEGIN, 64, 0]);
        halves(&mut bytes, &[0, 0, 64, 56, 1, 64, 0, 0]);
        // PT_LOAD, readable and executable.
        halves(&mut bytes, &[1, 0, 5, 0]);
        longs(&mut bytes, &[0, 0, 0, size, size, 0x1_0000]);
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    fn call(from: usize, to: usize) -> u32 {
        0x9400_0000 | (to.wrapping_sub(from) as u32 & 0x03ff_ffff)
    }

    fn jump(from: usize, to: usize) -> u32 {
        0x1400_0000 | (to.wrapping_sub(from) as u32 & 0x03ff_ffff)
    }

    fn branch(from: usize, to: usize) -> u32 {
        0x3400_0000 | (to.wrapping_sub(from) as u32 & 0x7_ffff) << 5
    }

    /// What is called and never returns, by index of the word, by adding until nothing is added.
    fn by_definition(words: &[u32]) -> BTreeSet<usize> {
        let target = |at: usize, bits: u32, shift: u32| {
            let field = (words[at] >> shift & ((1 << bits) - 1)) as i64;
            at.checked_add_signed((field << (64 - bits) >> (64 - bits)) as isize)
        };
        let calls: BTreeSet<usize> = (0..words.len())
            .filter(|&at| words[at] >> 26 == 0x25)
            .filter_map(|at| target(at, 26, 0).filter(|&to| to < words.len()))
            .collect();
        // Places from which a return is reached.
        let mut ends: BTreeSet<usize> = BTreeSet::new();
        loop {
            let before = ends.len();
            for at in 0..words.len() {
                let ends_at = |to: Option<usize>| to.is_none_or(|to| to >= words.len() || ends.contains(&to));
                let next = at + 1;
                let is_end = match words[at] {
                    RET => true,
                    word if word >> 26 == 0x25 => ends_at(target(at, 26, 0)) && ends_at(Some(next)),
                    word if word >> 26 == 0x05 => ends_at(target(at, 26, 0)),
                    word if word >> 24 == 0x34 => ends_at(target(at, 19, 5)) || ends_at(Some(next)),
                    _ => ends_at(Some(next)),
                };
                if is_end {
                    ends.insert(at);
                }
            }
            if ends.len() == before {
                return calls.difference(&ends).copied().collect();
            }
        }
    }

    #[test]
    fn what_never_returns_is_what_no_path_leads_from_to_a_return() {
        let mut state = 7u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut found = 0;
        for case in 0..1500 {
            let count = 4 + draw(40);
            let mut words: Vec<u32> = (0..count)
                .map(|at| match draw(8) {
                    0 | 1 => call(at, draw(count)),
                    2 => jump(at, draw(count)),
                    3 => branch(at, draw(count)),
                    4 if draw(3) == 0 => RET,
                    _ => NOP,
                })
                .collect();
            words.push(jump(count, count));
            let bytes = executable(&words);
            let image = Image::parse(&bytes, None).expect("a file of one segment is read");
            let program = discover(&image, Wants::default());
            let index = |at: &CodeOffset| ((image.svma(*at).0 - BEGIN) / 4) as usize;
            let returns = Returns::find(&image, &program);
            let never: BTreeSet<usize> = returns.never.iter().map(index).collect();
            assert_eq!(never, by_definition(&words), "{case}: {words:08x?}");
            found += never.len();
        }
        assert!(found > 1000, "{found}");
    }
}

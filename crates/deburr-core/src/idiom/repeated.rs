//! Which code runs again and again: in a loop of its function, or of a function that calls that directly.
//!
//! In: an image and its functions. Out: [`Repeated`], which answers for one place at a time. Loops need not be natural:
//! control comes back. Calls are followed by one level, and only direct ones.

use crate::address::{CodeOffset, Svma};
use crate::function::loops::Outline;
use crate::function::{Function, Program};
use crate::image::Image;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{OnceCell, RefCell};

/// How code runs again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repetition {
    /// In a loop of its own function.
    InLoop,
    /// In a function that a loop of another function calls.
    CalledInLoop,
}

impl Repetition {
    /// As evidence has it.
    pub const fn name(self) -> &'static str {
        match self {
            Repetition::InLoop => "in-loop",
            Repetition::CalledInLoop => "called-in-loop",
        }
    }
}

/// Answers which code runs again and again.
pub struct Repeated<'p> {
    image: &'p Image<'p>,
    program: &'p Program,
    /// The functions whose callers matter, by where they begin.
    wanted: FxHashSet<CodeOffset>,
    /// Places are looked up in order of address, so that the last outline serves many.
    last: RefCell<Option<(Function, Outline)>>,
    /// The places that call each function of `wanted`.
    callers: OnceCell<FxHashMap<CodeOffset, Vec<Svma>>>,
    called: RefCell<FxHashMap<CodeOffset, bool>>,
}

impl<'p> Repeated<'p> {
    /// Prepares for questions about the functions that hold some places.
    pub fn new(
        image: &'p Image<'p>,
        program: &'p Program,
        places: impl Iterator<Item = Svma>,
    ) -> Repeated<'p> {
        let function = |svma| program.function_at(image.code_offset(svma)?);
        let wanted = places.filter_map(function).map(|function| program.whole(function).start).collect();
        let (last, callers, called) = (RefCell::default(), OnceCell::new(), RefCell::default());
        Repeated { image, program, wanted, last, callers, called }
    }

    /// How the instruction at an address runs again and again; `None` where nothing shows that it does.
    pub fn at(&self, svma: Svma) -> Option<Repetition> {
        let function = self.program.function_at(self.image.code_offset(svma)?)?;
        if self.is_in_loop(function, svma) {
            return Some(Repetition::InLoop);
        }
        self.is_called_in_loop(self.program.whole(function).start).then_some(Repetition::CalledInLoop)
    }

    /// Whether a loop of some function calls the one that begins at an offset, which holds one of the places.
    fn is_called_in_loop(&self, start: CodeOffset) -> bool {
        if let Some(&known) = self.called.borrow().get(&start) {
            return known;
        }
        let sites = self.callers().get(&start).map(Vec::as_slice).unwrap_or_default();
        let found = sites.iter().any(|&site| {
            let caller = self.image.code_offset(site).and_then(|at| self.program.function_at(at));
            // Recursion is no loop.
            let other = caller.filter(|caller| self.program.whole(caller).start != start);
            other.is_some_and(|caller| self.is_in_loop(caller, site))
        });
        self.called.borrow_mut().insert(start, found);
        found
    }

    fn callers(&self) -> &FxHashMap<CodeOffset, Vec<Svma>> {
        self.callers.get_or_init(|| {
            let mut callers: FxHashMap<CodeOffset, Vec<Svma>> = FxHashMap::default();
            for edge in self.program.calls().chain(self.program.jumps()) {
                if self.wanted.contains(&edge.to) {
                    callers.entry(edge.to).or_default().push(self.image.svma(edge.from));
                }
            }
            callers
        })
    }

    fn is_in_loop(&self, function: &Function, svma: Svma) -> bool {
        let mut last = self.last.borrow_mut();
        let known =
            last.as_ref().filter(|(of, _)| of == function).and_then(|(_, outline)| outline.comes_back(svma));
        known.unwrap_or_else(|| {
            let (_, outline) =
                last.insert((*function, Outline::of(self.image, self.program, function, svma)));
            outline.comes_back(svma).unwrap_or(false)
        })
    }
}

/// Which of some places of one function are in a loop of it.
pub fn loops_at(image: &Image<'_>, program: &Program, function: &Function, places: &[Svma]) -> Vec<bool> {
    let mut outline: Option<Outline> = None;
    let in_loop = places.iter().map(|&svma| {
        let known = outline.as_ref().and_then(|outline| outline.comes_back(svma));
        known.unwrap_or_else(|| {
            let outline = outline.insert(Outline::of(image, program, function, svma));
            outline.comes_back(svma).unwrap_or(false)
        })
    });
    in_loop.collect()
}

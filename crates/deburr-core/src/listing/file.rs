//! A file whose code is listed: its functions with their parts, and what addresses in it are.

use super::model::{Candidate, Target};
use crate::Svma;
use crate::function::{Function, Program};
use crate::image::{self, Image};
use crate::provenance::{Optimisation, explanation, frame_use};
use crate::report::place_of;

#[derive(Clone, Copy)]
pub(super) struct File<'f> {
    pub(super) image: &'f Image<'f>,
    pub(super) program: &'f Program,
}

impl File<'_> {
    /// A whole function and its parts, by address.
    pub(super) fn parts(self, whole: &Function) -> Vec<Function> {
        let all = self.program.functions().iter();
        all.filter(|part| self.program.whole(part) == whole).copied().collect()
    }

    /// How a function was compiled, and what says so.
    pub(super) fn compiled(self, whole: &Function) -> String {
        let File { image, program } = self;
        let optimisation = Optimisation::of(image, program);
        let stretch = optimisation.stretch_at(image.svma(whole.start));
        explanation(frame_use(image, program, whole), stretch)
    }

    /// `parts`: all that it has.
    pub(super) fn candidate(self, whole: &Function, parts: &[Function]) -> Candidate {
        let (section, svma) = place_of(self.image, self.image.svma(whole.start));
        let size = parts.iter().map(|part| part.extent(self.image).len()).sum();
        Candidate { name: self.program.name(whole, self.image).map(image::demangle), svma, section, size }
    }

    pub(super) fn target(self, svma: Svma, is_transfer: bool) -> Target {
        let function = self.image.code_offset(svma).and_then(|at| self.program.function_at(at));
        let name = function.and_then(|function| self.program.name(function, self.image)).map(image::demangle);
        let start = function.map_or(svma, |function| self.image.svma(function.start));
        let (section, place) = place_of(self.image, svma);
        let offset = if name.is_some() { svma.since(start).unwrap_or(0) } else { 0 };
        Target { svma: Some(place), section, name, offset, is_transfer }
    }
}

//! What a file is made of, as far as questions about its build need it: [`Source`].

use super::imported::{NamedCall, calls_by_name};
use crate::address::CodeOffset;
use crate::function::Program;
use crate::image::{Image, Linkage, Undefined, undefined};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// A file, its functions, and what links it to others.
pub(crate) struct Source<'a, 'l> {
    /// The file.
    pub(crate) image: &'a Image<'a>,
    /// Its functions.
    pub(crate) program: &'a Program,
    /// What other files are to define.
    pub(crate) undefined: &'a [Undefined<'a>],
    /// Its linkage, which costs.
    pub(crate) linkage: &'l dyn Fn() -> &'a Linkage<'a>,
}

impl<'a> Source<'a, '_> {
    /// Asks a question about a file, of which nothing else is known yet.
    pub(crate) fn ask<T>(
        image: &Image<'_>,
        program: &Program,
        question: impl FnOnce(&Source<'_, '_>) -> T,
    ) -> T {
        let (linkage, undefined) = (OnceCell::new(), undefined(image.bytes).unwrap_or_default());
        let linkage = || linkage.get_or_init(|| Linkage::parse(image));
        question(&Source { image, program, undefined: &undefined, linkage: &linkage })
    }

    /// The calls of functions whose names are wanted, by address.
    pub(crate) fn calls(&self, is_wanted: &dyn Fn(&str) -> bool) -> Vec<NamedCall<'a>> {
        let names: Vec<&str> = self.undefined.iter().map(|undefined| undefined.name).collect();
        calls_by_name(self.image, self.program, &names, self.linkage, is_wanted)
    }

    /// How many functions some instructions are in.
    pub(crate) fn count_functions(&self, places: impl Iterator<Item = CodeOffset>) -> u64 {
        let function = |at: CodeOffset| {
            let function = self.program.function_at(at);
            function.map_or(at, |function| self.program.whole(function).start)
        };
        places.map(function).collect::<BTreeSet<_>>().len() as u64
    }
}

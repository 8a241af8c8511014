//! Report stage: addresses → what a reader knows them by: a function's demangled name, a section and an address.

use super::model::Hex;
use crate::address::Svma;
use crate::function::{Function, Program};
use crate::image::{self, Image};
use std::sync::Arc;

/// Section (relocatable objects only) and address.
pub(crate) fn place_of(image: &Image<'_>, svma: Svma) -> (Option<Arc<str>>, Hex) {
    let (section, address) = image.place(svma);
    let section = section.filter(|_| image.kind == image::Kind::Relocatable);
    (section.map(Arc::from), Hex(address))
}

/// The demangled name of the function at an address.
pub(crate) fn name_at(image: &Image<'_>, program: &Program, svma: Svma) -> Option<String> {
    let function = image.code_offset(svma).and_then(|at| program.function_at(at))?;
    program.name(function, image).map(image::demangle)
}

/// Demangled names. Neighbouring findings are in the same function, so the last name is kept.
#[derive(Default)]
pub struct FunctionNames {
    last: Option<(Function, Option<Arc<str>>)>,
}

impl FunctionNames {
    /// The name of the function at an address.
    pub fn at(&mut self, image: &Image<'_>, program: &Program, at: Svma) -> Option<Arc<str>> {
        let function = program.function_at(image.code_offset(at)?)?;
        self.of(image, program, function)
    }

    fn of(&mut self, image: &Image<'_>, program: &Program, function: &Function) -> Option<Arc<str>> {
        match &self.last {
            Some((last, name)) if last == function => name.clone(),
            _ => {
                let name: Option<Arc<str>> =
                    program.name(function, image).map(|name| image::demangle(name).into());
                self.last = Some((*function, name.clone()));
                name
            }
        }
    }
}

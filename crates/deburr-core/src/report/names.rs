//! Report stage: addresses → what a reader knows them by: a function's demangled name, a section and an address.

use super::model::Hex;
use crate::address::Svma;
use crate::function::{Function, Program};
use crate::image::{self, Image, SymbolKind, SymbolOrigin};
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

/// Where a function without a name is: after the nearest named function of the same section, as `foo+0x40`. It says where
/// to look, not whose code it is.
pub(crate) fn near(image: &Image<'_>, svma: Svma) -> Option<String> {
    let code = image.code_at(svma)?.extent;
    let after = image.symbols.partition_point(|symbol| symbol.svma <= svma);
    let before = image.symbols.get(..after)?.iter().rev();
    let symbol = before.take_while(|symbol| symbol.svma >= code.start).find(|symbol| {
        matches!(symbol.kind, SymbolKind::Function | SymbolKind::IfuncResolver | SymbolKind::Label)
            && symbol.origin != SymbolOrigin::Plt
    })?;
    Some(format!("{}+{:#x}", image::demangle(&symbol.name), svma.0 - symbol.svma.0))
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

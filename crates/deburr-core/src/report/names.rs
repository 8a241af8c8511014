//! Report stage: addresses → what a reader knows them by: a function's demangled name, a section and an address.

use super::model::Hex;
use crate::address::{CodeOffset, Svma};
use crate::function::{Function, Program};
use crate::image::{self, Image, Symbol, SymbolKind, SymbolOrigin};
use rustc_hash::FxHashMap;
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
    name_of(image, program, function)
}

/// The demangled name of a function.
fn name_of(image: &Image<'_>, program: &Program, function: &Function) -> Option<String> {
    program.name(function, image).map(image::demangle)
}

/// Distance from a named function, in bytes, up to which its name says where a place is: 99 % of the functions of OpenSSL 3.0, CPython
/// 3.11 and a Go program are shorter. What is farther away is mostly another object's code.
const MAX_NEAR_DISTANCE: u64 = 4096;

/// Where a function without a name is: after the nearest named function of the same section, as `foo+0x40`, if that is not
/// far. It says where to look, not whose code it is.
pub(crate) fn near(image: &Image<'_>, svma: Svma) -> Option<String> {
    let symbol = nearest(image, svma)?;
    Some(format!("{}+{:#x}", image::demangle(&symbol.name), svma.0 - symbol.svma.0))
}

/// The nearest named function before an address, in the same section.
fn nearest<'i, 'a>(image: &'i Image<'a>, svma: Svma) -> Option<&'i Symbol<'a>> {
    let code = image.code_at(svma)?.extent;
    let after = image.symbols.partition_point(|symbol| symbol.svma <= svma);
    let before = image.symbols.get(..after)?.iter().rev();
    let first = code.start.max(Svma(svma.0.saturating_sub(MAX_NEAR_DISTANCE)));
    before.take_while(|symbol| symbol.svma >= first).find(|symbol| {
        matches!(symbol.kind, SymbolKind::Function | SymbolKind::IfuncResolver | SymbolKind::Label)
            && symbol.origin != SymbolOrigin::Plt
    })
}

/// Demangled names. The last one is kept, since neighbouring findings are in the same function. The names of functions on paths are kept
/// all: one function may be on the paths to many others.
#[derive(Default)]
pub struct FunctionNames {
    last: Option<(Function, Option<Arc<str>>)>,
    /// By where the functions begin.
    kept: FxHashMap<CodeOffset, Option<Arc<str>>>,
    /// The last function that something was near to.
    last_near: Option<(Svma, String)>,
}

impl FunctionNames {
    /// The name of the function at an address.
    pub fn at(&mut self, image: &Image<'_>, program: &Program, at: Svma) -> Option<Arc<str>> {
        let function = program.function_at(image.code_offset(at)?)?;
        match &self.last {
            Some((last, name)) if last == function => name.clone(),
            _ => {
                let kept = self.kept.get(&function.start).cloned();
                let name = kept.unwrap_or_else(|| name_of(image, program, function).map(Arc::from));
                self.last = Some((*function, name.clone()));
                name
            }
        }
    }

    /// The same for a function on a path.
    pub(crate) fn kept_at(&mut self, image: &Image<'_>, program: &Program, at: Svma) -> Option<Arc<str>> {
        let function = program.function_at(image.code_offset(at)?)?;
        let name = || name_of(image, program, function).map(Arc::from);
        self.kept.entry(function.start).or_insert_with(name).clone()
    }

    /// Where an address is that no named function holds, as [`near`] says.
    pub(crate) fn near(&mut self, image: &Image<'_>, at: Svma) -> Option<Arc<str>> {
        let symbol = nearest(image, at)?;
        let (known, name) =
            self.last_near.get_or_insert_with(|| (symbol.svma, image::demangle(&symbol.name)));
        if *known != symbol.svma {
            (*known, *name) = (symbol.svma, image::demangle(&symbol.name));
        }
        Some(format!("{name}+{:#x}", at.0 - symbol.svma.0).into())
    }
}

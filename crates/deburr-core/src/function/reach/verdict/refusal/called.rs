//! What a call or a jump out of a function leads to: its name, and the function of this file.

use crate::address::Svma;
use crate::function::Function;
use crate::function::reach::file::view::View;
use crate::image::SymbolOrigin;
use crate::insn::{Flow, Insn};

/// What control goes to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Called<'v> {
    /// Its name, where the file has one for it.
    pub name: Option<&'v str>,
    /// The function of this file.
    pub function: Option<&'v Function>,
}

impl<'v> Called<'v> {
    /// By a call, or a jump or branch that takes its place.
    pub(super) fn of(file: &View<'v, '_>, insn: &Insn) -> Called<'v> {
        match insn.flow {
            Flow::Call(to) | Flow::Jump(to) | Flow::Branch(to) => Called::at(file, to),
            Flow::IndirectCall | Flow::IndirectJump => Called::through_cell(file, insn),
            _ => Called { name: None, function: None },
        }
    }

    /// By its address.
    pub(super) fn at(file: &View<'v, '_>, to: Svma) -> Called<'v> {
        let symbols = &file.image.symbols;
        let first = symbols.partition_point(|symbol| symbol.svma < to);
        let here = symbols.get(first..).unwrap_or_default().iter().take_while(|symbol| symbol.svma == to);
        let stub = here.into_iter().find(|symbol| symbol.origin == SymbolOrigin::Plt);
        let stub = stub.map(|symbol| symbol.name.strip_suffix("@plt").unwrap_or(&symbol.name));
        let function = file.called_at(to).filter(|function| {
            // A stub leads to another file.
            stub.is_none() || file.image.svma(function.start) != to
        });
        let name = stub.or_else(|| function.and_then(|function| file.program.name(function, file.image)));
        Called { name, function }
    }

    /// Through a cell that the loader fills in, as code without stubs calls.
    fn through_cell(file: &View<'v, '_>, insn: &Insn) -> Called<'v> {
        let cell =
            insn.memory.filter(|memory| memory.is_static).map(|memory| Svma(memory.displacement as u64));
        let import = cell.and_then(|cell| file.linkage.import(cell)).map(|import| import.name);
        match (import, cell.and_then(|cell| file.linkage.cell(cell)).filter(|_| import.is_none())) {
            (None, Some(to)) => Called::at(file, to),
            (name, _) => Called { name, function: None },
        }
    }
}

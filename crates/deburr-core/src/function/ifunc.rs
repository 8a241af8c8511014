//! Functions that ifunc resolvers choose among when a program starts, with those that only they call.
//!
//! In: references and calls, and where the resolvers are. Out: where the functions begin.

use super::Program;
use crate::address::CodeOffset;
use crate::address::Svma;
use crate::image::Image;
use crate::insn::sweep::ReferenceKind;
use rustc_hash::FxHashSet;

/// Functions whose address an ifunc resolver makes (one of them is chosen when the program starts), and those that only
/// such functions call.
pub(crate) fn chosen_functions(
    image: &Image<'_>,
    program: &Program,
    resolvers: impl Iterator<Item = Svma>,
) -> FxHashSet<CodeOffset> {
    /// How far down the calls are followed.
    const DEPTH: usize = 4;
    let whole = |at: CodeOffset| Some(program.whole(program.function_at(at)?).start);
    let resolvers: FxHashSet<CodeOffset> =
        resolvers.filter_map(|resolver| whole(image.code_offset(resolver)?)).collect();
    if resolvers.is_empty() {
        return FxHashSet::default();
    }
    // A part that the compiler split off, too.
    let is_in_resolver = |at: CodeOffset| whole(at).is_some_and(|start| resolvers.contains(&start));
    let by_code = program
        .references()
        .filter(|reference| reference.kind == ReferenceKind::Address && is_in_resolver(reference.from))
        .map(|reference| reference.to);
    let by_linker = image.addresses.iter().filter_map(|&(from, to)| {
        is_in_resolver(image.code_offset(from)?).then(|| image.code_offset(to)).flatten()
    });
    let mut chosen: FxHashSet<CodeOffset> = by_code.chain(by_linker).collect();
    for _ in 0..DEPTH {
        let callees = called_only_from(image, program, &chosen);
        if callees.is_empty() {
            break;
        }
        chosen.extend(callees);
    }
    chosen
}

/// Functions outside `callers` that direct calls and jumps reach from these alone, and whose address no data holds.
fn called_only_from(
    image: &Image<'_>,
    program: &Program,
    callers: &FxHashSet<CodeOffset>,
) -> FxHashSet<CodeOffset> {
    let is_caller = |at: CodeOffset| {
        program.function_at(at).is_some_and(|function| callers.contains(&program.whole(function).start))
    };
    let edges = || program.calls().chain(program.jumps());
    let mut only: FxHashSet<CodeOffset> = edges()
        .filter(|edge| !callers.contains(&edge.to) && is_caller(edge.from))
        .filter(|edge| program.function_from(edge.to).is_some())
        .map(|edge| edge.to)
        .collect();
    let mut leave = |at: CodeOffset| {
        only.remove(&at);
    };
    edges().filter(|edge| !is_caller(edge.from)).for_each(|edge| leave(edge.to));
    image.pointers.iter().filter_map(|&pointer| image.code_offset(pointer)).for_each(&mut leave);
    let global = image.symbols.iter().filter(|symbol| symbol.is_global);
    global.filter_map(|symbol| image.code_offset(symbol.svma)).for_each(leave);
    only
}

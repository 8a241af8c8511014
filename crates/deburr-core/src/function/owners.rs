//! Which function each split-off part (`.cold`) belongs to: the one that jumps into it, or that its name names.
//!
//! In: a [`Program`] whose functions own nothing yet. Out: the same, with owners.

use super::known::Known;
use super::program::{Program, WHOLE};
use crate::address::CodeOffset;
use crate::image::{Image, TransferTarget};
use crate::insn::sweep::Edge;
use rayon::prelude::*;
use std::collections::HashMap;

/// Gives each split-off part its owner: the function that jumps into it, or that its name names.
pub(super) fn find_owners(image: &Image<'_>, known: &[Known], program: &mut Program) {
    let name_of = |symbol: u32| image.symbols.get(symbol as usize).map(|symbol| &*symbol.name);
    let is_cold = |symbol: u32| image.symbols.get(symbol as usize).is_some_and(|symbol| symbol.is_cold);
    let starts: Vec<CodeOffset> = known
        .par_iter()
        .filter(|function| function.is_part || is_cold(function.symbol))
        .map(|function| function.start)
        .collect();
    if starts.is_empty() {
        return;
    }
    // The parts' places among the functions, and their owners' places, index by index.
    let function_at = |start: &CodeOffset| {
        let place = program.functions.binary_search_by_key(start, |function| function.start);
        u32::try_from(place.ok()?).ok()
    };
    let parts: Vec<u32> = starts.par_iter().filter_map(function_at).collect();
    let mut owners: Vec<Option<u32>> = vec![None; parts.len()];
    let get = |part: u32| program.functions.get(part as usize);
    let entered = |&Edge { from, to }: &Edge| {
        let after = parts.partition_point(|&part| get(part).is_some_and(|part| part.start <= to));
        let index = after.checked_sub(1)?;
        let is_inside = get(*parts.get(index)?)?.contains(to);
        is_inside.then_some((from, index))
    };
    let jumps = program.chunks.par_iter().flat_map_iter(|chunk| chunk.jumps.iter().filter_map(entered));
    let mut jumps_in: Vec<(CodeOffset, usize)> = jumps.collect();
    jumps_in.extend(transfer_jumps(image).filter_map(|jump| entered(&jump)));
    for (from, index) in jumps_in {
        if let Some(owner) = owners.get_mut(index).filter(|owner| owner.is_none()) {
            let from = program.functions.partition_point(|function| function.start <= from).checked_sub(1);
            *owner = from.and_then(|i| u32::try_from(i).ok());
        }
    }
    let base_of = |part: u32| name_of(get(part)?.symbol).and_then(|name| name.split(".cold").next());
    // Of most parts a jump shows the owner: only the others' names are searched for.
    let left = parts.iter().zip(&owners).filter(|(_, owner)| owner.is_none());
    let mut by_name: HashMap<&str, Option<u32>> =
        left.filter_map(|(&part, _)| base_of(part)).map(|base| (base, None)).collect();
    if !by_name.is_empty() {
        for (i, function) in (0u32..).zip(&program.functions) {
            if let Some(owner) = name_of(function.symbol).and_then(|name| by_name.get_mut(name)) {
                *owner = Some(i);
            }
        }
    }
    for (&part, owner) in parts.iter().zip(&mut owners) {
        *owner = owner.or_else(|| base_of(part).and_then(|base| by_name.get(base)).copied().flatten());
        // A part of a part, or one that jumps to itself, stays on its own.
        *owner = owner.filter(|owner| parts.binary_search(owner).is_err());
    }
    for (part, owner) in parts.into_iter().zip(owners) {
        if let Some(function) = program.functions.get_mut(part as usize) {
            function.owner = owner.unwrap_or(WHOLE);
        }
    }
}

/// Jumps that the linker fills in.
fn transfer_jumps(image: &Image<'_>) -> impl Iterator<Item = Edge> {
    image.transfers.iter().filter(|transfer| !transfer.is_call).filter_map(|transfer| match transfer.to {
        TransferTarget::Here(to) => {
            Some(Edge { from: image.code_offset(transfer.from)?, to: image.code_offset(to)? })
        }
        TransferTarget::Elsewhere(_) => None,
    })
}

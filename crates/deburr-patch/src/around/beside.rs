//! Patch stage: instructions beside code.
//!
//! In: an image, and the addresses that its code makes or relocations have. Out: the words that may run although they are in no section of code: control
//! can come to them from code or through an address, over nothing but instructions.

use super::flow::edges;
use deburr_core::address::Svma;
use deburr_core::image::{Image, Linkage, executable_beside_code, functions_beside_code};
use deburr_core::insn;
use std::collections::BTreeMap;

/// Words that are followed; more of them are data that looks like code.
const MAX_WORDS: usize = 1 << 20;

/// The words beside code that may run, by address. `named`: the addresses that code makes or relocations have.
pub(crate) fn words_beside_code(image: &Image<'_>, named: &[u64]) -> BTreeMap<u64, u32> {
    let regions = executable_beside_code(image);
    let mut found = BTreeMap::new();
    if regions.is_empty() {
        return found;
    }
    let bytes_at = |at: Svma| {
        let (start, bytes) = regions
            .iter()
            .find(|(start, bytes)| at.since(*start).is_some_and(|from| from < bytes.len() as u64))?;
        bytes.get(usize::try_from(at.since(*start)?).ok()?..)
    };
    let branches = image.code.iter().flat_map(|code| {
        let places = (0i64..).map(|index| code.extent.start.offset(4 * index));
        let words = code.bytes.as_chunks::<4>().0;
        places
            .zip(words)
            .filter_map(|(at, word)| Some(at.offset(edges::distance(u32::from_le_bytes(*word))?)))
    });
    let linkage = Linkage::parse(image);
    let exports = linkage.named_exports.iter().map(|export| export.at);
    let entries = branches.filter(|&to| image.code_at(to).is_none());
    let named = named.iter().map(|&to| Svma(to));
    let mut pending: Vec<Svma> = entries
        .chain(exports)
        .chain(named)
        .chain(functions_beside_code(image))
        .filter(|at| at.0 % 4 == 0 && bytes_at(*at).is_some())
        .collect();
    while let Some(at) = pending.pop() {
        let Some(bytes) = bytes_at(at) else { continue };
        let Some(word) = bytes.first_chunk().map(|word| u32::from_le_bytes(*word)) else { continue };
        if found.contains_key(&at.0)
            || insn::decode(image.arch, bytes, at).is_none()
            || found.len() >= MAX_WORDS
        {
            continue;
        }
        found.insert(at.0, word);
        pending.extend(edges::distance(word).map(|distance| at.offset(distance)));
        if edges::falls_through(word) {
            pending.push(at.offset(4));
        }
    }
    found
}

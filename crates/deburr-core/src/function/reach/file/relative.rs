//! Tables of offsets that lead to functions: relative vtables, Go's tables of methods, tables made by hand.
//!
//! In: functions that no address in the file leads to. Out: for some of them a word of data that, added to a place,
//! gives where they begin: to its own place, to the start of the table that it is in, or to the start of Go's text.
//! A word that does so by chance only makes a verdict more careful. Sources: Go's `src/internal/abi/type.go` (`TextOff`),
//! LLVM's relative vtables (`-fexperimental-relative-c++-abi-vtables`).

use crate::address::{CodeOffset, Svma};
use crate::function::reach::file::view::View;
use crate::image::SymbolOrigin;
use crate::image::linkage::Data;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum of bytes from the start of a table to an entry.
const TABLE: u64 = 0x4000;
/// Words that are looked at together.
const RUN: usize = 16;

/// For each of some functions that a word of data leads to, the first such word.
pub(crate) fn offsets_to(file: &View<'_, '_>, wanted: &BTreeSet<CodeOffset>) -> BTreeMap<CodeOffset, Svma> {
    let image = file.image;
    let places: Vec<u64> = wanted.iter().map(|&start| image.svma(start).0).collect();
    let (Some(&first), Some(&last)) = (places.first(), places.last()) else { return BTreeMap::new() };
    let by_go = image.symbols.iter().filter(|symbol| symbol.origin == SymbolOrigin::Pclntab);
    let text = by_go.map(|symbol| symbol.svma.0).min();
    let mut found = BTreeMap::new();
    for data in file.linkage.data.iter().filter(|data| !data.is_unwind) {
        let (words, _) = data.bytes.as_chunks::<4>();
        for (words, at) in words.chunks(RUN).zip((data.extent.start.0..).step_by(RUN * 4)) {
            // Nearly all lead elsewhere.
            let leads_near = |near, (word, at): (&[u8; 4], u64)| {
                let own = at.wrapping_add_signed(i32::from_le_bytes(*word).into());
                near | (own.wrapping_sub(first) <= last.saturating_add(TABLE).wrapping_sub(first))
            };
            if text.is_none() && !words.iter().zip((at..).step_by(4)).fold(false, leads_near) {
                continue;
            }
            for (word, at) in words.iter().zip((at..).step_by(4)) {
                let word = u32::from_le_bytes(*word);
                if word == 0 {
                    continue;
                }
                let mut note = |place: u64| {
                    if let Some(start) = image.code_offset(Svma(place)) {
                        found.entry(start).or_insert(Svma(at));
                    }
                };
                let in_text = text.map(|text| text.wrapping_add(word.into()));
                let in_text = in_text.filter(|place| (first..=last).contains(place));
                if let Some(place) = in_text.filter(|place| places.binary_search(place).is_ok()) {
                    note(place);
                }
                let offset = i64::from(word.cast_signed());
                let own = at.wrapping_add_signed(offset);
                if own < first || own.saturating_sub(TABLE) > last {
                    continue;
                }
                let from = places.partition_point(|&place| place < own.saturating_sub(TABLE));
                for &place in places.get(from..).unwrap_or_default().iter().take_while(|&&place| place <= own)
                {
                    if is_table(file, data, place.wrapping_add_signed(-offset), at) {
                        note(place);
                    }
                }
            }
        }
    }
    found
}

/// Whether each word from the start of a table to an entry is an offset from that start to a function, or nothing.
fn is_table(file: &View<'_, '_>, data: &Data<'_>, start: u64, entry: u64) -> bool {
    let bytes = || {
        let from = usize::try_from(start.checked_sub(data.extent.start.0)?).ok()?;
        let until = usize::try_from(entry.checked_sub(data.extent.start.0)?).ok()?;
        data.bytes.get(from..until)
    };
    let leads_on = |word: &[u8; 4]| {
        let offset = i32::from_le_bytes(*word);
        let place = file.image.code_offset(Svma(start.wrapping_add_signed(offset.into())));
        matches!(offset, 0 | -1) || place.is_some_and(|place| file.program.function_from(place).is_some())
    };
    start.is_multiple_of(4) && bytes().is_some_and(|bytes| bytes.as_chunks::<4>().0.iter().all(leads_on))
}

//! What is known of functions' bounds before any code is read: symbols, frame descriptions and `.gopclntab`, which
//! the image has merged.
//!
//! In: an [`Image`]. Out: [`Known`] by address, without overlap, trimmed to the next one's start and of padding.

use super::padding;
use super::program::UNNAMED;
use crate::address::CodeOffset;
use crate::image::{Image, SymbolKind};
use std::ops::Range;

/// A function whose bounds the file itself states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// Where it begins.
    pub start: CodeOffset,
    /// Where it ends.
    pub end: CodeOffset,
    /// Index into [`Image::symbols`], or [`UNNAMED`].
    pub(super) symbol: u32,
    /// Whether a frame description says that it begins in the middle of a function.
    pub(super) is_part: bool,
    /// Whether nothing states where it ends: others may begin before the next known one.
    pub(super) is_open: bool,
}

/// Functions from symbols and frame descriptions, by address, without overlap.
pub(super) fn known_functions(image: &Image<'_>) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::with_capacity(image.symbols.len().max(image.frames.len()));
    for (index, symbol) in image.symbols.iter().enumerate() {
        let is_function = match symbol.kind {
            SymbolKind::Function | SymbolKind::IfuncResolver => true,
            SymbolKind::Label => symbol.is_global,
            SymbolKind::Object | SymbolKind::MapCode | SymbolKind::MapData => false,
        };
        // Symbols come with the better name first at each address.
        let is_first = |start| known.last().is_none_or(|last: &Known| last.start != start);
        if let Some(start) = image.code_offset(symbol.svma).filter(|&start| is_function && is_first(start)) {
            let end = start.saturating_add(offset_length(symbol.size));
            known.push(Known {
                start,
                end,
                symbol: u32::try_from(index).unwrap_or(UNNAMED),
                is_part: false,
                is_open: false,
            });
        }
    }
    let by_symbol = known.len();
    // Both come by address: the first symbol that does not begin before the frame only moves up.
    let mut next = 0;
    for frame in &image.frames {
        let Some(start) = image.code_offset(frame.extent.start) else { continue };
        let end = start.saturating_add(offset_length(frame.extent.len()));
        while next < by_symbol && known.get(next).is_some_and(|symbol| symbol.start < start) {
            next += 1;
        }
        match known.get_mut(next).filter(|_| next < by_symbol) {
            // The symbol's own size counts; hand-written code often has none.
            Some(symbol) if symbol.start == start => {
                symbol.is_part |= frame.is_part;
                if symbol.end == symbol.start {
                    symbol.end = end;
                }
            }
            // Over the starts of functions, it describes many, as a PLT or hand-written code has it.
            Some(symbol) if symbol.start < end => {}
            _ => known.push(Known { start, end, symbol: UNNAMED, is_part: frame.is_part, is_open: false }),
        }
    }
    known.sort_by_key(|function| (function.start, function.symbol));
    known.dedup_by_key(|function| function.start);
    trim_to_next(image, &mut known);
    known
}

/// Ends each function at the latest where the next one or the end of its section comes; those of unknown size end
/// there.
fn trim_to_next(image: &Image<'_>, known: &mut [Known]) {
    let ends: Vec<Range<CodeOffset>> = sections(image).collect();
    let mut next_start = CodeOffset::MAX;
    for function in known.iter_mut().rev() {
        let section = ends.partition_point(|section| section.start <= function.start).checked_sub(1);
        let section_end = section.and_then(|i| ends.get(i)).map_or(function.start, |section| section.end);
        let latest = next_start.min(section_end);
        if function.end <= function.start || function.end > latest {
            let unknown_size = function.end <= function.start;
            function.end = latest;
            function.is_open = unknown_size;
            if unknown_size {
                function.end -= trailing_padding(image, function.start..latest);
            }
        }
        next_start = function.start;
    }
}

/// Length of the padding that a range of code ends with.
pub(super) fn trailing_padding(image: &Image<'_>, range: Range<CodeOffset>) -> u32 {
    let code = bytes(image, range);
    offset_length(padding::trailing(image.arch, code) as u64)
}

/// The bytes of a range within one section; what is outside it is cut off.
pub(super) fn bytes<'a>(image: &Image<'a>, range: Range<CodeOffset>) -> &'a [u8] {
    let code = image.bytes_at(image.svma(range.start)).unwrap_or_default();
    code.get(..(range.end.0.saturating_sub(range.start.0)) as usize).unwrap_or(code)
}

/// Where an instruction is known to begin, by address.
pub(super) fn known_starts(image: &Image<'_>, known: &[Known]) -> Vec<CodeOffset> {
    let mut starts: Vec<CodeOffset> = Vec::with_capacity(known.len() * 2 + image.entries.len());
    starts.extend(known.iter().flat_map(|function| [function.start, function.end]));
    starts.extend(image.entries.iter().filter_map(|&entry| image.code_offset(entry)));
    let mapped = image.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::MapCode);
    starts.extend(mapped.filter_map(|symbol| image.code_offset(symbol.svma)));
    // Few runs by address, which a stable sort merges.
    starts.sort();
    starts.dedup();
    starts
}

/// Whether no known function holds an offset, queried in order of offset.
pub(super) fn outside(known: &[Known]) -> impl FnMut(CodeOffset) -> bool {
    let mut next: Option<usize> = None;
    move |at| {
        let i = next.get_or_insert_with(|| known.partition_point(|function| function.end <= at));
        while known.get(*i).is_some_and(|function| function.end <= at) {
            *i += 1;
        }
        known.get(*i).is_none_or(|function| at < function.start)
    }
}

/// How many things of a sorted list are before a place, queried mostly in order of place: the next count is near the last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor(usize);

impl Cursor {
    /// How many things are `before`, which holds of the first ones alone.
    pub(super) fn count<T>(&mut self, sorted: &[T], before: impl Fn(&T) -> bool) -> usize {
        /// Steps from which on halving is quicker.
        const STEPS: usize = 8;
        let (passed, rest) = sorted.split_at_checked(self.0).unwrap_or((sorted, &[]));
        let steps = rest.iter().take(STEPS).take_while(|thing| before(thing)).count();
        self.0 = match passed.last() {
            Some(last) if !before(last) => passed.partition_point(before),
            _ if steps < STEPS => passed.len() + steps,
            _ => passed.len() + rest.partition_point(before),
        };
        self.0
    }
}

/// Whether a function is known to hold an address, for [`super::data`].
pub(super) fn is_known(known: &[Known], at: CodeOffset) -> bool {
    let after = known.partition_point(|function| function.start <= at);
    after.checked_sub(1).and_then(|i| known.get(i)).is_some_and(|function| at < function.end)
}

/// The sections as ranges of offsets.
pub(super) fn sections(image: &Image<'_>) -> impl DoubleEndedIterator<Item = Range<CodeOffset>> {
    image.code.iter().map(|code| code.at..code.at.saturating_add(offset_length(code.extent.len())))
}

/// A length as an offset; code spans less than 4 GiB.
pub(super) fn offset_length(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

//! Patch stage, audit: a file → where control may come from and go to, over all of its code.
//!
//! In: an image. Out: a [`Graph`], which has every direct branch and call of every executable section by its
//! target, whatever function it belongs to, and what enters code otherwise. A word of data that looks like a
//! branch is one here.

use super::computed::{self, Computed};
use super::fields::{self, Flow};
use deburr_core::address::CodeOffset;
use deburr_core::address::{Extent, Svma};
use deburr_core::image::{Described, Describer, Image, Linkage, SymbolKind, described};
use rayon::prelude::*;
use std::sync::OnceLock;

/// Instructions that one thread reads together.
const PIECE: usize = 1 << 16;
/// Instructions of which the branches are held twice at a time.
const PART: usize = 1 << 22;

/// All direct control flow of a file, and its entries.
pub(crate) struct Graph<'a> {
    pub(crate) image: &'a Image<'a>,
    /// Target and source of each direct branch and call, by target.
    edges: Vec<(CodeOffset, CodeOffset)>,
    /// Places that something else than a direct branch leads to, by address, without duplicates.
    entries: Vec<CodeOffset>,
    /// Those that code outside of the file, or a pointer, may lead to.
    exposed: Vec<CodeOffset>,
    /// All addresses that code computes for certain, by value, without duplicates.
    computed: Vec<u64>,
    /// Those and the ones that relocations have.
    named: OnceLock<Vec<u64>>,
    /// Instructions that others know by their addresses.
    described: OnceLock<Vec<Described>>,
    /// What is no code, by address.
    data: Vec<(CodeOffset, CodeOffset)>,
    /// Functions, or what is known of their extents, by address.
    functions: Vec<(CodeOffset, CodeOffset)>,
}

impl<'a> Graph<'a> {
    pub(crate) fn of(image: &'a Image<'a>) -> Graph<'a> {
        let ((edges, computed), marked) = rayon::join(|| scan(image), || marked(image));
        let (mut exposed, named) = marked;
        let places = computed.iter().map(|computed| computed.address).filter(|address| address % 4 == 0);
        exposed.extend(places.filter_map(|address| image.code_offset(Svma(address))));
        let certain = computed.iter().filter(|computed| computed.is_certain);
        let computed = certain.map(|computed| computed.address).collect();
        sort(&mut exposed);
        let mut entries = exposed.clone();
        entries.extend(named);
        sort(&mut entries);
        let mut graph = Graph {
            image,
            edges,
            entries,
            exposed,
            computed,
            named: OnceLock::new(),
            described: OnceLock::new(),
            data: Vec::new(),
            functions: functions(image),
        };
        graph.data = graph.unreached_data();
        graph.edges.retain(|(_, from)| !is_within(&graph.data, *from));
        graph
    }

    /// Adds jumps through tables, as source and targets.
    pub(crate) fn add_jumps(&mut self, jumps: &[(CodeOffset, Vec<CodeOffset>)]) {
        let added = jumps.iter().flat_map(|(from, targets)| targets.iter().map(|to| (*to, *from)));
        self.edges.extend(added);
        self.edges.par_sort_unstable_by_key(as_number);
        self.edges.dedup();
    }

    /// The instruction at an offset.
    pub(crate) fn word(&self, at: CodeOffset) -> Option<u32> {
        self.image.word_at(self.image.svma(at))
    }

    /// An offset as an address.
    pub(crate) fn svma(&self, at: CodeOffset) -> Svma {
        self.image.svma(at)
    }

    /// Direct branches and calls to an offset.
    pub(crate) fn sources(&self, to: CodeOffset) -> impl Iterator<Item = CodeOffset> + '_ {
        let from = self.edges.partition_point(|edge| edge.0 < to);
        let edges = self.edges.get(from..).unwrap_or_default();
        edges.iter().take_while(move |edge| edge.0 == to).map(|edge| edge.1)
    }

    /// Direct branches and calls into a range that begins after `start`, as target and source.
    pub(crate) fn sources_into(
        &self,
        start: CodeOffset,
        end: CodeOffset,
    ) -> impl Iterator<Item = (CodeOffset, CodeOffset)> + '_ {
        let from = self.edges.partition_point(|edge| edge.0 <= start);
        let edges = self.edges.get(from..).unwrap_or_default();
        edges.iter().take_while(move |edge| edge.0 < end).copied()
    }

    /// What else leads to places after `start`.
    pub(crate) fn entry_in(&self, start: CodeOffset, end: CodeOffset) -> Option<CodeOffset> {
        let at = self.entries.partition_point(|entry| *entry <= start);
        self.entries.get(at).copied().filter(|entry| *entry < end)
    }

    /// The next address after one that code computes for certain or a relocation has: what begins there is not what
    /// begins here.
    pub(crate) fn named_after(&self, address: u64) -> Option<u64> {
        let named = self.named.get_or_init(|| {
            let cells = Linkage::parse(self.image).cells;
            let mut named = self.computed.clone();
            named.extend(cells.iter().map(|cell| cell.to.0));
            named.par_sort_unstable();
            named
        });
        named.get(named.partition_point(|&named| named <= address)).copied()
    }

    /// Whether something other than a direct branch may lead to an offset.
    pub(crate) fn is_entry(&self, at: CodeOffset) -> bool {
        self.entries.binary_search(&at).is_ok()
    }

    /// Whether code that is not seen may come to an offset: by a pointer, or from another file.
    pub(crate) fn is_exposed(&self, at: CodeOffset) -> bool {
        self.exposed.binary_search(&at).is_ok()
    }

    /// The places in a function, its start apart, that are exposed.
    pub(crate) fn exposed_in(&self, function: (CodeOffset, CodeOffset)) -> &[CodeOffset] {
        let from = self.exposed.partition_point(|at| *at <= function.0);
        let rest = self.exposed.get(from..).unwrap_or_default();
        rest.get(..rest.partition_point(|at| *at < function.1)).unwrap_or_default()
    }

    /// The function around an offset: by its symbol or frame, or else what is between the nearest ones.
    pub(crate) fn function(&self, at: CodeOffset) -> (CodeOffset, CodeOffset) {
        let after = self.functions.partition_point(|function| function.0 <= at);
        let before = after.checked_sub(1).and_then(|index| self.functions.get(index));
        match before {
            Some(&(start, end)) if at < end => (start, end),
            before => {
                let start = before.map_or(CodeOffset::ZERO, |function| function.1);
                let end = self.functions.get(after).map_or(CodeOffset::MAX, |function| function.0);
                (start, end)
            }
        }
    }

    /// Where an offset is so many bytes from another, if that is in code.
    pub(crate) fn offset(&self, from: CodeOffset, bytes: i64) -> Option<CodeOffset> {
        self.image.code_offset(self.svma(from).offset(bytes))
    }

    /// The offset of an address in code.
    pub(crate) fn at(&self, svma: Svma) -> Option<CodeOffset> {
        self.image.code_offset(svma)
    }

    /// Hands out where control goes directly from an offset; over calls, to after them.
    pub(crate) fn successors(&self, at: CodeOffset, mut found: impl FnMut(CodeOffset)) {
        let Some(word) = self.word(at) else { return };
        let next = |bytes: i64| self.offset(at, bytes);
        match fields::flow(word) {
            Flow::Next | Flow::Call(_) | Flow::IndirectCall => next(4).into_iter().for_each(found),
            Flow::Jump(to) => next(to).into_iter().for_each(found),
            Flow::Branch(to) => {
                next(to).into_iter().for_each(&mut found);
                next(4).into_iter().for_each(found);
            }
            Flow::IndirectJump | Flow::Return | Flow::Stop => {}
        }
    }

    /// Hands out where control comes from directly to an offset: the instruction before, if it goes on, and
    /// branches; calls of it are no such.
    pub(crate) fn predecessors(&self, at: CodeOffset, mut found: impl FnMut(CodeOffset)) {
        if let Some((before, word)) = at.checked_sub(4).and_then(|before| Some((before, self.word(before)?)))
            && !matches!(fields::flow(word), Flow::Jump(_) | Flow::IndirectJump | Flow::Return | Flow::Stop)
        {
            found(before);
        }
        for from in self.sources(at).filter(|from| !self.is_call(*from)) {
            found(from);
        }
    }

    /// Instructions that the file tells others of, by address.
    pub(crate) fn described(&self) -> &[Described] {
        self.described.get_or_init(|| described(self.image))
    }

    /// Whether a tracer may read registers at a place.
    pub(crate) fn is_probe(&self, at: CodeOffset) -> bool {
        let (described, at) = (self.described(), self.svma(at));
        let here = described.get(described.partition_point(|it| it.extent.start < at)..).unwrap_or_default();
        here.iter().take_while(|it| it.extent.start == at).any(|it| it.by == Describer::Probe)
    }

    /// Whether a direct branch is a call.
    pub(crate) fn is_call(&self, at: CodeOffset) -> bool {
        self.word(at).is_some_and(|word| matches!(fields::flow(word), Flow::Call(_)))
    }

    /// Direct calls of an offset.
    pub(crate) fn calls(&self, of: CodeOffset) -> impl Iterator<Item = CodeOffset> + '_ {
        self.sources(of).filter(|from| self.is_call(*from))
    }

    /// The runs that symbols call data and that no branch, pointer or instruction before leads into, by address.
    fn unreached_data(&self) -> Vec<(CodeOffset, CodeOffset)> {
        let objects = objects(self.image);
        let mut unreached = marked_data(self.image, &objects);
        loop {
            let is_data = |at: CodeOffset| is_within(&unreached, at);
            let is_led_to = |&(start, end): &(CodeOffset, CodeOffset)| {
                let before = start.checked_sub(4).filter(|before| !is_data(*before));
                let falls = before.and_then(|before| self.word(before)).is_some_and(|word| {
                    !matches!(
                        fields::flow(word),
                        Flow::Jump(_) | Flow::IndirectJump | Flow::Return | Flow::Stop
                    )
                });
                let pointers = &self.image.pointers;
                let pointers = pointers.iter().skip(pointers.partition_point(|&to| to < self.svma(start)));
                let mut pointers = pointers.take_while(|&&to| to < self.svma(end));
                // What has the address of an object points to no code.
                let is_pointed_to =
                    pointers.any(|&to| self.image.code_offset(to).is_none_or(|to| !is_within(&objects, to)));
                let mut sources =
                    self.sources(start).chain(self.sources_into(start, end).map(|(_, from)| from));
                falls || is_pointed_to || sources.any(|from| !is_data(from))
            };
            let left: Vec<_> = unreached.iter().copied().filter(|run| !is_led_to(run)).collect();
            if left.len() == unreached.len() {
                return left;
            }
            unreached = left;
        }
    }

    /// All instructions that satisfy something, by address; data among them are none.
    pub(crate) fn find(&self, wanted: impl Fn(u32) -> bool + Sync) -> Vec<CodeOffset> {
        let data = &self.data;
        let mut found = Vec::new();
        for code in &self.image.code {
            let words = code.bytes.as_chunks::<4>().0;
            found.par_extend(words.par_chunks(PIECE).enumerate().flat_map_iter(|(piece, words)| {
                let start = code.at.saturating_add((piece * PIECE * 4) as u32);
                let wanted = &wanted;
                let places = words.iter().zip(start.words());
                let found =
                    places.filter(move |(word, _)| wanted(u32::from_le_bytes(**word))).map(|(_, at)| at);
                found.filter(|at| !is_within(data, *at))
            }));
        }
        found
    }
}

/// An edge as a number in the same order.
fn as_number(edge: &(CodeOffset, CodeOffset)) -> u64 {
    u64::from(edge.0) << 32 | u64::from(edge.1)
}

/// Whether a place is in one of some runs, which are sorted.
fn is_within(runs: &[(CodeOffset, CodeOffset)], at: CodeOffset) -> bool {
    let after = runs.partition_point(|run| run.0 <= at);
    after.checked_sub(1).and_then(|index| runs.get(index)).is_some_and(|run| at < run.1)
}

/// What symbols call objects in code, by address.
fn objects(image: &Image<'_>) -> Vec<(CodeOffset, CodeOffset)> {
    let objects = image.symbols.iter().filter(|it| it.kind == SymbolKind::Object && it.size > 0);
    let objects = objects.filter_map(|it| {
        let start = image.code_offset(it.svma)?;
        Some((start, start.saturating_add(u32::try_from(it.size).ok()?)))
    });
    joined(objects.collect())
}

/// Sorts runs, and joins those that overlap.
fn joined(mut runs: Vec<(CodeOffset, CodeOffset)>) -> Vec<(CodeOffset, CodeOffset)> {
    runs.sort_unstable();
    runs.dedup_by(|next, kept| {
        let overlaps = next.0 <= kept.1;
        kept.1 = if overlaps { kept.1.max(next.1) } else { kept.1 };
        overlaps
    });
    runs
}

/// The runs from each mapping symbol for data to the next for code, or to the end of its section (AAELF64, "Mapping symbols"), and
/// objects.
fn marked_data(image: &Image<'_>, objects: &[(CodeOffset, CodeOffset)]) -> Vec<(CodeOffset, CodeOffset)> {
    let marks =
        image.symbols.iter().filter(|it| matches!(it.kind, SymbolKind::MapCode | SymbolKind::MapData));
    let mut marks: Vec<(CodeOffset, bool)> = marks
        .filter_map(|mark| Some((image.code_offset(mark.svma)?, mark.kind == SymbolKind::MapData)))
        .collect();
    marks.sort_unstable();
    let ends = image.code.iter().map(|code| code.at + code.bytes.len() as u32);
    let ends: Vec<CodeOffset> = ends.collect();
    let mut found: Vec<(CodeOffset, CodeOffset)> = Vec::new();
    // From the last on, where the next code begins.
    let mut next: Option<CodeOffset> = None;
    for &(at, is_data) in marks.iter().rev() {
        if !is_data {
            next = Some(at);
            continue;
        }
        let section = ends.get(ends.partition_point(|end| *end <= at)).copied();
        let end = next.into_iter().chain(section).min();
        found.extend(end.filter(|end| at < *end).map(|end| (at, end)));
        next = Some(at);
    }
    found.extend(objects);
    joined(found)
}

fn sort(places: &mut Vec<CodeOffset>) {
    places.par_sort_unstable();
    places.dedup();
}

/// Direct branches, and the addresses that code computes.
fn scan(image: &Image<'_>) -> (Vec<(CodeOffset, CodeOffset)>, Vec<Computed>) {
    let (mut edges, mut addresses) = (Vec::new(), Vec::new());
    for code in &image.code {
        let words = code.bytes.as_chunks::<4>().0;
        for (part, words) in words.chunks(PART).enumerate() {
            edges.par_extend(words.par_chunks(PIECE).enumerate().flat_map_iter(|(piece, words)| {
                let start = code.at.saturating_add(((part * PART + piece * PIECE) * 4) as u32);
                words.iter().zip(start.words()).filter_map(move |(word, from)| {
                    let bytes = match fields::flow(u32::from_le_bytes(*word)) {
                        Flow::Jump(bytes) | Flow::Branch(bytes) | Flow::Call(bytes) => bytes,
                        _ => return None,
                    };
                    Some((image.code_offset(image.svma(from).offset(bytes))?, from))
                })
            }));
        }
        addresses.par_extend(words.par_chunks(PIECE).enumerate().flat_map_iter(|(piece, _)| {
            // What a piece computes may have begun in the one before.
            let (first, end) = (piece * PIECE, ((piece + 1) * PIECE).min(words.len()));
            let from = first.saturating_sub(computed::FAR);
            let part = words.get(from..end).unwrap_or_default();
            computed::addresses(image, code.extent.start.offset((from * 4) as i64), part)
        }));
    }
    edges.par_sort_unstable_by_key(as_number);
    addresses.par_sort_unstable_by_key(|computed| (computed.address, !computed.is_certain));
    addresses.dedup_by_key(|computed| computed.address);
    (edges, addresses)
}

/// What a file's tables say of entries: those that pointers or other files lead to, and those with a name
/// only.
fn marked(image: &Image<'_>) -> (Vec<CodeOffset>, Vec<CodeOffset>) {
    let pointers = image.pointers.iter().chain(&image.entries).chain(&image.landing_pads);
    let pointers = pointers.chain(&image.entry_point).copied();
    let symbols = image.symbols.iter().filter(|symbol| symbol.is_global).map(|symbol| symbol.svma);
    let mut exposed: Vec<CodeOffset> =
        pointers.chain(symbols).filter_map(|at| image.code_offset(at)).collect();
    if image.is_fixed {
        exposed.extend(unmarked(image));
    }
    let is_place = |kind: SymbolKind| !matches!(kind, SymbolKind::MapCode | SymbolKind::MapData);
    let symbols = image.symbols.iter().filter(|it| is_place(it.kind)).map(|symbol| symbol.svma);
    let frames = image.frames.iter().map(|frame| frame.extent.start);
    (exposed, symbols.chain(frames).filter_map(|at| image.code_offset(at)).collect())
}

/// In a file that is loaded where it says, every value of 4 bytes that is an address in code: in data, in a
/// literal pool, aligned or not. Values of 8 bytes begin with such, as such a file is mapped below 4 GiB. Between
/// instructions, where much is such a value by chance, what is not aligned counts only as the low half of 8 bytes.
fn unmarked(image: &Image<'_>) -> Vec<CodeOffset> {
    let lowest = image.code_base.0;
    let highest = image.code.last().map_or(0, |code| code.extent.end.0);
    let address_at = |bytes: &[u8], is_aligned: bool| {
        let value = u64::from(u32::from_le_bytes(*bytes.first_chunk()?));
        // Of a high address only the whole is one.
        let is_half = lowest >> 32 == 0 && is_aligned;
        let value = if is_half { value } else { u64::from_le_bytes(*bytes.first_chunk()?) };
        (value % 4 == 0 && (lowest..highest).contains(&value)).then_some(value)
    };
    let places = image.loaded.iter().flat_map(|loaded| {
        let length = loaded.bytes.len();
        (0..length.div_ceil(PIECE)).map(move |piece| {
            let end = ((piece + 1) * PIECE).saturating_add(7).min(length);
            let start = loaded.extent.start.0.wrapping_add((piece * PIECE) as u64);
            let step = if loaded.is_executable { 4 } else { 1 };
            (start, step, loaded.bytes.get(piece * PIECE..end).unwrap_or_default())
        })
    });
    let places: Vec<(u64, u64, &[u8])> = places.collect();
    let found = places.into_par_iter().flat_map_iter(|(start, step, bytes)| {
        let windows = (start..).zip(bytes.windows(4)).enumerate();
        windows.filter_map(move |(at, (svma, _))| address_at(bytes.get(at..)?, svma % step == 0))
    });
    let found: Vec<u64> = found.collect();
    found.into_iter().filter_map(|value| image.code_offset(Svma(value))).collect()
}

/// The extents of functions by their symbols and frames; none overlap.
fn functions(image: &Image<'_>) -> Vec<(CodeOffset, CodeOffset)> {
    let frames = image.frames.iter().map(|frame| frame.extent);
    let is_function = |kind: SymbolKind| matches!(kind, SymbolKind::Function | SymbolKind::IfuncResolver);
    let symbols = image.symbols.iter().filter(|it| is_function(it.kind) && it.size > 0);
    let symbols = symbols.map(|symbol| Extent::sized(symbol.svma, symbol.size));
    let mut found: Vec<(CodeOffset, CodeOffset)> = frames
        .chain(symbols)
        .filter_map(|extent| {
            let start = image.code_offset(extent.start)?;
            Some((start, start.saturating_add(u32::try_from(extent.len()).ok()?)))
        })
        .collect();
    found.par_sort_unstable();
    found.dedup_by(|next, kept| {
        let overlaps = next.0 < kept.1;
        kept.1 = if overlaps { kept.1.max(next.1) } else { kept.1 };
        overlaps
    });
    found
}

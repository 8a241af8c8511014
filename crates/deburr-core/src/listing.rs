//! The annotated disassembly of one function, as a value: bytes and a place → [`Listing`].
//!
//! In: an ELF file, what is requested of a check, and a place in the code. Out: the function's instructions as text,
//! with the loops and exclusive sequences they are in, and where they branch to. With them come the features they need
//! beyond what is permitted, their source lines, and the findings about them. It is the line of [`crate::check()`] with
//! another end: the findings are those that `check` reports. Source texts are files, which the caller opens.

use crate::Svma;
use crate::address::Extent;
use crate::check::examine;
use crate::function::atomics::exclusive_runs;
use crate::function::block::{Graph, LARGEST};
use crate::function::loops::natural_loops;
use crate::function::{Function, Program};
use crate::image::{self, Error, Image, Kind, SourceLines, TransferTarget};
use crate::insn::disassemble;
use crate::insn::text::Syntax;
use crate::insn::{self, ClassSet, Insn};
use crate::pattern;
use crate::report::{Hex, PlacedFinding, Report, SourceLocation, place_of};
use crate::request::Request;
use deburr_cpu::FeatureSet;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A function with more instructions is shown in part, unless all of it is requested.
const FEW: usize = 200;
/// Instructions shown on either side, where the user did not say how many.
const AROUND: usize = 20;

/// What to show.
#[derive(Debug, Clone, Copy)]
pub struct ListingPlace<'a> {
    /// A function's name, as a symbol or demangled, exact or a part of it, or with `*` and `?`; or the name of a
    /// section, if there is an offset. `None`: the offset is an address.
    pub base: Option<&'a str>,
    /// Bytes from the base; the address itself without one.
    pub offset: Option<u64>,
}

impl<'a> ListingPlace<'a> {
    /// Reads `name`, `name+0x1c` or `0x4a10`; addresses are hexadecimal.
    pub fn parse(text: &'a str) -> ListingPlace<'a> {
        let number = |digits: &str| u64::from_str_radix(digits.strip_prefix("0x")?, 16).ok();
        if let Some(address) = number(text) {
            return ListingPlace { base: None, offset: Some(address) };
        }
        match text.rsplit_once('+').and_then(|(base, offset)| Some((base, number(offset)?))) {
            Some((base, offset)) => ListingPlace { base: Some(base), offset: Some(offset) },
            None => ListingPlace { base: Some(text), offset: None },
        }
    }
}

/// How much to show, and how.
#[derive(Debug, Clone, Copy, Default)]
pub struct View {
    /// How x86-64 is written.
    pub syntax: Syntax,
    /// Instructions on either side of the place; `None`: all of a short function.
    pub context: Option<usize>,
    /// Whether the whole function is shown, however long.
    pub whole: bool,
}

/// What became of the place.
#[derive(Debug, Clone)]
pub enum Shown {
    /// The listing.
    Listing(Box<Listing>),
    /// Several functions, or sections, answer to it.
    Several(Vec<Candidate>),
    /// None does; the names that there are, demangled.
    Nowhere(Vec<String>),
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Candidate {
    /// Its name, demangled; `None` where the file has none for it.
    pub name: Option<String>,
    /// Its address.
    pub svma: Hex,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
    /// Its length in bytes, split-off parts included.
    pub size: u64,
}

/// The instructions of a function, or those around a place in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Listing {
    /// The file, as the user will know it; the caller fills it in.
    pub path: String,
    /// `x86_64` or `aarch64`.
    pub arch: &'static str,
    /// The function.
    pub function: Candidate,
    /// How many instructions it has.
    pub instructions: usize,
    /// Those shown, by address; those of split-off parts among them.
    pub insns: Vec<Line>,
    /// How many are left out after the last.
    pub skipped_after: usize,
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Line {
    /// Its address.
    pub svma: Hex,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
    /// How many instructions of the function are left out before it.
    pub skipped: usize,
    /// Whether other bytes than instructions are before it: data, padding, or other functions.
    pub after_gap: bool,
    /// Its bytes, in the order of the file, in hexadecimal digits.
    pub bytes: String,
    /// Mnemonic and operands.
    pub text: String,
    /// Where it branches to, or which address it makes or accesses, as far as that is known statically.
    pub target: Option<Target>,
    /// The loops around it, the outermost first.
    pub loops: Vec<Within>,
    /// Where it is in a load-exclusive/store-exclusive sequence.
    pub exclusive: Option<Edge>,
    /// The features it needs beyond the baseline; without one, beyond the architecture's first level.
    pub features: Vec<&'static str>,
    /// Its source line, where DWARF has it.
    pub source: Option<SourceLocation>,
    /// The findings about it.
    pub findings: Vec<PlacedFinding>,
}

/// A place that an instruction names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Target {
    /// Its address; `None` in another file.
    pub svma: Option<Hex>,
    /// Its section, in relocatable objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
    /// The function there, demangled.
    pub name: Option<String>,
    /// How far in the function, in bytes.
    pub offset: u64,
    /// Whether control goes there, rather than data coming from there.
    pub is_transfer: bool,
}

/// A loop around an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Within {
    /// Where the loop is entered.
    pub header: Hex,
    /// Where the instruction is in it, by address.
    pub edge: Edge,
}

/// Where an instruction is in a run of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// It is the first.
    First,
    /// Neither first nor last.
    Inside,
    /// It is the last.
    Last,
    /// It is the only one.
    Only,
}

/// Lists the code at a place.
///
/// ```
/// use deburr_core::{ListingPlace, Request, Shown, View, listing};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/llsc_loop/hit-cas.o"));
/// let Shown::Listing(listing) = listing(bytes, &Request::default(), ListingPlace::parse("0x0"), View::default())? else {
///     panic!("there is code at the start");
/// };
/// for line in &listing.insns {
///     println!("{}  {}", line.svma, line.text);
/// }
/// # Ok::<(), deburr_core::Error>(())
/// ```
///
/// # Errors
/// [`Error`], as of [`crate::check()`].
pub fn listing(
    bytes: &[u8],
    request: &Request<'_>,
    place: ListingPlace<'_>,
    view: View,
) -> Result<Shown, Error> {
    examine(bytes, request, ClassSet::EMPTY, |image, program, report| {
        let file = File { image, program };
        match file.find(place) {
            Found::At { function, focus } => {
                let lines = SourceLines::of(image);
                let baseline = request.baseline.unwrap_or(deburr_cpu::first_level(image.arch));
                let permitted = baseline.union(deburr_cpu::system_features(image.arch));
                let part = Part { file, function, focus, view, permitted };
                Shown::Listing(Box::new(part.listing(report, lines.as_ref())))
            }
            Found::Several(candidates) => Shown::Several(candidates),
            Found::Nowhere => Shown::Nowhere(file.names().map(|(_, name)| image::demangle(name)).collect()),
        }
    })
}

#[derive(Clone, Copy)]
struct File<'f> {
    image: &'f Image<'f>,
    program: &'f Program,
}

enum Found {
    /// Code of one function; `function` is `None` in code that belongs to none.
    At {
        function: Region,
        focus: Option<Svma>,
    },
    Several(Vec<Candidate>),
    Nowhere,
}

/// A function, or code that belongs to none.
#[derive(Clone, Copy)]
enum Region {
    Function(Function),
    Loose(Extent),
}

impl<'f> File<'f> {
    fn find(self, place: ListingPlace<'_>) -> Found {
        let Some(base) = place.base else {
            return self.at_address(place.offset.unwrap_or(0));
        };
        if let Some(offset) = place.offset
            && let Some(code) = self.image.code.iter().find(|code| code.name == base)
        {
            // In a relocatable object as other tools show addresses, elsewhere from the section's start too.
            return self.at(code.extent.start.offset(offset.cast_signed()));
        }
        let found = self.named(base);
        match (found.as_slice(), place.offset) {
            ([], _) => Found::Nowhere,
            ([one], None) => Found::At { function: Region::Function(*one), focus: None },
            ([one], Some(offset)) => self.at(self.image.svma(one.start).offset(offset.cast_signed())),
            (several, _) => Found::Several(several.iter().map(|function| self.candidate(function)).collect()),
        }
    }

    fn at_address(self, address: u64) -> Found {
        if self.image.kind != Kind::Relocatable {
            return self.at(Svma(address));
        }
        // Every section of an object begins at 0.
        let holds = self.image.code.iter().filter(|code| address < code.extent.len());
        let starts: Vec<_> = holds.map(|code| code.extent.start).collect();
        if let [start] = starts.as_slice() {
            return self.at(start.offset(address.cast_signed()));
        }
        let candidates = starts.iter().filter_map(|start| {
            let svma = start.offset(address.cast_signed());
            let at = self.image.code_offset(svma)?;
            Some(self.candidate(self.program.function_at(at)?))
        });
        let candidates: Vec<_> = candidates.collect();
        if candidates.is_empty() { Found::Nowhere } else { Found::Several(candidates) }
    }

    fn at(self, svma: Svma) -> Found {
        let Some((at, code)) = self.image.code_offset(svma).zip(self.image.code_at(svma)) else {
            return Found::Nowhere;
        };
        if let Some(function) = self.program.function_at(at) {
            let whole = *self.program.whole(function);
            return Found::At { function: Region::Function(whole), focus: Some(svma) };
        }
        let functions = self.program.functions();
        let after = functions.partition_point(|function| function.start <= at);
        let before = after.checked_sub(1).and_then(|before| functions.get(before));
        let start = before.map_or(code.extent.start, |before| self.image.svma(before.end));
        let end = functions.get(after).map_or(code.extent.end, |next| self.image.svma(next.start));
        let extent = Extent { start: start.max(code.extent.start), end: end.min(code.extent.end) };
        Found::At { function: Region::Loose(extent), focus: Some(svma) }
    }

    /// Every function with each of its names.
    fn names(self) -> impl Iterator<Item = (&'f Function, &'f str)> {
        let program = self.program;
        let image = self.image;
        let aliases = image.symbols.iter().filter_map(move |symbol| {
            let function = program.function_from(image.code_offset(symbol.svma)?)?;
            Some((program.whole(function), symbol.name.as_ref()))
        });
        let named = program.functions().iter().filter(|function| !function.is_part());
        aliases.chain(named.filter_map(move |function| Some((function, program.name(function, image)?))))
    }

    /// The functions that answer to a name, by address: as it is written, else those that the pattern describes or
    /// whose name holds it.
    fn named(self, wanted: &str) -> Vec<Function> {
        let of = |is_it: &dyn Fn(&str) -> bool| {
            let found: BTreeMap<_, Function> = self
                .names()
                .filter(|(_, name)| is_it(name))
                .map(|(function, _)| (function.start, *function))
                .collect();
            found.into_values().collect::<Vec<_>>()
        };
        let exact = of(&|name| name == wanted);
        if !exact.is_empty() {
            return exact;
        }
        // Entries of procedure linkage tables are meant only where one is named.
        let is_meant = |name: &str| wanted.contains('@') || !name.ends_with("@plt");
        let is_readable = |name: &str| {
            let readable = image::demangle(name);
            let rest = readable.strip_prefix(wanted).filter(|_| is_meant(name));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
        };
        let exact = of(&is_readable);
        if !exact.is_empty() {
            return exact;
        }
        let is_pattern = wanted.contains(['*', '?']);
        of(&|name| {
            let readable = image::demangle(name);
            match is_pattern {
                true => pattern::matches(wanted, name) || pattern::matches(wanted, &readable),
                false => is_meant(name) && readable.contains(wanted),
            }
        })
    }

    /// A whole function and its parts, by address.
    fn parts(self, whole: &Function) -> Vec<Function> {
        let all = self.program.functions().iter();
        all.filter(|part| self.program.whole(part) == whole).copied().collect()
    }

    fn candidate(self, function: &Function) -> Candidate {
        let whole = self.program.whole(function);
        let (section, svma) = place_of(self.image, self.image.svma(whole.start));
        let size = self.parts(whole).iter().map(|part| part.extent(self.image).len()).sum();
        Candidate { name: self.program.name(whole, self.image).map(image::demangle), svma, section, size }
    }

    fn target(self, svma: Svma, is_transfer: bool) -> Target {
        let function = self.image.code_offset(svma).and_then(|at| self.program.function_at(at));
        let name = function.and_then(|function| self.program.name(function, self.image)).map(image::demangle);
        let start = function.map_or(svma, |function| self.image.svma(function.start));
        let (section, place) = place_of(self.image, svma);
        let offset = if name.is_some() { svma.since(start).unwrap_or(0) } else { 0 };
        Target { svma: Some(place), section, name, offset, is_transfer }
    }
}

/// The part of a file that is shown.
struct Part<'f> {
    file: File<'f>,
    function: Region,
    focus: Option<Svma>,
    view: View,
    permitted: FeatureSet,
}

impl Part<'_> {
    fn listing(&self, report: Report, lines: Option<&SourceLines<'_>>) -> Listing {
        let image = self.file.image;
        let graph = self.graph();
        let insns: Vec<&Insn> = graph.blocks.iter().flat_map(|block| &block.insns).collect();
        let mut findings = self.findings(report, &insns);
        let shown = self.window(&insns, &findings);
        let loops = loops_by_insn(&graph, image);
        let exclusive = exclusive_by_insn(&graph);
        let mut listed = Vec::with_capacity(shown.len());
        let mut last: Option<usize> = None;
        for &index in &shown {
            let Some(insn) = insns.get(index) else { continue };
            let skipped = index - last.map_or(0, |last| last + 1);
            let before = index.checked_sub(1).and_then(|before| insns.get(before));
            let (section, svma) = place_of(image, insn.svma);
            let code = image.bytes_at(insn.svma).and_then(|code| code.get(..usize::from(insn.length)));
            let code = code.unwrap_or_default();
            let features = insn::features_of(image.arch, insn.features).minus(self.permitted);
            listed.push(Line {
                svma,
                section,
                skipped,
                after_gap: before.is_some_and(|before| before.next() != insn.svma),
                bytes: code.iter().map(|byte| format!("{byte:02x}")).collect(),
                text: disassemble(image.arch, code, Svma(svma.0), self.view.syntax).unwrap_or_default(),
                target: self.target_of(insn),
                loops: loops.get(&insn.svma).cloned().unwrap_or_default(),
                exclusive: exclusive.get(&insn.svma).copied(),
                features: features.iter().map(deburr_cpu::Feature::name).collect(),
                source: lines.and_then(|lines| lines.find(insn.svma)),
                findings: findings.remove(&index).unwrap_or_default(),
            });
            last = Some(index);
        }
        let function = match &self.function {
            Region::Function(function) => self.file.candidate(function),
            Region::Loose(extent) => {
                let (section, svma) = place_of(image, extent.start);
                Candidate { name: None, svma, section, size: extent.len() }
            }
        };
        Listing {
            path: String::new(),
            arch: image.arch.name(),
            function,
            instructions: insns.len(),
            skipped_after: insns.len() - last.map_or(0, |last| last + 1),
            insns: listed,
        }
    }

    fn graph(&self) -> Graph {
        let File { image, program } = self.file;
        match &self.function {
            Region::Loose(extent) => {
                let from = self.focus.unwrap_or(extent.start);
                // Where nothing says at which byte an instruction begins, it is the one requested.
                Graph::of_extent(image, program, Extent { start: from, end: extent.end })
            }
            Region::Function(function) => {
                let parts = self.file.parts(function);
                let length: u64 = parts.iter().map(|part| part.extent(image).len()).sum();
                if length <= LARGEST {
                    Graph::whole(image, program, &parts, &[])
                } else {
                    let start = image.svma(function.start);
                    Graph::of(image, program, function, self.focus.unwrap_or(start))
                }
            }
        }
    }

    /// The findings about the instructions, by the instruction's index.
    fn findings(&self, report: Report, insns: &[&Insn]) -> BTreeMap<usize, Vec<PlacedFinding>> {
        let image = self.file.image;
        let mut found: BTreeMap<usize, Vec<PlacedFinding>> = BTreeMap::new();
        let mut by_place: HashMap<(Option<Arc<str>>, Hex), Vec<PlacedFinding>> = HashMap::new();
        for finding in report.findings {
            by_place.entry((finding.section.clone(), finding.svma)).or_default().push(finding);
        }
        for (index, insn) in insns.iter().enumerate() {
            if let Some(here) = by_place.remove(&place_of(image, insn.svma)) {
                found.insert(index, here);
            }
        }
        found
    }

    /// The instructions to show, by index, in order: around the place, or around the findings of a long function.
    fn window(&self, insns: &[&Insn], findings: &BTreeMap<usize, Vec<PlacedFinding>>) -> Vec<usize> {
        let focus =
            self.focus.map(|focus| insns.partition_point(|insn| insn.svma <= focus).saturating_sub(1));
        let is_all = self.view.whole || self.view.context.is_none() && insns.len() <= FEW;
        if is_all {
            return (0..insns.len()).collect();
        }
        let around = self.view.context.unwrap_or(AROUND);
        let centres: Vec<usize> = match focus {
            Some(focus) => vec![focus],
            None if findings.is_empty() => vec![around],
            None => findings.keys().copied().collect(),
        };
        let mut shown = BTreeSet::new();
        for centre in centres {
            let end = centre.saturating_add(around).saturating_add(1).min(insns.len());
            shown.extend(centre.saturating_sub(around)..end);
        }
        shown.into_iter().collect()
    }

    fn target_of(&self, insn: &Insn) -> Option<Target> {
        let image = self.file.image;
        let filled_in = image.transfers.binary_search_by_key(&insn.svma, |transfer| transfer.from);
        if let Some(transfer) = filled_in.ok().and_then(|at| image.transfers.get(at)) {
            return Some(match transfer.to {
                TransferTarget::Here(svma) => self.file.target(svma, true),
                TransferTarget::Elsewhere(name) => Target {
                    svma: None,
                    section: None,
                    name: Some(image::demangle(name)),
                    offset: 0,
                    is_transfer: true,
                },
            });
        }
        if let Some(target) = insn.flow.target() {
            return Some(self.file.target(target, true));
        }
        let address = image.addresses.binary_search_by_key(&insn.svma, |(from, _)| *from);
        if let Some((_, to)) = address.ok().and_then(|at| image.addresses.get(at)) {
            return Some(self.file.target(*to, false));
        }
        // In an object the linker still has to fill in the rest.
        let is_final = image.kind != Kind::Relocatable;
        let made = (insn.operation == insn::Operation::Address).then_some(insn.imm).flatten();
        let accessed = insn.memory.filter(|memory| memory.is_static).map(|memory| memory.displacement);
        let address = made.or(accessed).filter(|_| is_final)?;
        Some(self.file.target(Svma(address.cast_unsigned()), false))
    }
}

/// The loops around each instruction that is in one, the outermost first.
fn loops_by_insn(graph: &Graph, image: &Image<'_>) -> HashMap<Svma, Vec<Within>> {
    let mut loops = natural_loops(graph);
    loops.sort_by_key(|around| std::cmp::Reverse(around.blocks.len()));
    let mut found: HashMap<Svma, Vec<Within>> = HashMap::new();
    for around in loops {
        let Some(header) = graph.blocks.get(around.header) else { continue };
        let header = place_of(image, header.start()).1;
        let blocks = around.blocks.iter().filter_map(|&block| graph.blocks.get(block));
        let insns: Vec<Svma> = blocks.flat_map(|block| &block.insns).map(|insn| insn.svma).collect();
        for (edge, svma) in edges(&insns) {
            found.entry(svma).or_default().push(Within { header, edge });
        }
    }
    found
}

/// Where instructions are in the exclusive sequences; of two that share an instruction the first counts.
fn exclusive_by_insn(graph: &Graph) -> HashMap<Svma, Edge> {
    let mut found = HashMap::new();
    for run in exclusive_runs(graph) {
        for (edge, svma) in edges(&run) {
            found.entry(svma).or_insert(edge);
        }
    }
    found
}

fn edges(run: &[Svma]) -> impl Iterator<Item = (Edge, Svma)> {
    let last = run.len().saturating_sub(1);
    run.iter().enumerate().map(move |(index, &svma)| {
        let edge = match index {
            0 if last == 0 => Edge::Only,
            0 => Edge::First,
            n if n == last => Edge::Last,
            _ => Edge::Inside,
        };
        (edge, svma)
    })
}

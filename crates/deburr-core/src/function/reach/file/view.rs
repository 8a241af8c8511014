//! The file as the analysis sees it: [`View`], immutable look-ups over an image, its linkage and its functions. Results
//! of look-ups are kept, which changes no answer.

use super::auxv;
use super::callee::{self, Callee};
use super::foreign as stand_in;
use super::getauxval::getauxval;
use super::incoming::Incoming;
use super::knowledge::{self, Knowledge};
use super::names;
use super::references::{DataReference, References, search_once};
use crate::address::{CodeOffset, Extent, Svma};
use crate::function::block::Graph;
use crate::function::reach::domain::subject::Subject;
use crate::function::{Function, Program};
use crate::image::{Image, Linkage, SymbolKind, SymbolOrigin, TransferTarget};
use crate::insn::sweep::Edge;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock, RwLock};

/// Graphs by where their functions begin, with how many blocks they have.
#[derive(Debug, Default)]
struct Graphs {
    kept: HashMap<CodeOffset, Arc<Graph>>,
    blocks: usize,
    /// The last one that was too much: it is often wanted again at once.
    last: Option<(CodeOffset, Arc<Graph>)>,
}

impl Graphs {
    fn get(&self, start: CodeOffset) -> Option<Arc<Graph>> {
        let last = self.last.as_ref().filter(|(of, _)| *of == start).map(|(_, graph)| graph);
        self.kept.get(&start).or(last).cloned()
    }

    fn keep(&mut self, start: CodeOffset, graph: &Arc<Graph>) {
        let blocks = self.blocks + graph.blocks.len();
        if blocks > BLOCKS {
            self.last = Some((start, Arc::clone(graph)));
        } else if self.kept.insert(start, Arc::clone(graph)).is_none() {
            self.blocks = blocks;
        }
    }
}

/// Maximum of bytes of a function that is run.
const LARGEST: u64 = 256 * 1024;

/// How many calls deep the registers are looked for that a call changes.
const NESTED_CALLS: u32 = 3;

/// Maximum of blocks of the graphs that are kept.
const BLOCKS: usize = 1 << 13;

/// The file, with what is looked up often.
pub(crate) struct View<'w, 'a> {
    pub(crate) image: &'w Image<'a>,
    pub(crate) linkage: &'w Linkage<'a>,
    pub(crate) program: &'w Program,
    /// What is followed.
    pub(crate) subject: Subject,
    /// What leads where.
    pub(crate) incoming: Incoming,
    /// What the files that it uses export of the CPU.
    pub(crate) foreign: &'w [&'w Knowledge],
    /// The parts of functions, by their owner's start.
    parts: HashMap<CodeOffset, Vec<Function>>,
    pub(crate) resolvers: HashSet<CodeOffset>,
    /// By stub of the PLT, the function of this file that it jumps to.
    pub(crate) stubs: HashMap<CodeOffset, CodeOffset>,
    /// The imported functions that say what the CPU has, by their names.
    pub(crate) answerers: HashSet<&'w str>,
    /// The file's own functions that report the CPU by their names, once that was requested.
    reporters: OnceLock<BTreeSet<CodeOffset>>,
    /// The functions that read the kernel's words from a file, once that was requested.
    auxv_readers: OnceLock<HashSet<CodeOffset>>,
    /// What calls of small functions do, as far as it was requested.
    callees: RwLock<HashMap<CodeOffset, Callee>>,
    /// The graphs of functions that were run, which often are run again, as far as they are few.
    graphs: RwLock<Graphs>,
    /// Which code refers to data.
    references: References,
    /// Names of the symbols at function starts in the PLT, and of imported functions.
    pub(crate) names: HashMap<Svma, &'w str>,
}

impl<'w, 'a> View<'w, 'a> {
    pub(crate) fn new(
        image: &'w Image<'a>,
        linkage: &'w Linkage<'a>,
        program: &'w Program,
        foreign: &'w [&'w Knowledge],
    ) -> View<'w, 'a> {
        let mut parts: HashMap<CodeOffset, Vec<Function>> = HashMap::new();
        for function in program.functions().iter().filter(|function| function.is_part()) {
            parts.entry(program.whole(function).start).or_default().push(*function);
        }
        let resolvers =
            linkage.resolvers.iter().copied().chain(linkage.resolved.iter().map(|cell| cell.resolver));
        let marked = image.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::IfuncResolver);
        let resolvers = resolvers.chain(marked.map(|symbol| symbol.svma));
        let resolvers = resolvers.filter_map(|svma| image.code_offset(svma)).collect();
        let imported = linkage.imports.iter().map(|import| import.name);
        // Where the file is at hand that defines it, what it returns is known.
        let answerers =
            imported.filter(|name| names::reports_cpu(name) && !knowledge::is_defined(foreign, name));
        let mut answerers: HashSet<&str> = answerers.collect();
        if !answerers.is_empty() {
            for export in &linkage.named_exports {
                answerers.remove(export.name);
            }
        }
        let mut named: HashMap<Svma, &'w str> = HashMap::new();
        for symbol in &image.symbols {
            let stub = symbol.name.strip_suffix("@plt");
            let name = stub.unwrap_or(&symbol.name);
            let is_informative = names::does_not_return(name)
                || names::calls_back(name)
                || names::answers(name)
                || names::takes_part_in_handling(name);
            // A function of the file's own is not the foreign one of its name, unless the C library is in it.
            let is_of_libc = stub.is_some() || linkage.imports.is_empty();
            let is_of_texts =
                names::reads_environment(name) || names::parses_number(name) || names::compares_texts(name);
            let is_foreign = is_of_libc && is_of_texts
                || stub.is_some_and(|name| {
                    knowledge::returned(foreign, name).is_some() || answerers.contains(name)
                });
            if is_informative || is_foreign {
                named.entry(symbol.svma).or_insert(name);
            }
        }
        if linkage.imports.is_empty() {
            named.extend(getauxval(image, program).map(|svma| (svma, "getauxval")));
        }
        for (index, import) in linkage.imports.iter().enumerate() {
            named.insert(Svma(stand_in::foreign(index)), import.name);
        }
        View {
            image,
            linkage,
            program,
            subject: Subject::default(),
            incoming: Incoming::of(image, linkage, program),
            foreign,
            parts,
            resolvers,
            stubs: own_stubs(image, linkage),
            answerers,
            reporters: OnceLock::new(),
            auxv_readers: OnceLock::new(),
            callees: RwLock::default(),
            graphs: RwLock::default(),
            references: References::default(),
            names: named,
        }
    }

    /// Whether the file queries another file, or the loader, for what the CPU has.
    pub(crate) fn queries_others(&self) -> bool {
        self.linkage.imports.iter().any(|import| self.answers(import.name))
    }

    /// The file's own functions whose names say that they report what the CPU has.
    pub(crate) fn reporters(&self) -> &BTreeSet<CodeOffset> {
        self.reporters.get_or_init(|| {
            let names = self.image.symbols.iter().map(|symbol| (symbol.svma, &*symbol.name));
            let exports = self.linkage.named_exports.iter().map(|export| (export.at, export.name));
            let named = names.chain(exports).filter(|(_, name)| names::mentions_cpu(name));
            let named = named.filter(|(_, name)| !name.ends_with("@plt") && names::reports_cpu(name));
            let starts = named.filter_map(|(svma, _)| self.image.code_offset(svma));
            starts.filter(|&start| self.program.function_from(start).is_some()).collect()
        })
    }

    /// The functions that read the kernel's words from `/proc/self/auxv` themselves.
    pub(crate) fn auxv_readers(&self) -> &HashSet<CodeOffset> {
        self.auxv_readers.get_or_init(|| {
            let names = auxv::names(self.linkage);
            // A constant, whose references nothing else requests.
            let references = match &*names {
                [] => Vec::new(),
                names => search_once(self.image, self.linkage, self.program, names),
            };
            let from = references.iter().filter_map(|reference| self.image.code_offset(reference.from));
            from.filter_map(|from| Some(self.whole_at(from)?.start)).collect()
        })
    }

    /// The function that control gets to by an address: its own stub's, where it is one.
    pub(crate) fn called_at(&self, svma: Svma) -> Option<&'w Function> {
        let at = self.image.code_offset(svma)?;
        let at = self.stubs.get(&at).copied().unwrap_or(at);
        Some(self.program.whole(self.program.function_from(at)?))
    }

    /// The name of the function of another file that a call of a relocatable object is for, if it says what it returns.
    pub(crate) fn called_elsewhere(&self, call: Svma) -> Option<&'w str> {
        let transfers = &self.image.transfers;
        let at = transfers.binary_search_by_key(&call, |transfer| transfer.from).ok()?;
        match &transfers.get(at)?.to {
            TransferTarget::Elsewhere(name) => {
                let ends = self.subject != Subject::Features && names::does_not_return(name);
                Some(*name).filter(|name| ends || names::answers(name) || names::takes_part_in_handling(name))
            }
            TransferTarget::Here(_) => None,
        }
    }

    /// The name of the function at an address, as far as names are informative.
    pub(crate) fn name_of(&self, svma: Svma) -> Option<&'w str> {
        self.names.get(&svma).copied()
    }

    /// Whether what the function of a name returns is known: by its name, or because its file exports it.
    pub(crate) fn answers(&self, name: &str) -> bool {
        names::answers(name)
            || self.answerers.contains(name)
            || knowledge::returned(self.foreign, name).is_some()
    }

    pub(crate) fn is_resolver(&self, start: CodeOffset) -> bool {
        self.resolvers.contains(&start)
    }

    /// Whether an address is in the file: a constant that is one may be a pointer.
    pub(crate) fn is_place(&self, svma: Svma) -> bool {
        match self.image.code_offset(svma) {
            Some(at) => self.program.function_from(at).is_some(),
            None => self.linkage.data_at(svma).is_some(),
        }
    }

    /// Whether a cell holds the same address from the loader on, such as one of the GOT: what reads it takes that address.
    pub(crate) fn is_fixed_cell(&self, cell: Svma) -> bool {
        self.linkage.data_at(cell).is_some_and(|data| data.is_offset_table || !data.is_writable)
    }

    /// What a call of a function does.
    pub(crate) fn callee(&self, function: &Function) -> Callee {
        let known = self.callees.read().ok().and_then(|callees| callees.get(&function.start).copied());
        known.unwrap_or_else(|| {
            let callee = self.callee_of(function, NESTED_CALLS);
            if let Ok(mut callees) = self.callees.write() {
                callees.insert(function.start, callee);
            }
            callee
        })
    }

    /// The whole function that an offset is in.
    pub(crate) fn whole_at(&self, at: CodeOffset) -> Option<&'w Function> {
        Some(self.program.whole(self.program.function_at(at)?))
    }

    /// A whole function and its parts.
    pub(crate) fn with_parts(&self, function: &Function) -> impl Iterator<Item = Function> {
        let parts = self.parts.get(&function.start).map(Vec::as_slice).unwrap_or_default();
        std::iter::once(*function).chain(parts.iter().copied())
    }

    /// The graph of a whole function with its parts; `None` if it is too large to be run.
    pub(crate) fn graph(&self, function: &Function) -> Option<Arc<Graph>> {
        if let Some(known) = self.graphs.read().ok().and_then(|graphs| graphs.get(function.start)) {
            return Some(known);
        }
        let graph = Arc::new(self.graph_entered(function, &[])?);
        if let Ok(mut graphs) = self.graphs.write() {
            graphs.keep(function.start, &graph);
        }
        Some(graph)
    }

    /// The same, where jumps through tables lead to some places.
    pub(crate) fn graph_entered(&self, function: &Function, entered: &[Svma]) -> Option<Graph> {
        let all: Vec<Function> = self.with_parts(function).collect();
        let length: u64 = all.iter().map(|part| u64::from(part.end - part.start)).sum();
        (length <= LARGEST).then(|| Graph::whole(self.image, self.program, &all, entered))
    }

    /// `calls`: how many calls deep is looked.
    fn callee_of(&self, function: &Function, calls: u32) -> Callee {
        let graph =
            (function.end.0.saturating_sub(function.start.0) <= callee::SMALL).then(|| self.graph(function));
        let Some(graph) = graph.flatten() else { return Callee::UNKNOWN };
        let start = self.image.svma(function.start);
        let writes_of = |svma: Svma| {
            let callee = self.called_at(svma).filter(|_| calls > 0 && self.name_of(svma).is_none())?;
            self.callee_of(callee, calls.saturating_sub(1)).writes
        };
        let is_go = self.image.build.is_go;
        Callee::of(self.image.arch, &graph, start, |svma| self.name_of(svma), writes_of, is_go)
    }

    /// Whether what a function does depends on its caller: on an argument in a register, or, in Go, on the stack.
    pub(crate) fn takes_arguments(&self, function: &Function) -> bool {
        let Some(graph) = self.graph(function).filter(|_| !self.image.build.is_go) else { return true };
        let first = graph.find(self.image.svma(function.start));
        first.is_none_or(|(first, _)| callee::reads_arguments(self.image.arch, &graph, first))
    }

    /// The references to places in the given ranges, sorted by place.
    pub(crate) fn references_to(&self, ranges: &[Extent]) -> Vec<DataReference> {
        self.references.to((self.image, self.linkage, self.program), ranges)
    }

    /// Direct calls and jumps from outside into a function or its parts, by target.
    pub(crate) fn edges_into(&self, function: &Function) -> Vec<Edge> {
        let start = function.start;
        let is_outside = |edge: &Edge| self.whole_at(edge.from).is_none_or(|caller| caller.start != start);
        let parts = self.with_parts(function);
        let edges = parts.flat_map(|part| self.incoming.edges_to(part.start..part.end));
        let mut edges: Vec<Edge> = edges.filter(is_outside).collect();
        edges.sort_unstable_by_key(|edge| (edge.to, edge.from));
        edges
    }

    /// Whether the address of a function is made in code, or held in a cell.
    pub(crate) fn is_pointed_to(&self, start: CodeOffset) -> bool {
        let place = Extent::sized(self.image.svma(start), 1);
        self.incoming.addresses_of(start).next().is_some() || !self.incoming.cells_to(place).is_empty()
    }

    /// Whether something in the file refers to a function from outside: a call, an address in code, or a cell.
    pub(crate) fn is_referred_to(&self, function: &Function) -> bool {
        self.is_pointed_to(function.start) || !self.edges_into(function).is_empty()
    }

    /// Functions that call or jump to one of the given ones, also by its stub in the PLT.
    pub(crate) fn callers_of(&self, callees: &BTreeSet<CodeOffset>) -> BTreeSet<CodeOffset> {
        let stubs = self.stubs.iter().filter(|(_, callee)| callees.contains(callee)).map(|(stub, _)| stub);
        let own = callees.iter().filter(|callee| !self.stubs.contains_key(callee));
        let edges =
            own.chain(stubs).flat_map(|&callee| self.incoming.edges_to(callee..callee.saturating_add(1)));
        edges.filter_map(|edge| Some(self.whole_at(edge.from)?.start)).collect()
    }
}

/// The stubs of the PLT that lead to exported functions of the same file.
fn own_stubs(image: &Image<'_>, linkage: &Linkage<'_>) -> HashMap<CodeOffset, CodeOffset> {
    let stubs = image.symbols.iter().filter(|symbol| symbol.origin == SymbolOrigin::Plt);
    let stubs =
        stubs.filter_map(|symbol| Some((symbol.name.strip_suffix("@plt")?, image.code_offset(symbol.svma)?)));
    // Stubs are fewer than exports.
    let mut by_name: HashMap<&str, Vec<CodeOffset>> = HashMap::new();
    for (name, stub) in stubs {
        by_name.entry(name).or_default().push(stub);
    }
    if by_name.is_empty() {
        return HashMap::new();
    }
    // Of several exports of a name, the last counts.
    let mut own: HashMap<CodeOffset, Option<CodeOffset>> = HashMap::new();
    for export in &linkage.named_exports {
        if let Some(stubs) = by_name.get(export.name) {
            own.extend(stubs.iter().map(|&stub| (stub, image.code_offset(export.at))));
        }
    }
    own.into_iter().filter_map(|(stub, to)| Some((stub, to?))).collect()
}

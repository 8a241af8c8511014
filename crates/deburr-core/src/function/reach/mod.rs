//! Reach: which code above a level the program can get to without having asked the CPU first.
//!
//! In: an image, its linkage and its functions. Out: for each function that needs more than a given level, a
//! [`Verdict`] with its evidence. Works in three steps: [`learn`] finds which words of memory and which functions tell
//! what the CPU has, by running the functions that ask it on abstract values ([`interpret`]); [`edges`] collects every
//! way into the functions of interest, with what is proven where each begins; [`verdict`] follows them from the roots.
//!
//! A way counts as *certain* if control takes it (a call, a jump, the loader's call of an entry or of what a resolver
//! returns, a call through a word that the function was stored in), and as a *pointer* if the function's address only
//! goes somewhere: taking an address is not calling it.

mod auxv;
mod bits;
mod callee;
mod closure;
mod edges;
mod glibc;
mod grouped;
mod incoming;
mod interpret;
mod kind;
mod knowledge;
mod lanes;
#[cfg(test)]
mod laws;
mod learn;
mod libgcc;
mod memory;
mod names;
mod needed;
mod proof;
pub(crate) mod references;
mod state;
mod step;
mod trap;
mod unasked;
mod value;
mod verdict;
mod words;

pub use kind::{GuardKind, Reach};
pub use knowledge::Knowledge;
pub use needed::{features_of, most_needing};
pub use proof::Proof;
pub use verdict::{Guard, Step, Verdict};

use super::block::Graph;
use super::{Function, Program};
use crate::address::CodeOffset;
use crate::address::Svma;
use crate::image::{Image, Linkage, SymbolKind, SymbolOrigin};
use deburr_cpu::FeatureSet;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

/// How often ways without a check are looked at again.
const LOOKS: u32 = 8;
/// Bytes of a function at most that is run.
const LARGEST: u64 = 256 * 1024;
/// Blocks at most of the graphs that are kept.
const BLOCKS: usize = 1 << 14;

/// What is known of a file's run-time checks, before it is asked what they are good for.
#[derive(Debug, Default)]
pub struct Checks {
    ways: edges::Ways,
    facts: interpret::FactsByFunction,
    /// Whether the file asks the CPU at all, or another file that did.
    any: bool,
}

impl Checks {
    /// Finds the file's checks, as far as they matter for the functions with instructions above the architecture's
    /// first level. `foreign`: what the files tell that this one uses, in the loader's order. `stated`: functions, by
    /// where they begin, that are known to be entered only where the CPU has some features.
    pub fn find(
        image: &Image<'_>,
        linkage: &Linkage<'_>,
        program: &Program,
        foreign: &[&Knowledge],
        stated: &HashMap<CodeOffset, FeatureSet>,
    ) -> Checks {
        let mut world = World::new(image, linkage, program, foreign);
        let known = words::known(&world);
        let takers = closure::takers(&world);
        let mut learnt = learn::learn(&mut world, known, &takers);
        let roots = edges::roots(&world);
        let mut checks = Checks { any: learnt.any, ..Checks::default() };
        let mut looked_at = BTreeSet::new();
        for look in 0..=LOOKS {
            let closure = closure::Closure::of(&world, &learnt.facts, &roots, stated);
            checks.ways = edges::ways(&world, closure, &learnt);
            if look == LOOKS || !learnt.leaves_open(&world) {
                break;
            }
            std::mem::swap(&mut checks.facts, &mut learnt.facts);
            let without = checks.functions_without_check(image, program);
            std::mem::swap(&mut checks.facts, &mut learnt.facts);
            let new: BTreeSet<CodeOffset> = without.difference(&looked_at).copied().collect();
            let new = learn::worth_a_look(&world, &learnt, &new);
            if new.is_empty() {
                break;
            }
            looked_at.extend(&new);
            learn::look_again(&world, &mut learnt, &looked_at, &new);
        }
        checks.facts = learnt.facts;
        checks
    }

    /// The functions on ways that no check was found on.
    fn functions_without_check(&self, image: &Image<'_>, program: &Program) -> BTreeSet<CodeOffset> {
        let permitted = deburr_cpu::first_level(image.arch).union(deburr_cpu::system_features(image.arch));
        let steps = verdict::unchecked_ways(self, image, program, permitted);
        let functions = steps.into_iter().filter_map(|svma| program.function_at(image.code_offset(svma)?));
        functions.map(|function| program.whole(function).start).collect()
    }

    /// Judges every function that needs features beyond the permitted ones, by address. `stated` has functions, by
    /// where they begin, that are known to be entered only where the CPU has some features.
    pub fn judge(
        &self,
        image: &Image<'_>,
        program: &Program,
        permitted: FeatureSet,
        stated: &HashMap<CodeOffset, FeatureSet>,
    ) -> Vec<Verdict> {
        verdict::judge(self, image, program, (permitted, stated))
    }
}

/// Graphs by where their functions begin, with how many blocks they have.
#[derive(Debug, Default)]
struct Graphs {
    kept: HashMap<CodeOffset, Arc<Graph>>,
    blocks: usize,
}

impl Graphs {
    fn keep(&mut self, start: CodeOffset, graph: &Arc<Graph>) {
        let blocks = self.blocks + graph.blocks.len();
        if blocks <= BLOCKS && self.kept.insert(start, Arc::clone(graph)).is_none() {
            self.blocks = blocks;
        }
    }
}

/// The file, with what is looked up often.
struct World<'w, 'a> {
    image: &'w Image<'a>,
    linkage: &'w Linkage<'a>,
    program: &'w Program,
    /// What leads where.
    incoming: incoming::Incoming,
    /// What the files tell that it uses.
    foreign: &'w [&'w Knowledge],
    /// The parts of functions, by their owner's start.
    parts: HashMap<CodeOffset, Vec<Function>>,
    /// Functions that are run inside their callers.
    inside: HashSet<CodeOffset>,
    /// Functions that ask the CPU, whatever their callers give them.
    alone: HashSet<CodeOffset>,
    /// What functions return that tells something.
    returns: BTreeMap<CodeOffset, value::Value>,
    resolvers: HashSet<CodeOffset>,
    /// By stub of the PLT, the function of this file that it jumps to.
    stubs: HashMap<CodeOffset, CodeOffset>,
    /// The imported functions that tell what the CPU has, by their names.
    answerers: HashSet<&'w str>,
    /// What calls of small functions do, as far as it was asked for.
    callees: RwLock<HashMap<CodeOffset, callee::Callee>>,
    /// The graphs of functions that were run, which often are run again, as far as they are few.
    graphs: RwLock<Graphs>,
    /// Which code may refer to data, once somebody asks.
    candidates: OnceLock<references::Candidates>,
    /// Which code does refer to data, as far as somebody has asked.
    references: Mutex<references::Found>,
    /// Names of the symbols at function starts in the PLT, and of imported functions.
    names: HashMap<Svma, &'w str>,
}

impl<'w, 'a> World<'w, 'a> {
    fn new(
        image: &'w Image<'a>,
        linkage: &'w Linkage<'a>,
        program: &'w Program,
        foreign: &'w [&'w Knowledge],
    ) -> World<'w, 'a> {
        let mut parts: HashMap<CodeOffset, Vec<Function>> = HashMap::new();
        for function in program.functions().iter().filter(|function| function.is_part()) {
            parts.entry(program.whole(function).start).or_default().push(*function);
        }
        let resolvers =
            linkage.resolvers.iter().copied().chain(linkage.resolved.iter().map(|cell| cell.resolver));
        let named = image.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::IfuncResolver);
        let resolvers = resolvers.chain(named.map(|symbol| symbol.svma));
        let resolvers = resolvers.filter_map(|svma| image.code_offset(svma)).collect();
        let own: HashSet<&str> = linkage.named_exports.iter().map(|export| export.name).collect();
        let imported = linkage.imports.iter().map(|import| import.name);
        let answerers = imported.filter(|name| names::tells_of_cpu(name) && !own.contains(name));
        // Where the file is at hand that defines it, what it tells is known.
        let answerers: HashSet<&str> =
            answerers.filter(|name| !knowledge::is_defined(foreign, name)).collect();
        let mut names: HashMap<Svma, &'w str> = HashMap::new();
        for symbol in &image.symbols {
            let stub = symbol.name.strip_suffix("@plt");
            let name = stub.unwrap_or(&symbol.name);
            let is_told = names::does_not_return(name)
                || names::calls_back(name)
                || words::answers(name)
                || trap::is_told(name);
            // A function of the file's own is not the foreign one of its name.
            let is_foreign = stub
                .is_some_and(|name| knowledge::returned(foreign, name).is_some() || answerers.contains(name));
            if is_told || is_foreign {
                names.entry(symbol.svma).or_insert(name);
            }
        }
        if linkage.imports.is_empty() {
            names.extend(auxv::getauxval(image, program).map(|svma| (svma, "getauxval")));
        }
        for (index, import) in linkage.imports.iter().enumerate() {
            names.insert(Svma(memory::foreign(index)), import.name);
        }
        World {
            image,
            linkage,
            program,
            incoming: incoming::Incoming::of(image, linkage, program),
            foreign,
            parts,
            inside: HashSet::new(),
            alone: HashSet::new(),
            returns: BTreeMap::new(),
            resolvers,
            stubs: own_stubs(image, linkage),
            answerers,
            callees: RwLock::default(),
            graphs: RwLock::default(),
            candidates: OnceLock::new(),
            references: Mutex::default(),
            names,
        }
    }

    /// Whether another file is asked what the CPU has, or the loader.
    fn asks_others(&self) -> bool {
        self.linkage.imports.iter().any(|import| self.answers(import.name))
    }

    /// The function that control gets to by an address: its own stub's, where it is one.
    fn called_at(&self, svma: Svma) -> Option<&'w Function> {
        let at = self.image.code_offset(svma)?;
        let at = self.stubs.get(&at).copied().unwrap_or(at);
        Some(self.program.whole(self.program.function_from(at)?))
    }

    /// The name of the function at an address, as far as names tell something.
    fn name_of(&self, svma: Svma) -> Option<&'w str> {
        self.names.get(&svma).copied()
    }

    /// Whether what the function of a name returns is known: by its name, or because its file tells.
    fn answers(&self, name: &str) -> bool {
        words::answers(name)
            || self.answerers.contains(name)
            || knowledge::returned(self.foreign, name).is_some()
    }

    fn is_resolver(&self, start: CodeOffset) -> bool {
        self.resolvers.contains(&start)
    }

    fn is_run_inside(&self, start: CodeOffset) -> bool {
        self.inside.contains(&start)
    }

    /// Whether an address lies in the file: a constant that is one may be a pointer.
    fn is_place(&self, svma: Svma) -> bool {
        match self.image.code_offset(svma) {
            Some(at) => self.program.function_from(at).is_some(),
            None => self.linkage.data_at(svma).is_some(),
        }
    }

    /// What a call of a function does.
    fn callee(&self, function: &Function) -> callee::Callee {
        let known = self.callees.read().ok().and_then(|callees| callees.get(&function.start).copied());
        known.unwrap_or_else(|| {
            let callee = callee::Callee::of(self, function);
            if let Ok(mut callees) = self.callees.write() {
                callees.insert(function.start, callee);
            }
            callee
        })
    }

    /// The whole function that an offset lies in.
    fn whole_at(&self, at: CodeOffset) -> Option<&'w Function> {
        Some(self.program.whole(self.program.function_at(at)?))
    }

    /// A whole function and its parts.
    fn with_parts(&self, function: &Function) -> impl Iterator<Item = Function> {
        let parts = self.parts.get(&function.start).map(Vec::as_slice).unwrap_or_default();
        std::iter::once(*function).chain(parts.iter().copied())
    }

    /// The graph of a whole function with its parts; `None` if it is too large to be run.
    fn graph(&self, function: &Function) -> Option<Arc<Graph>> {
        if let Some(known) =
            self.graphs.read().ok().and_then(|graphs| graphs.kept.get(&function.start).cloned())
        {
            return Some(known);
        }
        let graph = Arc::new(self.graph_entered(function, &[])?);
        if let Ok(mut graphs) = self.graphs.write() {
            graphs.keep(function.start, &graph);
        }
        Some(graph)
    }

    /// The same, where jumps through tables lead to some places.
    fn graph_entered(&self, function: &Function, entered: &[Svma]) -> Option<Graph> {
        let all: Vec<Function> = self.with_parts(function).collect();
        let length: u64 = all.iter().map(|part| u64::from(part.end - part.start)).sum();
        (length <= LARGEST).then(|| Graph::whole(self.image, self.program, &all, entered))
    }
}

/// The stubs of the PLT that lead to exported functions of the same file.
fn own_stubs(image: &Image<'_>, linkage: &Linkage<'_>) -> HashMap<CodeOffset, CodeOffset> {
    let own: HashMap<&str, Svma> =
        linkage.named_exports.iter().map(|export| (export.name, export.at)).collect();
    let stubs = image.symbols.iter().filter(|symbol| symbol.origin == SymbolOrigin::Plt);
    let stubs = stubs.filter_map(|symbol| Some((symbol.svma, own.get(symbol.name.strip_suffix("@plt")?)?)));
    stubs.filter_map(|(stub, to)| Some((image.code_offset(stub)?, image.code_offset(*to)?))).collect()
}

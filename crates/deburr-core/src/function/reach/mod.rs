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

mod callee;
mod edges;
mod glibc;
mod interpret;
mod kind;
mod knowledge;
mod lanes;
#[cfg(test)]
mod laws;
mod learn;
mod memory;
mod names;
mod proof;
mod references;
mod state;
mod step;
mod value;
mod verdict;
mod words;

pub use kind::{GuardKind, Reach};
pub use knowledge::Knowledge;
pub use proof::Proof;
pub use verdict::{Guard, Step, Verdict};

use super::block::Graph;
use super::{Function, Program};
use crate::address::Svma;
use crate::image::{Image, Linkage, SymbolKind, SymbolOrigin};
use crate::insn::sweep::CodeOffset;
use deburr_cpu::FeatureSet;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::RwLock;

/// How often ways without a check are looked at again.
const LOOKS: u32 = 8;

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
    /// first level. `foreign`: what the files tell that this one uses, in the loader's order.
    pub fn find(
        image: &Image<'_>,
        linkage: &Linkage<'_>,
        program: &Program,
        foreign: &[&Knowledge],
    ) -> Checks {
        let mut world = World::new(image, linkage, program, foreign);
        let known = words::known(&world);
        let closure = edges::Closure::of(&world);
        let mut learnt = learn::learn(&mut world, known, &closure);
        let mut checks = Checks { any: learnt.any, ..Checks::default() };
        let mut looked_at = BTreeSet::new();
        for _ in 0..LOOKS {
            checks.ways = edges::ways(&world, &closure, &learnt);
            if learnt.facts.values().all(|facts| facts.fields.is_empty()) {
                break;
            }
            std::mem::swap(&mut checks.facts, &mut learnt.facts);
            let without = checks.functions_without_check(image, program);
            std::mem::swap(&mut checks.facts, &mut learnt.facts);
            let new: BTreeSet<CodeOffset> = without.difference(&looked_at).copied().collect();
            if new.is_empty() {
                break;
            }
            learn::look_again(&world, &closure, &mut learnt, &new);
            looked_at.extend(new);
        }
        checks.facts = learnt.facts;
        checks
    }

    /// The functions on ways that no check was found on.
    fn functions_without_check(&self, image: &Image<'_>, program: &Program) -> BTreeSet<CodeOffset> {
        let first = deburr_cpu::levels(image.arch).first().map_or(FeatureSet::EMPTY, |level| level.features);
        let verdicts =
            self.judge(image, program, first.union(deburr_cpu::system_features(image.arch)), &HashMap::new());
        let steps = verdicts.iter().flat_map(|verdict| &verdict.path);
        let functions = steps.filter_map(|step| program.function_at(image.code_offset(step.svma)?));
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

/// The file, with what is looked up often.
struct World<'w, 'a> {
    image: &'w Image<'a>,
    linkage: &'w Linkage<'a>,
    program: &'w Program,
    /// What the files tell that it uses.
    foreign: &'w [&'w Knowledge],
    /// The parts of functions, by their owner's start.
    parts: HashMap<CodeOffset, Vec<Function>>,
    /// Functions that are run inside their callers.
    inside: HashSet<CodeOffset>,
    /// What functions return that tells something.
    returns: HashMap<CodeOffset, value::Value>,
    resolvers: HashSet<CodeOffset>,
    /// Entries of the PLT that lead to functions of this file, with those.
    stubs: HashMap<Svma, Svma>,
    /// What calls of small functions do, as far as it was asked for.
    callees: RwLock<HashMap<CodeOffset, callee::Callee>>,
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
        let mut names: HashMap<Svma, &'w str> = HashMap::new();
        for symbol in &image.symbols {
            let stub = symbol.name.strip_suffix("@plt");
            let name = stub.unwrap_or(&symbol.name);
            let is_told = names::does_not_return(name) || names::calls_back(name) || words::answers(name);
            // A function of the file's own is not the foreign one of its name.
            if is_told || stub.is_some_and(|name| knowledge::returned(foreign, name).is_some()) {
                names.entry(symbol.svma).or_insert(name);
            }
        }
        for (index, import) in linkage.imports.iter().enumerate() {
            names.insert(Svma(memory::foreign(index)), import.name);
        }
        let stubs = stubs(image, linkage);
        World {
            image,
            linkage,
            program,
            foreign,
            parts,
            inside: HashSet::new(),
            returns: HashMap::new(),
            resolvers,
            stubs,
            callees: RwLock::default(),
            names,
        }
    }

    /// The name of the function at an address, as far as names tell something.
    fn name_of(&self, svma: Svma) -> Option<&'w str> {
        self.names.get(&svma).copied()
    }

    /// The function that a call of an address gets to: an entry of the PLT leads on.
    fn behind(&self, target: Svma) -> Svma {
        self.stubs.get(&target).copied().unwrap_or(target)
    }

    /// Whether what the function of a name returns is known: by its name, or because its file tells.
    fn answers(&self, name: &str) -> bool {
        words::answers(name) || knowledge::returned(self.foreign, name).is_some()
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

    /// The graph of a whole function with its parts; `None` if it is larger than `largest` bytes.
    fn graph(&self, function: &Function, largest: u64) -> Option<Graph> {
        self.graph_entered(function, largest, &[])
    }

    /// The same, where jumps through tables lead to some places.
    fn graph_entered(&self, function: &Function, largest: u64, entered: &[Svma]) -> Option<Graph> {
        let parts = self.parts.get(&function.start).map(Vec::as_slice).unwrap_or_default();
        let all: Vec<Function> = std::iter::once(function).chain(parts).copied().collect();
        let length: u64 = all.iter().map(|part| u64::from(part.end - part.start)).sum();
        (length <= largest).then(|| Graph::whole(self.image, self.program, &all, entered))
    }
}

/// The entries of the PLT that lead to functions which the file exports itself.
fn stubs(image: &Image<'_>, linkage: &Linkage<'_>) -> HashMap<Svma, Svma> {
    let imported: HashSet<&str> = linkage.imports.iter().map(|import| import.name).collect();
    let mut own: HashMap<&str, Vec<Svma>> = HashMap::new();
    for symbol in image.symbols.iter().filter(|symbol| symbol.origin == SymbolOrigin::Plt) {
        if let Some(name) = symbol.name.strip_suffix("@plt").filter(|name| !imported.contains(name)) {
            own.entry(name).or_default().push(symbol.svma);
        }
    }
    let mut found = HashMap::new();
    let is_function = |kind: &SymbolKind| matches!(kind, SymbolKind::Function);
    for symbol in image.symbols.iter().filter(|symbol| symbol.is_global && is_function(&symbol.kind)) {
        for &stub in own.get(&*symbol.name).into_iter().flatten() {
            found.insert(stub, symbol.svma);
        }
    }
    found
}

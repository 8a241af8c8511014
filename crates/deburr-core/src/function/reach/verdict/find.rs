//! The driver of the analysis: image, linkage and functions → [`Checks`] → verdicts.

use crate::address::{CodeOffset, Svma};
use crate::function::block::Graph;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::knowledge::Knowledge;
use crate::function::reach::file::names;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::again::{run_again, worth_running_again};
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::learn::fixpoint::learn;
use crate::function::reach::learn::flags::flags;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::learn::run::run;
use crate::function::reach::learn::seeds;
use crate::function::reach::learn::sources::callers_by_name;
use crate::function::reach::machine::summaries::Summaries;
use crate::function::reach::observe::carriers::carrier;
use crate::function::reach::observe::guardable::Guardable;
use crate::function::reach::observe::told::told;
use crate::function::reach::verdict::checks::Checks;
use crate::function::reach::verdict::evidence::Verdict;
use crate::function::reach::verdict::node::{Source, Stated};
use crate::function::reach::verdict::offered::{Families, Offers};
use crate::function::reach::verdict::presumed::by_name::Names;
use crate::function::reach::verdict::presumed::search::Search;
use crate::function::reach::verdict::presumed::vocabulary;
use crate::function::reach::verdict::refusal;
use crate::function::reach::verdict::slice::{self, Closure};
use crate::function::reach::verdict::{edges, judge};
use crate::function::{Function, Program};
use crate::image::{Image, Linkage};
use crate::insn::Flow;
use deburr_cpu::FeatureSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Checks {
    /// Finds the file's checks, as far as they matter for the functions with instructions above the architecture's
    /// first level. `foreign`: what the files that this one uses export of the CPU, in the loader's order. `stated`:
    /// functions, by where they begin, that are known to be entered only where the CPU has some features. `presumes`:
    /// whether to presume as well as to prove. `families`: of all functions of the archive that the file is a member of.
    pub fn find(
        image: &Image<'_>,
        linkage: &Linkage<'_>,
        program: &Program,
        foreign: &[&Knowledge],
        (stated, presumes): (&Stated, bool),
        families: Option<&Families>,
    ) -> Checks {
        Checks::follow(&View::new(image, linkage, program, foreign), (stated, presumes), families)
    }

    /// Finds the checks of what a view of the file is to follow.
    pub(crate) fn follow(
        file: &View<'_, '_>,
        (stated, presumes): (&Stated, bool),
        families: Option<&Families>,
    ) -> Checks {
        let (image, program) = (file.image, file.program);
        let known = seeds::known(file);
        let takers = slice::takers(file);
        let mut learnt = learn(file, known, &takers);
        let is_spent = || program.budget().is_spent();
        if is_spent() {
            return Checks { any: learnt.any, ..Checks::default() };
        }
        if !learnt.any {
            // Zig's outlined atomics test a constant: no query is needed to decide that.
            let subjects = entered_at_start(file);
            learnt.facts.extend(run(file, &learnt.summaries, &learnt.memory, &subjects));
        }
        let roots = edges::roots(file, &Offers::of(file, families, learnt.any));
        let mut checks = Checks { any: learnt.any, ..Checks::default() };
        let mut analysed = BTreeSet::new();
        let mut closure = Closure::default();
        for pass in 0..=PASSES {
            closure = Closure::of(file, &learnt.facts, &roots, stated);
            checks.edges = edges::incoming(file, &roots, &closure, &learnt);
            if pass == PASSES || !learnt.any || is_spent() {
                break;
            }
            std::mem::swap(&mut checks.facts, &mut learnt.facts);
            let without = checks.functions_without_check(image, program);
            std::mem::swap(&mut checks.facts, &mut learnt.facts);
            let new: BTreeSet<CodeOffset> = without.difference(&analysed).copied().collect();
            let known = learnt.flags.len();
            let flags = flags(file, &learnt, &new);
            learnt.flags.extend(flags);
            let new = worth_running_again(file, &learnt, &new);
            if new.is_empty() && learnt.flags.len() == known {
                break;
            }
            analysed.extend(&new);
            run_again(file, &mut learnt, &analysed, &new);
        }
        let permitted = deburr_cpu::universal_features(image.arch);
        let names = (presumes && learnt.any).then(|| Names::of(file, permitted)).filter(Names::may_agree);
        let has_vocabulary = presumes && vocabulary::has_any(&learnt) && !is_spent();
        if has_vocabulary || names.is_some() {
            std::mem::swap(&mut checks.facts, &mut learnt.facts);
            let unknown = judge::unknown(&checks, (image, program), (permitted, stated));
            std::mem::swap(&mut checks.facts, &mut learnt.facts);
            let search = Search {
                file,
                roots: &roots,
                learnt: &learnt,
                closure: &closure,
                checks: &checks,
                unknown: &unknown,
                again: &analysed,
                permitted,
            };
            let presumption = if has_vocabulary { search.presume() } else { None };
            checks.presumption = presumption.map(Box::new);
            checks.by_name = names.map(|names| names.believed(&unknown)).unwrap_or_default();
        }
        checks.guardable = guardable(file, &learnt, &roots);
        checks.refusal = refusal::find(file, &learnt);
        checks.roots = roots;
        checks.facts = learnt.facts;
        checks.imported = imported(file, &checks.facts);
        checks.named = named(file, &learnt.summaries);
        checks
    }

    /// The functions on paths that no check was found on.
    fn functions_without_check(&self, image: &Image<'_>, program: &Program) -> BTreeSet<CodeOffset> {
        let permitted = deburr_cpu::universal_features(image.arch);
        let steps = judge::unchecked_paths(self, image, program, permitted);
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
        stated: &Stated,
    ) -> Vec<Verdict> {
        judge::judge(self, image, program, (permitted, stated))
    }
}

/// Which features a check of the file could be about. `roots`: where control enters the file.
fn guardable(file: &View<'_, '_>, learnt: &Learnt, roots: &BTreeMap<CodeOffset, Source>) -> Guardable {
    let interface =
        roots.iter().filter(|(_, source)| matches!(source, Source::Export { is_interface: true }));
    let interface: Vec<Svma> = interface.map(|(&start, _)| file.image.svma(start)).collect();
    let roots: BTreeSet<CodeOffset> = roots.keys().copied().collect();
    Guardable::of(file.image.arch, told(file, learnt, &roots), carrier(file, &interface))
}

/// The functions that know of the CPU what a function of another file returns: they call it, or load a word that a
/// function stores which does.
fn imported(file: &View<'_, '_>, facts: &FactsByFunction) -> BTreeMap<CodeOffset, Arc<str>> {
    let mut found: BTreeMap<CodeOffset, Arc<str>> = BTreeMap::new();
    for name in file.linkage.imports.iter().map(|import| import.name).filter(|name| names::reports_cpu(name))
    {
        for start in callers_by_name(file, |called| called == name) {
            found.entry(start).or_insert_with(|| name.into());
        }
    }
    let stored = |(start, name): (&CodeOffset, &Arc<str>)| {
        let stores = facts.get(start).map(|facts| facts.stores.as_slice()).unwrap_or_default();
        let informative = stores.iter().filter(|stored| stored.value.is_informative());
        informative.map(|stored| (stored.at, name.clone())).collect::<Vec<_>>()
    };
    let words: BTreeMap<u64, Arc<str>> = found.iter().flat_map(stored).collect();
    if !words.is_empty() {
        for (&start, facts) in facts {
            if let Some(name) = facts.inputs.words.keys().find_map(|(at, _)| words.get(at)) {
                found.entry(start).or_insert_with(|| name.clone());
            }
        }
    }
    found
}

/// The functions that call one whose answer is known by its name alone.
fn named(file: &View<'_, '_>, summaries: &Summaries) -> BTreeMap<CodeOffset, Arc<str>> {
    let is_lost = |start: &CodeOffset| summaries.returns.get(start) == Some(&Value::Tainted);
    let mut found = BTreeMap::new();
    for start in file.reporters().iter().copied().filter(is_lost) {
        let function = file.program.function_from(start);
        let Some(name) = function.and_then(|function| file.program.name(function, file.image)) else {
            continue;
        };
        for caller in file.callers_of(&BTreeSet::from([start])) {
            found.entry(caller).or_insert_with(|| name.into());
        }
    }
    found
}

/// How often paths without a check are analysed again.
const PASSES: u32 = 8;

/// The functions with instructions above the first level that are entered at their start alone, and that do not jump through
/// registers: a block of such a function that no branch reaches is dead. Only a symbol tells where a function ends, and which jumps
/// come from elsewhere.
fn entered_at_start(file: &View<'_, '_>) -> BTreeSet<CodeOffset> {
    let program = file.program;
    let is_whole = |function: &Function| {
        program.whole(function).start == function.start
            && program.symbol(function, file.image).is_some()
            && !file.incoming.is_entered_otherwise(file.image, function.start..function.end)
            && file.graph(function).is_some_and(|graph| !jumps_through_register(&graph))
    };
    let functions = program.hits_by_function().filter_map(|(function, _)| function);
    functions.filter(|function| is_whole(function)).map(|function| function.start).collect()
}

fn jumps_through_register(graph: &Graph) -> bool {
    graph.blocks.iter().flat_map(|block| &block.insns).any(|insn| insn.flow == Flow::IndirectJump)
}

//! The driver: from each function that runs at the start, along calls that control cannot avoid, to branches that refuse.

use crate::address::{CodeOffset, Svma};
use crate::function::Function;
use crate::function::block::Graph;
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::machine::effects::Facts;
use crate::function::reach::verdict::refusal::Refusal;
use crate::function::reach::verdict::refusal::called::Called;
use crate::function::reach::verdict::refusal::ends::{Ends, Explorer, handlers, text_at};
use crate::function::reach::verdict::refusal::roots::{Role, roots};
use crate::function::reach::verdict::refusal::unavoidable::is_unavoidable;
use crate::insn::Flow;
use deburr_cpu::{Arch, FeatureSet};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Maximum of calls between a function that runs at the start and one that refuses.
const MAX_CALLS_DEEP: u32 = 6;

/// What the program refuses to start without, if it does.
pub(crate) fn find(file: &View<'_, '_>, learnt: &Learnt) -> Option<Refusal> {
    let arch = file.image.arch;
    let everywhere = deburr_cpu::universal_features(arch);
    let mut finder = Finder {
        file,
        learnt,
        explorer: Explorer::new(file, &learnt.memory),
        everywhere,
        leading: leading(file, learnt, everywhere),
        done: BTreeSet::new(),
        found: Vec::new(),
    };
    for (start, role) in roots(file) {
        finder.function(start, role, (false, 0));
    }
    let Finder { found, .. } = finder;
    let features = found.iter().fold(FeatureSet::EMPTY, |all, found| all.union(found.features));
    let stated = stated(file);
    let at = found.iter().max_by_key(|found| (found.features.iter().count(), found.at)).map(|found| found.at);
    let text = found.iter().rev().find_map(|found| text_at(file, found.text?));
    match (features.is_empty(), stated) {
        (false, stated) => {
            let mut paths: Vec<Svma> = found.iter().map(|found| found.path).collect();
            paths.sort_unstable();
            paths.dedup();
            Some(Refusal { features, at, paths, text, stated: stated.map(|(setting, _)| setting) })
        }
        (true, Some((setting, level))) => {
            let features = level.minus(everywhere);
            let refusal =
                Refusal { features, at: None, paths: Vec::new(), text: None, stated: Some(setting) };
            (!features.is_empty()).then_some(refusal)
        }
        (true, None) => None,
    }
}

/// What the build information of a program of Go says that its runtime tests at the start (`src/runtime/asm_amd64.s`,
/// `bad_cpu`, from Go 1.18 on).
fn stated(file: &View<'_, '_>) -> Option<(String, FeatureSet)> {
    let image = file.image;
    image.entry_point.filter(|_| image.build.is_go && image.arch == Arch::X86_64)?;
    let (name, value) = image.build.go_settings.iter().find(|(name, _)| name == "GOAMD64")?;
    let level = deburr_cpu::level_named(&format!("x86-64-{value}"))?;
    Some((format!("{name}={value}"), level.features))
}

/// The functions that test features, and those from which direct calls lead there.
fn leading(file: &View<'_, '_>, learnt: &Learnt, everywhere: FeatureSet) -> BTreeSet<CodeOffset> {
    let proves =
        |proof: Option<Proof>| proof.is_some_and(|proof| !proof.features.minus(everywhere).is_empty());
    let tests = |facts: &Facts| {
        let exits = facts.exits.iter().map(|(_, facts)| facts);
        facts.blocks.iter().chain(exits).any(|block| proves(block.proof))
    };
    let testing = learnt.facts.values().filter(|facts| tests(facts)).map(|facts| facts.inputs.start);
    let mut leading: BTreeSet<CodeOffset> = testing.collect();
    let mut newest = leading.clone();
    for _ in 0..MAX_CALLS_DEEP {
        newest = file.callers_of(&newest).difference(&leading).copied().collect();
        leading.extend(&newest);
    }
    leading
}

/// A branch that refuses.
struct Found {
    features: FeatureSet,
    at: Svma,
    /// Where the path begins that ends the program.
    path: Svma,
    text: Option<Svma>,
}

struct Finder<'f, 'w, 'a> {
    file: &'f View<'w, 'a>,
    learnt: &'f Learnt,
    explorer: Explorer<'f, 'w, 'a>,
    everywhere: FeatureSet,
    leading: BTreeSet<CodeOffset>,
    done: BTreeSet<CodeOffset>,
    found: Vec<Found>,
}

impl Finder<'_, '_, '_> {
    /// What a function refuses, and what it calls unavoidably. `is_caught`: whether something catches what it throws.
    fn function(&mut self, start: CodeOffset, role: Role, (is_caught, depth): (bool, u32)) {
        if !self.leading.contains(&start) || depth > MAX_CALLS_DEEP || !self.done.insert(start) {
            return;
        }
        let Some(function) = self.file.program.function_from(start) else { return };
        let Some(graph) = self.file.graph(function) else { return };
        let Some((first, _)) = graph.find(self.file.image.svma(start)) else { return };
        let mut place = Place { graph: &graph, first, role, is_caught, ends: FxHashMap::default() };
        place.is_caught = is_caught || self.goes_on_after_catch(&mut place);
        for block in 0..graph.blocks.len() {
            self.branch(&mut place, block, start);
            let mut is_passed = None;
            for callee in self.callees(&graph, block) {
                if depth == MAX_CALLS_DEEP || self.done.contains(&callee.start) {
                    continue;
                }
                let is_passed = *is_passed.get_or_insert_with(|| {
                    // Where nothing comes after it but a few words, a few words are what the program is for.
                    self.is_unavoidable(&mut place, block, Parting::UnlessItFollows)
                });
                if is_passed {
                    self.function(callee.start, Role::Initialiser, (place.is_caught, depth + 1));
                }
            }
        }
    }

    /// Whether a function catches what is thrown below it, and does not end the program for that.
    fn goes_on_after_catch(&mut self, place: &mut Place<'_>) -> bool {
        let role = place.role;
        let mut handlers = handlers(self.file, place.graph).into_iter();
        handlers.any(|handler| !is_refusal(place.ends_at(&mut self.explorer, handler), role, true))
    }

    /// What a block calls, or jumps to, from which calls lead to tests.
    fn callees(&self, graph: &Graph, block: usize) -> Vec<Function> {
        let insns = graph.blocks.get(block).map(|block| block.insns.as_slice()).unwrap_or_default();
        let is_jump = |to: Svma| graph.find(to).is_none();
        let called = insns.iter().filter_map(|insn| match insn.flow {
            Flow::Call(_) | Flow::IndirectCall => Called::of(self.file, insn).function,
            Flow::Jump(to) if is_jump(to) => Called::of(self.file, insn).function,
            _ => None,
        });
        called.filter(|callee| self.leading.contains(&callee.start)).copied().collect()
    }

    /// Whether a branch refuses.
    fn branch(&mut self, place: &mut Place<'_>, block: usize, start: CodeOffset) {
        let Place { graph, role, is_caught, .. } = *place;
        let Some(last) = graph.blocks.get(block).and_then(|block| block.last()) else { return };
        let Flow::Branch(target) = last.flow else { return };
        let Some(facts) = self.learnt.facts.get(&start) else { return };
        let before = self.proof_at(facts, graph, last.svma);
        for (passing, refusing) in [(last.next(), target), (target, last.next())] {
            let proven = match graph.find(passing) {
                Some((_, 0)) => self.proof_at(facts, graph, passing),
                _ => self.file.image.code_offset(last.svma).and_then(|at| facts.leaving(at)?.proof),
            };
            let proven = proven.map(|proof| proof.features).unwrap_or_default();
            if proven == FeatureSet::ALL {
                continue;
            }
            let known = before.map(|proof| proof.features).unwrap_or_default();
            let features = proven.minus(known).minus(self.everywhere);
            if features.is_empty() {
                continue;
            }
            let refused = self.explorer.after_branch(graph, block, refusing);
            let passed = self.explorer.after_branch(graph, block, passing);
            if !is_refusal(&refused, role, is_caught) && !ends_early(&refused, &passed) {
                continue;
            }
            // Code after a function that never comes back, which was not seen, may seem to end as well.
            if is_refusal(&passed, role, is_caught) && (refused.works || !passed.works) {
                continue;
            }
            let parting = if is_farewell(&passed, role) { Parting::Never } else { Parting::Always };
            if self.is_unavoidable(place, block, parting) {
                self.found.push(Found { features, at: last.svma, path: refusing, text: refused.text });
            }
        }
    }

    fn proof_at(&self, facts: &Facts, graph: &Graph, svma: Svma) -> Option<Proof> {
        let (block, _) = graph.find(svma)?;
        let start = graph.blocks.get(block)?.start();
        let known = facts.at(self.file.image.code_offset(start)?).filter(|known| !known.is_cut)?;
        known.proof
    }

    fn is_unavoidable(&mut self, place: &mut Place<'_>, block: usize, parting: Parting) -> bool {
        let Place { graph, first, role, is_caught, .. } = *place;
        is_unavoidable(graph, (first, block), &mut self.explorer, |explorer, at| {
            let ends = place.ends_at(explorer, at);
            if is_refusal(ends, role, is_caught) {
                return true;
            }
            is_farewell(ends, role)
                && match parting {
                    Parting::Always => true,
                    Parting::Never => false,
                    Parting::UnlessItFollows => !is_farewell(place.ends_at(explorer, block), role),
                }
        })
    }
}

/// Which detours may end the program with a few words. All others count as ways round the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parting {
    Always,
    Never,
    /// Where more than that comes from the block on.
    UnlessItFollows,
}

/// A function that runs at the start, and what was explored of it.
struct Place<'g> {
    graph: &'g Graph,
    first: usize,
    role: Role,
    is_caught: bool,
    /// By block, where control ends from it on.
    ends: FxHashMap<usize, Ends>,
}

impl Place<'_> {
    fn ends_at(&mut self, explorer: &mut Explorer<'_, '_, '_>, block: usize) -> &Ends {
        self.ends.entry(block).or_insert_with(|| explorer.ends_at(self.graph, block))
    }
}

/// Whether all paths end the program as failed.
fn is_refusal(ends: &Ends, role: Role, is_caught: bool) -> bool {
    let returns_failure = ends.returned.as_ref().is_none_or(|returned| {
        let all = |is_failure: fn(u64) -> bool| {
            !returned.choices().is_empty() && returned.choices().iter().all(|&(value, _)| is_failure(value))
        };
        match role {
            Role::Initialiser => false,
            Role::Main => all(|status| status & 0xff != 0),
            Role::Module => all(|module| module == 0),
            // JNI_VERSION_1_1 is the lowest.
            Role::Version => all(|version| (version as u32 as i32) < 0x1_0001),
        }
    });
    let ends_anywhere = ends.fails || ends.throws || ends.returned.is_some();
    ends_anywhere && returns_failure && !ends.succeeds && !ends.goes_on && !(ends.throws && is_caught)
}

/// Whether a side of a branch ends the program after no more than a few words, whatever the status, and the other side goes on.
fn ends_early(refused: &Ends, passed: &Ends) -> bool {
    let ends = refused.succeeds && refused.returned.is_none();
    ends && !refused.works
        && !refused.throws
        && !refused.goes_on
        && (passed.goes_on || passed.returned.is_some())
}

/// Whether all paths end the program after no more than a few words: `--help`.
fn is_farewell(ends: &Ends, role: Role) -> bool {
    let returns = ends.returned.is_none() || role == Role::Main;
    returns && !ends.goes_on && !ends.throws && !ends.works
}

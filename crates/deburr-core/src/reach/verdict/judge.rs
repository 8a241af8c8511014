//! Judges functions by what is live on models of CPUs.

use super::limits::{
    BUDGET, FIRST_SHARE, MAX_CODE, MAX_CPUS, MAX_FEATURES, MAX_PATH, MAX_PATH_BLOCKS, MAX_PROVEN,
};
use crate::address::CodeOffset;
use crate::engine::solver::NodeId;
use crate::function::Program;
use crate::function::reach::{Because, Cause, Checks, Gap, Guard, GuardKind, Reach, Source, Step, Verdict};
use crate::image::{Image, Kind, Linkage};
use crate::insn;
use crate::insn::operations::Exit;
use crate::insn::sweep::FeatureHit;
use crate::reach::cpu::Model;
use crate::reach::demand::Demand;
use crate::reach::evaluate::run::Certainty;
use crate::reach::knowledge::{Behaviour, behaviour};
use crate::reach::live::{Live, evaluate};
use crate::reach::memory::file::File;
use crate::reach::value::pool::Places;
use deburr_cpu::{Feature, FeatureSet};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Features that the operating system grants the use of before any instruction uses them, by what it hands out: a protection
/// key, a shadow stack.
const GRANTED: FeatureSet = FeatureSet::of(&[Feature::PKU, Feature::CET_SS]);

/// A model, as its results are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    Any,
    Without(Feature),
    /// The same two, where no variable of the environment forces anything.
    AnyCalm,
    WithoutCalm(Feature),
    Exact(FeatureSet),
    /// All CPUs, where programs may not read the identification registers.
    HidingRegisters,
}

/// What becomes of an instruction in a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Control does not get there, and would in another model.
    Dead,
    /// It is executed, on some input.
    Executed { path: Vec<Step> },
    /// The evaluation does not tell.
    Open,
}

/// What the evaluation of a file knows, worked out on demand.
pub(crate) struct Evaluation<'e, 'a> {
    file: File<'e, 'a>,
    roots: &'e BTreeMap<CodeOffset, Source>,
    known: OnceCell<(Places, Demand)>,
    kept: RefCell<BTreeMap<Question, Option<Rc<Live>>>>,
    budget: Cell<u64>,
}

/// What is live without what it needs.
struct Without {
    /// Whether nothing is.
    is_dead: bool,
    /// The features without which something is.
    live: FeatureSet,
    /// Those without which it surely is.
    certain: FeatureSet,
}

/// What is found of one function.
enum Found {
    /// Dead without what it needs, and live with it.
    Guarded(Option<Guard>),
    /// Live without it.
    Required { features: FeatureSet, at: CodeOffset, gap: Gap, path: Vec<Step> },
    /// Live on a known CPU without it, if a function is called whose address was lost.
    Lost,
    /// Neither is exposed.
    Open,
}

impl<'e, 'a> Evaluation<'e, 'a> {
    /// The evaluation of a file; `None` where it would say nothing: of what is not linked yet, of Go's
    /// own calling convention, and of files that nothing queries the CPU in.
    pub(crate) fn of(
        image: &'e Image<'a>,
        linkage: &'e Linkage<'a>,
        program: &'e Program,
        checks: &'e Checks,
    ) -> Option<Evaluation<'e, 'a>> {
        if checks.any { Evaluation::over(image, linkage, program, &checks.roots) } else { None }
    }

    /// The same for a file that may lack queries.
    pub(crate) fn over(
        image: &'e Image<'a>,
        linkage: &'e Linkage<'a>,
        program: &'e Program,
        roots: &'e BTreeMap<CodeOffset, Source>,
    ) -> Option<Evaluation<'e, 'a>> {
        let is_followed =
            image.kind != Kind::Relocatable && !image.build.is_go && !image.build.is_linux_kernel;
        let bytes: u64 = image.code.iter().map(|code| code.extent.len()).sum();
        (is_followed && bytes <= MAX_CODE).then(|| Evaluation {
            file: File::new(image, linkage, program),
            roots,
            known: OnceCell::new(),
            kept: RefCell::default(),
            budget: Cell::new(BUDGET),
        })
    }

    /// What is live on a model; `None` where the budget was spent.
    fn live(&self, question: Question) -> Option<Rc<Live>> {
        if let Some(known) = self.kept.borrow().get(&question) {
            return known.clone();
        }
        let arch = self.file.image.arch;
        let model = match question {
            Question::Any => Model::any(arch),
            Question::Without(feature) => Model::without(feature),
            Question::AnyCalm => Model::any(arch).calm(),
            Question::WithoutCalm(feature) => Model::without(feature).calm(),
            Question::Exact(features) => Model::exact(arch, features),
            Question::HidingRegisters => Model::hiding_registers(),
        };
        let (places, demand) = self.known.get_or_init(|| {
            let mentions = self.file.mentions();
            let places = self.file.places(&mentions);
            let demand = Demand::new(&self.file, &places, &mentions, self.hits().into_keys());
            (places, demand)
        });
        let is_first = self.kept.borrow().is_empty();
        let budget = if is_first { self.budget.get() / FIRST_SHARE } else { self.budget.get() };
        let of_file = self.file.program.budget();
        let (live, cost) =
            evaluate(&self.file, (places, demand), self.roots, model, budget.min(of_file.left()));
        of_file.take(usize::try_from(cost).unwrap_or(usize::MAX));
        // What one model is too large for, the next one is as well.
        self.budget.set(if live.is_some() { self.budget.get().saturating_sub(cost) } else { 0 });
        let live = live.map(Rc::new);
        self.kept.borrow_mut().insert(question, live.clone());
        live
    }

    /// Changes verdicts where the evaluation knows better. `permitted`: what every CPU in question has.
    pub(crate) fn revise(&self, permitted: FeatureSet, verdicts: &mut [Verdict]) {
        // What a library hands out and nobody is seen to call is not judged.
        let is_program = self.file.image.kind == Kind::Executable;
        let is_open = |verdict: &Verdict| match verdict.reach {
            Reach::Offered => false,
            Reach::Unreached => is_program,
            _ => true,
        };
        if !verdicts.iter().any(is_open) {
            return;
        }
        let hits = self.hits();
        let mut settled: BTreeSet<CodeOffset> = BTreeSet::new();
        // Known CPUs are asked last: functions that are only in doubt get what the others leave of the budget.
        for asks_cpus in [false, true] {
            for verdict in verdicts.iter_mut().filter(|verdict| is_open(verdict)) {
                let Some(hits) = hits.get(&verdict.start).filter(|_| !settled.contains(&verdict.start))
                else {
                    continue;
                };
                let found = self.judge(verdict.start, hits, permitted, asks_cpus);
                if !matches!(found, Found::Open) && (asks_cpus || !matches!(found, Found::Lost)) {
                    settled.insert(verdict.start);
                    self.revise_one(verdict, (hits, permitted), found);
                }
            }
        }
    }

    /// What becomes of a read of an identification register of AArch64 where the operating system does not permit it.
    pub(crate) fn where_registers_are_hidden(&self, at: CodeOffset) -> Fate {
        let Some(live) = self.live(Question::HidingRegisters) else { return Fate::Open };
        let Some(node) = live.at(self.address(at)) else {
            let any = self.live(Question::Any);
            let is_reached = any.is_some_and(|any| any.at(self.address(at)).is_some());
            return if is_reached { Fate::Dead } else { Fate::Open };
        };
        let is_certain = live.block(node).is_some_and(|block| block.certainty == Certainty::Certain);
        // A handler of the signal may come back elsewhere.
        if is_certain && !live.handles_illegal {
            Fate::Executed { path: self.path(&live, node) }
        } else {
            Fate::Open
        }
    }

    fn revise_one(
        &self,
        verdict: &mut Verdict,
        (hits, permitted): (&[FeatureHit], FeatureSet),
        found: Found,
    ) {
        match found {
            Found::Guarded(guard) if verdict.reach != Reach::Guarded => {
                self.guard(verdict, hits, permitted, guard);
            }
            Found::Required { features, at, gap, path } if !verdict.reach.is_unsafe() => {
                let is_under = !gap.proven.is_empty();
                verdict.reach = if is_under { Reach::UnderGuarded } else { Reach::Required };
                (verdict.features, verdict.at, verdict.path) = (features, at, path);
                (verdict.gaps, verdict.guard) = (vec![gap], None);
                (verdict.contradiction, verdict.because) = (None, None);
            }
            // The earlier analysis has not seen where the address went.
            Found::Lost if verdict.reach == Reach::Guarded => {
                verdict.reach = Reach::Unknown;
                (verdict.guard, verdict.because) =
                    (None, Some(Because::at(Cause::AddressEscapes, self.file.image.svma(verdict.start))));
            }
            _ => {}
        }
    }

    fn guard(&self, verdict: &mut Verdict, hits: &[FeatureHit], permitted: FeatureSet, guard: Option<Guard>) {
        let needs = hits.iter().map(|hit| self.needs(hit, permitted));
        let needs = needs.fold(FeatureSet::EMPTY, FeatureSet::union);
        verdict.reach = Reach::Guarded;
        (verdict.features, verdict.guarded, verdict.guard) = (needs, needs, guard);
        verdict.gaps.clear();
        verdict.path.clear();
        (verdict.contradiction, verdict.because) = (None, None);
    }

    /// By function, its instructions above the first level.
    pub(super) fn hits(&self) -> BTreeMap<CodeOffset, Vec<FeatureHit>> {
        let program = self.file.program;
        let mut all: BTreeMap<CodeOffset, Vec<FeatureHit>> = BTreeMap::new();
        for (function, run) in program.hits_by_function() {
            if let Some(first) = run.first() {
                let start = function.map_or(first.at, |function| program.whole(function).start);
                all.entry(start).or_default().extend(run);
            }
        }
        all
    }

    fn needs(&self, hit: &FeatureHit, permitted: FeatureSet) -> FeatureSet {
        insn::features_of(self.file.image.arch, hit.group).minus(permitted)
    }

    fn address(&self, at: CodeOffset) -> u64 {
        self.file.address(self.file.image.svma(at))
    }

    /// `asks_cpus`: whether known CPUs are asked also about code that is only doubtfully live on every model.
    fn judge(&self, start: CodeOffset, hits: &[FeatureHit], permitted: FeatureSet, asks_cpus: bool) -> Found {
        let needed: Vec<(CodeOffset, FeatureSet)> = hits
            .iter()
            .map(|hit| (hit.at, self.needs(hit, permitted)))
            .filter(|(_, needs)| !needs.is_empty())
            .collect();
        let all = needed.iter().fold(FeatureSet::EMPTY, |all, it| all.union(it.1));
        let strongest = all.strongest();
        if strongest.iter().count() > MAX_FEATURES {
            return Found::Open;
        }
        let Some(any) = self.live(Question::Any) else { return Found::Open };
        let Some(found) = self.live_without(&needed, all, Question::Without) else { return Found::Open };
        let reached = |live: &Live| needed.iter().find_map(|(at, _)| live.at(self.address(*at)));
        if found.is_dead {
            return match reached(&any) {
                Some(node) => Found::Guarded(self.decided((&any, node), strongest, all, Question::Without)),
                None => Found::Open,
            };
        }
        if self.reads_environment() {
            let calm = self.live_without(&needed, all, Question::WithoutCalm);
            if calm.is_some_and(|calm| calm.is_dead)
                && let Some(any) = self.live(Question::AnyCalm)
                && let Some(node) = reached(&any)
            {
                let guard = self.decided((&any, node), strongest, all, Question::WithoutCalm);
                return Found::Guarded(guard);
            }
        }
        // A CPU that gives all answers may settle a doubt that comes from the open ones.
        match found.certain.is_empty() {
            true if asks_cpus => self.required(start, &needed, found.live, permitted),
            true => Found::Open,
            false => self.required(start, &needed, found.certain, permitted),
        }
    }

    /// Whether the file reads variables of the environment.
    fn reads_environment(&self) -> bool {
        self.file.imports.iter().any(|name| behaviour(name) == Some(Behaviour::ReadsEnvironment))
    }

    /// Whether instructions are live without what they need; `None` where the budget was spent.
    fn live_without(
        &self,
        needed: &[(CodeOffset, FeatureSet)],
        all: FeatureSet,
        question: impl Fn(Feature) -> Question,
    ) -> Option<Without> {
        let strongest = all.strongest();
        let mut found = Without { is_dead: true, live: FeatureSet::EMPTY, certain: FeatureSet::EMPTY };
        for feature in all.iter() {
            // Where the CPU lacks what implies it, it may lack this too: that model is the wider one.
            let is_implied = !strongest.contains(feature);
            let users = || needed.iter().filter(|it| it.1.contains(feature));
            if is_implied && users().all(|it| it.1.intersection(strongest).with_implied().contains(feature)) {
                continue;
            }
            let live = self.live(question(feature))?;
            for (at, _) in users() {
                let block = live.at(self.address(*at)).and_then(|node| live.block(node));
                found.is_dead &= block.is_none();
                if block.is_some() {
                    found.live = found.live.with(feature);
                }
                if block.is_some_and(|block| block.certainty == Certainty::Certain) {
                    found.certain = found.certain.with(feature);
                }
            }
        }
        Some(found)
    }

    /// The branch, or the call through a pointer, by which a block is dead without some feature.
    fn decided(
        &self,
        (any, node): (&Live, NodeId),
        strongest: FeatureSet,
        needs: FeatureSet,
        question: impl Fn(Feature) -> Question,
    ) -> Option<Guard> {
        let without = strongest.iter().find_map(|feature| self.live(question(feature)))?;
        let mut block = any.block(node)?;
        let entered = block.start;
        for _ in 0..MAX_PATH {
            let Some(parent) = block.parent.and_then(|parent| any.block(parent)) else { break };
            if without.at(parent.start).is_some() {
                let lifted = self.file.block(parent.start);
                let kind = match lifted.exit {
                    Exit::CallIndirect { .. } | Exit::JumpIndirect(_) => GuardKind::Pointer,
                    _ => GuardKind::Branch,
                };
                return Some(Guard { kind, svma: self.file.svma(lifted.exit_at.0), features: needs });
            }
            block = parent;
        }
        Some(Guard { kind: GuardKind::Branch, svma: self.file.svma(entered), features: needs })
    }

    /// Known CPUs that lack some of the features: the first level, and then those with most features first that differ.
    fn cpus(&self, lacking: FeatureSet, permitted: FeatureSet) -> Vec<FeatureSet> {
        let arch = self.file.image.arch;
        let known = deburr_cpu::cpus_by_features(arch).into_iter().map(|(_, has)| has.union(permitted));
        let levels = deburr_cpu::levels(arch).iter().map(|level| level.features.union(permitted));
        let mut all: Vec<FeatureSet> = Vec::new();
        for features in [permitted].into_iter().chain(levels).chain(known) {
            if !lacking.is_subset(features) && !all.contains(&features) {
                all.push(features);
            }
        }
        // The smallest by number, and the largest that still lacks something.
        let largest = all.iter().copied().max_by_key(|features| features.iter().count());
        all.truncate(MAX_CPUS - 1);
        all.extend(largest.filter(|largest| !all.contains(largest)));
        all
    }

    /// Whether some known CPU that lacks one of the features comes to an instruction that needs it.
    fn required(
        &self,
        start: CodeOffset,
        needed: &[(CodeOffset, FeatureSet)],
        certain: FeatureSet,
        permitted: FeatureSet,
    ) -> Found {
        let mut is_lost = false;
        for features in self.cpus(certain, permitted) {
            let Some(live) = self.live(Question::Exact(features)) else { return Found::Open };
            // Where it handles the signal, it may execute such an instruction to see whether the CPU has it.
            if live.handles_illegal {
                return Found::Open;
            }
            let missing_at = |(at, needs): &(CodeOffset, FeatureSet)| {
                let missing = needs.minus(features).minus(GRANTED);
                let node = live.at(self.address(*at)).filter(|_| !missing.is_empty())?;
                let block = live.block(node)?;
                (block.certainty == Certainty::Certain).then_some((*at, missing, node))
            };
            let mut missing = needed.iter().filter_map(missing_at);
            let Some((at, first, node)) = missing.next() else {
                is_lost |= needed.iter().any(|(at, needs)| {
                    let block = live.at(self.address(*at)).and_then(|node| live.block(node));
                    let is_missing = !needs.minus(features).minus(GRANTED).is_empty();
                    is_missing && block.is_some_and(|block| block.certainty == Certainty::Lost)
                });
                continue;
            };
            let missing = missing.fold(first, |all, it| all.union(it.1));
            let proven = self.proven(at, features.minus(permitted));
            let gap = Gap { proven, missing };
            let mut path = self.path(&live, node);
            let svma = self.file.image.svma(start);
            if path.last().is_none_or(|step| step.svma != svma) {
                path.push(Step { svma, is_function: true, is_stored: false });
            }
            return Found::Required { features: missing, at, gap, path };
        }
        if is_lost { Found::Lost } else { Found::Open }
    }

    /// Which of some features every path to an instruction has tested.
    fn proven(&self, at: CodeOffset, features: FeatureSet) -> FeatureSet {
        let is_tested = |feature: &Feature| {
            let live = self.live(Question::Without(*feature));
            live.is_some_and(|live| live.at(self.address(at)).is_none())
        };
        let tested = features.strongest().iter().take(MAX_PROVEN).filter(is_tested);
        tested.collect::<FeatureSet>().with_implied().intersection(features)
    }

    /// The functions from a root to a block.
    fn path(&self, live: &Live, node: NodeId) -> Vec<Step> {
        let mut path: Vec<Step> = Vec::new();
        let mut next = Some(node);
        for _ in 0..MAX_PATH_BLOCKS {
            let Some(block) = next.and_then(|node| live.block(node)).filter(|_| path.len() < MAX_PATH) else {
                break;
            };
            let svma = self.file.svma(block.function);
            if path.last().is_none_or(|step| step.svma != svma) {
                path.push(Step { svma, is_function: true, is_stored: false });
            }
            next = block.parent;
        }
        path.reverse();
        path
    }
}

//! Follows the edges from the roots and judges each function.
//!
//! In: [`Checks`]. Out: one [`Verdict`] for each function that needs more than what is permitted.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::atomics::helper;
use crate::function::block::{Block, Graph, LARGEST};
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::observe::carriers::Carrier;
use crate::function::reach::verdict::checks::{Checks, Presumption};
use crate::function::reach::verdict::evidence::{Contradiction, Gap, Guard, Step, Verdict, known_cpus};
use crate::function::reach::verdict::kind::{GuardKind, Reach};
use crate::function::reach::verdict::needed::cover;
use crate::function::reach::verdict::net::{settle, settle_offers};
use crate::function::reach::verdict::node::{IncomingEdge, Node, Source, Stated, leads_to};
use crate::function::reach::verdict::settled::{Entry, Known, Settled};
use crate::function::reach::verdict::unknown::cause::{Because, Cause};
use crate::function::reach::verdict::unknown::origin::{Approach, Origins};
use crate::function::reach::verdict::unwinder;
use crate::function::{Function, Program};
use crate::image::Image;
use crate::insn::sweep::FeatureHit;
use crate::insn::{self, FeatureGroup};
use deburr_cpu::{Arch, Feature, FeatureSet};
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque, hash_map};
use std::sync::Arc;

/// Features that a program can use only after the operating system has handed it something to use them on: a
/// protection key, a shadow stack, tagged memory. That comes before any instruction, in a system call of the caller.
const GRANTED: FeatureSet = FeatureSet::of(&[Feature::PKU, Feature::CET_SS, Feature::FEAT_MTE]);

/// What outlined helpers of atomics use.
const LSE: FeatureSet = FeatureSet::of(&[Feature::FEAT_LSE]);

/// Judges every function that needs features beyond the permitted ones.
pub(crate) fn judge(
    checks: &Checks,
    image: &Image<'_>,
    program: &Program,
    (permitted, stated): (FeatureSet, &Stated),
) -> Vec<Verdict> {
    let judge = Judge::of(checks, (image, program), permitted, stated);
    let count = judge.hits().len();
    let (mut decisive, mut verdicts) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (&start, hits) in judge.hits() {
        let assessment = judge.assess(start, hits);
        decisive.push(assessment.worst);
        verdicts.push(judge.explained(assessment, start, hits));
    }
    judge.offer(&mut verdicts);
    if let Some(presumption) = &checks.presumption {
        presume(presumption, (image, program), (permitted, stated), &mut verdicts);
    }
    checks.by_name.presume(image, &mut verdicts);
    cover(image.arch, (permitted, checks.refused(image.arch, permitted)), &mut verdicts);
    for (verdict, decisive) in verdicts.iter_mut().zip(&decisive) {
        let stated = verdict.because.take();
        verdict.because = (verdict.reach == Reach::Unknown)
            .then(|| stated.unwrap_or_else(|| judge.because_of_import(decisive)));
    }
    verdicts
}

/// The functions that stay unknown, each with what of its needs is not proven.
pub(crate) fn unknown(
    checks: &Checks,
    (image, program): (&Image<'_>, &Program),
    (permitted, stated): (FeatureSet, &Stated),
) -> BTreeMap<CodeOffset, FeatureSet> {
    let judge = Judge::of(checks, (image, program), permitted, stated);
    let hits = judge.hits().iter();
    let mut verdicts: Vec<Verdict> =
        hits.map(|(&start, hits)| judge.assess(start, hits).verdict(start, hits)).collect();
    cover(image.arch, (permitted, checks.refused(image.arch, permitted)), &mut verdicts);
    let unknown = verdicts.into_iter().filter(|verdict| verdict.reach == Reach::Unknown);
    unknown.map(|verdict| (verdict.start, verdict.features)).collect()
}

/// Turns `unknown` into `presumed` where a check is before the function if some words are what they are presumed to be.
fn presume(
    presumption: &Presumption,
    (image, program): (&Image<'_>, &Program),
    (permitted, stated): (FeatureSet, &Stated),
    verdicts: &mut [Verdict],
) {
    let judge = Judge::of(&presumption.checks, (image, program), permitted, stated);
    let hits = judge.hits();
    for verdict in verdicts.iter_mut().filter(|verdict| verdict.reach == Reach::Unknown) {
        let Some(hits) = hits.get(&verdict.start) else { continue };
        let presumed = judge.assess(verdict.start, hits);
        if presumed.worst.reach == Reach::Guarded {
            verdict.reach = Reach::Presumed;
            verdict.guard = judge.explained(presumed, verdict.start, hits).guard;
        } else if verdict.contradiction.is_none() {
            let presumed = judge.explained(presumed, verdict.start, hits);
            let called = (presumed.reach == Reach::UnderGuarded).then(|| Contradiction {
                gaps: presumed.gaps.clone(),
                at: presumed.at,
                guard: presumed.guard,
                is_presumed: true,
            });
            let chosen = presumed.contradiction.map(|it| Contradiction { is_presumed: true, ..*it });
            verdict.contradiction = chosen.or(called).map(Box::new);
        }
    }
}

/// The steps of a path to each function that is required or under-guarded.
pub(crate) fn unchecked_paths(
    checks: &Checks,
    image: &Image<'_>,
    program: &Program,
    permitted: FeatureSet,
) -> BTreeSet<Svma> {
    let stated = FxHashMap::default();
    let judge = Judge::of(checks, (image, program), permitted, &stated);
    let paths = judge.hits().iter().filter_map(|(&start, hits)| {
        let worst = judge.assess(start, hits).worst;
        worst.reach.is_unsafe().then(|| judge.path(worst.entry, worst.missing))
    });
    paths.flatten().map(|step| step.svma).collect()
}

/// Whether what was decoded as an instruction is amid letters: assembly often has its author's name after it.
fn is_text(image: &Image<'_>, at: Svma) -> bool {
    /// Letters in a row, the instruction among them.
    const LETTERS: usize = 20;
    let are_letters = |before: i64, count: usize| {
        let bytes = image.bytes_at(at.offset(-before)).and_then(|bytes| bytes.get(..count));
        bytes.is_some_and(|bytes| bytes.iter().all(|byte| matches!(byte, b' '..=b'~')))
    };
    are_letters(0, LETTERS - 16) && [0, 8, 16].into_iter().any(|before| are_letters(before, LETTERS))
}

/// Whether what was decoded as an instruction is in the middle of one that control falls into from the function's start:
/// zeros before a function, taken for code, may end in its first bytes.
fn is_out_of_step(image: &Image<'_>, start: Svma, at: Svma) -> bool {
    /// Bytes after which code that was decoded from the middle is in step again.
    const NEAR: u64 = 32;
    if image.arch != Arch::X86_64 || at.0.wrapping_sub(start.0) >= NEAR {
        return false;
    }
    let mut place = start;
    while place < at {
        let step = image.bytes_at(place).and_then(|bytes| insn::step(image.arch, bytes, place));
        let Some(step) = step.filter(|step| step.flow.falls_through()) else { return false };
        place = place.offset(step.length.into());
    }
    place > at
}

/// By node, the one before it on a path from a root, and whether that calls it.
type Tree = FxHashMap<Node, Option<(Node, bool)>>;

/// An entry, and the part of the function that an instruction is in.
type EntryAndPart = (CodeOffset, Option<CodeOffset>);

struct Judge<'j, 'a> {
    checks: &'j Checks,
    image: &'j Image<'a>,
    program: &'j Program,
    permitted: FeatureSet,
    /// By group of features, those that are not permitted.
    needs: Vec<FeatureSet>,
    stated: &'j Stated,
    settled: Arc<Settled>,
    /// By what stays unproven, and whether by control flow alone: the node before each on a shortest path.
    trees: RefCell<FxHashMap<(FeatureSet, bool), Tree>>,
    /// By entry, and by the part of the function that is asked for: the blocks that its branches lead to.
    led_to: RefCell<FxHashMap<EntryAndPart, Vec<Extent>>>,
    /// What known CPUs have.
    cpus: OnceCell<Vec<FeatureSet>>,
}

/// The instruction that decides what its function is.
#[derive(Debug, Clone, Copy)]
struct Decisive {
    reach: Reach,
    at: CodeOffset,
    missing: FeatureSet,
    /// The entry of the function that it is judged from.
    entry: CodeOffset,
}

/// What the instructions of one function come to.
struct Assessment {
    worst: Decisive,
    /// By severity, what the instructions of that verdict miss or need.
    by_severity: [FeatureSet; 5],
    /// Of the unsafe ones.
    gaps: BTreeSet<Gap>,
    /// Of what is chosen through pointers by a check that proves less: the instructions.
    chosen: Vec<(Gap, CodeOffset)>,
    /// The first check inside the function.
    local: Option<Guard>,
}

impl Assessment {
    /// The verdict, without what explains it: path, guard and cause.
    fn verdict(self, start: CodeOffset, hits: &[FeatureHit]) -> Verdict {
        let [unreached, guarded, unknown, under, required] = self.by_severity;
        let Decisive { reach, at, missing, .. } = self.worst;
        let features = match reach {
            Reach::Required => required.union(under),
            Reach::UnderGuarded => under,
            Reach::Unknown | Reach::Covered | Reach::Presumed => unknown,
            Reach::Guarded | Reach::Offered => guarded,
            Reach::Unreached => unreached.union(missing),
        };
        let (instructions, gaps) = (hits.len() as u64, self.gaps.into_iter().collect());
        Verdict {
            start,
            reach,
            features,
            guarded,
            at,
            instructions,
            path: Vec::new(),
            gaps,
            guard: None,
            contradiction: None,
            because: None,
        }
    }
}

impl<'j, 'a> Judge<'j, 'a> {
    fn of(
        checks: &'j Checks,
        (image, program): (&'j Image<'a>, &'j Program),
        permitted: FeatureSet,
        stated: &'j Stated,
    ) -> Judge<'j, 'a> {
        let settled = checks.edges.settled.get(permitted, stated, || settle(checks, permitted, stated));
        let groups = (0..).map(FeatureGroup).take(insn::feature_group_count(image.arch));
        let needs = groups.map(|group| insn::features_of(image.arch, group).minus(permitted)).collect();
        let (trees, led_to, cpus) = (RefCell::default(), RefCell::default(), OnceCell::new());
        Judge { checks, image, program, permitted, needs, stated, settled, trees, led_to, cpus }
    }

    /// Judges anew what nothing but a name leads to: it is offered, where no more is needed on its paths than the name says.
    fn offer(&self, verdicts: &mut [Verdict]) {
        let (checks, code) = (self.checks, (self.image, self.program));
        let settled = settle_offers(checks, self.permitted, self.stated);
        if settled.roots.is_empty() {
            return;
        }
        let judge =
            Judge { settled: Arc::new(settled), ..Judge::of(checks, code, self.permitted, self.stated) };
        for verdict in verdicts.iter_mut().filter(|verdict| verdict.reach == Reach::Unreached) {
            let Some(hits) = self.hits().get(&verdict.start) else { continue };
            let assessment = judge.assess(verdict.start, hits);
            let decisive = assessment.worst;
            let offered = judge.explained(assessment, verdict.start, hits);
            match offered.reach {
                Reach::Unreached => {}
                Reach::Guarded if offered.guard.is_some_and(|guard| guard.kind == GuardKind::Name) => {
                    *verdict = Verdict { reach: Reach::Offered, guarded: FeatureSet::EMPTY, ..offered };
                }
                Reach::Unknown => *verdict = Verdict { because: Some(judge.because(&decisive)), ..offered },
                _ => *verdict = offered,
            }
        }
    }

    /// The features that an instruction needs and that are not permitted.
    fn needs(&self, hit: &FeatureHit) -> FeatureSet {
        self.needs.get(usize::from(hit.group.0)).copied().unwrap_or_default()
    }

    /// By function, its instructions that need more than what is permitted.
    fn hits(&self) -> &BTreeMap<CodeOffset, Vec<FeatureHit>> {
        self.settled.hits.get_or_init(|| self.find_hits())
    }

    fn find_hits(&self) -> BTreeMap<CodeOffset, Vec<FeatureHit>> {
        let is_beyond =
            |hit: &FeatureHit| !self.needs(hit).is_empty() && !is_text(self.image, self.image.svma(hit.at));
        let mut hits: BTreeMap<CodeOffset, Vec<FeatureHit>> = BTreeMap::new();
        for (function, run) in self.program.hits_by_function() {
            let start = function.map(|function| self.image.svma(function.start));
            let is_in_step = |hit: &FeatureHit| {
                !start.is_some_and(|start| is_out_of_step(self.image, start, self.image.svma(hit.at)))
            };
            let mut beyond = run.iter().copied().filter(is_beyond).filter(is_in_step).peekable();
            if let Some(first) = beyond.peek() {
                let start = function.map_or(first.at, |function| self.program.whole(function).start);
                hits.entry(start).or_default().extend(beyond);
            }
        }
        hits
    }

    fn assess(&self, start: CodeOffset, hits: &[FeatureHit]) -> Assessment {
        let mut worst: Option<Decisive> = None;
        let mut by_severity = [FeatureSet::EMPTY; 5];
        let mut gaps = BTreeSet::new();
        let mut chosen = Vec::new();
        let mut local = None;
        for (entry, ranges) in self.checks.edges.entries_of(start) {
            let facts = self.checks.facts.get(&entry);
            let known = self.settled.entry(Node::Function(entry)).unwrap_or_default();
            let mut last = None;
            for hit in hits.iter().filter(|hit| leads_to(ranges, hit.at)) {
                let (at, needs) = (hit.at, self.needs(hit));
                let block = facts.and_then(|facts| facts.at(at));
                // What needs the same in the same block is judged alike.
                let same = Some((hit.group, block.map(|block| block.start)));
                if last == same {
                    continue;
                }
                last = same;
                let proof = match block.map(|block| block.proof) {
                    // Only a test that never has this outcome shows that it is never reached. Where no branch leads it may
                    // be another function's.
                    Some(None) if self.is_led_to(entry, at) => continue,
                    Some(None) => Proof::doubt(true),
                    Some(Some(proof)) => proof,
                    None => Proof::EMPTY,
                };
                // Code that sets the byte that an outlined helper tests has queried the CPU: the helper is made for
                // nothing else.
                let svma = self.image.svma(at);
                let known_code = match needs == LSE {
                    true => helper::guard_of(self.image, svma),
                    false => unwinder::guard_of(self.image, self.program, svma),
                };
                let (reach, missing) = match known_code {
                    Some(svma) => {
                        // What follows in the same block is judged by itself.
                        last = None;
                        local = Some(Guard { kind: GuardKind::Branch, svma, features: needs });
                        (Reach::Guarded, needs)
                    }
                    None => self.hit(entry, known, proof, needs),
                };
                if local.is_none() && !proof.features.is_subset(self.permitted) {
                    local = Some(Guard {
                        kind: GuardKind::Branch,
                        svma: block.and_then(|block| block.check).unwrap_or(self.image.svma(at)),
                        features: proof.features.minus(self.permitted),
                    });
                }
                if reach.is_unsafe() {
                    let known = known.certain.or(known.checked).unwrap_or(Known::root());
                    let proven = known.after(proof).proven;
                    gaps.insert(Gap { proven: proven.minus(self.permitted), missing });
                }
                if reach == Reach::Unknown && entry == start {
                    chosen.extend(self.chosen(known, proof, missing).map(|gap| (gap, at)));
                }
                if let Some(features) = by_severity.get_mut(usize::from(severity(reach))) {
                    *features = features.union(missing);
                }
                if worst.is_none_or(|known| severity(reach) > severity(known.reach)) {
                    worst = Some(Decisive { reach, at, missing, entry });
                }
            }
        }
        let first = hits.first().map(|hit| (hit.at, self.needs(hit)));
        let (at, missing) = first.unwrap_or((start, FeatureSet::EMPTY));
        let worst = worst.unwrap_or(Decisive { reach: Reach::Unreached, at, missing, entry: start });
        Assessment { worst, by_severity, gaps, chosen, local }
    }

    /// The verdict, with path, guard and contradiction.
    fn explained(&self, mut assessment: Assessment, start: CodeOffset, hits: &[FeatureHit]) -> Verdict {
        let chosen = std::mem::take(&mut assessment.chosen);
        let (worst, local) = (assessment.worst, assessment.local);
        let verdict = assessment.verdict(start, hits);
        // The path is that of the instruction that the verdict points at.
        let Decisive { reach, missing, entry, .. } = worst;
        let features = verdict.features;
        let path = if reach.is_unsafe() { self.path(entry, missing) } else { Vec::new() };
        let guard = match reach {
            Reach::Guarded => {
                let local_suffices = local.is_some_and(|local| features.is_subset(local.features));
                let outside =
                    if local_suffices { None } else { self.guard(entry, features, FeatureSet::EMPTY) };
                match outside {
                    // A check before the function that proves all of it says more than one inside that does not.
                    Some(outside) if features.is_subset(outside.features) => Some(outside),
                    outside => local.or(outside),
                }
            }
            Reach::UnderGuarded => local
                .filter(|local| !missing.is_subset(local.features))
                .or_else(|| self.guard(entry, FeatureSet::EMPTY, missing)),
            _ => None,
        };
        let contradiction = self.contradiction(start, chosen).map(Box::new);
        Verdict { path, guard, contradiction, ..verdict }
    }

    /// What a check proves that an instruction's function is chosen by through a pointer, where that is not all it needs.
    fn chosen(&self, entry: Entry, proof: Proof, missing: FeatureSet) -> Option<Gap> {
        let known = entry.checked.filter(|_| entry.certain.is_none())?.after(proof);
        let proven = known.proven.minus(self.permitted);
        (!proven.is_empty() && !missing.is_subset(known.possible)).then_some(Gap { proven, missing })
    }

    /// The first of several that some known CPU falls into, of a function that each place which takes its address has a test
    /// for. Tables in data would do as well, but which of two tables an address is of, stripped files do not say.
    fn contradiction(&self, start: CodeOffset, mut chosen: Vec<(Gap, CodeOffset)>) -> Option<Contradiction> {
        let is_tested = |edge: &IncomingEdge| {
            let is_code = matches!(edge.from, Source::Node(Node::Function(_)));
            is_code && !edge.is_loose && !edge.proof.features.is_subset(self.permitted)
        };
        if chosen.is_empty() || !self.edges(Node::Function(start)).iter().all(is_tested) {
            return None;
        }
        let cpus = self.cpus.get_or_init(|| known_cpus(self.image.arch, self.permitted));
        chosen.retain(|(gap, _)| cpus.iter().any(|&has| gap.endangers(has)));
        // What follows may be another function, where nothing says where that begins.
        chosen.retain(|(_, at)| self.is_led_to(start, *at));
        let &(Gap { missing, .. }, at) = chosen.first()?;
        let guard = self.guard(start, FeatureSet::EMPTY, missing);
        chosen.sort_unstable();
        chosen.dedup_by_key(|(gap, _)| *gap);
        let gaps = chosen.into_iter().map(|(gap, _)| gap).collect();
        Some(Contradiction { gaps, at, guard, is_presumed: false })
    }

    /// Whether the branches of a function lead from an entry to an instruction, whatever they test. Not followed in functions
    /// that are too large.
    fn is_led_to(&self, entry: CodeOffset, at: CodeOffset) -> bool {
        let part = self.program.function_at(at);
        let mut led_to = self.led_to.borrow_mut();
        let extents = led_to.entry((entry, part.map(|part| part.start))).or_insert_with(|| {
            let whole = self.program.function_at(entry).map(|function| self.program.whole(function));
            let parts: BTreeMap<CodeOffset, Function> =
                whole.into_iter().chain(part).map(|part| (part.start, *part)).collect();
            let parts: Vec<Function> = parts.into_values().collect();
            if parts.iter().map(|part| part.extent(self.image).len()).sum::<u64>() > LARGEST {
                return Vec::new();
            }
            let graph = Graph::whole(self.image, self.program, &parts, &[]);
            let mut seen = vec![false; graph.blocks.len()];
            if let Some((first, _)) = graph.find(self.image.svma(entry)) {
                graph.visit(first, &mut graph.orphans(), &mut seen, &mut Vec::new());
            }
            let blocks = graph.blocks.iter().zip(seen).filter(|(_, is_seen)| *is_seen);
            let extent = |block: &Block| Some(Extent { start: block.start(), end: block.last()?.next() });
            blocks.filter_map(|(block, _)| extent(block)).collect()
        });
        let svma = self.image.svma(at);
        let place = extents.partition_point(|extent| extent.end <= svma);
        extents.get(place).is_some_and(|extent| extent.start <= svma)
    }

    /// Judges one instruction: its reach, and the features that are not proven. A function that is reached through an
    /// address, or after a test that was not followed, is required all the same where no check of the file can be about what
    /// it needs.
    fn hit(&self, start: CodeOffset, entry: Entry, proof: Proof, needs: FeatureSet) -> (Reach, FeatureSet) {
        let (reach, missing) = self.followed(entry, proof, needs);
        let is_reached = entry.certain.is_some() || entry.checked.is_some() || entry.bare;
        if reach != Reach::Unknown || !is_reached || self.is_go() {
            return (reach, missing);
        }
        let known = entry.certain.or(entry.checked).unwrap_or(Known::root()).after(proof);
        let proven = known.proven.minus(self.permitted);
        let unguarded = self.checks.guardable.never_guarded(self.image.arch, missing.minus(GRANTED), proven);
        if unguarded.is_empty() || self.path(start, unguarded).is_empty() {
            return (reach, missing);
        }
        (if proven.is_empty() { Reach::Required } else { Reach::UnderGuarded }, unguarded)
    }

    /// The same, by what is proven on the paths that were followed.
    fn followed(&self, entry: Entry, proof: Proof, needs: FeatureSet) -> (Reach, FeatureSet) {
        let here = |known: Known| known.after(proof);
        match (entry.certain, entry.checked, entry.bare || entry.doubtful) {
            (Some(known), ..) => {
                let known = here(known);
                let missing = needs.minus(known.proven);
                let reach = if missing.is_empty() {
                    return (Reach::Guarded, needs);
                } else if needs.is_subset(known.possible) || missing.is_subset(GRANTED) || self.is_go() {
                    Reach::Unknown
                } else if known.proven.is_subset(self.permitted) {
                    Reach::Required
                } else {
                    Reach::UnderGuarded
                };
                (reach, missing)
            }
            (None, Some(known), _) => {
                let missing = needs.minus(here(known).proven);
                if missing.is_empty() { (Reach::Guarded, needs) } else { (Reach::Unknown, missing) }
            }
            (None, None, true) => {
                let missing = needs.minus(here(Known::root()).proven);
                if missing.is_empty() {
                    (Reach::Guarded, needs)
                } else if self.checks.any || !entry.bare || proof.is_doubtful || missing.is_subset(GRANTED) {
                    (Reach::Unknown, missing)
                } else {
                    // Nothing in the file queries the CPU, so what calls through the address has not either.
                    (Reach::Required, missing)
                }
            }
            (None, None, false) => (Reach::Unreached, needs),
        }
    }

    /// Why an instruction is unknown.
    fn because(&self, decisive: &Decisive) -> Because {
        let &Decisive { at, missing, entry, .. } = decisive;
        let is_doubted = |known: Known| missing.is_subset(known.possible) && !missing.is_subset(known.proven);
        let approach = |node: Node| match self.settled.entry(node) {
            Some(entry) if entry == Entry::default() => Approach::Never,
            Some(Entry { certain, checked, .. }) => match certain.or(checked) {
                Some(known) if is_doubted(known) => Approach::Doubted,
                _ => Approach::Open,
            },
            None => Approach::Never,
        };
        let (checks, image, program) = (self.checks, self.image, self.program);
        let origins = Origins { checks, image, program, approach: &approach };
        let proof = checks.facts.get(&entry).and_then(|facts| facts.at(at)).and_then(|block| block.proof);
        if proof.is_some_and(|proof| proof.is_doubtful) {
            return origins.test_before(entry, at);
        }
        let certain = self.settled.entry(Node::Function(entry)).and_then(|known| known.certain);
        match certain {
            Some(known) if is_doubted(known) => origins.because(entry, missing, true),
            _ if missing.is_subset(GRANTED) => Because::of_file(Cause::GrantedBySystem),
            Some(_) if self.is_go() => Because::of_file(Cause::GoRuntime),
            Some(_) => Because::of_file(Cause::LimitOfAnalysis),
            None => origins.because(entry, missing, false),
        }
    }

    /// The same, with the import that may carry what no code of the file tests.
    fn because_of_import(&self, decisive: &Decisive) -> Because {
        let because = self.because(decisive);
        let (guardable, missing) = (&self.checks.guardable, decisive.missing.minus(GRANTED));
        let is_untested = !guardable.never_tested(self.image.arch, missing, FeatureSet::EMPTY).is_empty();
        match &guardable.carrier {
            Some(Carrier::Import(name)) if is_untested && because.import.is_none() => {
                Because { import: Some(name.clone()), ..because }
            }
            _ => because,
        }
    }

    /// Whether Go made the file. Its run-time library keeps what it learns in words that are not followed.
    fn is_go(&self) -> bool {
        self.image.build.is_go && self.checks.any
    }

    fn edges(&self, node: Node) -> &[IncomingEdge] {
        self.checks.edges.into.get(&node).map(Vec::as_slice).unwrap_or_default()
    }

    fn step(&self, node: Node, is_stored: bool) -> Step {
        match node {
            Node::Function(start) => Step { svma: self.image.svma(start), is_function: true, is_stored },
            Node::Data(at) => Step { svma: Svma(at), is_function: false, is_stored },
        }
    }

    /// The functions on the path to an unconditionally reachable one.
    fn path_from_root(&self, node: Node) -> Vec<Step> {
        let Node::Function(start) = node else { return Vec::new() };
        let path = self.checks.edges.unconditional.path_to(self.program, start).into_iter();
        path.map(|start| self.step(Node::Function(start), false)).collect()
    }

    /// A shortest path from a root on which the features stay unproven.
    fn path(&self, entry: CodeOffset, missing: FeatureSet) -> Vec<Step> {
        let last = Node::Function(entry);
        let is_certain = self.settled.entry(last).is_some_and(|entry| entry.certain.is_some());
        let mut trees = self.trees.borrow_mut();
        let tree = trees.entry((missing, is_certain)).or_insert_with(|| self.tree(missing, is_certain));
        let mut path = Vec::new();
        let mut at = Some(last);
        while let Some(node) = at {
            let Some(&before) = tree.get(&node) else { return Vec::new() };
            path.push(self.step(node, before.is_some_and(|(_, is_called)| !is_called)));
            if before.is_none() {
                path.extend(self.path_from_root(node).into_iter().rev());
            }
            at = before.map(|(node, _)| node);
        }
        path.reverse();
        path
    }

    /// By node, the one before it on a shortest path from a root on which the features stay unproven.
    fn tree(&self, missing: FeatureSet, is_certain: bool) -> Tree {
        // A test that was not followed is about something else.
        let guardable = &self.checks.guardable;
        let is_never_guarded =
            guardable.never_guarded(self.image.arch, missing, FeatureSet::EMPTY) == missing;
        let is_open = |edge: &IncomingEdge| {
            let is_doubtful = edge.proof.is_doubtful && !is_never_guarded;
            let proves = is_doubtful || missing.is_subset(edge.proof.features);
            !proves && !edge.is_loose && (edge.is_certain || !is_certain)
        };
        let mut tree = Tree::default();
        let mut onward: FxHashMap<Node, Vec<(Node, bool)>> = FxHashMap::default();
        let mut pending = VecDeque::new();
        for (&to, edges) in &self.checks.edges.into {
            for edge in edges.iter().filter(|edge| is_open(edge)) {
                match edge.from {
                    Source::Export { .. } | Source::Offer { .. } if !self.settled.roots.contains(&to) => {}
                    Source::Root | Source::Export { .. } | Source::Offer { .. } => {
                        if tree.insert(to, None).is_none() {
                            pending.push_back(to);
                        }
                    }
                    Source::Node(from) => onward.entry(from).or_default().push((to, edge.is_certain)),
                }
            }
        }
        while let Some(node) = pending.pop_front() {
            for &(next, is_called) in onward.get(&node).map(Vec::as_slice).unwrap_or_default() {
                if let hash_map::Entry::Vacant(place) = tree.entry(next) {
                    place.insert(Some((node, is_called)));
                    pending.push_back(next);
                }
            }
        }
        tree
    }

    /// The nearest check that proves all of some features, else the nearest, among the paths to a function on which
    /// others, if any are given, stay unproven.
    fn guard(&self, entry: CodeOffset, needed: FeatureSet, unproven: FeatureSet) -> Option<Guard> {
        let mut nearest = None;
        let first = Node::Function(entry);
        let mut pending = VecDeque::from([first]);
        let mut seen: BTreeSet<Node> = BTreeSet::from([first]);
        while let Some(node) = pending.pop_front() {
            if let Node::Function(at) = node
                && let Some(features) = self.stated.get(&at)
            {
                let features = features.minus(self.permitted);
                let guard = Guard { kind: GuardKind::Stated, svma: self.image.svma(at), features };
                if needed.is_subset(features) {
                    return Some(guard);
                }
                nearest = nearest.or(Some(guard));
            }
            for edge in self.edges(node) {
                if !unproven.is_empty() && unproven.is_subset(edge.proof.features) {
                    continue;
                }
                if matches!(edge.from, Source::Offer { .. }) && !self.settled.roots.contains(&node) {
                    continue;
                }
                let features = edge.proof.features.minus(self.permitted);
                if !features.is_empty() {
                    let guard = Guard { kind: edge.kind, svma: edge.check.unwrap_or(edge.at), features };
                    if needed.is_subset(features) {
                        return Some(guard);
                    }
                    nearest = nearest.or(Some(guard));
                }
                if let Source::Node(from) = edge.from
                    && seen.insert(from)
                {
                    pending.push_back(from);
                }
            }
        }
        nearest
    }
}

/// Which of two instructions' verdicts is the function's.
const fn severity(reach: Reach) -> u8 {
    match reach {
        Reach::Unreached => 0,
        Reach::Guarded | Reach::Offered => 1,
        Reach::Unknown | Reach::Covered | Reach::Presumed => 2,
        Reach::UnderGuarded => 3,
        Reach::Required => 4,
    }
}

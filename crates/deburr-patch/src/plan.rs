//! Patch stage: what is to be written over what.
//!
//! In: the bytes of an AArch64 file. Out: a [`Plan`], each [`Site`] of which was proven, and for every place that is left as
//! it is the reason. What rules find on atomics, spin loops and frames is found by the same functions here. Nothing here
//! writes; `apply` does.

use crate::around::{self, Detail, Obstacle, Surroundings, before};
use crate::audit::{self, Concern, Subject};
use crate::candidate::exclusive::{self, NoShape, Replacements};
use crate::candidate::lone;
use crate::candidate::trampoline::{self, Trampoline};
use crate::prove::{Dead, Given, Prover, Refusal};
use crate::semantics::{Register, effects, plain_load};
use crate::unfit::{self, Unfit};
use deburr_core::address::{Extent, Svma};
use deburr_core::function::atomics::{self, Atomics, Fate, Sequence};
use deburr_core::function::{Program, discover};
use deburr_core::image::layout::{Layout, NoSpace, Room};
use deburr_core::image::{self, Error, Image};
use deburr_core::insn::sweep::Wants;
use deburr_core::insn::{Class, ClassSet};
use deburr_core::report::FunctionNames;
use deburr_cpu::{Feature, FeatureSet};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Words from a load-exclusive on that a proposal may look at.
const LONGEST: i64 = 24;
/// Registers to try as a scratch register where they are dead; the platform's x18 and the frame are left alone.
const SCRATCH: [u8; 15] = [16, 17, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3];

/// The rules whose findings a plan can remove.
pub const RULES: &[&str] = &[
    "llsc-loop",
    "llsc-pair",
    "outlined-atomic",
    "yield-in-spin-loop",
    "split-frame-reload",
    "barrier-around-atomic",
];

/// What is asked of a plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanRequest<'a> {
    /// The separate debug file, if the caller has it: it names functions.
    pub debug_file: Option<&'a [u8]>,
    /// Features that every machine the file will run on has.
    pub target: Option<FeatureSet>,
    /// Ids of the rules whose findings to remove; `None`: all of [`RULES`].
    pub rules: Option<&'a [&'a str]>,
    /// Leaves compare-and-swaps alone that try again at once where they fail: LSE takes the cache line for each.
    pub skip_spinning: bool,
    /// Writes what is longer than the sequence that it replaces into space added to the file.
    pub trampolines: bool,
}

/// Words that take the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The id of the rule whose finding goes away.
    pub rule: &'static str,
    /// The function that it lies in, as demangled, where that has a name.
    pub function: Option<Arc<str>>,
    /// The address of the first word.
    pub at: Svma,
    /// Where that word lies in the file, in bytes.
    pub file_offset: u64,
    /// The words as they are.
    pub old: Vec<u32>,
    /// The words in their place, as many.
    pub new: Vec<u32>,
    /// Words in added space that the first of the new ones branches to.
    pub trampoline: Option<Trampoline>,
    /// Whether it is a compare-and-swap that tries again at once where it fails.
    pub spins: bool,
}

impl Site {
    /// Where its words lie.
    pub fn extent(&self) -> Extent {
        Extent::sized(self.at, 4 * self.old.len() as u64)
    }

    /// Whether the new words run on CPUs with LSE only.
    pub fn needs_lse(&self) -> bool {
        is_exclusive(self.rule) || self.rule == "outlined-atomic"
    }
}

impl<'a> From<&'a Site> for Subject<'a> {
    fn from(site: &'a Site) -> Subject<'a> {
        Subject {
            rule: site.rule,
            at: site.at,
            old: &site.old,
            new: &site.new,
            trampoline: site.trampoline.as_ref(),
        }
    }
}

/// A place that is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The id of the rule that finds it.
    pub rule: &'static str,
    /// The function that it lies in, where that has a name.
    pub function: Option<Arc<str>>,
    /// Its address.
    pub at: Svma,
    /// Why.
    pub reason: Reason,
    /// Where the obstacle is, or what it is about.
    pub detail: Option<Detail>,
}

/// Why a place is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Code beside it is chosen at run time, on machines that have better.
    RunTimeChoice,
    /// The target was not said to have LSE.
    TargetWithoutLse,
    /// None of the shapes that are understood.
    NoShape(NoShape),
    /// Something around it.
    Obstacle(Obstacle),
    /// A shape, but not the same by proof.
    Unproven(Refusal),
    /// It lies in the words of another site.
    Overlaps,
    /// It spins where it fails, and was asked to be left.
    Spins,
    /// The call is a jump, in whose place the return does not fit.
    TailCall,
    /// The helper is not the one that its name says, or lies elsewhere.
    Helper,
    /// A register that the call would have overwritten is read behind it.
    LiveRegister,
    /// The frame is too large for the load that releases it.
    LargeFrame,
    /// A barrier that is not shown to be needless.
    Barrier,
    /// Other words than those that a fixed pattern has.
    OtherWords,
    /// It needs added space, and there is none.
    NoSpace(NoSpace),
    /// It needs added space, and that is too far away for a branch.
    Far,
    /// The plan has nothing against it, but the audit has.
    Contradiction(Concern),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoShape(shape) => return shape.fmt(f),
            Reason::Obstacle(obstacle) => return obstacle.fmt(f),
            Reason::NoSpace(why) => return write!(f, "no code can be added to the file: {why}"),
            // The state differs from place to place; the kind is what they share.
            Reason::Unproven(refusal) => return write!(f, "not proven: {refusal}"),
            Reason::Contradiction(concern) => {
                return write!(f, "internal contradiction, please report it: {concern}");
            }
            _ => {}
        }
        f.write_str(match self {
            Reason::RunTimeChoice => "already behind a run-time choice",
            Reason::TargetWithoutLse => "the target does not guarantee LSE (--target armv8.1-a)",
            Reason::Overlaps => "overlaps another site",
            Reason::Spins => "spins where it fails",
            Reason::TailCall => "a tail call: LSE instruction and return do not fit",
            Reason::Helper => "the helper is not in this file, or not as libgcc writes it",
            Reason::LiveRegister => "x16, x17 or x30 is read after the call",
            Reason::OtherWords => "not the words that take its place",
            Reason::Far => "added space is farther away than a branch reaches, 128 MiB",
            Reason::LargeFrame => "the frame is larger than 255 bytes",
            _ => "not shown to be needless",
        })
    }
}

/// All that is to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// By address, without overlap.
    pub sites: Vec<Site>,
    /// By address.
    pub refused: Vec<Refused>,
}

impl Plan {
    /// Whether a site has words in some run.
    fn touches(&self, run: Extent) -> bool {
        let after = self.sites.partition_point(|site| site.extent().end <= run.start);
        self.sites.get(after).is_some_and(|site| site.at < run.end)
    }
}

/// Why a file has no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// It cannot be read.
    Unreadable(Error),
    /// It must not be changed.
    Unfit(Unfit),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Unreadable(error) => error.fmt(f),
            PlanError::Unfit(unfit) => unfit.fmt(f),
        }
    }
}

impl std::error::Error for PlanError {}

impl From<Error> for PlanError {
    fn from(error: Error) -> PlanError {
        PlanError::Unreadable(error)
    }
}

/// A draft, or why there is none.
pub(crate) type Drafted = Result<Draft, (Svma, &'static str, Reason)>;

/// What a place is to become, before anything is known of its surroundings.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) rule: &'static str,
    /// Where the rule finds it.
    pub(crate) at: Svma,
    pub(crate) attempts: Vec<Attempt>,
}

/// One way to write over a place.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    /// Where the old words lie.
    pub(crate) start: Svma,
    pub(crate) old: Vec<u32>,
    pub(crate) candidates: Vec<Vec<u32>>,
    pub(crate) spins: bool,
    /// Whether the candidates are of any length, in the form of `trampoline`.
    pub(crate) is_trampoline: bool,
    pub(crate) proof: Basis,
    /// From where on nothing may enter, but at the first instruction.
    pub(crate) entry: Svma,
}

/// How a candidate is shown to do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Exclusives: over all states in which something is given, but for dead registers where `lossy`.
    Exclusives { given: Vec<Given>, lossy: bool },
    /// Exclusives, by a compare-and-swap that is tried again; but for dead registers where `lossy`.
    Retry { lossy: bool },
    /// Plain loads.
    Loads,
    /// Nothing to compute with: the words follow from a fixed pattern.
    Pattern,
}

impl Basis {
    pub(crate) const PLAIN: Basis = Basis::Exclusives { given: Vec::new(), lossy: false };

    fn is_lossy(&self) -> bool {
        matches!(self, Basis::Exclusives { lossy: true, .. } | Basis::Retry { lossy: true })
    }
}

impl Attempt {
    pub(crate) fn extent(&self) -> Extent {
        Extent::sized(self.start, 4 * self.old.len() as u64)
    }

    /// The same, resting on what the code before says of a register.
    fn knowing(&self, image: &Image<'_>, register: Register) -> Option<Attempt> {
        let (entry, given) = before::high_bits(image, self.start, register)?;
        // A way back that does not pass the instruction that tells must not bring another value.
        (!effects::goes_back_with_another(&self.old, register)).then_some(())?;
        let proof = Basis::Exclusives { given: vec![given], lossy: self.proof.is_lossy() };
        Some(Attempt { proof, entry, ..self.clone() })
    }

    /// The same, with candidates that leave other values in dead registers.
    fn lossy(&self, candidates: Vec<Vec<u32>>) -> Option<Attempt> {
        let proof = Basis::Exclusives { given: Vec::new(), lossy: true };
        (!candidates.is_empty()).then(|| Attempt { candidates, proof, ..self.clone() })
    }

    /// The registers that a candidate may leave other values in.
    fn dead(&self, around: &Surroundings<'_, '_>, candidate: &[u32]) -> Vec<Dead> {
        if !self.proof.is_lossy() {
            return Vec::new();
        }
        let own = effects::written(&self.old);
        let written = own | effects::written(candidate);
        let length = self.old.len() as i64;
        let exits = effects::exits(&self.old).filter(|exit| !(0..length).contains(exit)).chain([length]);
        let dead_at = |exit: i64| {
            let numbers = (0..31).filter(|number| written >> number & 1 != 0);
            let at = self.start.offset(4 * exit);
            let dead = numbers.filter(|&number| around.is_dead(at, number, own >> number & 1 == 0));
            let exit =
                trampoline::exit(exit, self.old.len(), trampoline::width(self.old.len(), candidate.len()));
            Dead { exit, registers: dead.fold(0, |all, number| all | 1 << number) }
        };
        exits.collect::<BTreeSet<i64>>().into_iter().map(dead_at).collect()
    }

    /// Proves one of the candidates.
    fn prove(
        &self,
        around: &Surroundings<'_, '_>,
        prover: &Prover,
        candidate: &[u32],
    ) -> Result<(), Refusal> {
        let (mut old, mut new) = (Cow::Borrowed(&*self.old), Cow::Borrowed(candidate));
        if self.is_trampoline {
            let width = trampoline::width(old.len(), new.len());
            old = trampoline::widened(&old, width).ok_or(Refusal::TooLarge)?.into();
            new = trampoline::filled(new.into_owned(), width).into();
        }
        let proof = match &self.proof {
            Basis::Exclusives { given, .. } => {
                prover.prove_with(&old, &new, given, &self.dead(around, candidate))
            }
            Basis::Retry { .. } => prover.prove_retrying(&old, &new, &self.dead(around, candidate)),
            Basis::Loads => prover.prove_loads(&old, &new),
            Basis::Pattern => return Ok(()),
        };
        proof.map(drop)
    }

    /// What only its first instruction may be entered at.
    fn closed(&self) -> Extent {
        Extent { start: self.entry, end: self.extent().end }
    }
}

/// Says what may be written over what, and proves each of it.
///
/// # Errors
/// [`PlanError`], where the bytes are no ELF file that deburr reads, or one that must not be changed.
pub fn plan(bytes: &[u8], request: &PlanRequest<'_>) -> Result<Plan, PlanError> {
    let is_asked = |rule: &str| request.rules.is_none_or(|rules| rules.contains(&rule));
    let seen = See { debug_file: request.debug_file, target: request.target };
    seen.settle(bytes, is_asked, |image, around, atomics, mut drafts| {
        let exclusives = atomics.sequences.par_iter().filter(|sequence| is_asked(rule_of(sequence)));
        drafts.par_extend(exclusives.map(|sequence| draw(image, around, sequence, request)));
        drafts
    })
}

/// Proves what somebody else drafted, who gets to see what single instructions may become where there is LSE.
pub(crate) fn plan_for(
    bytes: &[u8],
    is_asked: impl Fn(&str) -> bool,
    draft: impl FnOnce(&Image<'_>, Vec<Drafted>) -> Vec<Drafted>,
) -> Result<Plan, PlanError> {
    let target = FeatureSet::from_iter([Feature::FEAT_LSE]);
    let seen = See { debug_file: None, target: Some(target) };
    seen.settle(bytes, is_asked, |image, _, _, lone| draft(image, lone))
}

/// What to look at a file with.
struct See<'a> {
    debug_file: Option<&'a [u8]>,
    target: Option<FeatureSet>,
}

impl See<'_> {
    /// Reads a file, has all drafts made from those of single instructions, and settles them.
    fn settle(
        &self,
        bytes: &[u8],
        is_asked: impl Fn(&str) -> bool,
        draft: impl FnOnce(&Image<'_>, &Surroundings<'_, '_>, &Atomics, Vec<Drafted>) -> Vec<Drafted>,
    ) -> Result<Plan, PlanError> {
        let image = Image::parse(bytes, self.debug_file)?;
        if let Some(unfit) = unfit::unfit(&image) {
            return Err(PlanError::Unfit(unfit));
        }
        let wants = atomics::WANTS.union(atomics::BARRIER_WANTS).union(ClassSet::of(&[Class::SpinHint]));
        let program = discover(&image, Wants::classes(wants));
        let atomics = atomics::atomics(&image, &program);
        let around = Surroundings::of(&image, &program);
        let lone = lone::drafts((&image, &program), &around, &atomics, self.target, is_asked);
        let drafts = draft(&image, &around, &atomics, lone);
        let prover = Prover::default();
        let mut plan = settle((&image, &program), &around, &prover, drafts);
        // The audit reads the whole file again, and needs nothing of this.
        drop(around);
        drop((atomics, program));
        refuse_contradicted(&image, &prover, &mut plan);
        plan.refused.sort_by_key(|refused| refused.at);
        Ok(plan)
    }
}

/// Whether what a rule finds are exclusive sequences.
pub(crate) fn is_exclusive(rule: &str) -> bool {
    matches!(rule, "llsc-loop" | "llsc-pair")
}

fn rule_of(sequence: &Sequence) -> &'static str {
    if sequence.size == 16 { "llsc-pair" } else { "llsc-loop" }
}

/// What a sequence may become.
fn draw(
    image: &Image<'_>,
    around: &Surroundings<'_, '_>,
    sequence: &Sequence,
    request: &PlanRequest<'_>,
) -> Drafted {
    let rule = rule_of(sequence);
    let refuse = |reason| Err((sequence.load, rule, reason));
    if matches!(sequence.fate, Fate::InlineDispatch | Fate::RunTimeChoice) {
        return refuse(Reason::RunTimeChoice);
    }
    let words: Vec<u32> = (0..LONGEST).map_while(|at| image.word_at(sequence.load.offset(4 * at))).collect();
    let (shape, mut attempts) = match exclusive::propose(&words) {
        Ok(proposal) => (NoShape::Operation, within(image, sequence.load, &words, proposal)),
        Err(shape @ (NoShape::NoRoom | NoShape::Operation)) if request.trampolines => (shape, Vec::new()),
        Err(shape) => return refuse(Reason::NoShape(shape)),
    };
    if request.trampolines {
        attempts.extend(beyond(image, around, sequence.load, &words));
    }
    attempts.retain(|attempt| !attempt.candidates.is_empty());
    if request.skip_spinning && attempts.iter().any(|attempt| attempt.spins) {
        return refuse(Reason::Spins);
    }
    match attempts.is_empty() {
        true => refuse(Reason::NoShape(shape)),
        false => Ok(Draft { rule, at: sequence.load, attempts }),
    }
}

/// Ways to write a proposal over the sequence.
fn within(image: &Image<'_>, start: Svma, words: &[u32], proposal: Replacements) -> Vec<Attempt> {
    let Replacements { length, exact: candidates, lossy, operand, is_narrow, exits } = proposal;
    let spins = spins(image, start, &exits, operand);
    let old = words.get(..length).unwrap_or_default().to_vec();
    let plain =
        Attempt { start, old, candidates, spins, is_trampoline: false, proof: Basis::PLAIN, entry: start };
    let lossy = plain.lossy(lossy);
    let knowing =
        |attempt: &Attempt| operand.filter(|_| is_narrow).and_then(|operand| attempt.knowing(image, operand));
    let attempts = [knowing(&plain), lossy.as_ref().and_then(knowing)];
    let [plain_knowing, lossy_knowing] = attempts;
    [Some(plain), plain_knowing, lossy, lossy_knowing].into_iter().flatten().collect()
}

/// Whether a failed comparison leads to the next try at once.
fn spins(image: &Image<'_>, start: Svma, exits: &[i64], expected: Option<Register>) -> bool {
    let mut out = exits.iter().map(|to| start.offset(4 * to));
    out.any(|out| around::comes_back(image, out, start, expected))
}

/// Ways to write what is longer than the sequence into added space.
fn beyond(image: &Image<'_>, around: &Surroundings<'_, '_>, start: Svma, words: &[u32]) -> Vec<Attempt> {
    let Some((length, exits)) = exclusive::measure(words) else { return Vec::new() };
    let spins = spins(image, start, &exits, None);
    let old = words.get(..length).unwrap_or_default().to_vec();
    let end = start.offset(4 * length as i64);
    let attempt = |candidates: Vec<Vec<u32>>, proof: Basis| {
        let old = old.clone();
        Attempt { start, old, candidates, spins, is_trampoline: true, proof, entry: start }
    };
    let is_new = |number: u8| effects::written(&old) >> number & 1 == 0;
    let is_dead = |number: u8| around.is_dead(end, number, is_new(number));
    let scratch = SCRATCH.into_iter().find_map(|number| {
        let candidates = exclusive::retrying(words, Some(Register(number)));
        (!candidates.is_empty() && is_dead(number)).then_some(candidates)
    });
    vec![
        attempt(exclusive::propose_longer(words), Basis::PLAIN),
        attempt(exclusive::retrying(words, None), Basis::Retry { lossy: false }),
        attempt(scratch.unwrap_or_default(), Basis::Retry { lossy: true }),
    ]
}

/// A draft of words that stand in a file already in the place of exclusives, and in added space.
pub(crate) fn draft_of_words(
    image: &Image<'_>,
    rule: &'static str,
    at: Svma,
    (old, new): (&[u32], &[u32]),
    trampoline: Option<&Trampoline>,
) -> Drafted {
    let added = trampoline
        .map(|trampoline| trampoline::read(at, new, trampoline).ok_or((at, rule, Reason::OtherWords)));
    let new = added.transpose()?.unwrap_or_else(|| new.to_vec());
    let plain = Attempt {
        start: at,
        old: old.to_vec(),
        candidates: vec![new.clone()],
        spins: false,
        is_trampoline: trampoline.is_some(),
        proof: Basis::PLAIN,
        entry: at,
    };
    // Its first word tells which proof it is for.
    if trampoline.is_some()
        && plain.candidates.iter().flatten().next().is_some_and(|&word| plain_load(word).is_some())
    {
        let retry = |lossy| Attempt { proof: Basis::Retry { lossy }, ..plain.clone() };
        return Ok(Draft { rule, at, attempts: [false, true].map(retry).to_vec() });
    }
    let lossy = plain.lossy(vec![new]);
    let ways: Vec<Attempt> = [plain].into_iter().chain(lossy).collect();
    let knowing =
        ways.iter().flat_map(|way| (0..31).filter_map(|number| way.knowing(image, Register(number))));
    let knowing: Vec<Attempt> = knowing.collect();
    Ok(Draft { rule, at, attempts: ways.into_iter().chain(knowing).collect() })
}

/// A draft on its way into the plan, with the attempts that are left.
struct Pending {
    draft: Draft,
    /// Why its first attempt failed.
    reason: Option<(Reason, Option<Detail>)>,
}

/// A draft of which an attempt was proven.
struct Proven {
    pending: Pending,
    attempt: Attempt,
    new: Vec<u32>,
}

/// Proves what is drafted, and looks around it. What fails in one round is tried another way in the next.
fn settle(
    (image, program): (&Image<'_>, &Program),
    around: &Surroundings<'_, '_>,
    prover: &Prover,
    drafts: Vec<Drafted>,
) -> Plan {
    let mut names = FunctionNames::default();
    let mut name_at = |at: Svma| names.at(image, program, at);
    let mut plan = Plan::default();
    let mut pending: Vec<Pending> = Vec::new();
    for draft in drafts {
        match draft {
            Ok(draft) => pending.push(Pending { draft, reason: None }),
            Err((at, rule, reason)) => {
                plan.refused.push(Refused { rule, function: name_at(at), at, reason, detail: None });
            }
        }
    }
    let relocated = image::relocated_code(image);
    let mut added = BTreeMap::new();
    while !pending.is_empty() {
        let tried: Vec<Result<Proven, Pending>> =
            pending.into_par_iter().map(|pending| try_attempt(around, prover, pending)).collect();
        let (mut proven, mut failed) = (Vec::new(), Vec::new());
        for result in tried {
            match result {
                Ok(one) => proven.push(one),
                Err(pending) => failed.push(pending),
            }
        }
        proven.sort_by_key(|one| one.attempt.extent());
        let entries = around.entries(proven.iter().map(|one| one.attempt.closed()).collect());
        let mut end = Svma(0);
        for Proven { mut pending, attempt, new } in proven {
            let extent = attempt.extent();
            let is_relocated = relocated.get(relocated.partition_point(|&at| at < extent.start));
            let reason = if extent.start < end || plan.touches(extent) {
                Some((Reason::Overlaps, None))
            } else if let Some(detail) = entries.lead_into(extent, attempt.entry) {
                Some((Reason::Obstacle(Obstacle::Entered), Some(detail)))
            } else if let Some(&at) = is_relocated.filter(|&&at| at < extent.end) {
                Some((Reason::Obstacle(Obstacle::Relocated), Some(Detail::At(at))))
            } else {
                None
            };
            let (rule, at) = (pending.draft.rule, pending.draft.at);
            match (reason, file_offset(image, extent.start)) {
                (None, Some(file_offset)) => {
                    let function = name_at(at);
                    let Attempt { start: at, old, spins, is_trampoline, .. } = attempt;
                    let mut site =
                        Site { rule, function, at, file_offset, old, new, trampoline: None, spins };
                    if is_trampoline {
                        added.insert(at, std::mem::take(&mut site.new));
                    }
                    plan.sites.push(site);
                    end = extent.end;
                }
                (reason, _) => {
                    pending.reason = pending.reason.or(reason);
                    failed.push(pending);
                }
            }
        }
        let (again, refused): (Vec<_>, Vec<_>) =
            failed.into_iter().partition(|pending| !pending.draft.attempts.is_empty());
        plan.refused.extend(refused.into_iter().map(|Pending { draft: Draft { rule, at, .. }, reason }| {
            let (reason, detail) = reason.unwrap_or((Reason::NoShape(NoShape::Operation), None));
            Refused { rule, function: name_at(at), at, reason, detail }
        }));
        plan.sites.sort_by_key(|site| site.at);
        pending = again;
    }
    place_added(image.bytes, &mut plan, added);
    plan
}

/// Takes out of a plan what the audit does not agree with.
fn refuse_contradicted(image: &Image<'_>, prover: &Prover, plan: &mut Plan) {
    let subjects: Vec<Subject<'_>> = plan.sites.iter().map(Subject::from).collect();
    let found = audit::audit_with(image, prover, &subjects);
    let concern = |at: Svma| {
        let index = found.binary_search_by_key(&at, |contradiction| contradiction.at).ok()?;
        found.get(index).map(|contradiction| contradiction.concern)
    };
    let refused = plan.sites.extract_if(.., |site| concern(site.at).is_some());
    plan.refused.extend(refused.filter_map(|site| {
        let reason = Reason::Contradiction(concern(site.at)?);
        Some(Refused { rule: site.rule, function: site.function, at: site.at, reason, detail: None })
    }));
}

/// Gives words that need added space their place in it, by the addresses of their sites.
fn place_added(bytes: &[u8], plan: &mut Plan, mut added: BTreeMap<Svma, Vec<u32>>) {
    if added.is_empty() {
        return;
    }
    let room = Layout::of(bytes).map_err(|_| NoSpace::Headers).and_then(|layout| layout.room());
    let mut next = room.as_ref().ok().map(Room::code);
    for mut site in std::mem::take(&mut plan.sites) {
        let Some(words) = added.remove(&site.at) else {
            plan.sites.push(site);
            continue;
        };
        let placed = next.and_then(|at| trampoline::place((site.at, site.old.len()), &words, at));
        if let Some((new, trampoline)) = placed {
            next = Room::after(trampoline.extent().end);
            (site.new, site.trampoline) = (new, Some(trampoline));
            plan.sites.push(site);
        } else {
            let reason = room.as_ref().map_or_else(|why| Reason::NoSpace(*why), |_| Reason::Far);
            let Site { rule, function, at, .. } = site;
            plan.refused.push(Refused { rule, function, at, reason, detail: None });
        }
    }
}

/// Proves the next attempt of a draft.
fn try_attempt(
    around: &Surroundings<'_, '_>,
    prover: &Prover,
    mut pending: Pending,
) -> Result<Proven, Pending> {
    let mut attempts = std::mem::take(&mut pending.draft.attempts).into_iter();
    let Some(attempt) = attempts.next() else { return Err(pending) };
    pending.draft.attempts = attempts.collect();
    match prove_attempt(around, prover, &attempt) {
        Ok(new) => Ok(Proven { pending, attempt, new }),
        Err(reason) => {
            pending.reason.get_or_insert(reason);
            Err(pending)
        }
    }
}

/// The first candidate of an attempt that is proven, if nothing around the words speaks against it.
fn prove_attempt(
    around: &Surroundings<'_, '_>,
    prover: &Prover,
    attempt: &Attempt,
) -> Result<Vec<u32>, (Reason, Option<Detail>)> {
    let exclusives = matches!(attempt.proof, Basis::Exclusives { .. } | Basis::Retry { .. });
    let exclusives = exclusives.then_some(&*attempt.old);
    if let Some((obstacle, detail)) = around.obstacle(attempt.extent(), attempt.closed(), exclusives) {
        return Err((Reason::Obstacle(obstacle), detail));
    }
    let mut reason = None;
    for candidate in &attempt.candidates {
        match attempt.prove(around, prover, candidate) {
            Ok(()) => return Ok(candidate.clone()),
            Err(refusal) => reason = reason.or(Some(Reason::Unproven(refusal))),
        }
    }
    Err((reason.unwrap_or(Reason::NoShape(NoShape::Operation)), None))
}

fn file_offset(image: &Image<'_>, at: Svma) -> Option<u64> {
    let code = image.code_at(at)?;
    code.file_offset.checked_add(at.since(code.extent.start)?)
}

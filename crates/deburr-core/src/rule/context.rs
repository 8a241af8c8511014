//! What a rule is, and what it may read: the only file of this folder that is no rule.
//!
//! In: an image, its functions, verdicts, and what the user states of the machines. Out: [`Context`], on which each
//! [`Rule`] is a pure function. Facts that several rules need are worked out once, for the first that needs them.

use crate::address::Svma;
use crate::benchmark::Benchmark;
use crate::danger::{StatedClaim, insn_at};
use crate::finding::{AcrossFinding, Evidence, Finding, Severity, Value};
use crate::function::Program;
use crate::function::atomics::{Atomics, atomics};
use crate::function::reach::{Reach, Refusal, Verdict};
use crate::idiom::shape::{Shape, shapes};
use crate::image::linkage::{self, Data};
use crate::image::{Image, Linkage, Undefined, undefined};
use crate::insn::sweep::Wants;
use crate::provenance::{Assertions, Maker, Optimisation, Source};
use crate::remedy::Remedy;
use deburr_cpu::{Arch, FeatureSet};
use std::cell::OnceCell;
use std::sync::Arc;

/// A comparison of files: a pure function from the facts of all files to findings.
pub struct Across {
    /// The id of the rule that it belongs to.
    pub rule: &'static str,
    /// What it compares.
    pub needs: Needs,
    /// Runs it over the facts of a run.
    pub check: fn(&[FileFacts]) -> Vec<AcrossFinding>,
}

/// What a comparison of files needs to know of each, beyond what costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// What is claimed of the file.
    Claim,
    /// Its functions that compute.
    Shapes,
    /// Its assertions.
    Assertions,
}

/// What comparisons need to know of one file: little, since those of a whole run are held together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// The file, as the caller calls it; the core leaves it empty.
    pub path: Arc<str>,
    /// What the caller calls all builds of the file: for other Pythons and architectures, and of other versions. The core leaves it empty.
    pub kin: Option<Arc<str>>,
    /// Its instruction set.
    pub arch: Arch,
    /// Features that its machines have for certain: those of the first level, of the target and of the baseline.
    pub guaranteed: FeatureSet,
    /// Its named functions that compute in loops.
    pub shapes: Arc<[Shape]>,
    /// What is claimed of it.
    pub claim: Option<FileClaim>,
    /// Its assertions, where a rule compares them.
    pub assertions: Option<FileAssertions>,
}

/// The assertions of a file, and how large it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAssertions {
    /// Calls of functions that report a failed assertion of the file's owner.
    pub calls: u64,
    /// Messages of Rust's overflow checks.
    pub overflow_messages: u64,
    /// Whether it asks for a function that reports such a one: it may call that in a way that is not seen.
    pub may_assert: bool,
    /// The first call, or where the file's code begins.
    pub first: Svma,
    /// The name of the function that is there, as the file has it.
    pub function: Option<Arc<str>>,
    /// Functions of the file.
    pub functions: u64,
}

/// What is claimed of a file, and whether it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileClaim {
    /// The part of a package that the claim is of.
    pub part: Arc<str>,
    /// As people read it.
    pub text: Arc<str>,
    /// The name of the level.
    pub level: Arc<str>,
    /// Whether that is above the first one.
    pub is_above_first: bool,
    /// Whether code that is not behind a check needs more than the first level.
    pub is_used: bool,
}

/// What a rule may read.
pub struct Context<'a> {
    /// The file.
    pub image: &'a Image<'a>,
    /// Its functions and what the sweep found in them.
    pub program: &'a Program,
    /// Features that every machine the file will run on has; `None`: the user did not say.
    pub target: Option<FeatureSet>,
    /// The CPU that every such machine has, where the user named one: `cortex-a720`.
    pub target_cpu: Option<&'a str>,
    /// Features that the file may use; `None`: the user did not say.
    pub baseline: Option<FeatureSet>,
    /// What is claimed of the machines that the file is for, where it is held to that; the baseline has its features.
    pub claim: Option<StatedClaim<'a>>,
    /// How the program reaches each function above the architecture's first level.
    pub verdicts: &'a [Verdict],
    /// How the program reaches each function above the baseline; empty without one.
    pub above_baseline: &'a [Verdict],
    /// What the program refuses to start without.
    pub refusal: Option<&'a Refusal>,
    /// Whether to say of a claim also what is not proven, and to presume nothing.
    pub strict: bool,
    /// Whether a claim is held to what is not proven by notes.
    pub notes_undecided: bool,
    /// What the loader and other files do with it, where it was read before; see [`Context::linkage`].
    pub linkage: Option<&'a Linkage<'a>>,
    /// Whether a profile shows what is hot: then rules may report what counts only there, see [`counts_when_hot`].
    ///
    /// [`counts_when_hot`]: super::counts_when_hot
    pub is_profiled: bool,
    /// As [`Request::missing_interpreter`](crate::Request::missing_interpreter).
    pub missing_interpreter: Option<&'a str>,
    /// As [`Request::stored_at`](crate::Request::stored_at).
    pub stored_at: Option<u64>,
    /// As [`Request::is_packed`](crate::Request::is_packed).
    pub is_packed: bool,
    /// Ids of the rules that the user names.
    pub named: &'a [&'a str],
    /// Worked out once, for the first user.
    pub shared: Shared<'a>,
}

/// Facts that several rules need.
#[derive(Default)]
pub struct Shared<'a> {
    atomics: OnceCell<Atomics>,
    shapes: OnceCell<Arc<[Shape]>>,
    data: OnceCell<Vec<Data<'a>>>,
    linkage: OnceCell<Linkage<'a>>,
    optimisation: OnceCell<Optimisation>,
    undefined: OnceCell<Vec<Undefined<'a>>>,
    assertions: OnceCell<Assertions>,
}

impl<'a> Context<'a> {
    /// The file's data, by address; cheap to have.
    pub fn data(&self) -> &[Data<'a>] {
        match self.linkage {
            Some(linkage) => &linkage.data,
            None => self.shared.data.get_or_init(|| linkage::data(self.image)),
        }
    }

    /// What the loader and other files do with the file. Reads all its relocations, unless that was done before: only
    /// for rules that have found something.
    pub fn linkage(&self) -> &Linkage<'a> {
        let read = || Linkage::parse(self.image);
        self.linkage.unwrap_or_else(|| self.shared.linkage.get_or_init(read))
    }

    /// Whether the user names a rule: then it also reports what is rarely worth it.
    pub fn is_named(&self, id: &str) -> bool {
        self.named.contains(&id)
    }

    /// A finding at an instruction.
    pub(super) fn finding(
        &self,
        rule: &'static str,
        severity: Severity,
        at: Svma,
        message: String,
        evidence: Vec<(&'static str, Value)>,
    ) -> Finding {
        let (extent, evidence) = (insn_at(self.image, at), Evidence::from(evidence));
        Finding { rule, at, extent, severity, message: message.into(), evidence }
    }

    /// A finding that is an error where it breaks a claim, and else a note.
    pub(super) fn finding_of_claim(
        &self,
        rule: &'static str,
        claim: Option<StatedClaim<'_>>,
        at: Svma,
        message: String,
        mut evidence: Vec<(&'static str, Value)>,
    ) -> Finding {
        let Some(claim) = claim else { return self.finding(rule, Severity::Note, at, message, evidence) };
        let message = format!("claimed is {}: {message}", claim.text);
        evidence.push(("claim", Value::Text(claim.text.into())));
        self.finding(rule, Severity::Error, at, message, evidence)
    }

    /// The first instruction of the file, where a finding of all of it is.
    pub(super) fn start(&self) -> Option<Svma> {
        self.image.code.first().map(|code| code.extent.start)
    }

    /// Features that are there wherever the file runs: the target's, or else the baseline's.
    pub fn guaranteed(&self) -> Option<FeatureSet> {
        self.target.or(self.baseline)
    }

    /// How the file's atomics were compiled; worked out once, for the first user.
    pub fn atomics(&self) -> &Atomics {
        // Once the budget is spent they may be a part, and whoever asks for them is told so.
        self.program.budget().has_any();
        self.shared.atomics.get_or_init(|| atomics(self.image, self.program))
    }

    /// Which parts of the file no optimiser has seen; worked out once, for the first user.
    pub fn optimisation(&self) -> &Optimisation {
        self.shared.optimisation.get_or_init(|| self.of_build(Optimisation::of_source))
    }

    /// The assertions in the file; worked out once, for the first user.
    pub(crate) fn assertions(&self) -> &Assertions {
        self.shared.assertions.get_or_init(|| self.of_build(Assertions::of))
    }

    /// What other files are to define; worked out once, for the first user.
    pub fn undefined(&self) -> &[Undefined<'a>] {
        self.shared.undefined.get_or_init(|| undefined(self.image.bytes).unwrap_or_default())
    }

    /// Asks how the file was built.
    pub(crate) fn of_build<T>(&self, question: impl FnOnce(&Source<'_, '_>) -> T) -> T {
        let linkage = || self.linkage();
        let (image, program, undefined) = (self.image, self.program, self.undefined());
        question(&Source { image, program, undefined, linkage: &linkage })
    }

    /// What no optimiser has seen is not compared by its shape.
    fn shapes(&self) -> Arc<[Shape]> {
        let mut shapes = shapes(self.image, self.program);
        if !shapes.is_empty() {
            shapes.retain(|shape| self.optimisation().stretch_at(shape.at).is_none());
        }
        shapes.into()
    }

    fn file_claim(&self, claim: StatedClaim<'_>) -> FileClaim {
        let first = deburr_cpu::first_level(self.image.arch);
        let is_beyond_checks =
            |verdict: &&Verdict| !matches!(verdict.reach, Reach::Guarded | Reach::Offered | Reach::Unreached);
        FileClaim {
            part: claim.part.into(),
            text: claim.text.into(),
            level: claim.level.into(),
            // What a variant is for says nothing of its package.
            is_above_first: claim.raised.is_none() && !self.baseline.unwrap_or_default().is_subset(first),
            is_used: self.verdicts.iter().any(|verdict| is_beyond_checks(&verdict)),
        }
    }

    fn file_assertions(&self) -> Option<FileAssertions> {
        let (image, program, found) = (self.image, self.program, self.assertions());
        let (calls, first) = found.of_owner();
        let first = match first {
            Some(first) => image.svma(first),
            None => self.start()?,
        };
        let function = program.function_at(image.code_offset(first)?);
        Some(FileAssertions {
            calls,
            overflow_messages: found.overflow_messages,
            may_assert: self
                .undefined()
                .iter()
                .any(|undefined| Maker::of(undefined.name).is_some_and(Maker::is_owner)),
            first,
            function: function.and_then(|function| program.name(function, image)).map(Arc::from),
            functions: program.functions().iter().filter(|function| !function.is_part()).count() as u64,
        })
    }

    /// What comparisons need to know of the file; its shapes and assertions are worked out once, for the first user who wants them.
    pub fn facts(&self, needs: &[Needs]) -> FileFacts {
        let stated = self.target.unwrap_or_default().union(self.baseline.unwrap_or_default());
        let are_wanted = |what: Needs| needs.contains(&what);
        FileFacts {
            path: "".into(),
            kin: None,
            arch: self.image.arch,
            guaranteed: deburr_cpu::first_level(self.image.arch).union(stated),
            shapes: match are_wanted(Needs::Shapes) {
                true => self.shared.shapes.get_or_init(|| self.shapes()).clone(),
                false => Arc::default(),
            },
            claim: self.claim.filter(|_| are_wanted(Needs::Claim)).map(|claim| self.file_claim(claim)),
            assertions: are_wanted(Needs::Assertions).then(|| self.file_assertions()).flatten(),
        }
    }
}

/// A rule: a pure function from code to findings.
pub struct Rule {
    /// Its id, the name of its file, page and fixtures.
    pub id: &'static str,
    /// One line: what it finds.
    pub summary: &'static str,
    /// With which severity it reports, as text.
    pub severity: &'static str,
    /// Its page: what it finds, why that costs, what to do.
    pub page: &'static str,
    /// Whether it must be requested by name: it guesses, or matters only to some.
    pub preview: bool,
    /// Flags that remove its findings; empty where none does, or where the page alone can say.
    pub remedies: &'static [Remedy],
    /// The micro-benchmark that measures what it costs, if there is one.
    pub benchmark: Option<Benchmark>,
    /// What the sweep is to note for it.
    pub wants: Wants,
    /// Runs it over one file.
    pub check: fn(&Context<'_>) -> Vec<Finding>,
}

/// A number of functions in words: `one function`.
pub(super) fn functions(count: u64) -> String {
    if count == 1 { "one function".to_owned() } else { format!("{count} functions") }
}

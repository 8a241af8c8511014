//! The report on one file, as it is rendered: the model below every output format. Schema version 1.

use crate::danger::StatedClaim;
use crate::finding::{self, Evidence, Severity};
use crate::image::{Runtime, demangle};
use crate::profile::{Share, Weight};
use crate::provenance::Origin;
use crate::remedy::Maker;
use crate::rule::FileFacts;
use deburr_cpu::FeatureSet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::function::reach::{Cause, GuardKind, Reach};
use crate::image::lines::SourceLocation;
use crate::report::answer::{Answer, OnBaseline, UnreadPayload};

/// The version of the report's schema; it grows when a field changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// A number that is shown, and serialized as a string, in hexadecimal: `0x4a10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hex(pub u64);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:#x}", self.0))
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hex, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        digits
            .map(Hex)
            .ok_or_else(|| D::Error::custom(format!("expected a number such as 0x4a10, found {text:?}")))
    }
}

/// What makes the beginning of a path run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Root {
    /// The system starts the program there.
    EntryPoint,
    /// The loader calls it before anything else of the program.
    PreinitArray,
    /// The loader calls it before `main`, or when it loads the library.
    InitArray,
    /// The loader calls it at the end.
    FiniArray,
    /// The loader calls it otherwise: `.init`, `.fini`, a resolver.
    Loader,
    /// Users of the library call it.
    Exported,
    /// Data that nothing in the file refers to holds its address.
    Data,
}

/// What became of one stated guard in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardUse {
    /// The caller's number for it.
    pub id: usize,
    /// Functions of the file that it names.
    pub functions: u64,
    /// Whether any verdict is another without it.
    pub is_needed: bool,
}

/// The function that most raises what the file needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct NeededBy {
    /// Its name, demangled; `None` where the file has none for it.
    pub function: Option<String>,
    /// Its address.
    pub svma: Hex,
    /// What makes the beginning of its path run; `None` where no path is known.
    pub root: Option<Root>,
    /// Where its path begins.
    pub from: Hex,
}

/// What the program refuses to start, or the library to be loaded, without: a check of its own ends the program where a
/// feature is absent, before it does anything.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// The highest level all of whose features it tests; `None` where it tests others.
    pub level: Option<String>,
    /// What it tests beyond that level.
    pub without: Vec<String>,
    /// All features that it tests, beyond the first level.
    pub features: Vec<String>,
    /// The function that refuses, demangled; `None` where the file has no name for it, or where only build information
    /// says it.
    pub function: Option<String>,
    /// The branch; `None` where only build information says it.
    pub svma: Option<Hex>,
    /// Where the paths begin that end the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Hex>,
    /// What it prints, where such a text is near.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The setting of the build that says the same: `GOAMD64=v3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<String>,
}

impl Refusal {
    /// Whether a machine with some features is refused.
    pub fn applies_to(&self, features: FeatureSet) -> bool {
        let has = |name: &String| features.iter().any(|feature| feature.name() == name);
        !self.features.iter().all(has)
    }
}

/// `refuses below x86-64-v3`, `refuses without AVX2`.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without = self.without.join(", ");
        match (&self.level, self.without.is_empty()) {
            (Some(level), true) => write!(f, "refuses below {level}"),
            (Some(level), false) => write!(f, "refuses below {level}, and without {without}"),
            (None, _) => write!(f, "refuses without {without}"),
        }
    }
}

/// Where a file runs: no path to code that needs more is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct RunsOn {
    /// The levels, on machines that also have what it needs beyond them.
    pub levels: Vec<String>,
    /// The CPUs, of those that `--target` accepts, that it does not run on; those with the fewest features first.
    pub not: Vec<String>,
}

/// A function that needs more than the architecture's first level.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct IsaFunction {
    /// Its name, demangled; `None` where the file has none for it.
    pub function: Option<Arc<str>>,
    /// Where the function is, if it has no name: after the nearest one that has (`foo+0x40`), which it need not belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
    /// Its address.
    pub svma: Hex,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Names of the features above the first level, and how many of its instructions need each.
    pub features: BTreeMap<String, u64>,
    /// Whether a run-time check is before it.
    pub reach: Reach,
    /// Where it is under-guarded, the known CPUs that pass the checks and lack what it needs: none at all, mostly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endangered: Option<Vec<String>>,
    /// From a root (an entry point, an exported function) to this function, where a path without a sufficient check is
    /// known; otherwise empty.
    pub path: Vec<Step>,
    /// What makes the beginning of the path run.
    pub root: Option<Root>,
    /// The check in front of it, if there is one.
    pub guard: Option<Guard>,
    /// Why it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Cause>,
    /// The id of the functions that are unknown for the same reason: see [`Report::isa_groups`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Its share of what a profile saw, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// What runs as other CPUs showed of it, where one entered it. The caller fills it in; it changes no verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
}

/// What runs as one CPU showed of a function that they entered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Tried {
    /// The level or CPU.
    pub cpu: String,
    /// Runs that entered the file.
    pub runs: u64,
    /// Of those, runs that entered the function.
    pub entered: u64,
    /// The most of its instructions that one run executed although the CPU does not have what they need.
    pub executed: u64,
    /// Processes that died of SIGILL in it.
    pub died: u64,
}

impl Tried {
    /// So many runs as a CPU, and what they did.
    pub const fn new(cpu: String, runs: u64, entered: u64, executed: u64, died: u64) -> Tried {
        Tried { cpu, runs, entered, executed, died }
    }
}

/// What runs as one CPU showed of a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct TriedRuns {
    /// The level or CPU.
    pub cpu: String,
    /// Runs that entered the file.
    pub runs: u64,
    /// Its functions that need more than the CPU has.
    pub above: u64,
    /// Of those, functions that some run entered.
    pub entered: u64,
    /// Of those, functions in which instructions were executed that the CPU does not have.
    pub executed: u64,
    /// Processes that died of SIGILL in its functions.
    pub died: u64,
}

impl TriedRuns {
    /// So many runs as a CPU, and what they did.
    pub const fn new(
        cpu: String,
        runs: u64,
        above: u64,
        entered: u64,
        executed: u64,
        died: u64,
    ) -> TriedRuns {
        TriedRuns { cpu, runs, above, entered, executed, died }
    }
}

/// What the presumed functions rest on: a vocabulary, and the words that are presumed to hold the same.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Presumption {
    /// How many functions are presumed.
    pub count: u64,
    /// What the names of functions say that name the CPUs they are for, if any is presumed by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<PresumedNames>,
    /// The function whose result, or the word whose bits, have known meanings, if any is presumed by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<Hex>,
    /// The function's name, if it is one and has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The words whose tests agree with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<PresumedCopy>,
}

/// How the names of functions agree with what these use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct PresumedNames {
    /// How many functions are presumed by their names.
    pub count: u64,
    /// Unknown functions whose names say all that they use.
    pub agreements: u32,
    /// Those that use more, so that some known CPU has all that the name says and lacks it.
    pub contradictions: u32,
}

/// A word that is presumed to be a copy of an answer of the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct PresumedCopy {
    /// `field +0x18` of structures, or `argument 2`.
    pub place: String,
    /// Functions that a test of it chooses whose meaning covers all that they use.
    pub agreements: u32,
    /// Functions that one chooses which does not, so that some known CPU lacks what they use.
    pub contradictions: u32,
}

/// Unknown functions of one cause and one dispatcher.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct IsaGroup {
    /// Unique in the file: `pointer-stored@0x5678`.
    pub id: String,
    /// Why its functions are unknown.
    pub because: Cause,
    /// The smallest level that covers what its functions need.
    pub level: String,
    /// How many functions it has.
    pub count: u64,
    /// The test, the store or the table; `None` where the cause is the whole file's.
    pub svma: Option<Hex>,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The function that tests, stores or hands out; `None` where it has no name, or there is none.
    pub function: Option<String>,
    /// The function of another file that the choice depends on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// What would settle it.
    pub settled_by: Settlement,
    /// A `[[guard]]` of `deburr.toml` that states what is not proven, for the user who knows that it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_as: Option<String>,
    /// One sentence.
    pub message: String,
}

/// What would settle whether a check is before unknown functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Settlement {
    /// `--closure`: the answer is in a library that the file needs.
    Closure,
    /// A `[[guard]]` in `deburr.toml`, by someone who knows the code.
    Guard,
    /// A run on a CPU without the level.
    Run,
}

/// A step of a path: a function, or an object in data that holds the next step's address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Step {
    /// The function's name, demangled; `None` where the file has none for it, and for data.
    pub function: Option<Arc<str>>,
    /// Its address.
    pub svma: Hex,
    /// Whether the step before it only stores or passes on its address, instead of calling it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stored: bool,
}

/// A check in front of a function.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Guard {
    /// What kind of check it is.
    pub kind: GuardKind,
    /// The branch that tests, or where the guarded path begins.
    pub svma: Hex,
    /// The function that it is in.
    pub function: Option<Arc<str>>,
    /// The features above the first level that it proves.
    pub features: Vec<String>,
}

/// One finding, placed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct PlacedFinding {
    /// The rule's id.
    pub rule: Cow<'static, str>,
    /// How much it matters.
    pub severity: Severity,
    /// The function's name, demangled; `None` where the file has none for it.
    pub function: Option<Arc<str>>,
    /// Where the function is, if it has no name: after the nearest one that has (`foo+0x40`), which it need not belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<Arc<str>>,
    /// Its address.
    pub svma: Hex,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
    /// Length of the code it is about, in bytes.
    pub extent: u64,
    /// Whether it is in a loop of its function.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_loop: bool,
    /// Direct calls of its function in the file, jumps from other functions among them.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub calls: u64,
    /// How much of a run it took, where there was a profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// Where it is about a function that others call, and there was a profile: the calls that took most, the heaviest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<CallerWeight>,
    /// What made the function, where the file has several compilers and tells which (`DW_AT_producer`, Go's function table).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<Maker>,
    /// Who wrote the function, where that is known not to be the file's owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Whether it counts: it does, unless `origin` says that the owner cannot change the function, and the file runs all the
    /// same.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub counted: bool,
    /// Source line, where DWARF has it.
    pub source: Option<Box<SourceLocation>>,
    /// One sentence.
    pub message: Arc<str>,
    /// The facts that support it.
    pub evidence: Evidence,
}

impl PlacedFinding {
    /// What a run showed of a function.
    pub fn of_run(
        rule: &'static str,
        severity: Severity,
        function: &IsaFunction,
        message: String,
        evidence: Evidence,
    ) -> PlacedFinding {
        PlacedFinding {
            rule: rule.into(),
            severity,
            function: function.function.as_deref().map(Arc::from),
            near: function.near.as_deref().map(Arc::from),
            svma: function.svma,
            section: function.section.as_deref().map(Arc::from),
            extent: 0,
            in_loop: false,
            calls: 0,
            weight: None,
            callers: Vec::new(),
            compiler: None,
            origin: None,
            counted: true,
            source: None,
            message: message.into(),
            evidence,
        }
    }
}

/// What a flag is that is left out.
const fn yes() -> bool {
    true
}

/// Whether a flag is left out: serde passes a reference.
pub(super) const fn is_yes(flag: &bool) -> bool {
    *flag
}

/// Whether a count is left out: serde passes a reference.
pub(super) const fn is_none_of_them(count: &u64) -> bool {
    *count == 0
}

/// What a package, or a file of its own, says of the machines that it is for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Claim {
    /// The level that it names: `x86-64-v3`.
    pub level: String,
    /// As it is written, with its place: `Architecture-Variant: amd64v3 (control)`.
    pub text: String,
    /// The package that says so, or the part of one, or the file itself.
    pub part: String,
    /// The level that the package claims, where the file is one of several variants and its name says that it is for more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised_from: Option<String>,
}

impl From<StatedClaim<'_>> for Claim {
    fn from(claim: StatedClaim<'_>) -> Claim {
        let StatedClaim { part, text, level, raised, .. } = claim;
        let raised_from = raised.map(|(level, _)| level.to_owned());
        Claim { level: level.to_owned(), text: text.to_owned(), part: part.to_owned(), raised_from }
    }
}

/// Functions that a file offers to callers in other files: their names or the vectors that they take say for which CPUs they are, and
/// nothing else leads to them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Offered {
    /// How many there are.
    pub count: u64,
    /// The level that all of them together need.
    pub level: String,
    /// What they need that is in no level, or that would raise it only for its sake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<String>,
}

/// A place that a finding is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct OtherPlace {
    /// The file.
    pub path: Arc<str>,
    /// The address there.
    pub svma: Hex,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
}

/// A finding by comparison of two files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct AcrossFinding {
    /// The rule's id.
    pub rule: Cow<'static, str>,
    /// How much it matters.
    pub severity: Severity,
    /// The file it is about.
    pub path: Arc<str>,
    /// The function's name, demangled; `None` where the file has none for it.
    pub function: Option<Arc<str>>,
    /// Its address.
    pub svma: Hex,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
    /// What it is compared with.
    pub other: OtherPlace,
    /// One sentence.
    pub message: Arc<str>,
    /// The facts that support it.
    pub evidence: Evidence,
}

/// A finding by comparison of files as one of its own file.
impl From<&AcrossFinding> for PlacedFinding {
    fn from(finding: &AcrossFinding) -> PlacedFinding {
        PlacedFinding {
            rule: finding.rule.clone(),
            severity: finding.severity,
            function: finding.function.clone(),
            near: None,
            svma: finding.svma,
            section: finding.section.clone(),
            extent: 0,
            in_loop: false,
            calls: 0,
            weight: None,
            callers: Vec::new(),
            compiler: None,
            origin: None,
            counted: true,
            source: None,
            message: finding.message.clone(),
            evidence: finding.evidence.clone(),
        }
    }
}

impl From<finding::AcrossFinding> for AcrossFinding {
    fn from(found: finding::AcrossFinding) -> AcrossFinding {
        let (at, other) = (found.at, found.other);
        AcrossFinding {
            rule: found.rule.into(),
            severity: found.severity,
            path: at.path,
            function: at.function.map(|name| demangle(&name).into()),
            svma: Hex(at.address),
            section: at.section,
            other: OtherPlace { path: other.path, svma: Hex(other.address), section: other.section },
            message: found.message,
            evidence: found.evidence,
        }
    }
}

/// How the file's atomics were compiled (AArch64).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Atomics {
    /// Load-exclusive/store-exclusive loops with no LSE path: the findings of `llsc-loop`, and those of `llsc-pair`
    /// except loads.
    pub inline_llsc: u64,
    /// LSE instructions outside helpers and dispatches.
    pub inline_lse: u64,
    /// Bodies of outlined helpers.
    pub helper_bodies: u64,
    /// Calls of outlined helpers.
    pub outlined_calls: u64,
    /// LL/SC loops next to an LSE instruction, chosen between inline at run time.
    pub inline_dispatch: u64,
    /// LL/SC loops of functions that are chosen or replaced at run time: ifunc variants, stubs.
    pub run_time_choice: u64,
    /// LL/SC loops that no compiler flag would have turned into LSE: nand, 128-bit read-modify-write.
    pub not_a_missed_flag: u64,
}

/// Who built the file, and with what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Build {
    /// Distinct compilers.
    pub compilers: Vec<String>,
    /// Distinct `DW_AT_producer` values.
    pub producers: Vec<String>,
    /// Whether Go made it, or a part of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_go: bool,
    /// Go's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub go_version: Option<String>,
    /// Go's build settings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub go_settings: BTreeMap<String, String>,
    /// The x86 ISA level that the file's own note claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isa_needed: Option<String>,
    /// `IBT`, `SHSTK`, `BTI`, `PAC`.
    pub properties: Vec<String>,
}

/// Flags that remove findings of the file, for the compiler that made it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The compiler, and its version: the one found, or the first that has the flags; `assembler` where only another source
    /// helps.
    pub compiler: String,
    /// As they are written on a command line or in the environment; empty where that version alone does it.
    pub flags: Cow<'static, str>,
    /// The flags to build without, where they take the place of others: `-march=native`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<Cow<'static, str>>,
    /// The rules whose findings they remove.
    pub rules: Vec<Cow<'static, str>>,
    /// How many findings those are.
    pub findings: u64,
    /// How many of each rule.
    #[serde(default)]
    pub removes: BTreeMap<Cow<'static, str>, u64>,
    /// The level that every machine must have then; `None`: it runs where it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<Cow<'static, str>>,
    /// CPUs that it no longer runs on, the best first.
    pub breaks: Vec<String>,
    /// The CPU with the fewest features that still runs it; `None` where nothing breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
}

/// Every executable byte, accounted for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Coverage {
    /// All bytes of executable sections; the sum of the next three.
    pub executable_bytes: u64,
    /// Bytes of instructions.
    pub decoded_bytes: u64,
    /// Bytes known to be data.
    pub data_bytes: u64,
    /// Bytes that are neither.
    pub undecoded_bytes: u64,
    /// Functions found.
    pub functions: u64,
    /// Of those, functions with a name.
    pub named_functions: u64,
}

/// What code that a rule finds costs on a machine more than what its page advises, as it was measured there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Cost {
    /// The kernel of `deburr bench`.
    pub kernel: String,
    /// Its variant that does what the rule finds.
    pub found: String,
    /// Its variant that does what the page advises; `None` where that is to do nothing.
    pub instead: Option<String>,
    /// By number of threads.
    pub by_threads: Vec<ThreadCost>,
}

/// A cost with so many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ThreadCost {
    /// Threads that do the same on the same memory.
    pub threads: u32,
    /// How much longer a thread's operation takes, in picoseconds; negative where it takes less.
    pub picoseconds: i64,
}

impl ThreadCost {
    /// A cost with so many threads, in picoseconds.
    pub const fn new(threads: u32, picoseconds: i64) -> ThreadCost {
        ThreadCost { threads, picoseconds }
    }
}

impl Cost {
    /// What the variant `found` of a kernel costs more than the variant `instead`.
    pub const fn new(
        kernel: String,
        found: String,
        instead: Option<String>,
        by_threads: Vec<ThreadCost>,
    ) -> Cost {
        Cost { kernel, found, instead, by_threads }
    }

    /// The most that it is with any number of threads, in picoseconds.
    pub fn most(&self) -> Option<i64> {
        self.by_threads.iter().map(|cost| cost.picoseconds).max()
    }
}

/// A call of a function that a finding is about, and what the function took when it was called from there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct CallerWeight {
    /// The calling function's name, demangled; `None` where the file has none for it.
    pub function: Option<Arc<str>>,
    /// The address of the call.
    pub svma: Hex,
    /// How much.
    pub weight: Weight,
}

/// What a profile saw of a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Profiled {
    /// The profiler's name of the event.
    pub event: String,
    /// Samples in the file; 0 where events were counted.
    pub samples: u64,
    /// Whether a sample may name an instruction after the one that caused it.
    pub skids: bool,
    /// The share of the file's code in all that the profile saw.
    pub share: Share,
    /// The share of what the profile places in the file, and where the file has no code, or no function of that name.
    pub lost: Share,
    /// Its functions that took most, the heaviest first.
    pub functions: Vec<HotFunction>,
}

/// A function that took much of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct HotFunction {
    /// Its name, demangled; `None` where the file has none for it.
    pub function: Option<String>,
    /// Its address.
    pub svma: Hex,
    /// Its share of all that the profile saw, its parts included.
    pub share: Share,
}

/// The report on one ELF file (an archive's member counts as a file).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The path, as the user will know it; the core leaves it empty, and its caller fills it in.
    pub path: String,
    /// `x86_64` or `aarch64`.
    pub arch: Cow<'static, str>,
    /// Whether its code was made at run time, by a just-in-time compiler: `level` then is `level_present`, and nothing is said of
    /// where it runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_at_run_time: bool,
    /// Build-id in lower-case hexadecimal digits.
    pub build_id: Option<String>,
    /// The level that the file needs in order to run.
    pub level: String,
    /// The smallest level that covers all the file contains.
    pub level_present: String,
    /// Features present that no level has, or that would raise the level only for their sake.
    pub level_beyond: Vec<String>,
    /// Where it runs, as far as that is known.
    pub runs_on: RunsOn,
    /// Features that the file needs and that no level has, or that would raise `level` only for their sake.
    pub needed_beyond: Vec<String>,
    /// Features above the first level that code needs without a check, except those that others of them imply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needed_features: Vec<String>,
    /// The function that most raises what the file needs; `None` where it runs on every machine.
    pub needed_by: Option<NeededBy>,
    /// What it refuses to start, or to be loaded, without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuses: Option<Refusal>,
    /// The smallest level that covers what the file needs and what it uses guarded by checks; `None` where nothing is
    /// guarded by checks.
    pub level_guarded: Option<String>,
    /// Features guarded by checks that no level has, or that would raise `level_guarded` only for their sake.
    pub guarded_beyond: Vec<String>,
    /// Functions beyond what the file needs that are reached only by what the analysis does not follow.
    pub not_followed: u64,
    /// Whether every machine of the baseline, or of the claim, runs it; `None` where neither applies to the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Whether the user accepts that answer: allowances took all findings that say why. The caller fills it in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answer_allowed: bool,
    /// The functions that decide the answer; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_baseline: Option<OnBaseline>,
    /// Payloads that may hold machine code and were not read; see [`Report::add_unread_payload`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread_payload: Vec<UnreadPayload>,
    /// Whether its own `cpuid` is before code that uses AVX's registers, and nothing in it tests with `xgetbv` whether
    /// the operating system saves them (XCR0).
    pub xcr0_not_asked: bool,
    /// What became of the stated guards; the caller sums it up over a run.
    #[serde(skip)]
    pub stated_guards: Vec<GuardUse>,
    /// Whether run-time checks were followed; true, except of code made at run time.
    pub guards_examined: bool,
    /// Instructions per feature.
    pub features: BTreeMap<String, u64>,
    /// Functions above the architecture's first level.
    pub isa_functions: Vec<IsaFunction>,
    /// The unknown functions among them by cause and dispatcher, those with most functions first.
    #[serde(default)]
    pub isa_groups: Vec<IsaGroup>,
    /// What the presumed ones among them rest on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presumption: Option<Presumption>,
    /// The functions that the file offers to callers in other files, which choose them for the CPU by their names or by the vectors
    /// that they pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<Offered>,
    /// How its atomics were compiled; AArch64 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomics: Option<Atomics>,
    /// Who built it.
    pub build: Build,
    /// What it takes from its process, or brings to it; `None` of code made at run time, of objects, and where there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// The findings, by address.
    pub findings: Vec<PlacedFinding>,
    /// What a profile saw of it, where there was one; the findings are in the order of their weights then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profiled>,
    /// Findings that the user allows: the caller takes them out, and counts them here.
    pub allowed: u64,
    /// Flags that remove findings; see [`advise`](crate::advice::advise).
    pub advice: Vec<Advice>,
    /// What a finding of each rule costs on a machine, where that was requested; `None` within where it was not measured.
    /// The caller fills it in, and orders the findings by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<BTreeMap<String, Option<Cost>>>,
    /// What runs as other CPUs showed of it; the caller fills it in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedRuns>,
    /// Every executable byte, accounted for.
    pub coverage: Coverage,
    /// The shared libraries that were analysed with it, in the loader's order; `None` where that was not requested.
    /// The caller fills it in, and the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closure: Option<Vec<String>>,
    /// Shared libraries that it needs, itself or through others, and that were not found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_libraries: Vec<String>,
    /// What is claimed of the machines that the file is for, where it was held to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What comparisons with other files need, where a rule compares files; see [`crate::across`].
    #[serde(skip)]
    pub facts: Option<FileFacts>,
    /// What the budget of the analyses was too small for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_budget: Option<OverBudget>,
    /// Faults met in the file that did not stop the check.
    pub faults: Vec<String>,
}

/// What the budget of a file's analyses was too small for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverBudget {
    /// The steps that there were.
    pub steps: u64,
    /// Whether the analyses were ended before they had taken them, by the caller's wish.
    pub stopped: bool,
    /// Whether the run-time checks were not analysed: what depends on them is undecided.
    pub checks: bool,
    /// Ids of the rules that found nothing, whatever there is.
    pub rules: Vec<Cow<'static, str>>,
}

impl OverBudget {
    /// Whether it was too small for anything.
    pub(crate) fn is_any(&self) -> bool {
        self.checks || !self.rules.is_empty()
    }

    /// A sentence, for people: `its 400000 steps are spent (--budget), and not analysed are: run-time checks, llsc-loop`.
    pub fn sentence(&self) -> String {
        let rules = (!self.rules.is_empty()).then(|| self.rules.join(", "));
        let checks = self.checks.then(|| "run-time checks".to_owned());
        let what = checks.into_iter().chain(rules).collect::<Vec<_>>().join(", ");
        match self.stopped {
            true => format!("the time of the run is over (--max-time), and not analysed are: {what}"),
            false => format!("its {} steps are spent (--budget), and not analysed are: {what}", self.steps),
        }
    }
}

impl Report {
    /// Adds a payload that was recognised and not read. A file with one does not count as running: it is undecided.
    pub fn add_unread_payload(&mut self, payload: UnreadPayload) {
        self.unread_payload.push(payload);
        self.answer = self.answer.map(|answer| answer.max(Answer::Undecided));
    }
}

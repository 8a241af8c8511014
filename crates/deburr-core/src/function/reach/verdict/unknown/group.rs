//! Unknown functions that have one cause: what a reader has to look at once, however many functions depend on it.
//!
//! In: verdicts. Out: [`UnknownGroup`]s: functions of one cause and one dispatcher (the function that tests or stores the
//! pointer, the table, the function that is queried), those with most functions first.

use crate::address::{CodeOffset, Svma};
use crate::function::Program;
use crate::function::reach::verdict::evidence::Verdict;
use crate::function::reach::verdict::unknown::cause::{Because, Cause};
use crate::image::{Image, demangle};
use deburr_cpu::{Feature, FeatureSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Unknown functions of one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownGroup {
    /// Unique in the file: `pointer-stored@0x5678`.
    pub id: String,
    /// Why they are unknown.
    pub cause: Cause,
    /// The test, the store or the table, the first of the dispatcher's; `None` where the cause is the file's.
    pub at: Option<Svma>,
    /// The function that tests or stores, where there is one.
    pub dispatcher: Option<CodeOffset>,
    /// The function that is queried, where that is the cause; else what of another file may carry what no code of this one
    /// tests.
    pub import: Option<Arc<str>>,
    /// Where the functions begin.
    pub functions: Vec<CodeOffset>,
    /// What they need and nothing has proven.
    pub features: FeatureSet,
    /// Their instructions beyond what is permitted.
    pub instructions: u64,
}

/// The groups of some verdicts, of which only the unknown ones count.
pub fn unknown_groups(image: &Image<'_>, program: &Program, verdicts: &[Verdict]) -> Vec<UnknownGroup> {
    let mut groups: BTreeMap<String, UnknownGroup> = BTreeMap::new();
    for verdict in verdicts {
        let Some(because) = &verdict.because else { continue };
        let dispatcher = dispatcher(image, program, because);
        let id = id(image, because, dispatcher);
        let group = groups.entry(id.clone()).or_insert_with(|| UnknownGroup {
            id,
            cause: because.cause,
            at: because.at,
            dispatcher,
            import: because.import.clone(),
            functions: Vec::new(),
            features: FeatureSet::EMPTY,
            instructions: 0,
        });
        if (group.at, group.dispatcher) > (because.at, dispatcher) {
            (group.at, group.dispatcher) = (because.at, dispatcher);
        }
        group.functions.push(verdict.start);
        group.features = group.features.union(verdict.features);
        group.instructions += verdict.instructions;
    }
    let mut groups: Vec<UnknownGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| (Reverse(group.functions.len()), group.at));
    groups
}

/// The id of the group that a verdict belongs to.
pub fn group_of(image: &Image<'_>, program: &Program, because: &Because) -> String {
    id(image, because, dispatcher(image, program, because))
}

/// The function that tests, stores or hands out.
fn dispatcher(image: &Image<'_>, program: &Program, because: &Because) -> Option<CodeOffset> {
    let at = image.code_offset(because.referrer.or(because.at)?)?;
    let function = program.function_at(at)?;
    Some(program.whole(function).start)
}

fn id(image: &Image<'_>, because: &Because, dispatcher: Option<CodeOffset>) -> String {
    let cause = because.cause.name();
    let anchor = match because.cause {
        // Each is its own dispatcher; what settles them is one question.
        Cause::ExportedBesideChecks | Cause::NoFunctionBounds => None,
        Cause::AnotherFile | Cause::NamedQuery => {
            return format!("{cause}@{}", because.import.as_deref().unwrap_or_default());
        }
        _ => dispatcher.map(|start| image.svma(start)).or(because.at),
    };
    anchor.map_or_else(|| cause.to_owned(), |svma| format!("{cause}@{}", image.shown(svma)))
}

impl UnknownGroup {
    /// The dispatcher's demangled name, if it has one.
    pub fn dispatcher_name(&self, image: &Image<'_>, program: &Program) -> Option<String> {
        let function = program.function_at(self.dispatcher?)?;
        program.name(function, image).map(demangle)
    }

    /// The smallest level that covers what they need.
    pub fn level(&self, image: &Image<'_>) -> &'static str {
        deburr_cpu::smallest_level(image.arch, self.features).0.map_or("", |level| level.name)
    }

    /// The group in one sentence.
    pub fn message(&self, image: &Image<'_>, program: &Program) -> String {
        let count = self.functions.len();
        let is_one = count == 1;
        let (are, use_) = if is_one { ("is", "uses") } else { ("are", "use") };
        let (level, beyond) = deburr_cpu::smallest_level(image.arch, self.features);
        let level = level.map_or("", |level| level.name);
        let beyond: Vec<&str> = beyond.strongest().iter().map(Feature::name).collect();
        // What no level has is named: "up to x86-64-v1" would say nothing of AES.
        let is_first = deburr_cpu::level_names(image.arch).next() == Some(level);
        let who = match (is_one, beyond.as_slice(), is_first) {
            (true, [], _) => format!("1 function of {level}"),
            (false, [], _) => format!("{} functions up to {level}", grouped(count)),
            (true, beyond, true) => format!("1 function that needs {}", beyond.join(", ")),
            (false, beyond, true) => {
                format!("{} functions that need {}", grouped(count), beyond.join(", "))
            }
            (true, beyond, false) => format!("1 function of {level} + {}", beyond.join(" + ")),
            (false, beyond, false) => {
                format!("{} functions up to {level} + {}", grouped(count), beyond.join(" + "))
            }
        };
        let at = self.at.map(|svma| image.shown(svma)).unwrap_or_default();
        let within = match (self.dispatcher_name(image, program), self.dispatcher) {
            (Some(name), _) => name,
            (None, Some(start)) => format!("the function at {}", image.shown(image.svma(start))),
            (None, None) => "code of no known function".to_owned(),
        };
        let import = self.import.as_deref().unwrap_or_default();
        let why = match self.cause {
            Cause::UnknownTest => format!("{are} chosen by a test in {within} ({at}) that is not followed"),
            Cause::AnotherFile => {
                format!("{are} chosen by what {import} of another file returns, in {within} ({at})")
            }
            Cause::NamedQuery => {
                let name = demangle(import);
                format!("{are} chosen by what {name} returns, which is not followed, in {within} ({at})")
            }
            Cause::ResolverElsewhere => {
                format!("{are} chosen as {import} by resolvers of other members of the archive")
            }
            Cause::PointerStored => {
                format!("{are} chosen through a pointer that {within} stores or passes on ({at})")
            }
            Cause::PointerTable if self.dispatcher.is_none() => {
                format!("{are} chosen through a table ({at}) that nothing in the file is seen to read")
            }
            Cause::PointerTable => format!("{are} chosen through tables ({at}) that {within} hands out"),
            Cause::AddressEscapes => {
                format!("{are} known to {within} by address ({at}), and where that goes is not seen")
            }
            Cause::ExportedBesideChecks => {
                format!("{are} exported next to the file's own checks: whoever calls may have to test")
            }
            Cause::GrantedBySystem => format!("{use_} what only the system hands out: keys, tags, stacks"),
            Cause::GoRuntime => format!("{are} chosen by what Go's run-time library keeps of the CPU"),
            Cause::NoFunctionBounds => format!("{are} referred to ({at}) by code of no known function"),
            Cause::LimitOfAnalysis => format!("{are} beyond what the analysis follows"),
            Cause::Budget => format!("{are} not analysed, since the budget is spent (--budget)"),
        };
        match self.cause {
            Cause::AnotherFile | Cause::NamedQuery | Cause::ResolverElsewhere => {
                format!("{who} {why}: not proven")
            }
            _ if import.is_empty() => format!("{who} {why}: not proven"),
            _ => {
                let name = demangle(import);
                format!(
                    "{who} {why}: not proven (no code of the file tests what {use_it} need{s}; {name} of another file may)",
                    use_it = if is_one { "it" } else { "they" },
                    s = if is_one { "s" } else { "" }
                )
            }
        }
    }
}

/// A number with a comma between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

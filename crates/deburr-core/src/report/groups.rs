//! Report stage: unknown functions by cause → [`IsaGroup`]s, each with what would settle it.

use super::model::{IsaGroup, PresumedCopy, PresumedNames, Presumption, Settlement};
use super::names::{name_at, place_of};
use crate::address::{CodeOffset, Svma};
use crate::function::Program;
use crate::function::reach::{
    Cause, Checks, GuardKind, Origin, Place, Reach, UnknownGroup, Verdict, unknown_groups,
};
use crate::image::{Image, demangle};
use crate::pattern;
use deburr_cpu::Feature;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What the presumed verdicts rest on; `None` where there are none.
pub(crate) fn presumption(
    image: &Image<'_>,
    program: &Program,
    checks: &Checks,
    verdicts: &[Verdict],
) -> Option<Presumption> {
    let presumed = || verdicts.iter().filter(|verdict| verdict.reach == Reach::Presumed);
    let is_by_name = |verdict: &&Verdict| verdict.guard.is_some_and(|guard| guard.kind == GuardKind::Name);
    let (count, by_name) = (presumed().count() as u64, presumed().filter(is_by_name).count() as u64);
    let (agreements, contradictions) = checks.name_agreements();
    let names = (by_name > 0).then_some(PresumedNames { count: by_name, agreements, contradictions });
    let words = checks.presumption.as_ref().filter(|_| count > by_name);
    let (vocabulary, function) = match words.map(|words| words.origin) {
        Some(Origin::Returned(start)) => {
            let at = image.svma(start);
            (Some(place_of(image, at).1), name_at(image, program, at))
        }
        Some(Origin::Word(at)) => (Some(place_of(image, Svma(at)).1), None),
        None => (None, None),
    };
    let copies = words.into_iter().flat_map(|words| &words.copies).map(|copy| PresumedCopy {
        place: match copy.place {
            Place::Field(at) if at < 0 => format!("field -{:#x}", at.unsigned_abs()),
            Place::Field(at) => format!("field +{at:#x}"),
            Place::Argument(number) => format!("argument {}", number.saturating_add(1)),
        },
        agreements: copy.agreements,
        contradictions: copy.contradictions,
    });
    (count > 0).then(|| Presumption { count, names, vocabulary, function, copies: copies.collect() })
}

/// The groups of a file's unknown functions. `has_closure`: whether the libraries that it needs were analysed with it.
pub(crate) fn isa_groups(
    image: &Image<'_>,
    program: &Program,
    verdicts: &[Verdict],
    has_closure: bool,
) -> Vec<IsaGroup> {
    let groups = unknown_groups(image, program, verdicts);
    let name = |start: CodeOffset| {
        program.function_from(start).and_then(|function| program.name(function, image)).map(demangle)
    };
    let starts = verdicts.iter().map(|verdict| verdict.start).filter(|_| !groups.is_empty());
    let names: Names = starts.filter_map(|start| Some((start, name(start)?))).collect();
    let group = |group| isa_group((image, program), (verdicts, &names), group, has_closure);
    groups.iter().map(group).collect()
}

/// The names of the functions that there are verdicts of.
type Names = HashMap<CodeOffset, String>;

fn isa_group(
    (image, program): (&Image<'_>, &Program),
    (verdicts, names): (&[Verdict], &Names),
    group: &UnknownGroup,
    has_closure: bool,
) -> IsaGroup {
    let place = group.at.map(|svma| place_of(image, svma));
    let section = place.as_ref().and_then(|(section, _)| section.as_deref().map(str::to_owned));
    IsaGroup {
        id: group.id.clone(),
        because: group.cause,
        level: group.level(image).to_owned(),
        count: group.functions.len() as u64,
        svma: place.map(|(_, svma)| svma),
        section,
        function: group.dispatcher_name(image, program),
        import: group.import.as_deref().map(str::to_owned),
        settled_by: settlement(group.cause, has_closure),
        stated_as: stated_as(verdicts, names, group),
        message: group.message(image, program),
    }
}

const fn settlement(cause: Cause, has_closure: bool) -> Settlement {
    match cause {
        Cause::AnotherFile if !has_closure => Settlement::Closure,
        Cause::GoRuntime | Cause::NoFunctionBounds | Cause::LimitOfAnalysis | Cause::Budget => {
            Settlement::Run
        }
        _ => Settlement::Guard,
    }
}

/// Maximum of tables that are proposed for one group.
const TABLES: usize = 4;

/// The `[[guard]]` tables that state what is not proven; `None` where no pattern names the functions and no others.
fn stated_as(verdicts: &[Verdict], names: &Names, group: &UnknownGroup) -> Option<String> {
    let starts: BTreeSet<CodeOffset> = group.functions.iter().copied().collect();
    let name = |start: CodeOffset| names.get(&start).map(String::as_str);
    let mut by_need: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| starts.contains(&verdict.start)) {
        let need = verdict.features.strongest().iter().map(Feature::name).collect();
        by_need.entry(need).or_default().push(name(verdict.start)?);
    }
    if by_need.len() > TABLES {
        return None;
    }
    let others: Vec<&str> = verdicts
        .iter()
        .filter(|verdict| !starts.contains(&verdict.start))
        .filter_map(|verdict| name(verdict.start))
        .collect();
    let mut tables = Vec::new();
    for (need, names) in by_need {
        let function = shared_pattern(&names)?;
        if others.iter().any(|other| pattern::matches(&function, other)) {
            return None;
        }
        let implies: Vec<String> = need.iter().map(|feature| format!("{feature:?}")).collect();
        tables.push(format!(
            "[[guard]]\nfunction = {function:?}\nimplies = [{}]\nreason = \"say which check comes before\"\n",
            implies.join(", ")
        ));
    }
    Some(tables.join("\n"))
}

/// A pattern with one `*` that matches all of some names, and says something of them.
fn shared_pattern(names: &[&str]) -> Option<String> {
    /// Characters that names must share.
    const SHARED: usize = 3;
    let (first, rest) = names.split_first()?;
    let is_plain = |name: &&str| !name.contains(['*', '?']);
    if rest.is_empty() {
        return is_plain(first).then(|| (*first).to_owned());
    }
    let least = names.iter().map(|name| name.chars().count()).min()?;
    let before = shared(names, |name| name.chars().collect());
    let after = shared(names, |name| name.chars().rev().collect()).min(least - before);
    let start: String = first.chars().take(before).collect();
    let end: String = first.chars().skip(first.chars().count() - after).collect();
    let pattern = format!("{start}*{end}");
    (before + after >= SHARED && names.iter().all(is_plain)).then_some(pattern)
}

/// How many characters all names begin with, in the order in which they are taken.
fn shared(names: &[&str], taken: impl Fn(&str) -> Vec<char>) -> usize {
    let all: Vec<Vec<char>> = names.iter().map(|name| taken(name)).collect();
    let Some((first, rest)) = all.split_first() else { return 0 };
    let agrees = |index: &usize| rest.iter().all(|name| name.get(*index) == first.get(*index));
    (0..first.len()).take_while(agrees).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_is_what_the_names_share() {
        let of = shared_pattern;
        assert_eq!(of(&["sad_8_avx2", "sad_16_avx2"]).as_deref(), Some("sad_*_avx2"));
        assert_eq!(of(&["sum"]).as_deref(), Some("sum"));
        assert_eq!(of(&["aa", "aaa"]), None, "two characters are no name");
        assert_eq!(of(&["abc", "abcabc"]).as_deref(), Some("abc*"));
        assert_eq!(of(&["sum", "mean"]), None);
        assert_eq!(of(&["operator*"]), None, "a star is a pattern");
    }
}

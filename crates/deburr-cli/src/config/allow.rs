//! Allowances: `[[allow]]` tables → the findings that the user accepts, taken out of the reports.
//!
//! A finding goes to the first allowance that names its function exactly, or else to the first one that
//! describes it; those that name its file exactly come first. `count` is a ratchet: a file that has more
//! findings than an allowance accepts gets none of them accepted by it, as nothing shows which of them are
//! new.

use super::source::{Names, Source};
use crate::input::path::{ends_of, is_file, plain};
use deburr_core::image::demangle;
use deburr_core::report::PlacedFinding;
use deburr_core::{Report, pattern};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;

/// The name of a function that has none, here as in the text for people.
pub(crate) const NO_NAME: &str = "(no name)";

/// Findings that the user accepts.
#[derive(Debug, Clone)]
pub(crate) struct Allowance {
    pub(super) rules: Vec<&'static str>,
    /// The files it speaks of; `None`: all.
    pub(super) file: Option<String>,
    /// The functions it speaks of; `None`: all.
    pub(super) function: Option<String>,
    /// The same as names and not as a pattern: as written, and demangled.
    names: Vec<String>,
    /// The maximum of findings of one file that it accepts, and where that is written.
    pub(super) count: Option<(u64, Range<usize>)>,
    reason: Arc<str>,
    /// `deburr.toml:3`.
    place: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAllowance {
    rule: Spanned<Names>,
    file: Option<Spanned<String>>,
    function: Option<Spanned<String>>,
    count: Option<Spanned<u64>>,
    reason: Spanned<String>,
}

/// Understands one table.
pub(super) fn parse(raw: Spanned<RawAllowance>, source: &Source<'_>) -> Result<Allowance, String> {
    let place = source.place(raw.span());
    let raw = raw.into_inner();
    let span = raw.rule.span();
    let rules = source.rules(Some(raw.rule))?;
    if rules.is_empty() {
        return Err(source.fault(span, "`rule` is empty"));
    }
    let count = raw.count.map(|count| (*count.get_ref(), count.span()));
    if let Some((0, span)) = count {
        return Err(source.fault(span, "`count` is 0, which allows nothing"));
    }
    let named = |key, text: Option<_>| text.map(|text| source.name(key, text)).transpose();
    let function = named("function", raw.function)?;
    let mut names: Vec<String> = function.iter().flat_map(|name| [name.clone(), demangle(name)]).collect();
    names.dedup();
    Ok(Allowance {
        rules,
        file: named("file", raw.file)?,
        function,
        names,
        count,
        reason: source.filled("reason", raw.reason, ": say why the findings are accepted")?.into(),
        place,
    })
}

impl Allowance {
    /// Whether it names one file and not several.
    pub(super) fn names_file(&self, path: &str) -> bool {
        self.file.as_deref().is_some_and(|file| plain(file) == plain(path))
    }

    /// What it says, for people: `` `llsc-loop` in spin_lock of bin/server ``.
    fn subject(&self) -> String {
        let rules: Vec<String> = self.rules.iter().map(|rule| format!("`{rule}`")).collect();
        let function = self.function.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        let file = self.file.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        format!("{}{function}{file}", rules.join(", "))
    }
}

/// Whether a name has wildcards.
fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// A finding that was taken out of a report, and why.
#[derive(Debug, Clone)]
pub(crate) struct Allowed {
    pub(crate) finding: PlacedFinding,
    pub(crate) reason: Arc<str>,
}

/// An allowance that should be looked at again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Remark {
    pub(crate) rules: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) function: Option<String>,
    /// Why, for people.
    pub(crate) reason: String,
    #[serde(skip)]
    pub(crate) place: String,
    #[serde(skip)]
    pub(crate) subject: String,
}

/// The remarks of a run.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// Allowances that accepted nothing, or accept more than there is.
    pub(crate) stale: Vec<Remark>,
    /// Allowances that a file has more findings than, in the order in which the files were met.
    pub(crate) exceeded: Vec<Remark>,
}

/// What became of one allowance over a run.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    /// Whether a file was checked that it speaks of.
    saw_its_file: bool,
    /// Whether it accepted any finding.
    allowed_any: bool,
    /// Whether a file had more findings than it accepts.
    was_exceeded: bool,
    /// The most findings of one file that it describes.
    most: u64,
}

/// The allowances at work: reports → reports without what is accepted.
#[derive(Debug)]
pub(crate) struct Ledger<'c> {
    allowances: &'c [Allowance],
    /// Those that name files, by the name.
    by_name: HashMap<&'c str, Vec<usize>>,
    /// Those that speak of files by a pattern, or of all.
    by_pattern: Vec<usize>,
    uses: Vec<Use>,
    exceeded: Vec<Remark>,
}

/// The findings of one rule in one function, and whether they are accepted by now.
struct Group {
    findings: Vec<usize>,
    by: Option<usize>,
}

/// A rule and a function.
type Key<'r> = (&'r str, &'r str);
type Groups<'r> = BTreeMap<Key<'r>, Group>;

impl<'c> Ledger<'c> {
    /// Of no file yet.
    pub(crate) fn new(allowances: &'c [Allowance]) -> Ledger<'c> {
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut by_pattern = Vec::new();
        for (id, allowance) in allowances.iter().enumerate() {
            match allowance.file.as_deref() {
                Some(file) if !is_pattern(file) => by_name.entry(plain(file)).or_default().push(id),
                _ => by_pattern.push(id),
            }
        }
        let uses = vec![Use::default(); allowances.len()];
        Ledger { allowances, by_name, by_pattern, uses, exceeded: Vec::new() }
    }

    /// The allowances that speak of a file: those that name its whole path, then the others.
    fn meant(&self, path: &str) -> Vec<usize> {
        let is_meant = |id: &usize| self.of(*id).file.as_deref().is_none_or(|file| is_file(file, path));
        let named = ends_of(path).filter_map(|end| self.by_name.get(end)).flatten();
        let mut meant: Vec<usize> =
            named.chain(self.by_pattern.iter().filter(|id| is_meant(id))).copied().collect();
        meant.sort_by_key(|&id| (!self.of(id).names_file(path), id));
        meant
    }

    /// Takes what is accepted out of a report.
    pub(crate) fn settle(&mut self, report: &mut Report) -> Vec<Allowed> {
        let meant = self.meant(&report.path);
        if meant.is_empty() {
            return Vec::new();
        }
        let mut groups = Groups::new();
        for (index, finding) in report.findings.iter().enumerate() {
            let key = (&*finding.rule, finding.function.as_deref().unwrap_or(NO_NAME));
            let group = groups.entry(key).or_insert(Group { findings: Vec::new(), by: None });
            group.findings.push(index);
        }
        let mut held: HashMap<usize, u64> = HashMap::new();
        // Those that describe more than they accept: how many findings, and of which groups.
        let mut refused: BTreeMap<usize, (u64, Vec<Key<'_>>)> = BTreeMap::new();
        for by_pattern in [false, true] {
            let open: Vec<Key<'_>> =
                groups.iter().filter(|(_, group)| group.by.is_none()).map(|(key, _)| *key).collect();
            for &id in &meant {
                let spoken_of = if by_pattern { self.described(id, &open) } else { self.named(id) };
                let is_open = |key: &Key<'_>| groups.get(key).is_some_and(|group| group.by.is_none());
                let keys: Vec<_> = spoken_of.into_iter().filter(is_open).collect();
                let sizes =
                    keys.iter().filter_map(|key| groups.get(key)).map(|group| group.findings.len() as u64);
                let total = sizes.sum::<u64>() + held.get(&id).copied().unwrap_or(0);
                let used = &mut self.uses[id];
                used.saw_its_file = true;
                used.most = used.most.max(total);
                if self.allowances[id].count.as_ref().is_some_and(|(count, _)| total > *count) {
                    refused.insert(id, (total, keys));
                    continue;
                }
                used.allowed_any |= !keys.is_empty();
                held.insert(id, total);
                for key in keys {
                    groups.entry(key).and_modify(|group| group.by = Some(id));
                }
            }
        }
        for (id, (total, keys)) in refused {
            // Others may have accepted them since.
            if keys.iter().any(|key| groups.get(key).is_some_and(|group| group.by.is_none())) {
                self.exceed(id, &report.path, total);
            }
        }
        let mut accepted: Vec<Option<usize>> = vec![None; report.findings.len()];
        for group in groups.into_values() {
            for index in group.findings {
                accepted[index] = group.by;
            }
        }
        self.take(report, &accepted)
    }

    fn of(&self, id: usize) -> &'c Allowance {
        &self.allowances[id]
    }

    /// The groups whose function an allowance names.
    fn named(&self, id: usize) -> Vec<Key<'c>> {
        let Allowance { rules, names, .. } = self.of(id);
        rules.iter().flat_map(|rule| names.iter().map(|name| (*rule, name.as_str()))).collect()
    }

    /// Those of some groups that an allowance describes by a pattern, or because it speaks of all functions.
    fn described<'r>(&self, id: usize, groups: &[Key<'r>]) -> Vec<Key<'r>> {
        let Allowance { rules, function, .. } = self.of(id);
        if function.as_deref().is_some_and(|function| !is_pattern(function)) {
            return Vec::new();
        }
        let is_meant = |name: &str| function.as_deref().is_none_or(|wanted| pattern::matches(wanted, name));
        groups.iter().filter(|(rule, name)| rules.contains(rule) && is_meant(name)).copied().collect()
    }

    fn exceed(&mut self, id: usize, path: &str, found: u64) {
        let allowance = self.of(id);
        let count = allowance.count.as_ref().map_or(0, |(count, _)| *count);
        self.uses[id].was_exceeded = true;
        self.exceeded.push(remark(allowance, format!("it allows {count} a file, but {path} has {found}")));
    }

    fn take(&mut self, report: &mut Report, accepted: &[Option<usize>]) -> Vec<Allowed> {
        let mut kept = Vec::with_capacity(report.findings.len());
        let mut allowed = Vec::new();
        for (finding, by) in std::mem::take(&mut report.findings).into_iter().zip(accepted) {
            match by {
                Some(id) => allowed.push(Allowed { finding, reason: self.of(*id).reason.clone() }),
                None => kept.push(finding),
            }
        }
        report.findings = kept;
        report.allowed = allowed.len() as u64;
        allowed
    }

    /// The allowances that should be looked at again. One that speaks of files, or of rules, that the run did
    /// not see is no business of the run.
    pub(crate) fn remarks(self, is_run: impl Fn(&str) -> bool) -> Remarks {
        let stale = self.allowances.iter().zip(&self.uses).filter_map(|(allowance, used)| {
            let is_seen = used.saw_its_file && allowance.rules.iter().any(|rule| is_run(rule));
            let count = allowance.count.as_ref().map(|(count, _)| *count);
            match count {
                _ if !is_seen || used.was_exceeded => None,
                _ if !used.allowed_any => {
                    Some(remark(allowance, "it allows no finding of the run".to_owned()))
                }
                Some(count) if count > used.most => Some(remark(
                    allowance,
                    format!("it allows {count} a file, but no file has more than {}", used.most),
                )),
                _ => None,
            }
        });
        Remarks { stale: stale.collect(), exceeded: self.exceeded }
    }
}

fn remark(allowance: &Allowance, reason: String) -> Remark {
    Remark {
        rules: allowance.rules.clone(),
        file: allowance.file.clone(),
        function: allowance.function.clone(),
        reason,
        place: allowance.place.clone(),
        subject: allowance.subject(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{Config, NAME};
    use super::*;
    use crate::render::check::example::example;

    /// An allowance for `rule`, with further keys.
    fn table(keys: &str) -> String {
        format!("[[allow]]\n{keys}\nreason = \"r\"\n")
    }

    /// The findings left in the example (two notes and a warning in `spin_lock` of `bin/server`), and the
    /// remarks.
    fn settled(text: &str) -> (usize, Vec<String>, Vec<String>) {
        let config = Config::parse(text, NAME).unwrap();
        let mut ledger = Ledger::new(&config.allowances);
        let mut report = example();
        let allowed = ledger.settle(&mut report);
        assert_eq!((allowed.len() as u64, allowed.len() + report.findings.len()), (report.allowed, 3));
        assert!(allowed.iter().all(|allowed| &*allowed.reason == "r"));
        let remarks = ledger.remarks(|rule| rule != "above-baseline");
        let lines = |list: Vec<Remark>| {
            list.into_iter()
                .map(|it| format!("{} {}: {}", it.place, it.subject, it.reason))
                .collect::<Vec<_>>()
        };
        (report.findings.len(), lines(remarks.stale), lines(remarks.exceeded))
    }

    #[test]
    fn finding_is_allowed_by_rule_file_and_function() {
        for (keys, left) in [
            ("rule = \"llsc-loop\"", 2),
            ("rule = [\"llsc-loop\", \"outlined-atomic\"]", 0),
            ("rule = \"outlined-atomic\"\nfile = \"server\"", 1),
            ("rule = \"outlined-atomic\"\nfile = \"bin/*\"\nfunction = \"spin_*\"", 1),
            ("rule = \"outlined-atomic\"\nfunction = \"_Z9spin_lockv\"", 3),
            ("rule = \"outlined-atomic\"\ncount = 2", 1),
        ] {
            let (found, _, exceeded) = settled(&table(keys));
            assert_eq!((found, exceeded.len()), (left, 0), "{keys}");
        }
        let mut report = example();
        for finding in &mut report.findings {
            finding.function = Some("spin_lock()".into());
        }
        let config =
            Config::parse(&table("rule = \"llsc-loop\"\nfunction = \"_Z9spin_lockv\""), NAME).unwrap();
        assert_eq!(
            Ledger::new(&config.allowances).settle(&mut report).len(),
            1,
            "a symbol stands for its name"
        );
    }

    #[test]
    fn file_with_more_findings_than_allowed_keeps_them_all() {
        let (left, stale, exceeded) =
            settled(&table("rule = \"outlined-atomic\"\nfile = \"bin/server\"\ncount = 1"));
        assert_eq!((left, stale.len()), (3, 0));
        assert_eq!(
            exceeded,
            ["deburr.toml:1 `outlined-atomic` of bin/server: it allows 1 a file, but bin/server has 2"]
        );
    }

    #[test]
    fn allowance_that_names_goes_before_one_that_describes() {
        let text = table("rule = \"outlined-atomic\"\ncount = 1")
            + &table("rule = \"outlined-atomic\"\nfunction = \"spin*\"")
            + &table("rule = \"outlined-atomic\"\nfunction = \"spin_lock\"\ncount = 2");
        let (left, stale, exceeded) = settled(&text);
        assert_eq!((left, exceeded.len()), (1, 0));
        assert_eq!(
            stale,
            [
                "deburr.toml:1 `outlined-atomic`: it allows no finding of the run",
                "deburr.toml:5 `outlined-atomic` in spin*: it allows no finding of the run"
            ]
        );
    }

    #[test]
    fn stale_allowance_is_reported_if_the_run_saw_what_it_speaks_of() {
        let (_, stale, _) = settled(&table("rule = \"llsc-loop\"\ncount = 4"));
        assert_eq!(stale, ["deburr.toml:1 `llsc-loop`: it allows 4 a file, but no file has more than 1"]);
        for keys in [
            "rule = \"llsc-loop\"\nfile = \"bin/other\"",
            "rule = \"above-baseline\"\nfile = \"bin/server\"",
            "rule = \"llsc-loop\"",
            "rule = \"llsc-loop\"\ncount = 1",
        ] {
            assert_eq!(settled(&table(keys)).1, [""; 0], "{keys}");
        }
    }

    #[test]
    fn faulty_allowance_is_refused_with_its_line() {
        for (text, expected) in [
            (table("file = \"x\""), "deburr.toml:1: missing field `rule`"),
            (table("rule = []"), "deburr.toml:2: `rule` is empty"),
            (table("rule = \"llsc-loop\"\ncount = 0"), "deburr.toml:3: `count` is 0, which allows nothing"),
            (table("rule = \"llsc-loop\"\nfile = \"\""), "deburr.toml:3: `file` is empty"),
            (
                table("rule = \"llsc-loop\"\nfunctoin = \"\""),
                "deburr.toml:3: unknown key `functoin`; did you mean `function`?",
            ),
            (
                "[[allow]]\nrule = \"llsc-loop\"\nreason = \"\"\n".to_owned(),
                "deburr.toml:3: `reason` is empty: say why the findings are accepted",
            ),
            (
                table("rule = \"llsc-lop\""),
                "deburr.toml:2: no rule is called `llsc-lop`; did you mean `llsc-loop`? (`deburr rules` lists them)",
            ),
        ] {
            assert_eq!(Config::parse(&text, NAME).unwrap_err(), expected);
        }
    }
}

//! `deburr.toml`: what the user states beside the command line. Found in the current folder or the nearest one above it.
//!
//! In: TOML 1.0 text. Out: [`Config`], or a complaint with the line. Unknown keys are faults: a misspelt guard that was
//! passed over would fail a build, and a misspelt `file` would guard or allow too much.

pub(crate) mod add;
pub(crate) mod allow;
pub(crate) mod guard;

use crate::args::fail_on::FailOn;
use crate::names::{machines_named, nearest, rule_named};
use allow::{Allowance, RawAllowance};
use clap::ValueEnum;
use deburr_core::finding::Severity;
use deburr_core::pattern;
use deburr_core::report::PlacedFinding;
use deburr_cpu::Target;
use guard::{Guard, RawGuard};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The file's name.
pub(crate) const NAME: &str = "deburr.toml";
/// Keys of the file and of its tables, for suggestions.
const KEYS: [&str; 15] = [
    "target", "baseline", "select", "ignore", "preview", "fail-on", "severity", "allow", "guard", "rule",
    "function", "file", "count", "implies", "reason",
];
/// What a rule's severity can be changed to.
const SEVERITIES: [(&str, Option<Severity>); 4] = [
    ("note", Some(Severity::Note)),
    ("warning", Some(Severity::Warning)),
    ("error", Some(Severity::Error)),
    ("off", None),
];

/// What is configured. Where the command line says the same, it wins.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The file, if there is one.
    pub(crate) path: Option<PathBuf>,
    pub(crate) target: Vec<Target>,
    pub(crate) baseline: Vec<Target>,
    /// Ids of the rules to run; empty: all.
    pub(crate) select: Vec<&'static str>,
    pub(crate) ignore: Vec<&'static str>,
    pub(crate) preview: bool,
    pub(crate) fail_on: Option<FailOn>,
    /// Rules with another severity than their own; `None`: off.
    pub(crate) severity: BTreeMap<&'static str, Option<Severity>>,
    /// The allowances, in the order of the file.
    pub(crate) allowances: Vec<Allowance>,
    /// The stated guards, in the order of the file.
    pub(crate) guards: Vec<Guard>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    target: Option<Spanned<Names>>,
    baseline: Option<Spanned<Names>>,
    select: Option<Spanned<Names>>,
    ignore: Option<Spanned<Names>>,
    #[serde(default)]
    preview: bool,
    fail_on: Option<Spanned<String>>,
    #[serde(default)]
    severity: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    allow: Vec<Spanned<RawAllowance>>,
    #[serde(default)]
    guard: Vec<Spanned<RawGuard>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a name, or a list of names")]
enum Names {
    One(String),
    Several(Vec<String>),
}

impl Names {
    fn list(self) -> Vec<String> {
        match self {
            Names::One(name) => vec![name],
            Names::Several(names) => names,
        }
    }
}

/// The text of a configuration, for complaints about places in it.
struct Source<'t> {
    path: &'t str,
    /// Where its lines end: allowances may be thousands.
    line_ends: Vec<usize>,
}

impl<'t> Source<'t> {
    fn new(text: &str, path: &'t str) -> Source<'t> {
        Source { path, line_ends: text.match_indices('\n').map(|(at, _)| at).collect() }
    }

    /// `deburr.toml:3`.
    fn place(&self, span: Range<usize>) -> String {
        format!("{}:{}", self.path, self.line_ends.partition_point(|end| *end < span.start) + 1)
    }

    fn fault(&self, span: Range<usize>, text: &str) -> String {
        format!("{}: {text}", self.place(span))
    }

    /// A text that must say something; `hint` is what, behind a colon.
    fn filled(&self, key: &str, text: Spanned<String>, hint: &str) -> Result<String, String> {
        if text.get_ref().trim().is_empty() {
            return Err(self.fault(text.span(), &format!("`{key}` is empty{hint}")));
        }
        Ok(text.into_inner())
    }

    /// Rules, by their ids.
    fn rules(&self, names: Option<Spanned<Names>>) -> Result<Vec<&'static str>, String> {
        let Some(names) = names else { return Ok(Vec::new()) };
        let span = names.span();
        let ids = names.into_inner().list().into_iter().map(|name| rule_named(&name));
        ids.collect::<Result<_, _>>().map_err(|text| self.fault(span, &text))
    }

    /// Machines, as their options take them.
    fn machines(&self, key: &str, names: Option<Spanned<Names>>) -> Result<Vec<Target>, String> {
        let Some(names) = names else { return Ok(Vec::new()) };
        let span = names.span();
        machines_named(key, &names.into_inner().list()).map_err(|text| self.fault(span, &text))
    }
}

impl Config {
    /// Reads the file that is given, or the one that is found.
    pub(crate) fn read(given: Option<&Path>) -> Result<Config, String> {
        let Some(path) = given.map(Path::to_path_buf).or_else(found) else { return Ok(Config::default()) };
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let config = Config::parse(&text, &path.display().to_string())?;
        Ok(Config { path: Some(path), ..config })
    }

    fn parse(text: &str, path: &str) -> Result<Config, String> {
        let source = Source::new(text, path);
        let document: Document = toml::from_str(text)
            .map_err(|error| source.fault(error.span().unwrap_or_default(), &complaint(error.message())))?;
        let fail_on = document.fail_on.map(|name| {
            FailOn::from_str(name.get_ref(), false)
                .map_err(|_| source.fault(name.span(), "`fail-on` is one of note, warning, error, never"))
        });
        let mut severity = BTreeMap::new();
        for (rule, name) in document.severity {
            let id = rule_named(rule.get_ref()).map_err(|text| source.fault(rule.span(), &text))?;
            let known = SEVERITIES.iter().find(|(known, _)| known == name.get_ref());
            let (_, changed) = known
                .ok_or_else(|| source.fault(name.span(), "a severity is one of note, warning, error, off"))?;
            severity.insert(id, *changed);
        }
        let allowances = document.allow.into_iter().map(|raw| allow::parse(raw, &source));
        let guards = document.guard.into_iter().map(|raw| guard::parse(raw, &source));
        Ok(Config {
            path: None,
            target: source.machines("target", document.target)?,
            baseline: source.machines("baseline", document.baseline)?,
            select: source.rules(document.select)?,
            ignore: source.rules(document.ignore)?,
            preview: document.preview,
            fail_on: fail_on.transpose()?,
            severity,
            allowances: allowances.collect::<Result<_, _>>()?,
            guards: guards.collect::<Result<_, _>>()?,
        })
    }

    /// Gives findings the severity that the user wants their rules to have.
    pub(crate) fn change_severities(&self, findings: &mut [PlacedFinding]) {
        if self.severity.is_empty() {
            return;
        }
        for finding in findings {
            if let Some(Some(severity)) = self.severity.get(finding.rule) {
                finding.severity = *severity;
            }
        }
    }
}

/// Whether a pattern describes a path, or the end of one.
fn is_file(wanted: &str, path: &str) -> bool {
    ends_of(path).any(|end| pattern::matches(plain(wanted), end))
}

/// A path, and its ends from each folder or file name on. A file in a package is `package!inner/path`.
fn ends_of(path: &str) -> impl Iterator<Item = &str> {
    let path = plain(path);
    let marks = path.match_indices(['/', '!']);
    std::iter::once(path).chain(marks.filter_map(|(at, _)| path.get(at + 1..)))
}

/// A path without the `./` in front that makes no difference.
fn plain(path: &str) -> &str {
    path.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// The configuration file of the current folder or the nearest one above it.
fn found() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file())
}

/// What the parser says, with a suggestion where a key is unknown.
fn complaint(message: &str) -> String {
    let Some(rest) = message.strip_prefix("unknown field `") else {
        return message.trim().replace('\n', " ");
    };
    let key = rest.split('`').next().unwrap_or_default();
    match nearest(key, KEYS.into_iter()) {
        Some(nearest) => format!("unknown key `{key}`; did you mean `{nearest}`?"),
        None => format!("unknown key `{key}`; known are {}", KEYS.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::{Arch, Feature};

    fn refused(text: &str) -> String {
        Config::parse(text, NAME).unwrap_err()
    }

    #[test]
    fn guard_speaks_of_its_files_and_architecture() {
        let config = Config::parse(
            "[[guard]]\nfunction = \"*_avx2\"\nfile = \"libx.so*\"\nimplies = [\"avx2\", \"SSE4.2\"]\nreason = \"init_x asks\"\n
             [[guard]]\nsymbol = \"count\"\nimplies = \"armv8.1-a\"\nreason = \"ours\"\n",
            NAME,
        )
        .unwrap();
        let on_x86 = config.guards_for("lib/libx.so.1", Some(Arch::X86_64));
        assert_eq!((on_x86.len(), on_x86[0].id, on_x86[0].function), (1, 0, "*_avx2"));
        assert!(on_x86[0].features.contains(Feature::AVX), "AVX2 implies AVX");
        assert!(config.guards_for("lib/liby.so", Some(Arch::X86_64)).is_empty());
        let on_arm = config.guards_for("lib/libx.so.1", Some(Arch::Aarch64));
        assert_eq!((on_arm.len(), on_arm[0].id), (1, 1));
    }

    #[test]
    fn file_is_meant_by_path_or_by_the_end_of_its_path() {
        for (wanted, path) in [
            ("lib/*.so", "usr/lib/x.so"),
            ("x.so", "usr/lib/x.so"),
            ("usr/*", "usr/a/b"),
            ("./x.so", "x.so"),
            ("lib/x.so", "./lib/x.so"),
            ("x.so", "a.deb!usr/lib/x.so"),
            ("usr/lib/x.so", "pool/a.deb!usr/lib/x.so"),
            ("a.deb!*", "pool/a.deb!usr/lib/x.so"),
            ("data.zip!x.so", "a.whl!data.zip!x.so"),
        ] {
            assert!(is_file(wanted, path), "{wanted} {path}");
        }
        for (wanted, path) in
            [("x.so", "usr/lib/xx.so"), ("lib/x.so", "usr/mylib/x.so"), ("x.so", "a.deb!usr/xx.so")]
        {
            assert!(!is_file(wanted, path), "{wanted} {path}");
        }
    }

    #[test]
    fn machines_rules_and_severities_are_read() {
        let text = "target = \"neoverse-n1\"\nbaseline = [\"x86-64-v2\", \"armv8.0-a\"]\n\
                    select = [\"llsc-loop\", \"above-baseline\"]\nignore = \"llsc-loop\"\nfail-on = \"error\"\n\
                    [severity]\noutlined-atomic = \"error\"\nllsc-loop = \"off\"\n";
        let config = Config::parse(text, NAME).unwrap();
        assert_eq!((config.target.len(), config.baseline.len()), (1, 2));
        assert_eq!((config.select, config.ignore), (vec!["llsc-loop", "above-baseline"], vec!["llsc-loop"]));
        assert_eq!(config.fail_on, Some(FailOn::Error));
        let expected = [("llsc-loop", None), ("outlined-atomic", Some(Severity::Error))];
        assert_eq!(config.severity, BTreeMap::from(expected));
    }

    #[test]
    fn fault_is_told_with_its_line_and_a_suggestion() {
        let whole = "[[guard]]\nfunction = \"a\"\nimplies = \"AVX2\"\nreason = \"r\"\n";
        assert!(Config::parse(whole, NAME).is_ok() && Config::parse("", NAME).is_ok());
        for (text, expected) in [
            (
                whole.replace("function", "functoin"),
                "deburr.toml:2: unknown key `functoin`; did you mean `function`?",
            ),
            ("\n[guards]\n".to_owned(), "deburr.toml:2: unknown key `guards`; did you mean `guard`?"),
            (
                whole.replace("AVX2", "AVX22"),
                "deburr.toml:3: no feature or level is called `AVX22`; did you mean `AVX2`?",
            ),
            (whole.replace("\"r\"", "\" \""), "deburr.toml:4: `reason` is empty: say why the guard holds"),
            (whole.replace("reason = \"r\"\n", ""), "deburr.toml:1: missing field `reason`"),
            (whole.replace("\"AVX2\"", "[]"), "deburr.toml:3: `implies` is empty"),
            (whole.replace("\"AVX2\"", "7"), "deburr.toml:3: expected a name, or a list of names"),
            (
                "\ntarget = \"neoverse-n7\"\n".to_owned(),
                "deburr.toml:2: target: unknown target 'neoverse-n7'; did you mean 'neoverse-n1' or \
                 'neoverse-n2'? (`deburr cpu` lists the names)",
            ),
            (
                "select = [\"llsc_lop\"]\n".to_owned(),
                "deburr.toml:1: no rule is called `llsc_lop`; did you mean `llsc-loop`? (`deburr rules` lists them)",
            ),
            (
                "[severity]\nllsc-loop = \"off\"\noutlined-atomics = \"off\"\n".to_owned(),
                "deburr.toml:3: no rule is called `outlined-atomics`; did you mean `outlined-atomic`? (`deburr \
                 rules` lists them)",
            ),
            (
                "[severity]\nllsc-loop = \"warn\"\n".to_owned(),
                "deburr.toml:2: a severity is one of note, warning, error, off",
            ),
            (
                "fail-on = \"notes\"\n".to_owned(),
                "deburr.toml:1: `fail-on` is one of note, warning, error, never",
            ),
            ("selct = []\n".to_owned(), "deburr.toml:1: unknown key `selct`; did you mean `select`?"),
        ] {
            assert_eq!(refused(&text), expected, "{text}");
        }
        assert!(refused("[[guard]\n").starts_with("deburr.toml:1: "), "{}", refused("[[guard]\n"));
    }
}

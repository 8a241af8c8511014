//! `deburr.toml`: what the user states apart from the command line. Found in the current folder or the
//! nearest one above it.
//!
//! In: TOML 1.0 text. Out: [`Config`], or a complaint with the line. Unknown keys are faults: a misspelt
//! guard that was passed over would fail a build, and a misspelt `file` would guard or allow too much.

use super::allow::{self, Allowance, RawAllowance};
use super::guard::{self, Guard, RawGuard};
use super::source::{Names, Source};
use super::trust::distrust;
use crate::config::fail_on::{FailOn, Failing};
use crate::names::{CLAIM, nearest, rule_named};
use clap::ValueEnum;
use deburr_core::StatedGuard;
use deburr_core::finding::Severity;
use deburr_core::report::PlacedFinding;
use deburr_cpu::{Arch, Target};
use deburr_text::ShownPath as _;
use rustix::fs::OFlags;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The file's name.
pub(crate) const NAME: &str = "deburr.toml";
/// More bytes than any configuration has that somebody wrote: thousands of allowances are a MiB.
const LARGEST: u64 = 64 << 20;
/// Keys of the file and of its tables, for suggestions.
const KEYS: [&str; 17] = [
    "target",
    "baseline",
    "select",
    "ignore",
    "preview",
    "strict",
    "include-runtime",
    "fail-on",
    "severity",
    "allow",
    "guard",
    "rule",
    "function",
    "file",
    "count",
    "implies",
    "reason",
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
    /// Whether the baseline is each file's own claim.
    pub(crate) claims: bool,
    /// Ids of the rules to run; empty: all.
    pub(crate) select: Vec<&'static str>,
    pub(crate) ignore: Vec<&'static str>,
    pub(crate) preview: bool,
    /// Whether notes on what is not proven are warnings.
    pub(crate) strict: bool,
    /// Whether findings in language runtimes count.
    pub(crate) include_runtime: bool,
    pub(crate) fail_on: Option<Failing>,
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
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    include_runtime: bool,
    fail_on: Option<Spanned<Names>>,
    #[serde(default)]
    severity: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    allow: Vec<Spanned<RawAllowance>>,
    #[serde(default)]
    guard: Vec<Spanned<RawGuard>>,
}

impl Config {
    /// Reads the file that is given, or the one that is found.
    pub(crate) fn read(given: Option<&Path>) -> Result<Config, String> {
        let Some(path) = given.map(Path::to_path_buf).or_else(found) else { return Ok(Config::default()) };
        let fault = |error: io::Error| format!("{}: {error}", path.shown());
        let file = match given {
            Some(_) => File::open(&path).map_err(fault)?,
            None => opened(&path)?,
        };
        let text = io::read_to_string(file.take(LARGEST + 1)).map_err(fault)?;
        if text.len() as u64 > LARGEST {
            return Err(format!(
                "{}: has more than {} MiB; expected a configuration",
                path.shown(),
                LARGEST >> 20
            ));
        }
        let config = Config::parse(&text, &path.shown())?;
        Ok(Config { path: Some(path), ..config })
    }

    pub(super) fn parse(text: &str, path: &str) -> Result<Config, String> {
        let source = Source::new(text, path);
        let document: Document = toml::from_str(text)
            .map_err(|error| source.fault(error.span().unwrap_or_default(), &complaint(error.message())))?;
        let fail_on = document.fail_on.map(|names| failing(names, &source)).transpose()?.flatten();
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
            claims: document.baseline.as_ref().is_some_and(|names| names.get_ref().is_only(CLAIM)),
            baseline: match document.baseline {
                Some(names) if names.get_ref().is_only(CLAIM) => Vec::new(),
                names => source.machines("baseline", names)?,
            },
            select: source.rules(document.select)?,
            ignore: source.rules(document.ignore)?,
            preview: document.preview,
            strict: document.strict,
            include_runtime: document.include_runtime,
            fail_on,
            severity,
            allowances: allowances.collect::<Result<_, _>>()?,
            guards: guards.collect::<Result<_, _>>()?,
        })
    }

    /// The guards that speak of a file.
    pub(crate) fn guards_for(&self, path: &str, arch: Option<Arch>) -> Vec<StatedGuard<'_>> {
        guard::of_file(&self.guards, path, arch)
    }

    /// Gives findings the severity that the user wants their rules to have, and where nothing is stated of the rule,
    /// notes on what is not proven the one of a strict check.
    pub(crate) fn change_severities(&self, findings: &mut [PlacedFinding]) {
        if self.severity.is_empty() && !self.strict {
            return;
        }
        for finding in findings {
            let is_unproven = finding.evidence.get("because").is_some();
            match self.severity.get(&*finding.rule) {
                Some(Some(severity)) => finding.severity = *severity,
                _ if self.strict && is_unproven => finding.severity = finding.severity.max(Severity::Warning),
                _ => {}
            }
        }
    }
}

/// What `fail-on` says: one severity, `undecided`, or a list of them.
fn failing(names: Spanned<Names>, source: &Source<'_>) -> Result<Option<Failing>, String> {
    const KNOWN: &str = "`fail-on` is note, warning, error, undecided, a list of them, or never";
    let span = names.span();
    let list = names.into_inner().list().into_iter().map(|name| FailOn::from_str(&name, false));
    let list: Vec<FailOn> = list.collect::<Result<_, _>>().map_err(|_| source.fault(span.clone(), KNOWN))?;
    Failing::of(&list).map_err(|_| source.fault(span, KNOWN))
}

/// What has the configuration's name in the current folder or the nearest one above it, whatever it is.
fn found() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(NAME)).find(|path| path.symlink_metadata().is_ok())
}

/// A configuration that was found, if it is a file and nobody else can have written it.
fn opened(path: &Path) -> Result<File, String> {
    let name = path.shown();
    // A FIFO would wait for who writes to it.
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
    let explained = |what: &str| {
        format!("{name}: {what}; expected a configuration: remove it, or name another one (--config FILE)")
    };
    let file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(explained("a link to what is not there"));
        }
        Err(error) => return Err(format!("{name}: {error}")),
    };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(explained("no regular file"));
    }
    match distrust(path, &file) {
        Ok(None) => Ok(file),
        Ok(Some(reason)) => Err(format!(
            "{name}: {reason}, so that it is not read: if you trust it, name it (--config {name}); if not, work in \
             another folder"
        )),
        Err(error) => Err(format!("{name}: {error}")),
    }
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
    use deburr_cpu::Feature;

    fn refused(text: &str) -> String {
        Config::parse(text, NAME).unwrap_err()
    }

    #[test]
    fn guard_speaks_of_its_files_and_architecture() {
        let config = Config::parse(
            "[[guard]]\nfunction = \"*_avx2\"\nfile = \"libx.so*\"\nimplies = [\"avx2\", \"SSE4.2\"]\nreason = \"init_x checks\"\n
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
    fn machines_rules_and_severities_are_read() {
        let text = "target = \"neoverse-n1\"\nbaseline = [\"x86-64-v2\", \"armv8.0-a\"]\n\
                    select = [\"llsc-loop\", \"above-baseline\"]\nignore = \"llsc-loop\"\nstrict = true\nfail-on = \"error\"\n\
                    [severity]\noutlined-atomic = \"error\"\nllsc-loop = \"off\"\n";
        let config = Config::parse(text, NAME).unwrap();
        assert_eq!((config.target.len(), config.baseline.len()), (1, 2));
        assert_eq!((config.select, config.ignore), (vec!["llsc-loop", "above-baseline"], vec!["llsc-loop"]));
        let error = Failing { threshold: Some(Severity::Error), undecided: false };
        assert_eq!((config.fail_on, config.strict), (Some(error), true));
        let list = Config::parse("fail-on = [\"error\", \"undecided\"]\n", NAME).unwrap();
        assert_eq!(list.fail_on, Some(Failing { undecided: true, ..error }));
        let expected = [("llsc-loop", None), ("outlined-atomic", Some(Severity::Error))];
        assert_eq!(config.severity, BTreeMap::from(expected));
    }

    #[test]
    fn fault_is_reported_with_its_line_and_a_suggestion() {
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
                 'neoverse-n2' or 'neoverse-n3'? (`deburr cpu` lists the names)",
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
                "deburr.toml:1: `fail-on` is note, warning, error, undecided, a list of them, or never",
            ),
            (
                "\nfail-on = [\"never\", \"undecided\"]\n".to_owned(),
                "deburr.toml:2: `fail-on` is note, warning, error, undecided, a list of them, or never",
            ),
            ("selct = []\n".to_owned(), "deburr.toml:1: unknown key `selct`; did you mean `select`?"),
        ] {
            assert_eq!(refused(&text), expected, "{text}");
        }
        assert!(refused("[[guard]\n").starts_with("deburr.toml:1: "), "{}", refused("[[guard]\n"));
    }
}

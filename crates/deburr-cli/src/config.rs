//! `deburr.toml`: what the user states beside the command line. Found in the current folder or the nearest one above it.
//!
//! In: TOML 1.0 text. Out: [`Config`], or a complaint with the line. Unknown keys are faults: a misspelt guard that was
//! passed over would fail a build, and a misspelt `file` would guard too much.

use crate::machine::nearest;
use deburr_core::pattern;
use deburr_core::report::GuardUse;
use deburr_core::{Report, StatedGuard};
use deburr_cpu::{Arch, Feature, FeatureSet, level_named};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The file's name.
const NAME: &str = "deburr.toml";
/// Keys of the file and of its tables, for suggestions.
const KEYS: [&str; 6] = ["guard", "function", "symbol", "file", "implies", "reason"];

/// What is configured.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The stated guards, in the order of the file.
    pub(crate) guards: Vec<Guard>,
}

/// A guard that the user states.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    function: String,
    /// The files it speaks of; `None`: all.
    file: Option<String>,
    features: Vec<(Arch, FeatureSet)>,
    /// `deburr.toml:3`.
    place: String,
}

/// A stated guard that should be taken out.
#[derive(Debug, Serialize)]
pub(crate) struct StaleGuard {
    pub(crate) function: String,
    pub(crate) reason_it_is_stale: &'static str,
    #[serde(skip)]
    pub(crate) place: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    guard: Vec<Spanned<RawGuard>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGuard {
    #[serde(alias = "symbol")]
    function: Spanned<String>,
    file: Option<String>,
    implies: Spanned<Names>,
    reason: Spanned<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a name, or a list of names")]
enum Names {
    One(String),
    Several(Vec<String>),
}

impl Config {
    /// Reads the file that is given, or the one that is found.
    pub(crate) fn read(given: Option<&Path>) -> Result<Config, String> {
        let Some(path) = given.map(Path::to_path_buf).or_else(found) else { return Ok(Config::default()) };
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Config::parse(&text, &path.display().to_string())
    }

    fn parse(text: &str, path: &str) -> Result<Config, String> {
        let place = |span: Range<usize>| {
            let before = text.as_bytes().get(..span.start).unwrap_or_default();
            format!("{path}:{}", before.iter().filter(|byte| **byte == b'\n').count() + 1)
        };
        let document: Document = toml::from_str(text).map_err(|error| {
            format!("{}: {}", place(error.span().unwrap_or_default()), complaint(error.message()))
        })?;
        let mut guards = Vec::new();
        for raw in document.guard {
            let at = place(raw.span());
            let raw = raw.into_inner();
            let fault = |span: Range<usize>, text: String| format!("{}: {text}", place(span));
            if raw.function.get_ref().is_empty() {
                return Err(fault(raw.function.span(), "`function` is empty".to_owned()));
            }
            if raw.reason.get_ref().trim().is_empty() {
                return Err(fault(
                    raw.reason.span(),
                    "`reason` is empty: say why the guard holds".to_owned(),
                ));
            }
            let span = raw.implies.span();
            let names = match raw.implies.into_inner() {
                Names::One(name) => vec![name],
                Names::Several(names) => names,
            };
            if names.is_empty() {
                return Err(fault(span, "`implies` is empty".to_owned()));
            }
            let mut features: Vec<(Arch, FeatureSet)> = Vec::new();
            for name in &names {
                features.push(implied(name).map_err(|text| fault(span.clone(), text))?);
            }
            guards.push(Guard { function: raw.function.into_inner(), file: raw.file, features, place: at });
        }
        Ok(Config { guards })
    }

    /// The guards that speak of a file.
    pub(crate) fn guards_for(&self, path: &str, arch: Option<Arch>) -> Vec<StatedGuard<'_>> {
        let stated = self.guards.iter().enumerate().filter_map(|(id, guard)| {
            let features = guard.features.iter().filter(|(of, _)| Some(*of) == arch);
            let features = features.fold(FeatureSet::EMPTY, |all, (_, features)| all.union(*features));
            let is_meant = guard.file.as_deref().is_none_or(|file| is_file(file, path));
            (is_meant && !features.is_empty()).then_some(StatedGuard {
                id,
                function: &guard.function,
                features,
            })
        });
        stated.collect()
    }
}

/// Whether a pattern describes a path, or where it has no folder the file's name.
fn is_file(wanted: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    pattern::matches(wanted, path)
        || pattern::matches(&format!("*/{wanted}"), path)
        || !wanted.contains('/') && pattern::matches(wanted, name)
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

/// The features that a name stands for: a level, or one feature and what it implies.
fn implied(name: &str) -> Result<(Arch, FeatureSet), String> {
    if let Some(level) = level_named(name) {
        return Ok((level.arch, level.features));
    }
    // `SSE4.2` and `sse4_2` are one.
    let plain = |name: &str| {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect::<String>()
    };
    let known = |feature: &Feature| {
        plain(feature.name()) == plain(name)
            || feature.name().strip_prefix("FEAT_").is_some_and(|short| plain(short) == plain(name))
    };
    match Feature::all().find(known) {
        Some(feature) => Ok((feature.arch(), FeatureSet::of(&[feature]).with_implied())),
        None => {
            let lower: Vec<String> = Feature::all().map(|feature| feature.name().to_lowercase()).collect();
            let nearest = nearest(name, lower.iter().map(String::as_str));
            let nearest = nearest
                .and_then(|nearest| Feature::all().find(|feature| feature.name().to_lowercase() == nearest));
            Err(match nearest {
                Some(nearest) => {
                    format!("no feature or level is called `{name}`; did you mean `{}`?", nearest.name())
                }
                None => format!("no feature or level is called `{name}`"),
            })
        }
    }
}

/// What became of the stated guards over a run.
#[derive(Debug)]
pub(crate) struct Uses(Vec<GuardUse>);

impl Uses {
    /// Of no file yet.
    pub(crate) fn of(config: &Config) -> Uses {
        let fresh = |id| GuardUse { id, functions: 0, is_needed: false };
        Uses((0..config.guards.len()).map(fresh).collect())
    }

    /// Adds one file.
    pub(crate) fn add(&mut self, report: &Report) {
        for used in &report.stated_guards {
            if let Some(sum) = self.0.get_mut(used.id) {
                sum.functions += used.functions;
                sum.is_needed |= used.is_needed;
            }
        }
    }

    /// The guards that did nothing in the whole run.
    pub(crate) fn stale(&self, config: &Config) -> Vec<StaleGuard> {
        let idle = self.0.iter().zip(&config.guards).filter(|(used, _)| !used.is_needed);
        idle.map(|(used, guard)| StaleGuard {
            function: guard.function.clone(),
            reason_it_is_stale: match used.functions {
                0 => "it matches no function of the run",
                _ => "no verdict depends on it: what it guards is proven, or not reached, without it",
            },
            place: guard.place.clone(),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Config::parse(text, "deburr.toml").unwrap_err()
    }

    #[test]
    fn guard_speaks_of_its_files_and_architecture() {
        let config = Config::parse(
            "[[guard]]\nfunction = \"*_avx2\"\nfile = \"libx.so*\"\nimplies = [\"avx2\", \"SSE4.2\"]\nreason = \"init_x asks\"\n
             [[guard]]\nsymbol = \"count\"\nimplies = \"armv8.1-a\"\nreason = \"ours\"\n",
            "deburr.toml",
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
    fn file_is_meant_by_path_or_by_name() {
        assert!(
            is_file("lib/*.so", "usr/lib/x.so")
                && is_file("x.so", "usr/lib/x.so")
                && is_file("usr/*", "usr/a/b")
        );
        assert!(!is_file("x.so", "usr/lib/xx.so") && !is_file("lib/x.so", "usr/mylib/x.so"));
    }

    #[test]
    fn fault_is_told_with_its_line_and_a_suggestion() {
        let whole = "[[guard]]\nfunction = \"a\"\nimplies = \"AVX2\"\nreason = \"r\"\n";
        assert!(Config::parse(whole, "deburr.toml").is_ok() && Config::parse("", "deburr.toml").is_ok());
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
        ] {
            assert_eq!(refused(&text), expected, "{text}");
        }
        assert!(refused("[[guard]\n").starts_with("deburr.toml:1: "), "{}", refused("[[guard]\n"));
    }
}

//! Stated guards: `[[guard]]` tables → what the core learns of each file, and which of them serve no purpose.
//!
//! In: tables as the parser has them. Out: [`Guard`]s, chosen by file and architecture, and at the end of a
//! run those that are stale.

use super::source::{Names, Source};
use crate::input::path::is_file;
use crate::names::nearest;
use deburr_core::report::GuardUse;
use deburr_core::{Report, StatedGuard};
use deburr_cpu::{Arch, Feature, FeatureSet, level_named};
use serde::{Deserialize, Serialize};
use toml::Spanned;

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

impl Guard {
    /// Where it is stated: `deburr.toml:3`.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }
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
pub(super) struct RawGuard {
    #[serde(alias = "symbol")]
    function: Spanned<String>,
    file: Option<String>,
    implies: Spanned<Names>,
    reason: Spanned<String>,
}

/// Understands one table.
pub(super) fn parse(raw: Spanned<RawGuard>, source: &Source<'_>) -> Result<Guard, String> {
    let place = source.place(raw.span());
    let raw = raw.into_inner();
    let function = source.name("function", raw.function)?;
    source.filled("reason", raw.reason, ": say why the guard holds")?;
    let span = raw.implies.span();
    let names = raw.implies.into_inner().list();
    if names.is_empty() {
        return Err(source.fault(span, "`implies` is empty"));
    }
    let features = names.iter().map(|name| implied(name).map_err(|text| source.fault(span.clone(), &text)));
    Ok(Guard {
        function,
        file: raw.file.map(|file| deburr_text::one_line(&file).into_owned()),
        features: features.collect::<Result<_, _>>()?,
        place,
    })
}

/// The guards that speak of a file.
pub(super) fn of_file<'g>(guards: &'g [Guard], path: &str, arch: Option<Arch>) -> Vec<StatedGuard<'g>> {
    let stated = guards.iter().enumerate().filter_map(|(id, guard)| {
        let for_arch = guard.features.iter().filter(|(of, _)| Some(*of) == arch);
        let features = for_arch.fold(FeatureSet::EMPTY, |all, (_, features)| all.union(*features));
        let is_meant = guard.file.as_deref().is_none_or(|file| is_file(file, path));
        let is_stated = is_meant && !features.is_empty();
        is_stated.then_some(StatedGuard { id, function: &guard.function, features })
    });
    stated.collect()
}

/// The features that a name means: a level, or one feature and what it implies.
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
            let is_near = nearest(name, lower.iter().map(String::as_str));
            let meant = is_near
                .and_then(|nearest| Feature::all().find(|feature| feature.name().to_lowercase() == nearest));
            Err(match meant {
                Some(meant) => {
                    format!("no feature or level is called `{name}`; did you mean `{}`?", meant.name())
                }
                None => format!("no feature or level is called `{name}`"),
            })
        }
    }
}

/// What became of the stated guards over a run.
#[derive(Debug)]
pub(crate) struct GuardUses(Vec<GuardUse>);

impl GuardUses {
    /// Of no file yet.
    pub(crate) fn of(guards: &[Guard]) -> GuardUses {
        let fresh = |id| GuardUse { id, functions: 0, is_needed: false };
        GuardUses((0..guards.len()).map(fresh).collect())
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
    pub(crate) fn stale(&self, guards: &[Guard]) -> Vec<StaleGuard> {
        let idle = self.0.iter().zip(guards).filter(|(used, _)| !used.is_needed);
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

//! The text of a configuration: where its parts are, for complaints with a line, and its values checked one
//! by one.

use crate::names::{machines_named, rule_named};
use deburr_cpu::Target;
use deburr_text::one_line;
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a name, or a list of names")]
pub(super) enum Names {
    One(String),
    Several(Vec<String>),
}

impl Names {
    /// Whether it is this one name.
    pub(super) fn is_only(&self, name: &str) -> bool {
        match self {
            Names::One(only) => only == name,
            Names::Several(names) => matches!(names.as_slice(), [only] if only == name),
        }
    }

    pub(super) fn list(self) -> Vec<String> {
        match self {
            Names::One(name) => vec![name],
            Names::Several(names) => names,
        }
    }
}

/// The text of a configuration, for complaints about places in it.
pub(super) struct Source<'t> {
    path: &'t str,
    /// Where its lines end: allowances may be thousands.
    line_ends: Vec<usize>,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &str, path: &'t str) -> Source<'t> {
        Source { path, line_ends: text.match_indices('\n').map(|(at, _)| at).collect() }
    }

    /// `deburr.toml:3`.
    pub(super) fn place(&self, span: Range<usize>) -> String {
        format!("{}:{}", self.path, self.line_ends.partition_point(|end| *end < span.start) + 1)
    }

    pub(super) fn fault(&self, span: Range<usize>, text: &str) -> String {
        format!("{}: {}", self.place(span), one_line(text))
    }

    /// A name that files are compared with, in which what acts is spelt out as in theirs.
    pub(super) fn name(&self, key: &str, text: Spanned<String>) -> Result<String, String> {
        self.filled(key, text, "").map(|text| one_line(&text).into_owned())
    }

    /// A text that must say something; `hint` is what, after a colon.
    pub(super) fn filled(&self, key: &str, text: Spanned<String>, hint: &str) -> Result<String, String> {
        if text.get_ref().trim().is_empty() {
            return Err(self.fault(text.span(), &format!("`{key}` is empty{hint}")));
        }
        Ok(text.into_inner())
    }

    /// Rules, by their ids.
    pub(super) fn rules(&self, names: Option<Spanned<Names>>) -> Result<Vec<&'static str>, String> {
        let Some(names) = names else { return Ok(Vec::new()) };
        let span = names.span();
        let ids = names.into_inner().list().into_iter().map(|name| rule_named(&name));
        ids.collect::<Result<_, _>>().map_err(|text| self.fault(span, &text))
    }

    /// Machines, as their options take them.
    pub(super) fn machines(&self, key: &str, names: Option<Spanned<Names>>) -> Result<Vec<Target>, String> {
        let Some(names) = names else { return Ok(Vec::new()) };
        let span = names.span();
        machines_named(key, &names.into_inner().list()).map_err(|text| self.fault(span, &text))
    }
}

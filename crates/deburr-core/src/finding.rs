//! What a rule says about one place in the code. A large file has findings by the hundred thousand with few distinct
//! texts, so texts are shared.

use crate::address::{Extent, Svma};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// How much a finding matters. Ordered: a note is less than a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing to repair.
    Note,
    /// Costs performance, or may.
    Warning,
    /// Does not run on the baseline that was requested.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One value of the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Value {
    /// A term or a name.
    Text(Arc<str>),
    /// A count or a size in bytes.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Several terms.
    List(Vec<String>),
}

/// The facts that a finding rests on, by name; a handful, in the order in which the rule states them, shared by its
/// clones. Serialized as a map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence(Arc<[(Cow<'static, str>, Value)]>);

impl Evidence {
    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(stated, _)| *stated == name).map(|(_, value)| value)
    }

    /// The same facts, and more after them.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = (&'static str, Value)>) -> Evidence {
        let more = more.into_iter().map(|(name, value)| (name.into(), value));
        self.0.iter().cloned().chain(more).collect()
    }

    /// All facts, in the order in which the rule states them.
    pub fn facts(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}

impl From<Vec<(&'static str, Value)>> for Evidence {
    fn from(facts: Vec<(&'static str, Value)>) -> Evidence {
        facts.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }
}

impl<const N: usize> From<[(&'static str, Value); N]> for Evidence {
    fn from(facts: [(&'static str, Value); N]) -> Evidence {
        facts.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }
}

impl FromIterator<(Cow<'static, str>, Value)> for Evidence {
    fn from_iter<I: IntoIterator<Item = (Cow<'static, str>, Value)>>(facts: I) -> Evidence {
        Evidence(facts.into_iter().collect())
    }
}

impl<'de> Deserialize<'de> for Evidence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Evidence, D::Error> {
        deserializer.deserialize_map(EvidenceVisitor)
    }
}

/// Reads a map as facts in its order.
struct EvidenceVisitor;

impl<'de> Visitor<'de> for EvidenceVisitor {
    type Value = Evidence;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of facts")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Evidence, M::Error> {
        let mut facts = Vec::new();
        while let Some(fact) = map.next_entry::<String, Value>()? {
            facts.push((Cow::Owned(fact.0), fact.1));
        }
        Ok(facts.into_iter().collect())
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The first of some names, and how many others there are: `a, b and 3 more`.
pub(crate) fn first_names(names: impl ExactSizeIterator<Item = String>, limit: usize) -> String {
    let others = names.len().saturating_sub(limit);
    let first = names.take(limit).collect::<Vec<String>>().join(", ");
    if others == 0 { first } else { format!("{first} and {others} more") }
}

/// What a rule says about one place in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// The instruction to point at.
    pub at: Svma,
    /// The code it is about; it holds `at`, which need not be its start.
    pub extent: Extent,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence for people, without the place.
    pub message: Arc<str>,
    /// The facts that support it.
    pub evidence: Evidence,
}

/// A place in one file of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The file, as the caller calls it.
    pub path: Arc<str>,
    /// The function's name, as the file has it; `None` where it has none.
    pub function: Option<Arc<str>>,
    /// The section, in relocatable objects, whose `address` is an offset in it.
    pub section: Option<Arc<str>>,
    /// The address as other tools show it.
    pub address: u64,
}

/// What a rule says about a place in one file, by comparison with another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcrossFinding {
    /// The rule's id.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The place it is about.
    pub at: Located,
    /// The place it is compared with.
    pub other: Located,
    /// One sentence for people, without the place.
    pub message: Arc<str>,
    /// The facts that support it.
    pub evidence: Evidence,
}

//! What other files export of the CPU: which of their words in memory, and of their functions' results, say what it
//! has.

use crate::function::reach::domain::value::Value;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What one file exports of the CPU to others.
#[derive(Debug, Clone, Default)]
pub struct Knowledge {
    /// By the name of exported data, its words of known meaning: the offset from its start, the bytes, what they hold.
    pub(crate) words: HashMap<Box<str>, Vec<(u64, u8, Value)>>,
    /// By the name of an exported function, what it returns.
    pub(crate) returns: HashMap<Box<str>, Value>,
    /// Hashes of all names that it exports, sorted: they hide those of the files after it. There can be many.
    pub(crate) exports: Vec<u64>,
}

pub(crate) fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// The first file that defines a name.
pub(crate) fn definition<'k>(foreign: &[&'k Knowledge], name: &str) -> Option<&'k Knowledge> {
    let hash = hash(name);
    foreign.iter().find(|knowledge| knowledge.exports.binary_search(&hash).is_ok()).copied()
}

/// Whether one of the files at hand defines a name.
pub(crate) fn is_defined(foreign: &[&Knowledge], name: &str) -> bool {
    definition(foreign, name).is_some()
}

/// What the imported function of a name returns.
pub(crate) fn returned<'k>(foreign: &[&'k Knowledge], name: &str) -> Option<&'k Value> {
    definition(foreign, name)?.returns.get(name)
}

impl Knowledge {
    /// Whether nothing in it is informative.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.returns.is_empty()
    }
}

/// The words of the exported data of a name: the offset from its start, the bytes, what they hold.
pub(crate) fn words<'k>(foreign: &[&'k Knowledge], name: &str) -> Option<&'k Vec<(u64, u8, Value)>> {
    definition(foreign, name)?.words.get(name)
}

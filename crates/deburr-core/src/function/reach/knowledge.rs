//! What a file tells the files that use it: which of its words, and of its functions' results, tell what the CPU has.
//!
//! In: a shared library after [`learn`]. Out: [`Knowledge`], by the names under which the loader binds other files to
//! it. Versions of symbols are not told apart, and what a function writes through its arguments is not followed.

use super::learn::{Learnt, learn};
use super::memory::{Memory, import_of};
use super::value::Value;
use super::{World, words};
use crate::address::Svma;
use crate::function::Program;
use crate::image::{Image, Linkage};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What one file tells others.
#[derive(Debug, Clone, Default)]
pub struct Knowledge {
    /// By the name of exported data, its words of known meaning: the offset from its start, the bytes, what they hold.
    words: HashMap<Box<str>, Vec<(u64, u8, Value)>>,
    /// By the name of an exported function, what it returns.
    returns: HashMap<Box<str>, Value>,
    /// Hashes of all names that it exports, sorted: they hide those of the files after it. There can be many.
    exports: Vec<u64>,
}

impl Knowledge {
    /// Learns it. `foreign`: the files that this one uses, in the loader's order.
    pub fn learn(
        image: &Image<'_>,
        linkage: &Linkage<'_>,
        program: &Program,
        foreign: &[&Knowledge],
    ) -> Knowledge {
        let mut world = World::new(image, linkage, program, foreign);
        let known = words::known(&world);
        // Which functions are above the first level does not matter to other files.
        let learnt = learn(&mut world, known, &BTreeSet::new());
        Knowledge::of(&world, &learnt)
    }

    fn of(world: &World<'_, '_>, learnt: &Learnt) -> Knowledge {
        let mut knowledge = Knowledge::default();
        let mut exported: BTreeMap<Svma, Vec<&str>> = BTreeMap::new();
        for object in &world.linkage.exported_objects {
            let words = words_in(world, &learnt.memory, object.extent.start.0..object.extent.end.0);
            if !words.is_empty() {
                knowledge.words.insert(object.name.into(), words);
            }
            knowledge.exports.push(hash(object.name));
        }
        for symbol in world.image.symbols.iter().filter(|symbol| symbol.is_global) {
            if world.linkage.exports.binary_search(&symbol.svma).is_ok() {
                exported.entry(symbol.svma).or_default().push(&symbol.name);
            }
        }
        for (svma, names) in exported {
            let start = world.image.code_offset(svma);
            let facts = start.and_then(|start| learnt.facts.get(&start));
            let returned = facts.map(|facts| &facts.returned).filter(|returned| returned.discriminates(true));
            for name in names {
                if let Some(returned) = returned {
                    knowledge.returns.insert(name.into(), abroad(world, returned));
                }
                knowledge.exports.push(hash(name));
            }
        }
        knowledge.exports.sort_unstable();
        knowledge.exports.dedup();
        knowledge
    }

    /// Whether nothing in it tells anything.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.returns.is_empty()
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// The words of known meaning in a range, by their offset in it.
fn words_in(world: &World<'_, '_>, memory: &Memory, range: std::ops::Range<u64>) -> Vec<(u64, u8, Value)> {
    let words = memory.words.range((range.start, 0)..(range.end, 0));
    let words = words.filter(|((at, _), _)| import_of(*at).is_none());
    words.map(|(&(at, width), value)| (at - range.start, width, abroad(world, value))).collect()
}

/// A value as another file sees it: an address of this file is a mere number there.
fn abroad(world: &World<'_, '_>, value: &Value) -> Value {
    let is_address = value.choices().iter().any(|&(value, _)| world.is_place(Svma(value)));
    if is_address { value.as_bits() } else { value.clone() }
}

/// The first file that defines a name.
fn definition<'k>(foreign: &[&'k Knowledge], name: &str) -> Option<&'k Knowledge> {
    let hash = hash(name);
    foreign.iter().find(|knowledge| knowledge.exports.binary_search(&hash).is_ok()).copied()
}

/// Whether one of the files at hand defines a name.
pub(super) fn is_defined(foreign: &[&Knowledge], name: &str) -> bool {
    definition(foreign, name).is_some()
}

/// What the imported function of a name returns.
pub(super) fn returned<'k>(foreign: &[&'k Knowledge], name: &str) -> Option<&'k Value> {
    definition(foreign, name)?.returns.get(name)
}

/// Adds the words of the imported data of a name, which lies at an address; what is known by name stays.
pub(super) fn add_words(foreign: &[&Knowledge], name: &str, at: u64, memory: &mut Memory) {
    let words = definition(foreign, name).and_then(|knowledge| knowledge.words.get(name));
    for (offset, width, value) in words.into_iter().flatten() {
        memory.words.entry((at.saturating_add(*offset), *width)).or_insert_with(|| value.clone());
    }
}

//! What a file exports to the files that use it: which of its words, and of its functions' results, say what the CPU
//! has.
//!
//! In: a shared library after [`learn`]. Out: [`Knowledge`], by the names under which the loader binds other files to
//! it. Versions of symbols are not distinguished, and what a function writes through its arguments is not followed.

use crate::address::Svma;
use crate::function::Program;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::foreign::import_of;
use crate::function::reach::file::knowledge::{Knowledge, hash};
use crate::function::reach::file::view::View;
use crate::function::reach::learn::fixpoint::learn;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::learn::seeds;
use crate::function::reach::machine::memory::Memory;
use crate::image::{Image, Linkage};
use std::collections::{BTreeMap, BTreeSet};

impl Knowledge {
    /// Learns it. `foreign`: the files that this one uses, in the loader's order.
    pub fn learn(
        image: &Image<'_>,
        linkage: &Linkage<'_>,
        program: &Program,
        foreign: &[&Knowledge],
    ) -> Knowledge {
        let file = View::new(image, linkage, program, foreign);
        let known = seeds::known(&file);
        // Which functions are above the first level does not matter to other files.
        let learnt = learn(&file, known, &BTreeSet::new());
        Knowledge::of(&file, &learnt)
    }

    fn of(file: &View<'_, '_>, learnt: &Learnt) -> Knowledge {
        let mut knowledge = Knowledge::default();
        let mut exported: BTreeMap<Svma, Vec<&str>> = BTreeMap::new();
        for object in &file.linkage.exported_objects {
            let words = words_in(file, &learnt.memory, object.extent.start.0..object.extent.end.0);
            if !words.is_empty() {
                knowledge.words.insert(object.name.into(), words);
            }
            knowledge.exports.push(hash(object.name));
        }
        for symbol in file.image.symbols.iter().filter(|symbol| symbol.is_global) {
            if file.linkage.exports.binary_search(&symbol.svma).is_ok() {
                exported.entry(symbol.svma).or_default().push(&symbol.name);
            }
        }
        for (svma, names) in exported {
            let start = file.image.code_offset(svma);
            let facts = start.and_then(|start| learnt.facts.get(&start));
            let returned = facts.map(|facts| &facts.returned).filter(|returned| returned.discriminates(true));
            for name in names {
                if let Some(returned) = returned {
                    knowledge.returns.insert(name.into(), abroad(file, returned));
                }
                knowledge.exports.push(hash(name));
            }
        }
        knowledge.exports.sort_unstable();
        knowledge.exports.dedup();
        knowledge
    }
}

/// The words of known meaning in a range, by their offset in it.
fn words_in(file: &View<'_, '_>, memory: &Memory, range: std::ops::Range<u64>) -> Vec<(u64, u8, Value)> {
    let words = memory.words.range((range.start, 0)..(range.end, 0));
    let words = words.filter(|((at, _), _)| import_of(*at).is_none());
    words.map(|(&(at, width), value)| (at - range.start, width, abroad(file, value))).collect()
}

/// A value as another file sees it: an address of this file is a mere number there.
fn abroad(file: &View<'_, '_>, value: &Value) -> Value {
    let is_address = value.choices().iter().any(|&(value, _)| file.is_place(Svma(value)));
    if is_address { value.as_bits() } else { value.clone() }
}

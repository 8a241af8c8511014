//! Which words of memory say what the CPU has: those that functions store answers to. `Tainted` is ⊤ that carries
//! taint.

use crate::address::{CodeOffset, Svma};
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::{FactsByFunction, stored_words};
use crate::function::reach::learn::sources::is_pointer;
use crate::function::reach::machine::memory::initial;
use std::collections::{BTreeMap, BTreeSet};

/// The words to which something informative is stored, with what they hold at the start.
pub(crate) fn informative_words(
    file: &View<'_, '_>,
    facts: &FactsByFunction,
    queriers: &BTreeSet<CodeOffset>,
) -> BTreeMap<(u64, u8), Value> {
    let mut found = BTreeMap::new();
    let mut lost: Vec<(u64, u8)> = Vec::new();
    let mut hidden: Vec<(u64, u8)> = Vec::new();
    let by_queriers =
        facts.iter().filter(|(start, _)| queriers.contains(start)).flat_map(|(_, facts)| &facts.stores);
    let by_queriers: BTreeSet<(u64, u8)> = by_queriers.map(|stored| (stored.at, stored.width)).collect();
    let told = told_words(facts);
    for ((at, width), (value, cleared)) in stored_words(facts.values().map(AsRef::as_ref)) {
        if file.linkage.data_at(Svma(at)).is_none_or(|data| data.is_constant) {
            continue;
        }
        let may_be_tainted = by_queriers.contains(&(at, width));
        let initial = initial(file.linkage, at, width).unwrap_or(0);
        let mut joined = value.join(&Value::constant(initial));
        if !joined.discriminates(false) && !cleared.is_empty() && initial == 0 {
            // Set for some reason or other, and cleared where the CPU lacks the feature.
            joined = Value::Unknown.under(Proof::of(cleared)).join(&Value::constant(0)).truncate(width);
        }
        // An unknown value that a function which queries the CPU stores may be the answer.
        if may_be_tainted && value.choices().is_empty() && !joined.is_informative() {
            lost.push((at, width));
        }
        if joined.discriminates(may_be_tainted) {
            found.insert((at, width), joined);
        } else if told
            .get(&(at, width))
            .is_some_and(|told| told.discriminates(false) && !is_pointer(file, told))
        {
            // Some store says what the CPU has. What the word holds before, or what another function stores, hides it.
            hidden.push((at, width));
        }
    }
    for (at, width) in lost {
        let end = at.saturating_add(width.into());
        let is_covered = found
            .keys()
            .any(|&(from, stored): &(u64, u8)| from < end && at < from.saturating_add(stored.into()));
        if !is_covered {
            found.insert((at, width), Value::Tainted);
        }
    }
    for word in hidden {
        found.entry(word).or_insert(Value::Tainted);
    }
    found
}

/// By word, what the stores to it say whose values are known.
fn told_words(facts: &FactsByFunction) -> BTreeMap<(u64, u8), Value> {
    let mut told: BTreeMap<(u64, u8), Value> = BTreeMap::new();
    for stored in facts.values().flat_map(|facts| &facts.stores) {
        let is_known = stored.value.is_informative() || !stored.value.choices().is_empty();
        if is_known && !stored.value.is_made_after_check() {
            let value = told.entry((stored.at, stored.width)).or_insert_with(Value::none);
            *value = value.join(&stored.value);
        }
    }
    told
}

/// The words that some function stores to and loads as well.
pub(crate) fn updated_words(facts: &FactsByFunction) -> BTreeSet<(u64, u8)> {
    let updated = facts.values().flat_map(|facts| {
        let stored: BTreeSet<(u64, u8)> =
            facts.stores.iter().map(|stored| (stored.at, stored.width)).collect();
        let is_loaded = |&place: &(u64, u8)| facts.inputs.loads(place);
        stored.into_iter().filter(is_loaded).collect::<Vec<_>>()
    });
    updated.collect()
}

//! Addresses → what made the code there, from DWARF.
//!
//! In: a file with debug information. Out: the `DW_AT_producer` of the unit that holds an address. Units are read once; what
//! that can cost is bounded. Follows DWARF 5, section 3.1.1.

use super::Image;
use super::lines::Sections;
use crate::address::Svma;
use gimli::Reader;
use std::sync::Arc;

/// Maximum number of units that are read, as for the list of producers.
const UNITS: usize = 20_000;
/// Maximum number of ranges.
const RANGES: usize = 1 << 20;

/// What made the code of a file, unit by unit.
#[derive(Debug, Default)]
pub struct Producers {
    /// Where each range begins and ends, by address.
    ranges: Vec<(Svma, Svma, Arc<str>)>,
}

impl Producers {
    /// Reads the debug file, or without one the binary itself.
    pub fn of(image: &Image<'_>) -> Producers {
        let mut ranges = match Sections::of(image, ".debug_info") {
            Some(Sections::Borrowed(dwarf)) => ranges(&*dwarf),
            Some(Sections::Owned(dwarf)) => ranges(&*dwarf),
            None => Vec::new(),
        };
        ranges.sort_by_key(|&(start, ..)| start);
        Producers { ranges }
    }

    /// The producer of the unit that holds an address.
    pub fn at(&self, svma: Svma) -> Option<&str> {
        let after = self.ranges.partition_point(|&(start, ..)| start <= svma);
        let (_, end, producer) = self.ranges.get(after.checked_sub(1)?)?;
        (svma < *end).then_some(producer)
    }
}

/// The ranges of all units that say what made them.
fn ranges<R: Reader>(dwarf: &gimli::Dwarf<R>) -> Vec<(Svma, Svma, Arc<str>)> {
    let mut found = Vec::new();
    let mut units = dwarf.units();
    let mut seen = 0usize;
    let mut last: Option<Arc<str>> = None;
    while let Ok(Some(header)) = units.next() {
        seen = seen.saturating_add(1);
        if seen > UNITS || found.len() > RANGES {
            break;
        }
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Some(text) = producer(dwarf, &unit) else { continue };
        let text = match last.take().filter(|last| **last == *text) {
            Some(same) => same,
            None => Arc::from(text),
        };
        last = Some(text.clone());
        let Ok(mut of_unit) = dwarf.unit_ranges(&unit) else { continue };
        while let Ok(Some(range)) = of_unit.next() {
            if range.begin < range.end && found.len() <= RANGES {
                found.push((Svma(range.begin), Svma(range.end), text.clone()));
            }
        }
    }
    found
}

/// `DW_AT_producer` of a unit's root entry.
fn producer<R: Reader>(dwarf: &gimli::Dwarf<R>, unit: &gimli::Unit<R>) -> Option<String> {
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok()??;
    let value = root.attr_value(gimli::DW_AT_producer)?;
    let text = dwarf.attr_string(unit, value).ok()?.to_slice().ok()?.into_owned();
    Some(deburr_text::shown(&text).into_owned())
}

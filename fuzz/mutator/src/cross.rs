//! Two files → one: the contents of sections of the one over those of the same kind in the other.

use crate::file::{File, Part};
use crate::random::Sequence;

/// A copy of `one` with the contents of one to three sections from `other`, each over a section of the same kind and use, as far as
/// it reaches. It is no longer than `max_size`.
pub fn crossover(one: &[u8], other: &[u8], max_size: usize, seed: u64) -> Vec<u8> {
    let mut random = Sequence::scattered(seed);
    let mut crossed = one.get(..one.len().min(max_size)).unwrap_or_default().to_vec();
    let (into, from) = (File::parse(&crossed), File::parse(other));
    for _ in 0..1 + random.below(3) {
        let Some(section) = random.pick(&into.sections) else { break };
        let is_alike = |kind: u64, flags: u64| kind == section.kind && flags == section.flags;
        let alike = from.sections.iter().filter(|section| is_alike(section.kind, section.flags));
        let alike: Vec<Part> = alike.map(|section| section.part).collect();
        let Some(part) = random.pick(&alike) else { continue };
        // From the middle of a table or of code as well.
        let skipped = if random.once_in(2) { random.below(part.size) & !15 } else { 0 };
        let start = if random.once_in(2) { random.below(section.part.size) & !15 } else { 0 };
        let new = other.get(part.at + skipped..part.end()).unwrap_or_default();
        let old = crossed.get_mut(section.part.at + start..section.part.end()).unwrap_or_default();
        old.iter_mut().zip(new).for_each(|(byte, new)| *byte = *new);
    }
    crossed
}

//! Patch stage: who relies on the exclusive monitor that a load-exclusive arms.
//!
//! In: how control goes through a file. Out: [`Monitor`]: the places from which control may come to a `wfe`
//! or to a store-exclusive with the monitor as it is there. A load-exclusive whose path out leads to one is
//! needed: the LSE instruction in its place arms nothing (DDI 0487 B2.12, "Synchronization and semaphores").

use super::backward::{Pointers, Stops, reaching};
use super::flow::{Flow, Places};
use super::obstacle::Obstacle;
use deburr_core::address::CodeOffset;
use deburr_core::address::Svma;
use deburr_core::insn::{Class, Insn};
use rayon::prelude::*;

/// Who relies on the monitor.
pub(crate) struct Monitor {
    /// From where control may come to a `wfe` that no `sev` or `sevl` before it lets go on.
    waits: Places,
    /// From where it may come to a `wfe` after another, which used up what a `sev` or `sevl` before both did.
    later_waits: Places,
    stores: Places,
}

impl Monitor {
    pub(crate) fn of(flow: &Flow<'_, '_>) -> Monitor {
        let rearms = |insn: &Insn| {
            matches!(insn.class, Class::LoadExclusive | Class::ClearExclusive | Class::StoreExclusive)
        };
        let signals = |insn: &Insn| flow.image.word_at(insn.svma).is_some_and(is_signal);
        let ends_wait = |insn: &Insn| rearms(insn) || signals(insn);
        let may_rearm = |word: u32| may_be_exclusive(word) || is_system(word);
        let (rearms, ends_wait) =
            (Stops { may: &may_rearm, does: &rearms }, Stops { may: &may_rearm, does: &ends_wait });
        let all_waits = seeds(flow, is_wait);
        let waits = reaching(flow, all_waits.iter().copied(), &ends_wait, Pointers::Followed);
        let leads_to_another = |wait: &CodeOffset| waits.contains(wait.saturating_add(4));
        let first_of_two = all_waits.into_iter().filter(leads_to_another);
        let later_waits = reaching(flow, first_of_two, &rearms, Pointers::Followed);
        let stores = reaching(flow, seeds(flow, is_store), &rearms, Pointers::Followed);
        Monitor { waits, later_waits, stores }
    }

    /// Who may rely on the monitor at some places.
    pub(crate) fn needed_at(
        &self,
        flow: &Flow<'_, '_>,
        places: impl IntoIterator<Item = Svma>,
    ) -> Option<Obstacle> {
        places.into_iter().find_map(|at| match flow.image.code_offset(at) {
            None => Some(Obstacle::StillArmed),
            Some(at) if self.waits.contains(at) || self.later_waits.contains(at) => Some(Obstacle::Event),
            Some(at) if self.stores.contains(at) => Some(Obstacle::StillArmed),
            Some(_) => None,
        })
    }
}

/// The instructions of some kind, in all code that is not known to be data; and the branches to instructions beside code that lead to one of
/// the kind.
fn seeds(flow: &Flow<'_, '_>, is_seed: fn(u32) -> bool) -> Vec<CodeOffset> {
    let mut found = Vec::new();
    if flow.beside().words().any(|(_, word)| is_seed(word)) {
        found.extend(flow.branches_beside(is_seed));
    }
    for code in &flow.image.code {
        let words = code.bytes.as_chunks::<4>().0.par_iter().enumerate();
        found.par_extend(words.filter_map(|(index, word)| {
            let at = code.at + 4 * index as u32;
            (is_seed(u32::from_le_bytes(*word)) && flow.may_run(at)).then_some(at)
        }));
    }
    found
}

/// `wfe`, `wfet`
const fn is_wait(word: u32) -> bool {
    word == 0xd503_205f || word & !0x1f == 0xd503_1000
}

/// `sev`, `sevl`: the next `wfe` goes on at once, whatever a monitor does.
const fn is_signal(word: u32) -> bool {
    matches!(word, 0xd503_209f | 0xd503_20bf)
}

/// Exclusives, and others of their encoding class (DDI 0487 C4.1, "Loads and Stores").
const fn may_be_exclusive(word: u32) -> bool {
    word & 0x3f00_0000 == 0x0800_0000
}

/// Branches, exceptions and system instructions.
const fn is_system(word: u32) -> bool {
    word >> 26 & 7 == 5
}

/// Store-exclusives, of pairs too.
const fn is_store(word: u32) -> bool {
    let is_pair = word & 0x0020_0000 != 0;
    word & 0x3fc0_0000 == 0x0800_0000 && (!is_pair || word >> 31 == 1)
}

/// `wfe`, `wfi`, `sev`, `sevl`; `wfet` with any register.
pub(crate) const fn is_event(word: u32) -> bool {
    matches!(word, 0xd503_205f | 0xd503_207f | 0xd503_209f | 0xd503_20bf) || word & !0x1f == 0xd503_1000
}

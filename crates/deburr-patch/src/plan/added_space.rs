//! Patch stage: addresses for replacements that need added space.
//!
//! In: a plan, and the replacements of some of its sites in the form of `trampoline`. Out: the plan, in which
//! each of these sites branches to its place in added space, one after the other; those that do not fit are
//! refused.

use crate::candidate::trampoline;
use crate::site::{Plan, Reason, Refused, Site};
use deburr_core::address::Svma;
use deburr_core::image::layout::{Layout, NoSpace, Room};
use std::collections::BTreeMap;

/// Places the replacements that are in `added`, by the addresses of their sites.
pub(crate) fn place(bytes: &[u8], plan: &mut Plan, mut added: BTreeMap<Svma, Vec<u32>>) {
    if added.is_empty() {
        return;
    }
    let room = Layout::of(bytes).map_err(|_| NoSpace::Headers).and_then(|layout| layout.room());
    let mut next = room.as_ref().ok().map(Room::code);
    for mut site in std::mem::take(&mut plan.sites) {
        let Some(words) = added.remove(&site.at) else {
            plan.sites.push(site);
            continue;
        };
        let placed = next.and_then(|at| trampoline::place((site.at, site.old.len()), &words, at));
        if let Some((new, trampoline)) = placed {
            next = Room::after(trampoline.extent().end);
            (site.new, site.trampoline) = (new, Some(trampoline));
            plan.sites.push(site);
        } else {
            let reason = room.as_ref().map_or_else(|why| Reason::NoSpace(*why), |_| Reason::Far);
            let Site { rule, function, at, .. } = site;
            plan.refused.push(Refused { rule, function, at, reason, detail: None });
        }
    }
}

//! Profiles of other programs: bytes → tallies by place, which add up.

use crate::input::split;
use deburr_profile::{Profile, Request, Tally, read};
use std::io::Cursor;

/// Reads a profile, and again with the second half of the input as each jitdump that it wants, and itself as each perf map; and merges it with itself.
///
/// # Panics
/// Where tallies do not add up, a list is not in order, or an index leads nowhere.
pub fn profile(data: &[u8]) {
    let Some((choice, bytes)) = split(data) else { return };
    let Ok(mut found) = read(&mut Cursor::new(bytes), &Request::default()) else { return };
    hold_of_profile(&found);
    if !found.wanted.is_empty() {
        let (_, dump) = bytes.split_at(bytes.len() / 2);
        let jitdumps: Vec<(&str, &[u8])> =
            found.wanted.iter().map(|wanted| (wanted.path.as_str(), dump)).collect();
        let request = Request { jitdumps: &jitdumps, ..Request::default() };
        if let Ok(with) = read(&mut Cursor::new(bytes), &request) {
            hold_of_profile(&with);
            assert!(with.wanted.is_empty() || !with.unread_jitdumps.is_empty());
            assert_eq!(with.events.len(), found.events.len());
        }
    }
    let maps: Vec<(u32, &[u8])> = found.wanted_perf_maps.iter().map(|pid| (*pid, bytes)).collect();
    let request = Request { perf_maps: &maps, ..Request::default() };
    if let Ok(with) = read(&mut Cursor::new(bytes), &request) {
        hold_of_profile(&with);
        assert!(with.wanted_perf_maps.is_empty());
    }
    if choice.bit(0) {
        let objects = found.objects.len();
        found.merge(found.clone());
        hold_of_profile(&found);
        assert_eq!(found.objects.len(), objects, "a profile merged with itself has other objects");
    }
}

fn hold_of_profile(profile: &Profile) {
    let mut totals: Vec<Tally> = profile.events.iter().map(|event| event.left_out.total()).collect();
    for object in &profile.objects {
        for leaf in &object.leaves {
            totals[leaf.event].add(leaf.tally);
        }
        assert!(object.leaves.is_sorted() && object.edges.is_sorted());
        assert!(object.calls.is_sorted() && object.branches.is_sorted());
        assert!(object.edges.iter().all(|edge| edge.caller.object < profile.objects.len()));
        assert!(object.edges.iter().all(|edge| edge.event < profile.events.len()));
        assert!(object.calls.iter().all(|call| call.to.object < profile.objects.len()));
        assert!(object.calls.iter().all(|call| call.inclusive.len() == profile.events.len()));
        assert!(object.branches.iter().all(|branch| branch.to.object < profile.objects.len()));
        assert!(object.branches.iter().all(|branch| branch.mispredicted <= branch.count));
    }
    for function in &profile.jit {
        for (_, event, tally) in &function.leaves {
            totals[*event].add(*tally);
        }
    }
    for (event, total) in profile.events.iter().zip(totals) {
        assert_eq!(event.total, total, "{}", event.name);
    }
}

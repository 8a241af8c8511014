//! Profiles as other programs wrote them, constructed ones, and damaged ones.

mod constructed;
mod damaged;
mod dump;
mod jitdump;
mod merged;
mod recorded;
mod recording;
mod spe;
mod text;

use deburr_profile::{Error, Place, Profile, Request, Tally, read};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// Where what was recorded is.
fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(recordings().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn content(name: &str) -> String {
    String::from_utf8(bytes(name)).expect("UTF-8")
}

fn parsed(bytes: &[u8]) -> Result<Profile, Error> {
    let profile = read(&mut Cursor::new(bytes), &Request::default())?;
    adds_up(&profile);
    Ok(profile)
}

fn profile(name: &str) -> Profile {
    parsed(&bytes(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every sample is in an object, in a function made at run time, or left out; every list is in order, and no index is wrong.
fn adds_up(profile: &Profile) {
    let mut totals: Vec<Tally> = profile.events.iter().map(|event| event.left_out.total()).collect();
    for object in &profile.objects {
        object.leaves.iter().for_each(|leaf| totals[leaf.event].add(leaf.tally));
        assert!(object.leaves.is_sorted() && object.edges.is_sorted());
        assert!(object.calls.is_sorted() && object.branches.is_sorted());
        assert!(object.edges.iter().all(|edge| edge.caller.object < profile.objects.len()));
        assert!(object.calls.iter().all(|call| call.to.object < profile.objects.len()));
        assert!(object.calls.iter().all(|call| call.inclusive.len() == profile.events.len()));
        assert!(object.branches.iter().all(|branch| branch.to.object < profile.objects.len()));
    }
    for function in &profile.jit {
        function.leaves.iter().for_each(|(_, event, tally)| totals[*event].add(*tally));
    }
    let stated: Vec<Tally> = profile.events.iter().map(|event| event.total).collect();
    assert_eq!(totals, stated);
}

/// The leaves of an event: path, place, and what was seen.
fn leaves(profile: &Profile, event: usize) -> BTreeMap<(String, Place), Tally> {
    let mut found = BTreeMap::new();
    for object in &profile.objects {
        for leaf in object.leaves.iter().filter(|leaf| leaf.event == event) {
            let old = found.insert((object.path.clone(), leaf.place.clone()), leaf.tally);
            assert_eq!(old, None, "{}: {:?} twice", object.path, leaf.place);
        }
    }
    found
}

fn file_offset(path: &str, offset: u64) -> (String, Place) {
    (path.to_owned(), Place::FileOffset(offset))
}

fn tally(samples: u64, weight: u64) -> Tally {
    let mut tally = Tally::default();
    tally.add(Tally { samples, weight });
    tally
}

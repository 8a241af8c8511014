//! Reads profiles and prints what was read, for people who look into one: `dump FILE...`; several are merged. With
//! `--summary` first, only sums.

#![expect(clippy::print_stdout, reason = "an example for people")]

use deburr_profile::{Profile, Request, read};
use std::error::Error;
use std::fs::File;

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths: Vec<String> = std::env::args().skip(1).collect();
    let is_summary = paths.first().is_some_and(|first| first == "--summary");
    if is_summary {
        paths.remove(0);
    }
    let mut merged: Option<Profile> = None;
    for path in &paths {
        let profile = read(&mut File::open(path)?, &Request::default())?;
        match &mut merged {
            Some(merged) => merged.merge(profile),
            None => merged = Some(profile),
        }
    }
    let Some(profile) = merged else { return Ok(()) };
    if !is_summary {
        println!("{profile:#x?}");
    }
    for event in &profile.events {
        println!("{} ({:?}): {:?}, left out {:?}", event.name, event.precision, event.total, event.left_out);
    }
    for object in &profile.objects {
        let (leaves, edges) = (object.leaves.len(), object.edges.len());
        let (calls, branches) = (object.calls.len(), object.branches.len());
        println!("{}: {leaves} leaves, {edges} edges, {calls} calls, {branches} branches", object.path);
    }
    Ok(())
}

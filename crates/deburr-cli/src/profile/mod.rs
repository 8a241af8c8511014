//! Profiles of a run: files of `--profile` → what they saw of each binary that is checked.
//!
//! In: the paths of profiles, and binaries. Out: [`Samples`] of each binary, for the core to weigh its findings by; and at the
//! end, what the profiles saw elsewhere ([`Elsewhere`]).

mod elsewhere;
mod event;
mod matching;
mod read;

pub(crate) use elsewhere::Elsewhere;

use deburr_core::Samples;
use deburr_core::image::build_id_of;
use deburr_core::profile::{CountedCall, SamplePlace, SampledEdge};
use deburr_profile::{Place, Precision, Profile, Site};
use matching::Matched;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The profiles of a run, as one, by one event.
#[derive(Debug)]
pub(crate) struct Profiles {
    profile: Profile,
    /// Index of the event.
    event: usize,
    /// Objects that a checked file was found to be.
    found: Mutex<BTreeSet<usize>>,
}

impl Profiles {
    /// Reads them. `event`: the one that counts, by name.
    pub(crate) fn read(paths: &[PathBuf], event: Option<&str>) -> Result<Profiles, String> {
        let profile = read::all(paths)?;
        let event = event::choose(&profile.events, event)?;
        Ok(Profiles { profile, event, found: Mutex::default() })
    }

    /// What they saw of a binary; `None` where they saw nothing of it. An error where they saw another build of it: `is_named`
    /// says whether the user named the file, who then means this one.
    pub(crate) fn samples_of(
        &self,
        bytes: &[u8],
        path: &Path,
        is_named: bool,
    ) -> Result<Option<Samples>, String> {
        let build_id = build_id_of(bytes);
        let objects = match matching::find(&self.profile.objects, build_id.as_deref(), path, is_named) {
            Matched::Objects(objects) => objects,
            Matched::OtherBuild(message) => return Err(message),
            Matched::Nothing => return Ok(None),
        };
        let event = self.profile.events.get(self.event);
        let mut samples = Samples {
            event: event.map(|event| event.name.clone()).unwrap_or_default(),
            total: event.map_or(0, |event| event.total.weight),
            skids: event.is_none_or(|event| event.precision == Precision::Skids),
            ..Samples::default()
        };
        for &object in &objects {
            self.add(object, &mut samples);
        }
        self.found.lock().unwrap_or_else(PoisonError::into_inner).extend(objects);
        Ok(Some(samples))
    }

    /// Adds what was seen of one object.
    fn add(&self, index: usize, samples: &mut Samples) {
        let Some(object) = self.profile.objects.get(index) else { return };
        let here = |site: &Site| (site.object == index).then(|| place(&site.place));
        for leaf in object.leaves.iter().filter(|leaf| leaf.event == self.event) {
            samples.samples = samples.samples.saturating_add(leaf.tally.samples);
            samples.leaves.push((place(&leaf.place), leaf.tally.weight));
        }
        for edge in object.edges.iter().filter(|edge| edge.event == self.event) {
            if let Some(caller) = here(&edge.caller) {
                let (leaf, weight) = (place(&edge.leaf), edge.tally.weight);
                samples.edges.push(SampledEdge { leaf, caller, weight });
            }
        }
        for branch in &object.branches {
            if let Some(to) = here(&branch.to) {
                samples.branches.push(CountedCall { from: place(&branch.from), to, count: branch.count });
            }
        }
        for call in &object.calls {
            if let Some(to) = here(&call.to) {
                samples.calls.push(CountedCall { from: place(&call.from), to, count: call.count });
            }
        }
    }

    /// What they saw outside the files that were checked.
    pub(crate) fn elsewhere(&self) -> Elsewhere {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        Elsewhere::of(&self.profile, self.event, &found)
    }
}

fn place(place: &Place) -> SamplePlace {
    match place {
        Place::FileOffset(offset) => SamplePlace::FileOffset(*offset),
        Place::Svma(svma) => SamplePlace::Svma(*svma),
        Place::Symbol { name, offset } => SamplePlace::Symbol { name: name.clone(), offset: *offset },
    }
}

//! Profiles of a run: files of `--profile` → what they saw of each binary that is checked.
//!
//! In: the paths of profiles, and binaries. Out: [`Samples`] of each binary, for the core to weigh its findings by; jitdumps, which
//! are files to check as well; and at the end, what the profiles saw elsewhere ([`Elsewhere`]).

mod elsewhere;
mod event;
mod matching;
mod read;

pub(crate) use elsewhere::{Elsewhere, UncheckedJit};

use crate::identity::{Identity, identity};
use deburr_core::Samples;
use deburr_core::image::build_id_of;
use deburr_core::profile::{CountedCall, SamplePlace, SampledEdge};
use deburr_profile::{JitFunction, JitSource, Place, Precision, Profile, Site};
use matching::Matched;
use read::ReadProfiles;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The profiles of a run, as one, by one event.
#[derive(Debug)]
pub(crate) struct Profiles {
    profile: Profile,
    /// Index of the event.
    event: usize,
    /// Objects that a checked file was found to be.
    found: Mutex<BTreeSet<usize>>,
    /// The jitdumps of functions that were seen: which files they are, by path.
    jitdumps: BTreeMap<Arc<str>, Identity>,
    /// Of those, the ones that were checked.
    checked_jitdumps: Mutex<BTreeSet<Identity>>,
    /// What could not be read of them, for people.
    pub(crate) remarks: Vec<String>,
}

impl Profiles {
    /// Reads them. `event`: the one that counts, by name; `given`: the files to check.
    pub(crate) fn read(
        paths: &[PathBuf],
        event: Option<&str>,
        given: &[PathBuf],
    ) -> Result<Profiles, String> {
        let ReadProfiles { profile, remarks } = read::all(paths, given)?;
        let event = event::choose(&profile.events, event)?;
        let is_seen = |function: &&JitFunction| function.leaves.iter().any(|(_, of, _)| *of == event);
        let mut jitdumps: BTreeMap<Arc<str>, Identity> = BTreeMap::new();
        for function in profile.jit.iter().filter(is_seen) {
            let JitSource::Jitdump { path, image_svma: Some(_) } = &function.source else { continue };
            if !jitdumps.contains_key(path)
                && let Ok(metadata) = fs::metadata(&**path)
            {
                jitdumps.insert(Arc::clone(path), identity(&metadata));
            }
        }
        let (found, checked_jitdumps) = (Mutex::default(), Mutex::default());
        Ok(Profiles { profile, event, found, jitdumps, checked_jitdumps, remarks })
    }

    /// The jitdumps of functions that were seen and whose code is known: files to check.
    pub(crate) fn jitdumps(&self) -> impl Iterator<Item = PathBuf> {
        self.jitdumps.keys().map(|path| PathBuf::from(&**path))
    }

    /// What they saw of the functions of a jitdump that are in a range of addresses; `None` where that is nothing.
    pub(crate) fn samples_of_jit(&self, dump: &Path, extent: &Range<u64>) -> Option<Samples> {
        let which = identity(&fs::metadata(dump).ok()?);
        let mut samples = self.no_samples();
        for function in &self.profile.jit {
            let JitSource::Jitdump { path, image_svma: Some(svma) } = &function.source else { continue };
            if self.jitdumps.get(path) != Some(&which) || !extent.contains(svma) {
                continue;
            }
            for (at, _, tally) in function.leaves.iter().filter(|(_, event, _)| *event == self.event) {
                samples.samples = samples.samples.saturating_add(tally.samples);
                samples.leaves.push((SamplePlace::Svma(svma.saturating_add(*at)), tally.weight));
            }
        }
        locked(&self.checked_jitdumps).insert(which);
        (!samples.leaves.is_empty()).then_some(samples)
    }

    /// Whether a function's code was checked.
    fn is_checked(&self, function: &JitFunction) -> bool {
        let JitSource::Jitdump { path, image_svma: Some(_) } = &function.source else { return false };
        self.jitdumps.get(path).is_some_and(|which| locked(&self.checked_jitdumps).contains(which))
    }

    /// Samples of nothing.
    fn no_samples(&self) -> Samples {
        let event = self.profile.events.get(self.event);
        Samples {
            event: event.map(|event| event.name.clone()).unwrap_or_default(),
            total: event.map_or(0, |event| event.total.weight),
            skids: event.is_none_or(|event| event.precision == Precision::Skids),
            ..Samples::default()
        }
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
        let mut samples = self.no_samples();
        for &object in &objects {
            self.add(object, &mut samples);
        }
        locked(&self.found).extend(objects);
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
        Elsewhere::of(&self.profile, self.event, &locked(&self.found), |function| self.is_checked(function))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn place(place: &Place) -> SamplePlace {
    match place {
        Place::FileOffset(offset) => SamplePlace::FileOffset(*offset),
        Place::Svma(svma) => SamplePlace::Svma(*svma),
        Place::Symbol { name, offset } => SamplePlace::Symbol { name: name.clone(), offset: *offset },
    }
}

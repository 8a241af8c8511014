//! What profiles saw outside the files that were checked: other files, the kernel, code made at run time.

use deburr_core::profile::Share;
use deburr_profile::{JitFunction, JitSource, Object, Profile, Tally};
use deburr_text::one_line;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Other files that are listed, those with most first.
const LISTED: usize = 20;

/// The profile of a run, and what of it is not in the files that were checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Elsewhere {
    /// The profiler's name of the event.
    pub(crate) event: String,
    /// Samples of it; 0 where events were counted.
    pub(crate) samples: u64,
    /// The share of the files that were checked.
    pub(crate) checked: Share,
    /// The share of the kernel and of hypervisors.
    pub(crate) kernel: Share,
    /// Of guests of virtual machines.
    pub(crate) guest: Share,
    /// Of code made at run time that nothing describes.
    pub(crate) anonymous: Share,
    /// Of what has no place.
    pub(crate) unknown: Share,
    /// Of functions made at run time that have a name, and were not checked.
    pub(crate) jit: Share,
    /// Those with most of it.
    pub(crate) jit_functions: Vec<UncheckedJit>,
    /// Of all other files.
    pub(crate) other: Share,
    /// Those with most of it.
    pub(crate) other_files: Vec<OtherFile>,
    /// Records that the profiler lost.
    pub(crate) lost_records: u64,
    /// Places where a trace of hardware lacks some of it.
    pub(crate) trace_gaps: u64,
    /// Bytes of hardware traces in the profile, which are not read.
    pub(crate) unread_trace: u64,
}

/// A file that was not checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct OtherFile {
    pub(crate) path: String,
    pub(crate) share: Share,
}

/// Functions made at run time that were not checked, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UncheckedJit {
    pub(crate) name: String,
    pub(crate) reason: Unchecked,
    pub(crate) share: Share,
}

/// Why a function made at run time was not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Unchecked {
    /// A perf map has its name alone.
    NameOnly,
    /// Other code took its place later.
    Replaced,
    /// Its jitdump was not checked.
    JitdumpNotChecked,
}

impl Unchecked {
    /// For people.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Unchecked::NameOnly => "made at run time: only its name is known",
            Unchecked::Replaced => "made at run time, and replaced later: not checked",
            Unchecked::JitdumpNotChecked => "made at run time: not checked",
        }
    }
}

impl Elsewhere {
    /// `found`: the objects that were checked. `is_checked`: whether a function made at run time was.
    pub(super) fn of(
        profile: &Profile,
        event: usize,
        found: &BTreeSet<usize>,
        is_checked: impl Fn(&JitFunction) -> bool,
    ) -> Elsewhere {
        let Some(counted) = profile.events.get(event) else { return Elsewhere::default() };
        let total = counted.total.weight;
        let share = |weight: u64| Share::of(weight, total);
        let of = |tally: Tally| share(tally.weight);
        let weight = |object: &Object| {
            let here = object.leaves.iter().filter(|leaf| leaf.event == event);
            here.fold(0u64, |sum, leaf| sum.saturating_add(leaf.tally.weight))
        };
        let (mut checked, mut other, mut files) = (0u64, 0u64, Vec::new());
        for (index, object) in profile.objects.iter().enumerate() {
            let weight = weight(object);
            if found.contains(&index) {
                checked = checked.saturating_add(weight);
            } else if weight > 0 {
                other = other.saturating_add(weight);
                files.push(OtherFile { path: object.path.clone(), share: share(weight) });
            }
        }
        files.sort_by(|a, b| (Reverse(a.share), &a.path).cmp(&(Reverse(b.share), &b.path)));
        files.truncate(LISTED);
        let (mut jit, mut functions) = (0u64, BTreeMap::<(&str, Unchecked), u64>::new());
        for function in &profile.jit {
            let here = function.leaves.iter().filter(|(_, of, _)| *of == event);
            let weight = here.fold(0u64, |sum, (.., tally)| sum.saturating_add(tally.weight));
            if is_checked(function) {
                checked = checked.saturating_add(weight);
            } else if weight > 0 {
                jit = jit.saturating_add(weight);
                let sum = functions.entry((&function.name, unchecked(function))).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
        let mut functions: Vec<UncheckedJit> = functions
            .into_iter()
            .map(|((name, reason), weight)| UncheckedJit {
                name: name.to_owned(),
                reason,
                share: share(weight),
            })
            .collect();
        functions.sort_by(|a, b| (Reverse(a.share), &a.name).cmp(&(Reverse(b.share), &b.name)));
        functions.truncate(LISTED);
        Elsewhere {
            event: counted.name.clone(),
            samples: counted.total.samples,
            checked: share(checked),
            kernel: of(counted.left_out.kernel),
            guest: of(counted.left_out.guest),
            anonymous: of(counted.left_out.anonymous),
            unknown: of(counted.left_out.unknown),
            jit: share(jit),
            jit_functions: functions,
            other: share(other),
            other_files: files,
            lost_records: profile.lost.records,
            trace_gaps: profile.lost.gaps,
            unread_trace: profile.unread_trace,
        }
    }

    /// That none of the checked files is in the profile, and which files are.
    pub(crate) fn nowhere(&self) -> String {
        let files: Vec<String> = self
            .other_files
            .iter()
            .take(5)
            .map(|file| format!("{} ({})", one_line(&file.path), file.share))
            .collect();
        let others = match files.as_slice() {
            [] => "; it has no file at all".to_owned(),
            files => format!("; most of it is in {}", files.join(", ")),
        };
        format!("the profile saw nothing of the files that were checked{others}")
    }
}

fn unchecked(function: &JitFunction) -> Unchecked {
    match function.source {
        JitSource::PerfMap => Unchecked::NameOnly,
        JitSource::Jitdump { image_svma: None, .. } => Unchecked::Replaced,
        JitSource::Jitdump { .. } => Unchecked::JitdumpNotChecked,
    }
}

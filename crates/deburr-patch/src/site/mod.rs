//! Patch stage: the places of a file that are written over, and those that are left as they are.
//!
//! A [`Site`] is one place with its old and its new instructions, proven. A [`Refused`] place has the
//! [`Reason`] why it stays. All of them together are a [`Plan`].

mod no_shape;

pub use no_shape::NoShape;

use crate::around::{Detail, Obstacle};
use crate::change::Change;
use crate::prove::Refusal;
use crate::semantics::decode;
use crate::semantics::encode::SB;
use crate::subject::{Concern, Trampoline};
use deburr_core::address::{Extent, Svma};
use deburr_core::image::layout::NoSpace;
use deburr_cpu::{Feature, FeatureSet};
use std::fmt;
use std::sync::Arc;

/// All that is to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// By address, without overlap.
    pub sites: Vec<Site>,
    /// By address.
    pub refused: Vec<Refused>,
}

impl Plan {
    /// The features without which a CPU does not run what is to be written.
    pub fn needs(&self) -> FeatureSet {
        self.sites.iter().fold(FeatureSet::EMPTY, |all, site| all.union(site.needs()))
    }

    /// Whether a site overlaps an extent.
    pub(crate) fn touches(&self, extent: Extent) -> bool {
        let after = self.sites.partition_point(|site| site.extent().end <= extent.start);
        self.sites.get(after).is_some_and(|site| site.at < extent.end)
    }
}

/// Instructions that take the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The id of the rule whose finding goes away.
    pub rule: &'static str,
    /// The function that it is in, as demangled, where that has a name.
    pub function: Option<Arc<str>>,
    /// The address of the first instruction.
    pub at: Svma,
    /// Where that instruction is in the file, in bytes.
    pub file_offset: u64,
    /// The instructions as they are.
    pub old: Vec<u32>,
    /// The instructions in their place, as many.
    pub new: Vec<u32>,
    /// Instructions in added space that the first of the new ones branches to.
    pub trampoline: Option<Trampoline>,
    /// Whether it is a compare-and-swap that tries again at once where it fails.
    pub spins: bool,
}

impl Site {
    /// Where its instructions are.
    pub fn extent(&self) -> Extent {
        Extent::sized(self.at, 4 * self.old.len() as u64)
    }

    /// The features without which a CPU does not run the new instructions: FEAT_LSE, FEAT_SB, or none.
    pub fn needs(&self) -> FeatureSet {
        let added = self.trampoline.iter().flat_map(|trampoline| &trampoline.words);
        let feature = |&word: &u32| match word {
            SB => Some(Feature::FEAT_SB),
            _ => decode(word).is_ok_and(|insn| insn.is_lse()).then_some(Feature::FEAT_LSE),
        };
        self.new.iter().chain(added).filter_map(feature).collect()
    }
}

impl From<&Site> for Change {
    fn from(site: &Site) -> Change {
        Change {
            rule: site.rule.into(),
            at: site.at,
            file_offset: site.file_offset,
            old: site.old.clone(),
            new: site.new.clone(),
            trampoline: site.trampoline.clone(),
        }
    }
}

/// A place that is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The id of the rule that finds it.
    pub rule: &'static str,
    /// The function that it is in, where that has a name.
    pub function: Option<Arc<str>>,
    /// Its address.
    pub at: Svma,
    /// Why.
    pub reason: Reason,
    /// Where the obstacle is, or what it is about.
    pub detail: Option<Detail>,
}

/// Why a place is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Other code, next to it, is chosen at run time where the machine has LSE.
    RunTimeChoice,
    /// The target was not said to have LSE.
    TargetWithoutLse,
    /// `sb` is requested, and the target was not said to have it.
    TargetWithoutSb,
    /// None of the shapes that are understood.
    NoShape(NoShape),
    /// Something around it.
    Obstacle(Obstacle),
    /// A shape, but not the same by proof.
    Unproven(Refusal),
    /// It overlaps the instructions of another site.
    Overlaps,
    /// It spins where it fails, and the request leaves such places alone.
    Spins,
    /// The call is a jump, in whose place the return does not fit.
    TailCall,
    /// The helper is not the one that its name says, or is in another file.
    Helper,
    /// A register that the call would have overwritten is read after it.
    LiveRegister,
    /// The frame is too large for the load that releases it.
    LargeFrame,
    /// A barrier that is not shown to be needless.
    Barrier,
    /// Other instructions than those of the fixed pattern.
    OtherWords,
    /// It needs added space, and there is none.
    NoSpace(NoSpace),
    /// It needs added space, which is too far away for a branch.
    Far,
    /// The plan has nothing against it, but the audit has.
    Contradiction(Concern),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoShape(shape) => return shape.fmt(f),
            Reason::Obstacle(obstacle) => return obstacle.fmt(f),
            Reason::NoSpace(why) => return write!(f, "no code can be added to the file: {why}"),
            // The state differs from place to place; the kind is what they share.
            Reason::Unproven(refusal) => return write!(f, "not proven: {refusal}"),
            Reason::Contradiction(concern) => {
                return write!(f, "the second check of the file disagrees: {}", concern.kind());
            }
            _ => {}
        }
        f.write_str(match self {
            Reason::RunTimeChoice => "already chosen at run time",
            Reason::TargetWithoutLse => "the target does not guarantee LSE (--target armv8.1-a)",
            Reason::TargetWithoutSb => "the target does not guarantee FEAT_SB (--target armv8.5-a)",
            Reason::Overlaps => "overlaps another site",
            Reason::Spins => "spins where it fails",
            Reason::TailCall => "a tail call: LSE instruction and return do not fit",
            Reason::Helper => "the helper is not in this file, or not as libgcc writes it",
            Reason::LiveRegister => "x16, x17 or x30 is read after the call",
            Reason::OtherWords => "not the words that take its place",
            Reason::Far => "added space is farther away than a branch reaches, 128 MiB",
            Reason::LargeFrame => "the frame is larger than 255 bytes",
            _ => "not shown to be needless",
        })
    }
}

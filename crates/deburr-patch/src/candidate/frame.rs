//! Patch stage: the two loads of Go 1.24 in the place of those with which older versions leave a small frame.
//!
//! In: the frames that `idiom::split_frame` finds. Out: a candidate for each reload, which `prove_loads`
//! proves.

use super::pattern::based;
use super::proposal::{Basis, NoCandidates, Proposed, View};
use crate::site::Reason;
use deburr_core::address::Svma;
use deburr_core::idiom::split_frame::split_frames;
use deburr_core::image::Image;

/// `ldp x29, x30, [sp, #-8]`, and Go 1.24's `ldur x29, [sp, #-8]` and `ldr x30, [sp], #0`; the immediate is
/// in bits 12 to 20.
const LOAD_BOTH: u32 = 0xa97f_fbfd;
const LOAD_FRAME: u32 = 0xf85f_83fd;
const LOAD_LINK: u32 = 0xf840_07fe;
/// `add sp, sp, #0`; the immediate is in bits 10 to 21.
const RELEASE: u32 = 0x9100_03ff;
/// The largest immediate of a load with post-index.
const LARGEST: u32 = 255;

/// Candidates for every reload of a small frame.
pub(crate) fn candidates(view: &View<'_, '_, '_>, rule: &'static str) -> Vec<Proposed> {
    let frames = split_frames(view.image, view.program);
    let reloads = frames.iter().flat_map(|frame| frame.reloads.iter().map(|&at| (at, frame.size)));
    reloads.map(|(at, size)| reload(view.image, rule, at, size)).collect()
}

/// The two loads in the place of `ldp` and `add`.
fn reload(image: &Image<'_>, rule: &'static str, at: Svma, size: u32) -> Proposed {
    if size > LARGEST {
        return Err(NoCandidates { rule, at, reason: Reason::LargeFrame });
    }
    let pairs = [(LOAD_BOTH, LOAD_FRAME), (RELEASE | size << 10, LOAD_LINK | size << 12)];
    based(image, rule, at, &pairs, Basis::Loads)
}

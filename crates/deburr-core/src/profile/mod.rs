//! What a profile says of a file's code: how much of a run each function and each finding took.
//!
//! In: [`Samples`] of one file, as the caller read them from a profile. Out: [`Weight`]s. A sample names an instruction soon
//! after the one that took the time, so a finding is weighed by its whole code and the instruction after it, and a call of a
//! helper by what the helper took when it was called from there. Weights change no finding and no verdict.
//!
//! Linear in the samples and in the calls of the file, times a logarithm.

mod located;
mod region;
mod samples;
mod weigh;
mod weight;

pub use samples::{CountedCall, SamplePlace, SampledEdge, Samples};
pub(crate) use weigh::{Weighed, Weighing};
pub use weight::{Share, WeighedBy, Weight};

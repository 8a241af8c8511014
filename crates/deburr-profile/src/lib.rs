//! Profiles of other programs → samples by place in a file.
//!
//! In: a profile: `perf.data`, the text of `perf script`, pprof, or callgrind's output. Out: a [`Profile`]: for each file what was
//! seen at each place, who called it, and what belongs to no file. Several are one after [`Profile::merge`]. A jitdump is also a
//! program: [`jit_images`] makes ELF files of the functions in it.
//!
//! The crate is the only place that knows these formats. It opens nothing and prints nothing: the caller gives a file that can be
//! read twice, and jitdumps and perf maps where [`Profile::wanted`] and [`Profile::wanted_perf_maps`] name them. Memory grows with the number of distinct places, not with that
//! of samples, and is bounded. Whatever the bytes are, there is a profile or an [`Error`], and no panic.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod bytes;
mod callgrind;
mod error;
mod gather;
mod jitdump;
mod lines;
mod live;
mod merge;
mod perf_data;
mod perf_map;
mod perf_script;
mod pprof;
mod profile;
mod read;
mod request;
mod script_frame;

pub use error::Error;
pub use jitdump::{JitImage, JitImages, begins_jitdump, jit_images};
pub use profile::{
    Branch, Call, Edge, Event, Format, JitFunction, JitSource, Leaf, LeftOut, Lost, Object, Place, Precision,
    Profile, Site, Tally, WantedJitdump,
};
pub use read::{read, sniff};
pub use request::Request;
pub use script_frame::ScriptFrame;

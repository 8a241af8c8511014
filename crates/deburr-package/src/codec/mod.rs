//! Compressed streams, in both directions, and the meter that bounds them.
//!
//! [`decode`] reads what [`crate::sniff()`] knows; [`encode`] writes gzip, deflate, xz and raw zstd. Both
//! count on [`meter`].

mod bzip2;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod meter;
mod zstd;

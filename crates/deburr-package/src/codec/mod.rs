//! Compressed streams, in both directions, and the meter that bounds them.

mod bzip2;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod meter;
mod zstd;

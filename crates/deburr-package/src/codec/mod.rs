//! Compressed streams, in both directions, and the meter that bounds them.
//!
//! [`decode`] reads what [`crate::sniff()`] knows, [`block`] the blocks of an image; [`encode`] writes gzip, deflate, xz and raw
//! zstd. All count on [`meter`].

pub(crate) mod block;
mod bzip2;
pub(crate) mod decode;
pub(crate) mod encode;
mod lz4;
pub(crate) mod meter;
mod zstd;

use std::io::{BufRead, Read};

/// A decoder of bzip2 that nothing meters.
pub(crate) fn bzip2_of(source: impl BufRead) -> impl Read {
    bzip2::Bzip2::new(source)
}

/// A decoder of LZ4 that nothing meters.
pub(crate) fn lz4_of(source: impl BufRead) -> impl Read {
    lz4::Lz4::new(source)
}

/// A decoder of zstd that nothing meters, with a bounded window.
pub(crate) fn zstd_of(source: impl BufRead, window: u64) -> impl Read {
    zstd::Zstd::new(source, window)
}

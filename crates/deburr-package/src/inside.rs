//! First blocks: of a stream, and of what a compressed stream holds.
//!
//! In: a stream. Out: what [`crate::sniff()`] says of its first block, through up to two codecs. No more is
//! decoded than that takes.

use crate::codec::decode::Metered;
use crate::codec::meter::{Counted, Meter};
use crate::limits::Limits;
use crate::sniff::{BLOCK, Codec, DEEP, Found, sniff, wants_more};
use std::io::{self, Read};

/// Up to [`BLOCK`] bytes.
pub(crate) fn first_block(stream: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::with_capacity(BLOCK);
    stream.take(BLOCK as u64).read_to_end(&mut first)?;
    Ok(first)
}

/// A block, or more where that says too little.
pub(crate) fn beginning(stream: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut first = first_block(stream)?;
    if wants_more(&first) {
        stream.take((DEEP - BLOCK) as u64).read_to_end(&mut first)?;
    }
    Ok(first)
}

/// What a compressed stream holds, by its first block; decodes no more than that takes.
///
/// # Errors
/// Those of the decoder.
pub fn sniff_inside(codec: Codec, compressed: impl io::BufRead) -> io::Result<Found> {
    let meter = Meter::new(&Limits::default(), &[]);
    let mut stream = Metered::new(codec, Counted::new(Box::new(compressed), None, &meter), &meter);
    let first = beginning(&mut stream).map_err(|error| match meter.failure() {
        Some(failure) => io::Error::other(failure.reason),
        None => error,
    })?;
    match sniff(&first) {
        Found::Compressed(inner) => {
            let rest = io::BufReader::new(io::Read::chain(first.as_slice(), stream));
            let mut stream = Metered::new(inner, Counted::new(Box::new(rest), None, &meter), &meter);
            Ok(sniff(&beginning(&mut stream)?))
        }
        found => Ok(found),
    }
}

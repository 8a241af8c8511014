//! A compressed archive that may be an image → its bytes in memory.
//!
//! An image's files refer to one another, so that a stream will not do. Names alone are read first, so that
//! other archives cost no memory.

use super::archive::is_named;
use crate::codec::decode::decoded;
use crate::codec::meter::Meter;
use crate::limits::Limits;
use crate::sniff::Codec;
use std::io::Read;

/// The archive, if its names say that it may be an image.
///
/// # Errors
/// Why it cannot be held in memory.
pub(crate) fn unpacked_image(limits: &Limits, bytes: &[u8], codec: Codec) -> Result<Option<Vec<u8>>, String> {
    let meter = Meter::new(limits, bytes);
    if !is_named(&mut decoded(Some(codec), bytes, &meter)) {
        return Ok(None);
    }
    let (meter, most) = (Meter::new(limits, bytes), limits.member_bytes);
    let mut whole = Vec::new();
    let read = decoded(Some(codec), bytes, &meter).take(most.saturating_add(1)).read_to_end(&mut whole);
    read.map_err(|error| meter.reason(&error))?;
    if whole.len() as u64 > most {
        return Err(format!("an image of more than {most} bytes to be held in memory (--max-member)"));
    }
    Ok(Some(whole))
}

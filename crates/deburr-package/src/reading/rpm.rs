//! RPM packages (RPM's documentation, "RPM V4 package format").
//!
//! The lead of 96 bytes, a signature and a header of the same make, and the payload: a compressed cpio
//! archive. The payload is the package, so that it has no name in the paths.

use super::cpio;
use super::reader::{Bytes, Flow, Nesting, Reader};
use crate::inside::first_block;
use crate::sink::Sink;
use crate::sniff::{Codec, Found, sniff};
use std::io::{self, Read};

const LEAD: u64 = 96;
const HEADER_MAGIC: [u8; 4] = [0x8e, 0xad, 0xe8, 1];

/// Reads an RPM package.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: &mut dyn Read,
    nesting: Nesting,
) -> Flow {
    let first = skip(bytes, LEAD)
        // The signature is padded to a multiple of 8 bytes.
        .and_then(|()| header(bytes))
        .and_then(|size| skip(bytes, size.next_multiple_of(8) - size))
        .and_then(|()| header(bytes))
        .and_then(|_| first_block(bytes));
    let first = match first {
        Ok(first) => first,
        Err(error) => return reader.failed(path, &error, true),
    };
    let mut payload = first.as_slice().chain(bytes);
    let codec = match sniff(&first) {
        Found::Compressed(codec) => codec,
        // .lzma has no magic number; these are the properties and the low bytes of the dictionary's size that
        // rpm writes.
        _ if first.starts_with(&[0x5d, 0, 0]) => Codec::Lzma,
        _ if cpio::is_cpio(&first) => return cpio::read(reader, path, &mut payload, nesting),
        _ if first.is_empty() => return reader.skip(path, "rpm: cut off: no payload", true),
        _ => return reader.skip(path, "rpm: the payload's compression is none that is read", true),
    };
    reader.decoded(codec, Bytes::Stream(&mut payload, None), |reader, stream| {
        cpio::read(reader, path, stream, nesting)
    })
}

/// Skips a header, and returns its size.
fn header(bytes: &mut dyn Read) -> io::Result<u64> {
    let mut intro = [0; 16];
    bytes.read_exact(&mut intro)?;
    let [m0, m1, m2, m3, _, _, _, _, n0, n1, n2, n3, s0, s1, s2, s3] = intro;
    if [m0, m1, m2, m3] != HEADER_MAGIC {
        return Err(io::Error::other("rpm: no header where one begins"));
    }
    // Entries of the index, 16 bytes each; and bytes of what they point to.
    let size = u64::from(u32::from_be_bytes([n0, n1, n2, n3])) * 16
        + u64::from(u32::from_be_bytes([s0, s1, s2, s3]));
    skip(bytes, size)?;
    Ok(16 + size)
}

fn skip(bytes: &mut dyn Read, size: u64) -> io::Result<()> {
    match io::copy(&mut bytes.take(size), &mut io::sink())? {
        read if read < size => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

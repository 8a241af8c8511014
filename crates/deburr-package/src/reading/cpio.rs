//! cpio as RPM has it: the `newc` format (cpio(5), "New ASCII Format").
//!
//! In: the unpacked payload. Out: regular files as members, by their names. The fields of a header are eight
//! hexadecimal digits each.

use super::reader::{Bytes, Flow, Nesting, Reader};
use crate::name::{shown, tidied};
use crate::sink::Sink;
use std::io::{self, Read};

const HEADER: u64 = 110;
/// No program writes longer names.
const LONGEST_NAME: u64 = 1 << 16;
const FILE_TYPE: u64 = 0o170_000;
const REGULAR: u64 = 0o100_000;

/// Whether a payload begins like one.
pub(crate) fn is_cpio(first: &[u8]) -> bool {
    [b"070701", b"070702", b"07070X"].iter().any(|magic| first.starts_with(*magic))
}

struct Header {
    name: Vec<u8>,
    mode: u64,
    size: u64,
}

/// Reads the payload of the package at a path.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: &mut dyn Read,
    nesting: Nesting,
) -> Flow {
    let mut last = String::new();
    loop {
        let header = match header(bytes) {
            Ok(header) => header,
            Err(error) => {
                let cut = error.kind() == io::ErrorKind::UnexpectedEof;
                let what = if cut { "cut off".to_owned() } else { error.to_string() };
                let error = io::Error::other(format!("cpio: {what} after {last:?}"));
                return reader.failed(path, &error, true);
            }
        };
        if header.name == b"TRAILER!!!" {
            return reader.drained(path, bytes);
        }
        last = shown(tidied(&header.name));
        reader.begin_member()?;
        let padding = header.size.next_multiple_of(4) - header.size;
        let mut member = bytes.take(header.size);
        if header.mode & FILE_TYPE == REGULAR && header.size > 0 {
            let inner = format!("{path}!{last}");
            reader.content(&inner, Bytes::Stream(&mut member, Some(header.size)), nesting.within())?;
        }
        let rest = member.limit() + padding;
        match io::copy(&mut bytes.take(rest), &mut io::sink()) {
            Ok(read) if read < rest => return reader.skip(path, &format!("cpio: cut off in {last:?}"), true),
            Ok(_) => {}
            Err(error) => return reader.failed(path, &error, true),
        }
    }
}

fn header(bytes: &mut dyn Read) -> io::Result<Header> {
    let mut fixed = [0; HEADER as usize];
    bytes.read_exact(&mut fixed)?;
    match fixed.get(..6) {
        Some(b"070701" | b"070702") => {}
        Some(b"07070X") => {
            return Err(io::Error::other("a payload with files of 4 GiB and more (07070X): not read"));
        }
        _ => return Err(io::Error::other("no header where one begins")),
    }
    let field = |index: usize| {
        let digits =
            fixed.get(6 + 8 * index..14 + 8 * index).and_then(|digits| std::str::from_utf8(digits).ok());
        digits
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .ok_or_else(|| io::Error::other("no number in a header"))
    };
    let (mode, size, name_size) = (field(1)?, field(6)?, field(11)?);
    if name_size > LONGEST_NAME {
        return Err(io::Error::other(format!("a name of {name_size} bytes")));
    }
    // The header and the name end at a multiple of 4 bytes.
    let padded = (HEADER + name_size).next_multiple_of(4) - HEADER;
    let mut name = Vec::new();
    if (bytes.take(padded).read_to_end(&mut name)? as u64) < padded {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    name.truncate(end);
    Ok(Header { name, mode, size })
}

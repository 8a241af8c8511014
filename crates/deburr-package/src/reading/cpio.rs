//! cpio as RPM and an initramfs have it: the `newc` format (cpio(5), "New ASCII Format"), and the older `odc`.
//!
//! In: an unpacked payload, or an initramfs: several archives one after another, padded with zeros, of which the last may be
//! compressed (the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`). Out: regular files as members, by their
//! names. The fields of a header are hexadecimal digits, eight each, or octal ones, six or eleven.

use super::ahead::Ahead;
use super::reader::{Bytes, Flow, Nesting, Reader};
use crate::name::{shown, tidied};
use crate::sink::Sink;
use crate::sniff::{Format, Found, sniff};
use std::io::{self, Read};

const HEADER: u64 = 110;
const OLD_HEADER: u64 = 76;
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
    /// Names and files end at a multiple of this.
    unit: u64,
}

/// Reads archives one after another, and what comes after the last.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: &mut dyn Read,
    nesting: Nesting,
) -> Flow {
    let mut bytes = Ahead::new(bytes);
    while archive(reader, path, &mut bytes, nesting)? {
        let found = match bytes.after_zeros() {
            Ok([]) => return Ok(()),
            Ok(first) => sniff(first),
            Err(error) => return reader.failed(path, &error, true),
        };
        match found {
            Found::Package(Format::Cpio) => {}
            Found::Compressed(_) => return reader.content(path, Bytes::Stream(&mut bytes, None), nesting),
            _ => {
                let size = match io::copy(&mut bytes, &mut io::sink()) {
                    Ok(size) => size,
                    Err(error) => return reader.failed(path, &error, true),
                };
                let reason = format!("cpio: {size} bytes after its end that are not recognised: not read");
                return reader.skip(path, &reason, true);
            }
        }
    }
    Ok(())
}

/// Reads one archive; whether it has an end.
fn archive<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: &mut dyn Read,
    nesting: Nesting,
) -> Flow<bool> {
    let mut last = String::new();
    loop {
        let header = match header(bytes) {
            Ok(header) => header,
            Err(error) => {
                let cut = error.kind() == io::ErrorKind::UnexpectedEof;
                let what = if cut { "cut off".to_owned() } else { error.to_string() };
                let error = io::Error::other(format!("cpio: {what} after {last:?}"));
                return reader.failed(path, &error, true).map(|()| false);
            }
        };
        if header.name == b"TRAILER!!!" {
            return Ok(true);
        }
        last = shown(tidied(&header.name));
        reader.begin_member()?;
        let padding = header.size.next_multiple_of(header.unit) - header.size;
        let mut member = bytes.take(header.size);
        if header.mode & FILE_TYPE == REGULAR && header.size > 0 {
            let inner = format!("{path}!{last}");
            reader.content(&inner, Bytes::Stream(&mut member, Some(header.size)), nesting.within())?;
        }
        let rest = member.limit() + padding;
        match io::copy(&mut bytes.take(rest), &mut io::sink()) {
            Ok(read) if read < rest => {
                return reader.skip(path, &format!("cpio: cut off in {last:?}"), true).map(|()| false);
            }
            Ok(_) => {}
            Err(error) => return reader.failed(path, &error, true).map(|()| false),
        }
    }
}

fn header(bytes: &mut dyn Read) -> io::Result<Header> {
    let mut fixed = Vec::new();
    bytes.take(OLD_HEADER).read_to_end(&mut fixed)?;
    let is_old = fixed.starts_with(b"070707");
    if !is_old {
        bytes.take(HEADER - OLD_HEADER).read_to_end(&mut fixed)?;
    }
    let length = if is_old { OLD_HEADER } else { HEADER };
    if (fixed.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    match fixed.get(..6) {
        Some(b"070701" | b"070702" | b"070707") => {}
        Some(b"07070X") => {
            return Err(io::Error::other("a payload with files of 4 GiB and more (07070X): not read"));
        }
        _ => return Err(io::Error::other("no header where one begins")),
    }
    let number = |from: usize, digits: usize, radix| {
        let digits = fixed.get(from..from + digits).and_then(|digits| std::str::from_utf8(digits).ok());
        digits
            .and_then(|digits| u64::from_str_radix(digits, radix).ok())
            .ok_or_else(|| io::Error::other("no number in a header"))
    };
    let field = |index: usize| number(6 + 8 * index, 8, 16);
    let (mode, size, name_size) = match is_old {
        true => (number(18, 6, 8)?, number(65, 11, 8)?, number(59, 6, 8)?),
        false => (field(1)?, field(6)?, field(11)?),
    };
    if name_size > LONGEST_NAME {
        return Err(io::Error::other(format!("a name of {name_size} bytes")));
    }
    // The header and the name end at a multiple of 4 bytes; the older format has no padding.
    let unit = if is_old { 1 } else { 4 };
    let padded = (length + name_size).next_multiple_of(unit) - length;
    let mut name = Vec::new();
    if (bytes.take(padded).read_to_end(&mut name)? as u64) < padded {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    name.truncate(end);
    Ok(Header { name, mode, size, unit })
}

//! Debian packages: deb(5), an ar archive of `debian-binary`, `control.tar.*` and `data.tar.*`.
//!
//! In: the archive as a stream. Out: the content of `control.tar` and `data.tar`. The latter is the package,
//! so that its own name is left out of the paths.

use super::reader::{Bytes, Flow, Nesting, Reader};
use crate::name::shown;
use crate::sink::Sink;
use std::io::{self, Read};

const MAGIC: usize = 8;
const HEADER: usize = 60;

/// Reads a Debian package.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: &mut dyn Read,
    nesting: Nesting,
) -> Flow {
    if let Err(error) = bytes.read_exact(&mut [0; MAGIC]) {
        return reader.failed(path, &error, true);
    }
    let mut offset = MAGIC as u64;
    let mut has_data = false;
    loop {
        let mut header = Vec::with_capacity(HEADER);
        if let Err(error) = bytes.take(HEADER as u64).read_to_end(&mut header) {
            return reader.failed(path, &error, true);
        }
        if header.is_empty() {
            break;
        }
        let (name, size) = match parsed(&header) {
            Some(member) => member,
            None => {
                let what = if header.len() < HEADER { "cut off" } else { "no header of a member" };
                return reader.skip(path, &format!("deb: {what} at byte {offset}"), true);
            }
        };
        offset = offset.saturating_add(HEADER as u64).saturating_add(size).saturating_add(size % 2);
        let padding = size % 2;
        let mut member = bytes.take(size);
        let is_data = name.starts_with(b"data.tar");
        has_data |= is_data;
        if is_data {
            reader.content(path, Bytes::Stream(&mut member, Some(size)), nesting.payload())?;
        } else if name.starts_with(b"control.tar") {
            let nesting = nesting.within().payload();
            reader.content(
                &format!("{path}!{}", shown(&name)),
                Bytes::Stream(&mut member, Some(size)),
                nesting,
            )?;
        }
        let rest = member.limit();
        match io::copy(&mut bytes.take(rest + padding), &mut io::sink()) {
            // The last byte of padding may be left out.
            Ok(read) if read < rest => {
                return reader.skip(path, &format!("deb: cut off in {}", shown(&name)), true);
            }
            Ok(_) => {}
            Err(error) => return reader.failed(path, &error, true),
        }
    }
    if !has_data {
        reader.skip(path, "deb: cut off: no data.tar", true)?;
    }
    Ok(())
}

/// The name and the size in the header of a member.
fn parsed(header: &[u8]) -> Option<(Vec<u8>, u64)> {
    let text = |range| std::str::from_utf8(header.get(range)?).ok();
    if header.get(58..HEADER)? != b"`\n" {
        return None;
    }
    let name = text(0..16)?.trim_end().trim_end_matches('/');
    Some((name.as_bytes().to_vec(), text(48..58)?.trim_end().parse().ok()?))
}

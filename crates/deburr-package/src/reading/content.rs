//! The recursion: something at a path → recognised by its first block → read.
//!
//! A binary goes to the sink, a compressed stream through a decoder, a package to its format. Formats come
//! back here for each member, through [`Reader::content`].

use super::reader::{Bytes, Flow, Nesting, Reader};
use super::{carried, cpio, deb, iso, rpm, sevenzip, squashfs, tar, zip};
use crate::codec::meter::Counted;
use crate::inside::beginning;
use crate::object::Kind;
use crate::sink::Sink;
use crate::sniff::{BLOCK, Format, Found, sniff, sniff_whole};
use std::io::Read;
use std::rc::Rc;

/// Reads whatever is at a path.
pub(super) fn content<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: Bytes<'_>,
    nesting: Nesting,
) -> Flow {
    match bytes {
        Bytes::Slice(slice) => {
            if let Some(at) = reader.meter.offset_of(slice) {
                reader.meter.position.set(at);
            }
            found(reader, path, sniff_whole(slice), bytes, nesting)
        }
        Bytes::Stream(stream, size) => {
            let first = match beginning(stream) {
                Ok(first) => first,
                Err(error) => {
                    let fault = nesting.own.is_none_or(|own| reader.meter.failing() != Some(own));
                    return reader.failed(path, &error, fault);
                }
            };
            let mut whole = first.as_slice().chain(stream);
            // What is after a script shows at its end.
            if first.starts_with(b"#!") && first.len() < BLOCK {
                return found(reader, path, sniff_whole(&first), Bytes::Slice(&first), nesting);
            }
            if first.starts_with(b"#!") {
                return reader.whole(path, Bytes::Stream(&mut whole, None), |reader, whole| {
                    found(reader, path, sniff_whole(whole), Bytes::Slice(whole), nesting)
                });
            }
            found(reader, path, sniff(&first), Bytes::Stream(&mut whole, size), nesting)
        }
    }
}

fn found<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    found: Found,
    bytes: Bytes<'_>,
    nesting: Nesting,
) -> Flow {
    match found {
        Found::Elf => reader.program(path, bytes, nesting.stored_at, |reader, program| {
            carried::read(reader, path, program, nesting)
        }),
        Found::Archive => reader.object(path, Kind::Archive, bytes),
        Found::Compressed(codec) => {
            // One compression belongs to what it holds; those in one another are levels.
            let depth = nesting.depth + u32::from(nesting.compressed > 0);
            if is_too_deep(reader, path, depth)? {
                return Ok(());
            }
            let nesting = Nesting { depth, compressed: nesting.compressed + 1, ..nesting };
            reader.decoded(codec, bytes, |reader, stream| {
                let own = (!nesting.is_payload).then_some(stream.number());
                reader.content(path, Bytes::Stream(stream, None), Nesting { own, ..nesting })
            })
        }
        Found::Package(format) => {
            if is_too_deep(reader, path, nesting.depth)? {
                return Ok(());
            }
            match format {
                Format::Tar => tar::read(reader, path, bytes, nesting),
                Format::Zip | Format::Jmod => zip::read(reader, path, bytes, nesting),
                Format::Squashfs => squashfs::read(reader, path, bytes, nesting),
                Format::Iso => iso::read(reader, path, bytes, nesting),
                Format::SevenZip => sevenzip::read(reader, path, bytes, nesting),
                Format::Cpio => {
                    streamed(reader, bytes, |reader, stream| cpio::read(reader, path, stream, nesting))
                }
                Format::Deb => {
                    streamed(reader, bytes, |reader, stream| deb::read(reader, path, stream, nesting))
                }
                Format::Rpm => {
                    streamed(reader, bytes, |reader, stream| rpm::read(reader, path, stream, nesting))
                }
                Format::Adb => reader.skip(path, "a package of apk-tools 3: not read", nesting.is_payload),
            }
        }
        Found::Known(known) => {
            let size = match bytes {
                Bytes::Slice(slice) => Some(slice.len() as u64),
                Bytes::Stream(_, size) => size,
            };
            Ok(reader.sink.recognise(path.to_owned(), known, size)?)
        }
        Found::Other => other(reader, path, bytes),
    }
}

/// Passes over what is no binary and no package, unless its bytes are wanted.
fn other<S: Sink>(reader: &mut Reader<'_, S>, path: &str, bytes: Bytes<'_>) -> Flow {
    reader.sink.pass_over();
    let Some(most) = reader.sink.wants(path) else { return Ok(()) };
    let mut text = Vec::new();
    let read = match bytes {
        Bytes::Slice(slice) => (&mut &*slice).take(most.saturating_add(1)).read_to_end(&mut text),
        Bytes::Stream(stream, _) => stream.take(most.saturating_add(1)).read_to_end(&mut text),
    };
    match read {
        Ok(_) if text.len() as u64 <= most => reader.sink.text(path, text),
        Ok(_) => {}
        Err(error) => return reader.failed(path, &error, true),
    }
    Ok(())
}

fn is_too_deep<S: Sink>(reader: &mut Reader<'_, S>, path: &str, depth: u32) -> Flow<bool> {
    let most = reader.meter.limits.depth;
    if depth >= most {
        reader.skip(path, &format!("nested in more than {most} packages (--max-depth)"), true)?;
    }
    Ok(depth >= most)
}

/// Reads bytes from front to end, wherever they are.
fn streamed<'s, S: Sink>(
    reader: &mut Reader<'s, S>,
    bytes: Bytes<'_>,
    read: impl FnOnce(&mut Reader<'s, S>, &mut dyn Read) -> Flow,
) -> Flow {
    match bytes {
        Bytes::Slice(slice) => {
            let at = reader.meter.offset_of(slice);
            let mut counted = Counted::new(Box::new(slice), at, &Rc::clone(&reader.meter));
            read(reader, &mut counted)
        }
        Bytes::Stream(stream, _) => read(reader, stream),
    }
}

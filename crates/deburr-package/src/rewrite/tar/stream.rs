//! A tar archive with some members changed, as a stream: bytes are pulled out of it while it reads those of
//! the old one. A changed member's header is the old one except for size and checksum; all else passes
//! through as it is: names and headers of any kind, links, padding, what follows the end.
//!
//! What readers do not agree on is refused: a link or a folder with bytes of its own, a name or size for all
//! that follow.

use super::edit::{Edit, Member};
use super::pax::{Header, records, restate_checksum, set_size};
use crate::codec::decode::decoded;
use crate::codec::encode::{Coding, encoded};
use crate::codec::meter::Meter;
use crate::name::{shown, tidied};
use crate::rewrite::error::{Made, RewriteError, failed};
use crate::rewrite::job::PEEK;
use crate::sniff::{BLOCK, Codec};
use std::io::{self, Read};
use std::rc::Rc;

/// Bytes of one header and its extensions, as in reading.
const HEADER: u64 = 1 << 20;

/// What extends the next header.
#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
    is_signed: bool,
}

/// The new archive, as it is read.
pub(crate) struct Rewriting<'e, R> {
    path: String,
    source: R,
    meter: Rc<Meter>,
    edit: &'e mut dyn Edit,
    /// Bytes to be given next, and how many of them are.
    ready: Vec<u8>,
    given: usize,
    /// Bytes of the source that pass through after them.
    passing: u64,
    /// Whether the marker was met, after which all passes through.
    is_ended: bool,
    /// Bytes of the source that were read.
    read: u64,
    last: Option<String>,
    /// Where in the source the first changed member's header begins.
    changed_at: Option<u64>,
}

impl<'e, R: Read> Rewriting<'e, R> {
    pub(crate) fn new(path: &str, source: R, meter: Rc<Meter>, edit: &'e mut dyn Edit) -> Rewriting<'e, R> {
        Rewriting {
            path: path.to_owned(),
            source,
            meter,
            edit,
            ready: Vec::new(),
            given: 0,
            passing: 0,
            is_ended: false,
            read: 0,
            last: None,
            changed_at: None,
        }
    }

    /// Goes to the first member that is changed, and says where its header begins: what was before is as in
    /// the source. `None` if there is none.
    pub(crate) fn first_change(&mut self) -> Made<Option<u64>> {
        while self.changed_at.is_none() && !self.is_ended {
            let passing = std::mem::take(&mut self.passing);
            self.skip(passing)?;
            self.advance()?;
        }
        if self.is_ended && self.changed_at.is_none() {
            // Its checksum is at the end of a stream.
            io::copy(&mut self.source, &mut io::sink())
                .map_err(|error| failed(&self.path, &self.meter, error))?;
        }
        Ok(self.changed_at)
    }

    fn broken(&self, what: &str) -> RewriteError {
        let after = self.last.as_deref().map(|last| format!(" after {last}")).unwrap_or_default();
        let reason = format!("tar: {what}{after}, at byte {}", self.read);
        RewriteError::Unreadable { path: self.path.clone(), reason }
    }

    fn refused(&self, name: &[u8], reason: &str) -> RewriteError {
        let path = format!("{}!{}", self.path, shown(tidied(name)));
        RewriteError::Refused { path, reason: format!("tar: {reason}") }
    }

    /// Reads so many bytes, if there are so many.
    fn take(&mut self, bytes: u64) -> Made<Vec<u8>> {
        let mut taken = Vec::new();
        let read = (&mut self.source).take(bytes).read_to_end(&mut taken);
        let read = read.map_err(|error| failed(&self.path, &self.meter, error))? as u64;
        self.read += read;
        if read < bytes { Err(self.broken("cut off")) } else { Ok(taken) }
    }

    fn skip(&mut self, bytes: u64) -> Made<()> {
        let skipped = io::copy(&mut (&mut self.source).take(bytes), &mut io::sink());
        let skipped = skipped.map_err(|error| failed(&self.path, &self.meter, error))?;
        self.read += skipped;
        if skipped < bytes { Err(self.broken("cut off")) } else { Ok(()) }
    }

    /// Makes the next header ready, with all that extends it, and what has to be held of its member.
    fn advance(&mut self) -> Made<()> {
        self.ready.clear();
        self.given = 0;
        let start = self.read;
        let mut extensions = Extensions::default();
        loop {
            let block = self.take(BLOCK as u64)?;
            if block.iter().all(|byte| *byte == 0) {
                if !self.ready.is_empty() {
                    return Err(self.broken("no header where one begins"));
                }
                self.ready = block;
                self.is_ended = true;
                return Ok(());
            }
            let Some(header) = Header::parse(&block) else {
                return Err(self.broken("no header where one begins"));
            };
            let Some(size) = header.size() else { return Err(self.broken("no size in a header")) };
            let main = self.ready.len();
            let mut named = block.clone();
            if replace(&mut named, self.edit.renamed()) {
                restate_checksum(&mut named);
            }
            self.ready.extend_from_slice(&named);
            let kind = header.kind();
            if !matches!(kind, b'x' | b'g' | b'L' | b'K') {
                return self.member(&header, size, main, extensions, start);
            }
            if (self.ready.len() as u64).saturating_add(size) > HEADER {
                return Err(self.broken(&format!("a header of more than {HEADER} bytes")));
            }
            let mut body = self.take(padded(size))?;
            self.extended(kind, body.get(..size as usize).unwrap_or_default(), &mut extensions)?;
            replace(&mut body, self.edit.renamed());
            self.ready.extend_from_slice(&body);
        }
    }

    fn extended(&self, kind: u8, body: &[u8], extensions: &mut Extensions) -> Made<()> {
        let name = || Some(body.strip_suffix(b"\0").unwrap_or(body).to_vec());
        match kind {
            b'L' => extensions.name = name(),
            b'K' => extensions.link = name(),
            _ => {
                let Some(records) = records(body) else { return Err(self.broken("no pax header")) };
                for (key, value) in records {
                    let is_sparse = key.starts_with(b"GNU.sparse.");
                    if kind == b'g' && (is_sparse || [&b"path"[..], b"linkpath", b"size"].contains(&key)) {
                        return Err(self.refused(b"", "a global header with a name or a size"));
                    }
                    match key {
                        b"path" => extensions.name = Some(value.to_vec()),
                        b"linkpath" => extensions.link = Some(value.to_vec()),
                        b"size" => {
                            let digits = std::str::from_utf8(value).ok();
                            extensions.size = digits.and_then(|digits| digits.parse().ok());
                            if extensions.size.is_none() {
                                return Err(self.broken("no size in a pax header"));
                            }
                        }
                        _ => {}
                    }
                    extensions.is_sparse |= is_sparse;
                    extensions.is_signed |=
                        key.ends_with(b".security.ima") || key.ends_with(b".security.evm");
                }
            }
        }
        Ok(())
    }

    /// Makes a member ready, whose header is at `main` and with all that extends it begins at `start` of the
    /// source.
    fn member(
        &mut self,
        header: &Header<'_>,
        stated: u64,
        main: usize,
        extensions: Extensions,
        start: u64,
    ) -> Made<()> {
        let kind = header.kind();
        let name = extensions.name.unwrap_or_else(|| header.name());
        self.last = Some(shown(tidied(&name)).chars().take(200).collect());
        let size = extensions.size.unwrap_or(stated);
        let is_directory = kind == b'5' || name.ends_with(b"/");
        match kind {
            b'X' | b'M' => return Err(self.refused(&name, &format!("type {}: not read", char::from(kind)))),
            b'1'..=b'6' if size > 0 => return Err(self.refused(&name, "a link or a folder with bytes")),
            _ if is_directory && size > 0 => return Err(self.refused(&name, "a folder with bytes")),
            _ => {}
        }
        let mut is_extended = kind == b'S' && header.is_extended();
        while is_extended {
            let block = self.take(BLOCK as u64)?;
            is_extended = block.get(504).is_some_and(|flag| *flag != 0);
            self.ready.extend_from_slice(&block);
            if self.ready.len() as u64 > HEADER {
                return Err(self.broken(&format!("a header of more than {HEADER} bytes")));
            }
        }
        let is_plain = matches!(kind, 0 | b'0' | b'7') && !extensions.is_sparse && !is_directory;
        let twin = (kind == b'1').then(|| extensions.link.unwrap_or_else(|| header.link()));
        let is_sparse = kind == b'S' || extensions.is_sparse;
        let size_of_plain = is_plain.then_some(size);
        let member = Member { name, twin, size: size_of_plain, is_sparse, is_signed: extensions.is_signed };
        let first = if is_plain { self.take(size.min(PEEK))? } else { Vec::new() };
        let left = size - first.len() as u64;
        if !self.edit.wants(&member, &first)? {
            self.ready.extend_from_slice(&first);
            self.passing = left.saturating_add(padding(size));
            return Ok(());
        }
        let mut whole = first;
        whole.append(&mut self.take(left)?);
        let (bytes, is_new) = self.edit.edit(&member, whole)?;
        if is_new {
            let new_size = bytes.len() as u64;
            let block = self.ready.get_mut(main..).unwrap_or_default();
            let is_set = new_size == size || extensions.size.is_none() && set_size(block, new_size);
            if !is_set {
                return Err(self.refused(&member.name, "its header has no room for the new size"));
            }
            self.skip(padding(size))?;
            self.ready.extend_from_slice(&bytes);
            let padding = padding(new_size) as usize;
            self.ready.resize(self.ready.len() + padding, 0);
            self.changed_at.get_or_insert(start);
        } else {
            self.ready.extend_from_slice(&bytes);
            self.passing = padding(size);
        }
        Ok(())
    }
}

impl<R: Read> Read for Rewriting<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.ready.get(self.given..).unwrap_or_default();
            if !ready.is_empty() || into.is_empty() {
                let read = ready.read(into)?;
                self.given += read;
                return Ok(read);
            }
            let most = if self.is_ended { u64::MAX } else { self.passing };
            if most > 0 {
                let read = (&mut self.source).take(most).read(into);
                let read = read.map_err(|error| io::Error::other(failed(&self.path, &self.meter, error)))?;
                if read == 0 && !self.is_ended {
                    return Err(io::Error::other(self.broken("cut off")));
                }
                self.read += read as u64;
                self.passing = self.passing.saturating_sub(read as u64);
                return Ok(read);
            }
            self.advance().map_err(io::Error::other)?;
        }
    }
}

/// Replaces parts of names by others as long; whether there are any.
fn replace(bytes: &mut [u8], parts: &[(String, String)]) -> bool {
    let mut is_new = false;
    for (old, new) in parts {
        while let Some(at) = bytes.windows(old.len()).position(|part| part == old.as_bytes()) {
            let Some(place) = bytes.get_mut(at..at + old.len()).filter(|place| place.len() == new.len())
            else {
                break;
            };
            place.copy_from_slice(new.as_bytes());
            is_new = true;
        }
    }
    is_new
}

fn padding(size: u64) -> u64 {
    let over = size % BLOCK as u64;
    if over == 0 { 0 } else { BLOCK as u64 - over }
}

fn padded(size: u64) -> u64 {
    size.saturating_add(padding(size))
}

/// A stream of a package.
#[derive(Clone, Copy)]
pub(crate) struct Stream<'a> {
    pub(crate) codec: Option<Codec>,
    pub(crate) bytes: &'a [u8],
}

/// The tar archive in a stream with what an editor makes of its members; `None` if it changes none. Up to the
/// first change the stream is only read, so that what stays as it is costs no compression; from there it is
/// read a second time.
pub(crate) fn rewritten(
    path: &str,
    meter: &Rc<Meter>,
    stream: Stream<'_>,
    coding: Coding,
    edit: &mut dyn Edit,
) -> Made<Option<Vec<u8>>> {
    let source = decoded(stream.codec, stream.bytes, meter);
    let mut rest = Rewriting::new(path, source, Rc::clone(meter), edit);
    let Some(at) = rest.first_change()? else { return Ok(None) };
    let again = Meter::new(&meter.limits, stream.bytes);
    let before = decoded(stream.codec, stream.bytes, &again).take(at);
    let mut whole = before.chain(rest);
    let most = (stream.bytes.len() as u64).saturating_add(meter.limits.member_bytes);
    let made = encoded(coding, &mut whole, most).map_err(|error| failed(path, meter, error))?;
    if whole.get_ref().0.limit() > 0 {
        let reason = "cut off where it was read the first time".to_owned();
        return Err(RewriteError::Unreadable { path: path.to_owned(), reason });
    }
    Ok(Some(made))
}

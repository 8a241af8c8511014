//! The state of one reading: what it may still do, where it is, and what it reports to the sink.
//!
//! Formats call [`Reader::content`] for their members. What that does is given to the reader when it is made,
//! so that formats know the reader, and not the recursion.

use super::whiteouts::Covered;
use crate::appended::is_carrier;
use crate::codec::decode::Metered;
use crate::codec::meter::{Counted, Meter};
use crate::object::{Kind, Object};
use crate::sink::{Sink, Stopped};
use crate::sniff::Codec;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

/// Why a reading ends.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The sink wants no more.
    Stopped,
    /// A decoder gave up, and that is reported; its creator goes on after it.
    Broken(u32),
    /// A limit of the whole package was reached, and that is reported.
    Over,
}

impl From<Stopped> for Trouble {
    fn from(_: Stopped) -> Trouble {
        Trouble::Stopped
    }
}

pub(crate) type Flow<T = ()> = Result<T, Trouble>;

/// Bytes to be read.
pub(crate) enum Bytes<'a> {
    /// In memory, or mapped.
    Slice(&'a [u8]),
    /// As they come; with their number, where something states it.
    Stream(&'a mut dyn Read, Option<u64>),
}

/// What is around something: packages, and compressed streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nesting {
    /// Packages around it.
    pub(crate) depth: u32,
    /// Compressed streams right around it.
    pub(crate) compressed: u32,
    /// Whether it is what a package is there for.
    pub(crate) is_payload: bool,
    /// The decoder of a compressed member that may hold anything: if not even its first block can be had, it
    /// is some file of test data, and no fault.
    pub(crate) own: Option<u32>,
    /// Where its bytes begin in the application for Android that it is in, if a loader maps them from there.
    pub(crate) stored_at: Option<u64>,
}

impl Nesting {
    pub(crate) const TOP: Nesting =
        Nesting { depth: 0, compressed: 0, is_payload: true, own: None, stored_at: None };

    /// The place of what a package is there for.
    pub(crate) fn payload(self) -> Nesting {
        Nesting { compressed: 0, is_payload: true, own: None, stored_at: None, ..self }
    }

    /// The place of a member.
    pub(crate) fn within(self) -> Nesting {
        Nesting { depth: self.depth + 1, compressed: 0, is_payload: false, own: None, stored_at: None }
    }
}

/// Reads whatever is at a path.
pub(crate) type Enter<S> = fn(&mut Reader<'_, S>, &str, Bytes<'_>, Nesting) -> Flow;

/// The state of one reading.
pub(crate) struct Reader<'s, S> {
    pub(crate) sink: &'s mut S,
    pub(crate) meter: Rc<Meter>,
    /// The whole package's path.
    package: String,
    members: u64,
    /// Bytes in memory that no permit covers.
    held: u64,
    /// Faults that were reported.
    faults: u64,
    /// What the layers above have already shown, for the next tar archive to be read.
    pub(crate) layer: Option<Covered>,
    /// Whether files that layers above hide are read, too.
    pub(crate) is_every: bool,
    enter: Enter<S>,
}

impl<'s, S: Sink> Reader<'s, S> {
    pub(crate) fn new(package: &str, meter: Rc<Meter>, sink: &'s mut S, enter: Enter<S>) -> Reader<'s, S> {
        let package = package.to_owned();
        Reader { sink, meter, package, members: 0, held: 0, faults: 0, layer: None, is_every: false, enter }
    }

    /// Reads whatever is at a path.
    pub(crate) fn content(&mut self, path: &str, bytes: Bytes<'_>, nesting: Nesting) -> Flow {
        (self.enter)(self, path, bytes, nesting)
    }

    /// Reads through a decoder, and goes on after it if it fails.
    pub(crate) fn metered(
        &mut self,
        mut stream: Metered<'_>,
        read: impl FnOnce(&mut Self, &mut Metered<'_>) -> Flow,
    ) -> Flow {
        let number = stream.number();
        match read(self, &mut stream) {
            Err(Trouble::Broken(broken)) if broken == number => Ok(()),
            result => result,
        }
    }

    /// Puts a decoder before bytes, and goes on after it if it fails.
    pub(crate) fn decoded(
        &mut self,
        codec: Codec,
        bytes: Bytes<'_>,
        read: impl FnOnce(&mut Self, &mut Metered<'_>) -> Flow,
    ) -> Flow {
        let meter = Rc::clone(&self.meter);
        let compressed = match bytes {
            Bytes::Slice(slice) => Counted::new(Box::new(slice), meter.offset_of(slice), &meter),
            Bytes::Stream(stream, _) => {
                Counted::new(Box::new(BufReader::with_capacity(1 << 16, stream)), None, &meter)
            }
        };
        self.metered(Metered::new(codec, compressed, &meter), read)
    }

    /// Begins a member of the package at a path.
    pub(crate) fn begin_member(&mut self) -> Flow {
        self.sink.progress(self.meter.position.get());
        self.members += 1;
        let (limits, before) = (self.meter.limits, self.members - 1);
        let packed = self.meter.packed().filter(|packed| limits.are_too_many(self.members, *packed));
        let reason = match packed {
            _ if self.members > limits.members => {
                format!("more than {before} members: the rest is left out (--max-members)")
            }
            Some(packed) => {
                format!("more than {before} members in {packed} bytes: the rest is left out (--max-ratio)")
            }
            None => return Ok(()),
        };
        self.faults += 1;
        self.sink.skip(self.package.clone(), reason, true)?;
        Err(Trouble::Over)
    }

    /// Reads a binary into memory, and hands it over.
    pub(crate) fn object(&mut self, path: &str, kind: Kind, bytes: Bytes<'_>) -> Flow {
        let Some((bytes, permit)) = self.binary(path, bytes)? else { return Ok(()) };
        let object = Object { path: path.to_owned(), kind, bytes, stored_at: None, lacks: false };
        self.sink.object(object, permit)?;
        Ok(())
    }

    /// Reads an ELF file into memory, and hands it over after what it carries, which `read` reads. `stored_at`: as of [`Object`].
    pub(crate) fn program(
        &mut self,
        path: &str,
        bytes: Bytes<'_>,
        stored_at: Option<u64>,
        read: impl FnOnce(&mut Self, &[u8]) -> Flow,
    ) -> Flow {
        if let Bytes::Slice(slice) = bytes
            && is_carrier(slice)
        {
            let (result, lacks) = self.watched(|reader| read(reader, slice))?;
            if let Some((bytes, permit)) = self.binary(path, bytes)? {
                let path = path.to_owned();
                self.sink.object(Object { path, kind: Kind::Elf, bytes, stored_at, lacks }, permit)?;
            }
            return result;
        }
        let Some((bytes, permit)) = self.binary(path, bytes)? else { return Ok(()) };
        let path = path.to_owned();
        if !is_carrier(&bytes) {
            self.sink.object(Object { path, kind: Kind::Elf, bytes, stored_at, lacks: false }, permit)?;
            return Ok(());
        }
        // No permit is held while more memory is requested.
        drop(permit);
        let size = bytes.len() as u64;
        self.sink.hold(self.held.saturating_add(size))?;
        self.held = self.held.saturating_add(size);
        let (result, lacks) = self.watched(|reader| read(reader, &bytes))?;
        self.release(&bytes);
        let permit = self.sink.admit(size)?;
        self.sink.object(Object { path, kind: Kind::Elf, bytes, stored_at, lacks }, permit)?;
        result
    }

    /// Does some reading; its result, and whether there was a fault in it. Only where the sink stops it, it ends at once.
    fn watched(&mut self, read: impl FnOnce(&mut Self) -> Flow) -> Flow<(Flow, bool)> {
        let before = self.faults;
        match read(self) {
            Err(Trouble::Stopped) => Err(Trouble::Stopped),
            result => Ok((result, self.faults > before)),
        }
    }

    /// Reads a binary into memory; `None` after the reason was reported.
    fn binary(&mut self, path: &str, bytes: Bytes<'_>) -> Flow<Option<(Vec<u8>, S::Permit)>> {
        let size = match &bytes {
            Bytes::Slice(slice) => Some(slice.len() as u64),
            Bytes::Stream(_, size) => *size,
        };
        let most = self.meter.limits.member_bytes;
        if let Some(size) = size.filter(|size| *size > most) {
            let reason = format!("{size} bytes, where at most {most} are read (--max-member)");
            self.skip(path, &reason, true)?;
            return Ok(None);
        }
        Ok(match (bytes, size) {
            (Bytes::Slice(slice), _) => {
                let permit = self.sink.admit(slice.len() as u64)?;
                Some((slice.to_vec(), permit))
            }
            (Bytes::Stream(stream, _), Some(size)) => {
                let permit = self.sink.admit(size)?;
                self.exactly(path, stream, size)?.map(|bytes| (bytes, permit))
            }
            (Bytes::Stream(stream, _), None) => {
                let Some(bytes) = self.held(path, stream)? else { return Ok(None) };
                self.release(&bytes);
                let permit = self.sink.admit(bytes.len() as u64)?;
                Some((bytes, permit))
            }
        })
    }

    /// Reads so many bytes, and sees that the stream ends there; `None` after the reason was reported.
    fn exactly(&mut self, path: &str, stream: &mut dyn Read, size: u64) -> Flow<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let most = usize::try_from(size).unwrap_or(usize::MAX);
        if bytes.try_reserve_exact(most).is_err() {
            self.skip(path, &format!("no memory for {size} bytes"), true)?;
            return Ok(None);
        }
        let read = stream.take(size).read_to_end(&mut bytes);
        // A checksum is compared at the end.
        match read.and_then(|_| stream.read(&mut [0])) {
            Ok(0) if bytes.len() as u64 == size => Ok(Some(bytes)),
            Ok(0) => {
                let reason = format!("cut off: {} of {size} bytes are there", bytes.len());
                self.skip(path, &reason, true)?;
                Ok(None)
            }
            Ok(_) => {
                self.skip(path, &format!("longer than its stated {size} bytes"), true)?;
                Ok(None)
            }
            Err(error) => {
                self.failed(path, &error, true)?;
                Ok(None)
            }
        }
    }

    /// Reads what is needed as a whole: in place, or held in memory while it is read where it comes as a stream.
    pub(crate) fn whole(
        &mut self,
        path: &str,
        bytes: Bytes<'_>,
        read: impl FnOnce(&mut Self, &[u8]) -> Flow,
    ) -> Flow {
        match bytes {
            Bytes::Slice(slice) => read(self, slice),
            Bytes::Stream(stream, _) => {
                let Some(held) = self.held(path, stream)? else { return Ok(()) };
                let result = read(self, &held);
                self.release(&held);
                result
            }
        }
    }

    /// Reads all of a stream whose length nobody states, and holds it; `None` after the reason was reported.
    pub(crate) fn held(&mut self, path: &str, stream: &mut dyn Read) -> Flow<Option<Vec<u8>>> {
        let most = self.meter.limits.member_bytes.saturating_sub(self.held);
        let mut bytes = Vec::new();
        loop {
            // Twice as much each time, as a vector grows; one byte more than allowed shows that there is
            // more.
            let length = bytes.len() as u64;
            let step = length.max(1 << 16).min((most + 1).saturating_sub(length)).max(1);
            self.sink.hold(self.held.saturating_add(length).saturating_add(step))?;
            match stream.take(step).read_to_end(&mut bytes) {
                Ok(read) if (read as u64) < step => break,
                Ok(_) if bytes.len() as u64 > most => {
                    self.skip(
                        path,
                        &format!("more than {most} bytes to be held in memory (--max-member)"),
                        true,
                    )?;
                    return Ok(None);
                }
                Ok(_) => {}
                Err(error) => {
                    self.failed(path, &error, true)?;
                    return Ok(None);
                }
            }
        }
        self.held += bytes.len() as u64;
        Ok(Some(bytes))
    }

    /// Releases what [`Reader::held`] counted.
    pub(crate) fn release(&mut self, bytes: &[u8]) {
        self.held = self.held.saturating_sub(bytes.len() as u64);
    }

    /// Reports that something could not be read.
    pub(crate) fn skip(&mut self, path: &str, reason: &str, fault: bool) -> Flow {
        self.faults += u64::from(fault);
        Ok(self.sink.skip(path.to_owned(), reason.to_owned(), fault)?)
    }

    /// Reports a failed read. A failed decoder ends all that follows; any other failure concerns this member
    /// alone.
    pub(crate) fn failed(&mut self, path: &str, error: &io::Error, fault: bool) -> Flow {
        match self.meter.failure() {
            Some(failure) => {
                self.faults += u64::from(fault || failure.is_over);
                self.sink.skip(path.to_owned(), failure.reason, fault || failure.is_over)?;
                Err(if failure.is_over { Trouble::Over } else { Trouble::Broken(failure.decoder) })
            }
            None if error.kind() == io::ErrorKind::UnexpectedEof => self.skip(path, "cut off", fault),
            None => self.skip(path, &error.to_string(), fault),
        }
    }

    /// Reads a stream to its end, so that its last checksum is compared.
    pub(crate) fn drained(&mut self, path: &str, stream: &mut dyn Read) -> Flow {
        match io::copy(stream, &mut io::sink()) {
            Ok(_) => Ok(()),
            Err(error) => self.failed(path, &error, true),
        }
    }
}

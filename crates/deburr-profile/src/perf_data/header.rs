//! What is around the records: the file's header, its events, and its feature sections.
//!
//! Source: `tools/perf/Documentation/perf.data-file-format.txt`. A file has `attrs`, `data` and, after the data, one section for
//! each feature. From a pipe all of that comes as records, and [`Header::feature`] gets their contents.

use super::attr::{Attr, field};
use super::record;
use super::stream::Record;
use crate::bytes::Cursor;
use crate::error::Error;
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};

pub(super) const MAGIC: &[u8; 8] = b"PERFILE2";
/// The header of a pipe: magic number and its own size.
const PIPE_HEADER: u64 = 16;
/// The most bytes of a section that is held in memory.
const MOST_SECTION: u64 = 64 << 20;
/// The most events and the most of their numbers (one for each CPU or thread).
const MOST_EVENTS: usize = 1 << 12;
const MOST_IDS: usize = 1 << 22;
/// The most files whose build ids are kept.
const MOST_BUILD_IDS: usize = 1 << 18;

const BUILD_ID: u64 = 2;
const HOSTNAME: u64 = 3;
const COMMAND: u64 = 11;
const EVENT_DESC: u64 = 12;

/// What is known of a file but its records.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) attrs: Vec<Attr>,
    names: HashMap<usize, String>,
    /// Events by the numbers that records have.
    pub(super) ids: HashMap<u64, usize>,
    /// How many numbers were read, also those that several events have.
    id_count: usize,
    pub(super) build_ids: HashMap<String, Vec<u8>>,
    pub(super) hostname: Option<String>,
    pub(super) command: Option<String>,
    /// Where the records are.
    pub(super) start: u64,
    pub(super) end: u64,
}

fn read_at(input: &mut (impl Read + Seek), at: u64, size: u64, length: u64) -> Result<Vec<u8>, Error> {
    if at.checked_add(size).is_none_or(|end| end > length) {
        return Err(Error::new(at, format!("{size} bytes, where the file has {length}: it is cut off")));
    }
    if size > MOST_SECTION {
        return Err(Error::new(
            at,
            format!("a section of at most {} MiB, found {size} bytes", MOST_SECTION >> 20),
        ));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let read = input.seek(SeekFrom::Start(at)).and_then(|_| input.read_exact(&mut bytes));
    read.map_err(|error| Error::new(at, format!("readable bytes: {error}")))?;
    Ok(bytes)
}

impl Header {
    /// Reads the header and, of a file, all around the records.
    pub(super) fn read(input: &mut (impl Read + Seek)) -> Result<Header, Error> {
        let length = input.seek(SeekFrom::End(0));
        let length = length.map_err(|error| Error::new(0, format!("a file with an end: {error}")))?;
        let head = read_at(input, 0, PIPE_HEADER, length)?;
        let mut head = Cursor::new(&head, 0);
        if head.take(8)? != MAGIC {
            return Err(head.fault("a perf.data of a little-endian machine"));
        }
        let size = head.u64()?;
        if size == PIPE_HEADER {
            return Ok(Header { start: PIPE_HEADER, end: length, ..Header::default() });
        }
        let rest = read_at(input, PIPE_HEADER, 88, length)?;
        let mut rest = Cursor::new(&rest, PIPE_HEADER);
        let attr_size = rest.u64()?;
        let (attrs_at, attrs_size) = (rest.u64()?, rest.u64()?);
        let (start, data_size) = (rest.u64()?, rest.u64()?);
        // Event types, which nobody writes any more.
        rest.skip(16)?;
        let features = [rest.u64()?, rest.u64()?, rest.u64()?, rest.u64()?];
        if data_size == 0 {
            return Err(Error::new(
                40,
                "the size of the records: perf record was ended before it wrote that",
            ));
        }
        let end = start.checked_add(data_size).filter(|end| *end <= length);
        let end = end.ok_or_else(|| {
            Error::new(
                40,
                format!("{data_size} bytes of records, where the file has {length} in all: it is cut off"),
            )
        })?;
        let mut header = Header { start, end, ..Header::default() };
        let attrs = read_at(input, attrs_at, attrs_size, length)?;
        header.attrs(input, attr_size, &attrs, attrs_at, length)?;
        header.features(input, features, length)?;
        Ok(header)
    }

    fn attrs(
        &mut self,
        input: &mut (impl Read + Seek),
        size: u64,
        section: &[u8],
        at: u64,
        length: u64,
    ) -> Result<(), Error> {
        // `perf_file_attr`: the attributes, then offset and size of the event's numbers.
        let size = usize::try_from(size).ok().filter(|size| (80..=4096).contains(size));
        let size = size.ok_or_else(|| Error::new(16, "a size of attributes between 80 and 4096"))?;
        for entry in section.chunks_exact(size) {
            let (attr, ids) = entry.split_at_checked(size - 16).unwrap_or((entry, &[]));
            let attr = Attr::parse(&mut Cursor::new(attr, at))?;
            let mut ids = Cursor::new(ids, at);
            let (ids_at, ids_size) = (ids.u64()?, ids.u64()?);
            if ids_size > 8 * MOST_IDS as u64 {
                return Err(ids.fault(format!("at most {MOST_IDS} numbers of an event")));
            }
            let ids = read_at(input, ids_at, ids_size, length)?;
            self.event(attr, &mut Cursor::new(&ids, ids_at))?;
        }
        Ok(())
    }

    /// A new event, with all of its numbers.
    fn event(&mut self, attr: Attr, ids: &mut Cursor<'_>) -> Result<(), Error> {
        self.id_count = self.id_count.saturating_add(ids.left() / 8);
        if self.attrs.len() >= MOST_EVENTS || self.id_count > MOST_IDS {
            return Err(ids.fault(format!("at most {MOST_EVENTS} events with {MOST_IDS} numbers")));
        }
        while ids.left() >= 8 {
            self.ids.insert(ids.u64()?, self.attrs.len());
        }
        self.attrs.push(attr);
        Ok(())
    }

    fn features(&mut self, input: &mut (impl Read + Seek), bits: [u64; 4], length: u64) -> Result<(), Error> {
        let present = (0..256u64).filter(|bit| {
            let word = bits.get(usize::try_from(bit / 64).unwrap_or(0)).copied().unwrap_or(0);
            word >> (bit % 64) & 1 != 0
        });
        for (index, feature) in (0u64..).zip(present) {
            let at = self.end.saturating_add(16 * index);
            let section = read_at(input, at, 16, length)?;
            let mut section = Cursor::new(&section, at);
            let (at, size) = (section.u64()?, section.u64()?);
            if at.checked_add(size).is_none_or(|end| end > length) {
                return Err(section.fault("a section within the file: it is cut off"));
            }
            if matches!(feature, BUILD_ID | HOSTNAME | COMMAND | EVENT_DESC) {
                let bytes = read_at(input, at, size, length)?;
                self.feature(feature, &mut Cursor::new(&bytes, at))?;
            }
        }
        Ok(())
    }

    /// The contents of a feature section.
    fn feature(&mut self, feature: u64, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        match feature {
            BUILD_ID => {
                while cursor.left() > 0 {
                    let (_, misc, size) = (cursor.u32()?, cursor.u16()?, cursor.u16()?);
                    let body = usize::from(size).checked_sub(8);
                    let body = body.ok_or_else(|| cursor.fault("a build id's size of 8 bytes or more"))?;
                    self.build_id(misc, &mut Cursor::new(cursor.take(body)?, cursor.offset()))?;
                }
            }
            HOSTNAME => self.hostname = Some(cursor.counted_string()?).filter(|name| !name.is_empty()),
            COMMAND => self.command = command(cursor)?,
            EVENT_DESC => self.event_desc(cursor)?,
            _ => {}
        }
        Ok(())
    }

    /// `struct perf_record_header_build_id`, after its header.
    fn build_id(&mut self, misc: u16, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.skip(4)?;
        let bytes = cursor.take(24)?;
        let size = if misc & record::BUILD_ID_SIZE == 0 {
            20
        } else {
            bytes.get(20).map_or(20, |size| (*size).min(20))
        };
        let path = cursor.string();
        let is_user = matches!(misc & record::MODE, record::MODE_USER | 0);
        let build_id = bytes.get(..usize::from(size)).unwrap_or_default();
        if is_user && !path.is_empty() && build_id.iter().any(|byte| *byte != 0) {
            if self.build_ids.len() >= MOST_BUILD_IDS {
                return Err(cursor.fault(format!("at most {MOST_BUILD_IDS} build ids up to here")));
            }
            self.build_ids.insert(path, build_id.to_vec());
        }
        Ok(())
    }

    /// Names of events, which have their numbers again.
    fn event_desc(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let (count, size) = (cursor.u32()?, cursor.u32()?);
        for event in 0..usize::try_from(count).unwrap_or(usize::MAX) {
            cursor.skip(u64::from(size))?;
            let ids = cursor.u32()?;
            let name = cursor.counted_string()?;
            let mut first = None;
            let mut ids =
                Cursor::new(cursor.take(usize::try_from(8 * u64::from(ids)).unwrap_or(usize::MAX))?, 0);
            if ids.left() > 0 {
                first = self.ids.get(&ids.u64()?).copied();
            }
            // They are in the order of the attributes, too.
            let event = first.unwrap_or(event);
            if event < self.attrs.len() && !name.is_empty() {
                self.names.insert(event, name);
            }
        }
        Ok(())
    }

    /// A record that has what a file has in its header. Returns whether it is one.
    pub(super) fn record(&mut self, found: &Record<'_>) -> Result<bool, Error> {
        let mut cursor = found.cursor();
        match found.kind {
            record::HEADER_ATTR => {
                let attr = Attr::parse(&mut cursor)?;
                self.event(attr, &mut cursor)?;
            }
            record::HEADER_BUILD_ID => self.build_id(found.misc, &mut cursor)?,
            record::HEADER_FEATURE => {
                let feature = cursor.u64()?;
                // Build ids come as records of their own.
                if feature != BUILD_ID {
                    self.feature(feature, &mut cursor)?;
                }
            }
            record::EVENT_UPDATE => {
                let (kind, id) = (cursor.u64()?, cursor.u64()?);
                // `PERF_EVENT_UPDATE__NAME`
                if let (2, Some(event)) = (kind, self.ids.get(&id)) {
                    self.names.insert(*event, cursor.string());
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The event that a record of the kernel is of that is no sample, which says what fields the record ends with.
    fn attr_of(&self, found: &Record<'_>) -> Option<&Attr> {
        let first = self.attrs.first()?;
        let last = found.body.last_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
        let own = last.filter(|_| first.has(field::IDENTIFIER)).and_then(|id| self.ids.get(&id));
        own.and_then(|event| self.attrs.get(*event)).or(Some(first))
    }

    fn trailing(attr: &Attr, found: &Record<'_>, which: u64) -> Result<u64, Error> {
        let at = found.body.len().checked_sub(attr.before_end(which));
        Cursor::new(at.and_then(|at| found.body.get(at..)).unwrap_or_default(), found.offset).u64()
    }

    /// The time of a record of the kernel that is no sample. Those that perf makes of `/proc` have the time 0.
    pub(super) fn time(&self, found: &Record<'_>) -> Result<u64, Error> {
        let Some(attr) = self.attr_of(found) else { return Ok(0) };
        Header::trailing(attr, found, field::TIME)
    }

    /// The process that a record of the kernel is of, where it has one.
    pub(super) fn pid(&self, found: &Record<'_>) -> Result<Option<u32>, Error> {
        self.low_half(found, field::TID)
    }

    /// The CPU that a record of the kernel is of, where it has one.
    pub(super) fn cpu(&self, found: &Record<'_>) -> Result<Option<u32>, Error> {
        self.low_half(found, field::CPU)
    }

    fn low_half(&self, found: &Record<'_>, which: u64) -> Result<Option<u32>, Error> {
        let attr = self.attr_of(found).filter(|attr| attr.has_sample_id() && attr.has(which));
        attr.map(|attr| Header::trailing(attr, found, which).map(|word| word as u32)).transpose()
    }

    /// What the profiler calls an event.
    pub(super) fn name(&self, event: usize) -> String {
        let fallback = || self.attrs.get(event).map(Attr::fallback_name).unwrap_or_default();
        self.names.get(&event).cloned().unwrap_or_else(fallback)
    }
}

fn command(cursor: &mut Cursor<'_>) -> Result<Option<String>, Error> {
    let count = cursor.u32()?;
    let mut words = Vec::new();
    for _ in 0..count {
        words.push(cursor.counted_string()?);
    }
    Ok(Some(words.join(" ")).filter(|command| !command.is_empty()))
}

//! `PERF_RECORD_SAMPLE` → its fields, in the order that `perf_event_open(2)` gives, as far as they are needed.

use super::attr::{Attr, field, format};
use super::stream::Record;
use crate::bytes::Cursor;
use crate::error::Error;

/// From here on an entry of a chain says whose the next entries are: `PERF_CONTEXT_MAX`.
const CONTEXT: u64 = 0u64.wrapping_sub(4095);
/// `PERF_CONTEXT_USER`
const CONTEXT_USER: u64 = 0u64.wrapping_sub(512);
/// `struct perf_branch_entry`
const BRANCH: usize = 24;

/// A sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample<'a> {
    pub(super) ip: u64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) time: u64,
    pub(super) period: u64,
    pub(super) id: Option<u64>,
    read: Option<Cursor<'a>>,
    chain: &'a [u8],
    branches: &'a [u8],
}

/// The value of one event, that a sample of its group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) value: u64,
    pub(super) id: Option<u64>,
}

/// The number of the event that a sample is of, where all events have it in the same place.
pub(super) fn id(record: &Record<'_>, attr: &Attr) -> Result<Option<u64>, Error> {
    let mut cursor = record.cursor();
    if attr.has(field::IDENTIFIER) {
        return cursor.u64().map(Some);
    }
    if !attr.has(field::ID) {
        return Ok(None);
    }
    let before = [field::IP, field::TID, field::TIME, field::ADDR];
    cursor.skip(8 * before.iter().filter(|bit| attr.has(**bit)).count() as u64)?;
    cursor.u64().map(Some)
}

impl<'a> Sample<'a> {
    pub(super) fn parse(record: &Record<'a>, attr: &Attr) -> Result<Sample<'a>, Error> {
        let mut cursor = record.cursor();
        let mut sample = Sample {
            ip: 0,
            pid: 0,
            tid: 0,
            time: 0,
            period: attr.period,
            id: None,
            read: None,
            chain: &[],
            branches: &[],
        };
        if attr.has(field::IDENTIFIER) {
            sample.id = Some(cursor.u64()?);
        }
        if attr.has(field::IP) {
            sample.ip = cursor.u64()?;
        }
        if attr.has(field::TID) {
            (sample.pid, sample.tid) = (cursor.u32()?, cursor.u32()?);
        }
        if attr.has(field::TIME) {
            sample.time = cursor.u64()?;
        }
        if attr.has(field::ADDR) {
            cursor.u64()?;
        }
        if attr.has(field::ID) {
            sample.id = Some(cursor.u64()?);
        }
        for bit in [field::STREAM_ID, field::CPU] {
            if attr.has(bit) {
                cursor.u64()?;
            }
        }
        if attr.has(field::PERIOD) {
            sample.period = cursor.u64()?;
        }
        if attr.has(field::READ) {
            sample.read = Some(cursor);
            values(&mut cursor, attr.read_format, |_| {})?;
        }
        if attr.has(field::CALLCHAIN) {
            let count = cursor.u64()?;
            sample.chain = cursor.take(bytes(count, 8))?;
        }
        if attr.has(field::RAW) {
            let size = cursor.u32()?;
            cursor.skip(u64::from(size))?;
        }
        if attr.has(field::BRANCH_STACK) {
            let count = cursor.u64()?;
            if attr.has_branch_index {
                cursor.u64()?;
            }
            sample.branches = cursor.take(bytes(count, BRANCH))?;
        }
        Ok(sample)
    }

    /// The values of the group's events.
    pub(super) fn values(&self, attr: &Attr, found: impl FnMut(Value)) -> Result<(), Error> {
        match self.read {
            Some(mut cursor) => values(&mut cursor, attr.read_format, found),
            None => Ok(()),
        }
    }

    /// The frame after the innermost one, where user code has both.
    pub(super) fn caller(&self) -> Option<u64> {
        let mut is_user = true;
        let words = self.chain.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let mut frames = words.filter(|word| {
            let is_context = *word >= CONTEXT;
            if is_context {
                is_user = *word == CONTEXT_USER;
            }
            is_user && !is_context
        });
        frames.nth(1).filter(|address| *address != 0)
    }

    /// Branches, the last one first: from, to, and whether predicted wrong.
    pub(super) fn branches(&self) -> impl Iterator<Item = (u64, u64, bool)> + use<'a> {
        self.branches.as_chunks::<BRANCH>().0.iter().filter_map(|entry| {
            let mut cursor = Cursor::new(entry, 0);
            let (from, to, flags) = (cursor.u64().ok()?, cursor.u64().ok()?, cursor.u64().ok()?);
            Some((from, to, flags & 1 != 0))
        })
    }
}

fn bytes(count: u64, size: usize) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(size)
}

/// `struct read_format`
fn values(cursor: &mut Cursor<'_>, read_format: u64, mut found: impl FnMut(Value)) -> Result<(), Error> {
    let has = |bit: u64| read_format & bit != 0;
    let times = [format::TOTAL_TIME_ENABLED, format::TOTAL_TIME_RUNNING];
    let times = 8 * times.iter().filter(|bit| has(**bit)).count() as u64;
    let after = |cursor: &mut Cursor<'_>| -> Result<Option<u64>, Error> {
        let id = if has(format::ID) { Some(cursor.u64()?) } else { None };
        if has(format::LOST) {
            cursor.u64()?;
        }
        Ok(id)
    };
    if has(format::GROUP) {
        let count = cursor.u64()?;
        cursor.skip(times)?;
        for _ in 0..count {
            // The record ends before any count that is too large.
            let value = cursor.u64()?;
            found(Value { value, id: after(cursor)? });
        }
    } else {
        let value = cursor.u64()?;
        cursor.skip(times)?;
        found(Value { value, id: after(cursor)? });
    }
    Ok(())
}

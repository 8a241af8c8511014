//! A jitdump → the functions that a program made at run time, by address and time.
//!
//! Source: `tools/perf/Documentation/jitdump-specification.txt`, version 1. The program maps its jitdump executable, so that a
//! recording says which one belongs to which process. Times are comparable with those of samples where both are of
//! `CLOCK_MONOTONIC` (`perf record -k mono`). Where they are not, a function counts that had its addresses alone.

use crate::bytes::{Cursor, name};
use crate::error::Error;
use std::collections::HashMap;

/// `JiTD`, as a little-endian machine writes it.
const MAGIC: u32 = 0x4a69_5444;
const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
/// `JITDUMP_FLAGS_ARCH_TIMESTAMP`: times are of the CPU's own counter.
const ARCH_TIMESTAMP: u64 = 1;
/// The most functions, and the most times that one was loaded or moved.
const MOST: usize = 1 << 20;

/// The most comparisons of all look-ups together: some seconds.
const MOST_STEPS: u64 = 1 << 31;

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function<'a> {
    pub(super) name: String,
    pub(super) svma: u64,
    pub(super) code: &'a [u8],
}

/// Where a function was from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Loaded {
    start: u64,
    end: u64,
    time: u64,
    function: usize,
    /// The last end of this one and all before it in the list.
    last_end: u64,
}

/// The functions of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Jitdump<'a> {
    pub(super) functions: Vec<Function<'a>>,
    /// By their first address.
    loaded: Vec<Loaded>,
    has_time: bool,
    steps: u64,
}

/// Whether a mapped file is a jitdump: `jit-PID.dump`.
pub(super) fn is_jitdump(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let pid = file.strip_prefix("jit-").and_then(|rest| rest.strip_suffix(".dump"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|digit| digit.is_ascii_digit()))
}

impl<'a> Jitdump<'a> {
    /// Reads a whole jitdump. A last record that is cut off is left out: the program may have been killed.
    pub(super) fn parse(bytes: &'a [u8], is_monotonic: bool) -> Result<Jitdump<'a>, Error> {
        let mut head = Cursor::new(bytes, 0);
        if head.u32()? != MAGIC {
            return Err(head.fault("a jitdump of a little-endian machine"));
        }
        let (version, size) = (head.u32()?, head.u32()?);
        if version != 1 || size < 40 {
            return Err(head
                .fault(format!("a jitdump of version 1, found version {version}, header of {size} bytes")));
        }
        head.skip(20)?;
        let flags = head.u64()?;
        let has_time = is_monotonic && flags & ARCH_TIMESTAMP == 0;
        let mut dump = Jitdump { functions: Vec::new(), loaded: Vec::new(), has_time, steps: 0 };
        let mut latest = HashMap::new();
        let mut at = size as usize;
        while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= 16) {
            let mut head = Cursor::new(rest, at as u64);
            let (kind, size, time) = (head.u32()?, head.u32()?, head.u64()?);
            if size < 16 {
                return Err(head.fault(format!("a record of 16 bytes or more, found {size}")));
            }
            let Some(record) = rest.get(16..size as usize) else { break };
            let mut cursor = Cursor::new(record, at as u64);
            match kind {
                CODE_LOAD => dump.load(&mut cursor, time, &mut latest)?,
                CODE_MOVE => dump.moved(&mut cursor, time, &mut latest)?,
                _ => {}
            }
            if dump.loaded.len() > MOST {
                return Err(cursor.fault(format!("at most {MOST} functions up to here")));
            }
            at += size as usize;
        }
        dump.loaded.sort_by_key(|loaded| (loaded.start, loaded.time));
        let mut last_end = 0;
        for loaded in &mut dump.loaded {
            last_end = loaded.end.max(last_end);
            loaded.last_end = last_end;
        }
        Ok(dump)
    }

    fn load(
        &mut self,
        cursor: &mut Cursor<'a>,
        time: u64,
        latest: &mut HashMap<u64, usize>,
    ) -> Result<(), Error> {
        // pid, tid, vma.
        cursor.skip(16)?;
        let (start, size, _index) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let name_size = cursor.left().checked_sub(usize::try_from(size).unwrap_or(usize::MAX));
        let name_size = name_size.ok_or_else(|| cursor.fault(format!("{size} bytes of code in a record")))?;
        let text = cursor.take(name_size)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let code = cursor.take(cursor.left())?;
        latest.insert(start, self.functions.len());
        self.put(start, size, time, self.functions.len());
        self.functions.push(Function { name: name(text), svma: start, code });
        Ok(())
    }

    fn moved(
        &mut self,
        cursor: &mut Cursor<'a>,
        time: u64,
        latest: &mut HashMap<u64, usize>,
    ) -> Result<(), Error> {
        cursor.skip(16)?;
        let (old, new, size) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        if let Some(function) = latest.get(&old).copied() {
            latest.insert(new, function);
            self.put(new, size, time, function);
        }
        Ok(())
    }

    fn put(&mut self, start: u64, size: u64, time: u64, function: usize) {
        let end = start.saturating_add(size);
        self.loaded.push(Loaded { start, end, time, function, last_end: end });
    }

    /// The function that had an address at a time, and the offset in it. `offset` is that of the sample.
    pub(super) fn find(
        &mut self,
        address: u64,
        time: u64,
        offset: u64,
    ) -> Result<Option<(usize, u64)>, Error> {
        let last = self.loaded.partition_point(|loaded| loaded.start <= address);
        let mut best: Option<&Loaded> = None;
        for loaded in self.loaded.get(..last).unwrap_or_default().iter().rev() {
            self.steps += 1;
            if loaded.last_end <= address {
                break;
            }
            if address >= loaded.end || self.has_time && loaded.time > time {
                continue;
            }
            match best {
                Some(other) if !self.has_time && other.function != loaded.function => return Ok(None),
                Some(other) if other.time >= loaded.time => {}
                _ => best = Some(loaded),
            }
        }
        if self.steps > MOST_STEPS {
            return Err(Error::new(offset, "fewer functions made at run time that overlap, up to here"));
        }
        Ok(best.map(|found| (found.function, address - found.start)))
    }
}

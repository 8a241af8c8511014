//! A jitdump → the functions that a program made at run time, by address and time.
//!
//! Source: `tools/perf/Documentation/jitdump-specification.txt`, version 1. The program maps its jitdump executable, so that a
//! recording says which one belongs to which process. Times are comparable with those of samples where both are of
//! `CLOCK_MONOTONIC` (`perf record -k mono`). Where they are not, a function counts that had its addresses alone.
//!
//! Of addresses that were used again, the last code is *live*.

use crate::bytes::{Cursor, name};
use crate::error::Error;
use crate::live::Live;

/// `JiTD`, as a little-endian machine writes it.
const MAGIC: u32 = 0x4a69_5444;
const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
/// `JITDUMP_FLAGS_ARCH_TIMESTAMP`: times are of the CPU's own counter.
const ARCH_TIMESTAMP: u64 = 1;
/// The bytes of a record's header.
const HEADER: usize = 16;
/// The most functions, and the most times that one was loaded or moved.
const MOST: usize = 1 << 20;

/// The most comparisons of all look-ups together: some seconds.
const MOST_STEPS: u64 = 1 << 31;

/// The largest jitdump that is read, in bytes: 1 GiB.
const MOST_JITDUMP: u64 = 1 << 30;

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function<'a> {
    pub(crate) name: String,
    pub(crate) svma: u64,
    pub(crate) code: &'a [u8],
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
pub(crate) struct Jitdump<'a> {
    pub(crate) functions: Vec<Function<'a>>,
    /// By their first address.
    loaded: Vec<Loaded>,
    /// Where functions are in the end.
    pub(crate) live: Live,
    /// `e_machine` of the code.
    pub(super) machine: u32,
    /// Where the last record begins, if it is cut off.
    pub(super) cut: Option<u64>,
    has_time: bool,
    steps: u64,
}

/// Whether a file begins as a jitdump, also of a machine whose jitdumps are refused.
pub fn begins_jitdump(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC.to_le_bytes()) || beginning.starts_with(&MAGIC.to_be_bytes())
}

/// Whether a mapped file is a jitdump by its name: `jit-PID.dump`.
pub(crate) fn is_jitdump_name(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let pid = file.strip_prefix("jit-").and_then(|rest| rest.strip_suffix(".dump"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|digit| digit.is_ascii_digit()))
}

impl<'a> Jitdump<'a> {
    /// Reads a whole jitdump. A last record that is cut off is left out: the program may have been killed.
    pub(crate) fn parse(bytes: &'a [u8], is_monotonic: bool) -> Result<Jitdump<'a>, Error> {
        let mut head = Cursor::new(bytes, 0);
        if bytes.len() as u64 > MOST_JITDUMP {
            return Err(head.fault(format!("a jitdump of at most {} GiB", MOST_JITDUMP >> 30)));
        }
        if head.u32()? != MAGIC {
            return Err(head.fault("a jitdump of a little-endian machine"));
        }
        let (version, size, machine) = (head.u32()?, head.u32()?, head.u32()?);
        if version != 1 || size < 40 {
            return Err(head
                .fault(format!("a jitdump of version 1, found version {version}, header of {size} bytes")));
        }
        head.skip(16)?;
        let flags = head.u64()?;
        let has_time = is_monotonic && flags & ARCH_TIMESTAMP == 0;
        let mut dump = Jitdump {
            functions: Vec::new(),
            loaded: Vec::new(),
            live: Live::default(),
            machine,
            cut: None,
            has_time,
            steps: 0,
        };
        let mut at = size as usize;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let mut head = Cursor::new(rest, at as u64);
            if rest.len() < HEADER {
                dump.cut = Some(at as u64);
                break;
            }
            let (kind, size, time) = (head.u32()?, head.u32()?, head.u64()?);
            if (size as usize) < HEADER {
                return Err(head.fault(format!("a record of {HEADER} bytes or more, found {size}")));
            }
            let Some(record) = rest.get(HEADER..size as usize) else {
                dump.cut = Some(at as u64);
                break;
            };
            let mut cursor = Cursor::new(record, at as u64);
            match kind {
                CODE_LOAD => dump.load(&mut cursor, time)?,
                CODE_MOVE => dump.moved(&mut cursor, time)?,
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

    fn load(&mut self, cursor: &mut Cursor<'a>, time: u64) -> Result<(), Error> {
        // pid, tid, vma.
        cursor.skip(16)?;
        let (start, size, _index) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let name_size = cursor.left().checked_sub(usize::try_from(size).unwrap_or(usize::MAX));
        let name_size = name_size.ok_or_else(|| cursor.fault(format!("{size} bytes of code in a record")))?;
        let text = cursor.take(name_size)?;
        let text = name(text.split(|byte| *byte == 0).next().unwrap_or_default());
        let function = Function { name: text, svma: start, code: cursor.take(cursor.left())? };
        // Some write a function that is there once more.
        let known = self.live.at(start).and_then(|known| self.functions.get(known));
        if known != Some(&function) {
            self.put(start, self.functions.len(), (function.code.len() as u64, time), cursor)?;
            self.functions.push(function);
        }
        Ok(())
    }

    fn moved(&mut self, cursor: &mut Cursor<'a>, time: u64) -> Result<(), Error> {
        // pid, tid, vma.
        cursor.skip(16)?;
        let (old, new, _size) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        match self.live.take(old) {
            Some((size, function)) => self.put(new, function, (size, time), cursor),
            None => Ok(()),
        }
    }

    /// A function is at an address from now on, and what was there before is gone.
    fn put(
        &mut self,
        start: u64,
        function: usize,
        (size, time): (u64, u64),
        cursor: &Cursor<'a>,
    ) -> Result<(), Error> {
        let end = start.checked_add(size);
        let end = end.ok_or_else(|| cursor.fault(format!("an address of {size} bytes, found {start:#x}")))?;
        self.loaded.push(Loaded { start, end, time, function, last_end: end });
        self.live.put(start, end, function);
        Ok(())
    }

    /// The function that had an address at a time, and the offset in it. `offset` is that of the sample.
    pub(crate) fn find(
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

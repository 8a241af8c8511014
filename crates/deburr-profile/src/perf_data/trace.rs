//! What a file says of its hardware traces: of which kind they are, by which clock, and whose.
//!
//! In: the records of perf and of the kernel around them. Out: for an operation that was sampled, when that was and in which process.
//!
//! - **The time** is the operation's timestamp, in ticks of a timer that `TIME_CONV` converts to the clock of all other records. Without
//!   that, without a timestamp, or where the recording chose another clock, it is the latest time that the file has before the
//!   buffer: the kernel's record of each part of a trace (`AUX`) precedes that part.
//! - **The process** is that of the thread in the operation's context, which the kernel writes there and gives to
//!   privileged users. Else it is the process that ran on the buffer's CPU, by switches (`SWITCH`, `SWITCH_CPU_WIDE`) and by the starts of
//!   traces (`ITRACE_START`). Else, and for the buffer of one thread, it is that of the buffer's thread.
//!
//! perf writes what kind a trace is before all records that say more of it; of other traces nothing is kept but their sizes.
//!
//! Sources: `tools/lib/perf/include/perf/event.h`, `include/uapi/linux/perf_event.h`, `tools/perf/Documentation/perf-arm-spe.txt`.

use super::header::Header;
use super::record;
use super::spe::Operation;
use super::stream::Record;
use super::threads::Threads;
use crate::error::Error;

/// `PERF_AUXTRACE_ARM_SPE`
const ARM_SPE: u32 = 4;
/// How many bytes the first version of SPE's information has.
const FIRST_VERSION: usize = 16;
/// Of `AUX`: truncated, partial, or samples that collided.
const INCOMPLETE: u64 = 1 | 4 | 8;
/// What stands for no thread, and for no CPU.
const NONE: u32 = u32::MAX;

/// `PERF_RECORD_TIME_CONV`: from ticks of a timer to nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Clock {
    shift: u16,
    multiplier: u64,
    zero: u64,
    /// Of a timer that has fewer than 64 bits: ticks at one time, and which bits there are.
    short: Option<(u64, u64)>,
}

impl Clock {
    fn parse(found: &Record<'_>) -> Result<Option<Clock>, Error> {
        let mut cursor = found.cursor();
        let (shift, multiplier, zero) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let mut short = None;
        if cursor.left() > 0 {
            let (cycles, mask, capabilities) = (cursor.u64()?, cursor.u64()?, cursor.u16()?);
            // `cap_user_time_zero`, `cap_user_time_short`
            if capabilities & 0xff == 0 {
                return Ok(None);
            }
            short = (capabilities >> 8 != 0).then_some((cycles, mask));
        }
        let shift = u16::try_from(shift).ok().filter(|shift| *shift < 64);
        let shift = shift.ok_or_else(|| Error::new(found.offset, "a shift of a clock below 64"))?;
        Ok((multiplier != 0).then_some(Clock { shift, multiplier, zero, short }))
    }

    fn time(&self, ticks: u64) -> u64 {
        let ticks = match self.short {
            Some((cycles, mask)) => cycles.wrapping_add(ticks.wrapping_sub(cycles) & mask),
            None => ticks,
        };
        let since = (u128::from(ticks) * u128::from(self.multiplier)) >> self.shift;
        self.zero.wrapping_add(since as u64)
    }
}

/// `PERF_RECORD_AUXTRACE`: a buffer that follows the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Buffer {
    pub(super) size: u64,
    /// Where it is in its trace.
    pub(super) position: u64,
    tid: Option<u32>,
    cpu: Option<u32>,
    /// Where the record is in the file.
    pub(super) offset: u64,
}

impl Buffer {
    pub(super) fn parse(found: &Record<'_>) -> Result<Buffer, Error> {
        let mut cursor = found.cursor();
        let (size, position, _reference) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let (_index, tid, cpu) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let some = |number: u32| Some(number).filter(|number| *number != NONE);
        Ok(Buffer { size, position, tid: some(tid), cpu: some(cpu), offset: found.offset })
    }
}

/// All that is known of a file's traces.
#[derive(Debug, Default)]
pub(super) struct Traces {
    /// The type of the event that traces are of, where they are SPE's.
    pub(super) spe: Option<u32>,
    /// Bytes of all traces.
    pub(super) bytes: u64,
    /// How often a trace lost some.
    pub(super) gaps: u64,
    clock: Option<Clock>,
    threads: Threads,
    /// The latest time up to a place in the file.
    latest: u64,
}

impl Traces {
    /// Whether a record has a time that counts here. Those of mappings, execs and forks do in any case.
    pub(super) fn is_timed(&self, kind: u32) -> bool {
        let kinds = [record::AUX, record::ITRACE_START, record::SWITCH, record::SWITCH_CPU_WIDE];
        self.spe.is_some() && kinds.contains(&kind)
    }

    /// Notes a record of the first pass.
    pub(super) fn record(&mut self, found: &Record<'_>, time: u64, header: &Header) -> Result<(), Error> {
        let mut cursor = found.cursor();
        match found.kind {
            record::AUXTRACE_INFO => self.information(found)?,
            record::AUXTRACE => self.bytes = self.bytes.saturating_add(cursor.u64()?),
            record::TIME_CONV => self.clock = Clock::parse(found)?,
            _ if self.spe.is_none() => {}
            record::AUX => {
                let (_position, _size, flags) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
                self.gaps = self.gaps.saturating_add(u64::from(flags & INCOMPLETE != 0));
            }
            record::COMM | record::MMAP | record::MMAP2 => {
                self.threads.thread(cursor.u32()?, cursor.u32()?, time, found.offset)?;
            }
            record::FORK => {
                let (pid, _parent, tid) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
                self.threads.thread(pid, tid, time, found.offset)?;
            }
            record::ITRACE_START => {
                let (pid, tid) = (cursor.u32()?, cursor.u32()?);
                self.threads.thread(pid, tid, time, found.offset)?;
                if let Some(cpu) = header.cpu(found)? {
                    self.threads.switch(cpu, pid, time);
                }
            }
            record::SWITCH | record::SWITCH_CPU_WIDE => {
                let is_out = found.misc & record::SWITCH_OUT != 0;
                let pid = match (is_out, found.kind) {
                    (false, _) => header.pid(found)?,
                    (true, record::SWITCH_CPU_WIDE) => Some(cursor.u32()?),
                    // Which one comes next is not said.
                    (true, _) => None,
                };
                if let (Some(pid), Some(cpu)) = (pid, header.cpu(found)?) {
                    self.threads.switch(cpu, pid, time);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `PERF_RECORD_AUXTRACE_INFO`
    fn information(&mut self, found: &Record<'_>) -> Result<(), Error> {
        let mut cursor = found.cursor();
        let (kind, _reserved) = (cursor.u32()?, cursor.u32()?);
        if kind == ARM_SPE {
            // Later versions begin with the version and the size of their header.
            if cursor.left() > FIRST_VERSION {
                cursor.skip(16)?;
            }
            self.spe = Some(u32::try_from(cursor.u64()?).unwrap_or(NONE));
        }
        Ok(())
    }

    /// Notes the time of a record that precedes a buffer, in the second pass.
    pub(super) fn passed(&mut self, time: u64) {
        self.latest = self.latest.max(time);
    }

    /// Ends the first pass. `has_clock`: whether times are those of the kernel's clock, which ticks are converted to.
    pub(super) fn end(&mut self, has_clock: bool) {
        self.threads.sort();
        self.clock = self.clock.filter(|_| has_clock);
    }

    /// In which process an operation of a buffer was sampled, and when.
    pub(super) fn place(&self, buffer: &Buffer, operation: &Operation) -> (u32, u64) {
        let time = self.clock.zip(operation.ticks).map_or(self.latest, |(clock, ticks)| clock.time(ticks));
        let process = |tid: u32| self.threads.process(tid, time);
        let named = operation.thread.map(process);
        let pid =
            named.or_else(|| self.threads.on_cpu(buffer.cpu?, time)).or_else(|| buffer.tid.map(process));
        (pid.unwrap_or(NONE), time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_converted_as_the_kernel_says() {
        // 40 ns a tick: a timer of 25 MHz.
        let clock = Clock { shift: 3, multiplier: 320, zero: 1000, short: None };
        assert_eq!((clock.time(0), clock.time(25_000_000)), (1000, 1_000_001_000));
        // No overflow where the product has more than 64 bits.
        let long = Clock { shift: 32, multiplier: 40 << 32, zero: 0, short: None };
        assert_eq!(long.time(1 << 56), 40 << 56);
        let short = Clock { short: Some((0x1_0000_0005, 0xffff_ffff)), ..clock };
        assert_eq!(short.time(6), clock.time(0x1_0000_0006));
    }

    fn record(kind: u32, body: &[u8]) -> Record<'_> {
        Record { kind, misc: 0, body, offset: 0x40 }
    }

    #[test]
    fn later_information_has_the_event_after_its_header() {
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        for (body, expected) in [
            (words(&[4, 8, 1]), Some(8)),
            (words(&[4, 1, 4, 9, 0]), Some(9)),
            (words(&[1, 8, 1]), None),
            (words(&[4, u64::MAX, 1]), Some(NONE)),
        ] {
            let mut traces = Traces::default();
            let found = record(record::AUXTRACE_INFO, &body);
            traces.record(&found, 0, &Header::default()).unwrap();
            assert_eq!(traces.spe, expected);
        }
        let error = Traces::default().record(
            &record(record::AUXTRACE_INFO, &words(&[4, 1, 4])[..12]),
            0,
            &Header::default(),
        );
        assert!(error.is_err());
    }

    #[test]
    fn a_clock_that_says_nothing_is_none_and_an_impossible_one_is_refused() {
        let body = |words: [u64; 6]| words.map(u64::to_le_bytes).concat();
        let clock = |words| Clock::parse(&record(record::TIME_CONV, &body(words)));
        assert_eq!(clock([3, 320, 0, 0, 0, 0]), Ok(None));
        assert_eq!(clock([3, 0, 0, 0, 0, 1]), Ok(None));
        let short = Clock { shift: 3, multiplier: 320, zero: 7, short: Some((5, 6)) };
        assert_eq!(clock([3, 320, 7, 5, 6, 0x101]), Ok(Some(short)));
        let error = clock([64, 320, 0, 0, 0, 1]).unwrap_err().to_string();
        assert_eq!(error, "at offset 0x40: expected a shift of a clock below 64");
    }
}

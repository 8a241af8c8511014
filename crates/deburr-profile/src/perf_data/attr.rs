//! `perf_event_attr`: what an event is, and which fields its samples have.
//!
//! Source: `include/uapi/linux/perf_event.h`. The structure has grown since; its `size` says how much of it there is.

use crate::bytes::Cursor;
use crate::error::Error;
use crate::profile::Precision;

/// Bits of `sample_type`, in the order of `PERF_SAMPLE_*`.
pub(super) mod field {
    pub(crate) const IP: u64 = 1 << 0;
    pub(crate) const TID: u64 = 1 << 1;
    pub(crate) const TIME: u64 = 1 << 2;
    pub(crate) const ADDR: u64 = 1 << 3;
    pub(crate) const READ: u64 = 1 << 4;
    pub(crate) const CALLCHAIN: u64 = 1 << 5;
    pub(crate) const ID: u64 = 1 << 6;
    pub(crate) const CPU: u64 = 1 << 7;
    pub(crate) const PERIOD: u64 = 1 << 8;
    pub(crate) const STREAM_ID: u64 = 1 << 9;
    pub(crate) const RAW: u64 = 1 << 10;
    pub(crate) const BRANCH_STACK: u64 = 1 << 11;
    pub(crate) const IDENTIFIER: u64 = 1 << 16;
}

/// Bits of `read_format`: `PERF_FORMAT_*`.
pub(super) mod format {
    pub(crate) const TOTAL_TIME_ENABLED: u64 = 1 << 0;
    pub(crate) const TOTAL_TIME_RUNNING: u64 = 1 << 1;
    pub(crate) const ID: u64 = 1 << 2;
    pub(crate) const GROUP: u64 = 1 << 3;
    pub(crate) const LOST: u64 = 1 << 4;
}

/// `PERF_SAMPLE_BRANCH_CALL_STACK`: a branch stack has calls that have not returned, not the last branches.
const BRANCH_CALL_STACK: u64 = 1 << 11;
/// `PERF_SAMPLE_BRANCH_HW_INDEX`: a branch stack has one more number.
const BRANCH_HW_INDEX: u64 = 1 << 17;
/// `PERF_ATTR_SIZE_VER0`.
const SMALLEST: u32 = 64;
/// The clock that jitdumps use.
const CLOCK_MONOTONIC: u32 = 1;

const HARDWARE: [&str; 10] = [
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
];

const SOFTWARE: [&str; 12] = [
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
    "cgroup-switches",
];

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attr {
    kind: u32,
    config: u64,
    /// `sample_period`, or 1 where that is a frequency.
    pub(super) period: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    flags: u64,
    /// The clock that `time` is of, where it is a known one.
    clock: Option<u32>,
    pub(super) has_branch_index: bool,
    /// Whether a branch stack has the last branches that were taken.
    pub(super) has_last_branches: bool,
}

impl Attr {
    /// Reads one. The cursor is at what comes after it when this returns.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Attr, Error> {
        let mut peeked = *cursor;
        let (_, size) = (peeked.u32()?, peeked.u32()?);
        if size < SMALLEST || !size.is_multiple_of(8) {
            return Err(cursor.fault(format!("an event's attributes of 64 bytes or more, found {size}")));
        }
        let bytes = cursor.take(usize::try_from(size).unwrap_or(usize::MAX))?;
        let mut fields = Cursor::new(bytes, cursor.offset());
        let (kind, _) = (fields.u32()?, fields.u32()?);
        let (config, period, sample_type) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (read_format, flags) = (fields.u64()?, fields.u64()?);
        // wakeup_events, bp_type, config1.
        fields.skip(16)?;
        // What a shorter structure lacks is zero.
        let _config2 = fields.u64();
        let branches = fields.u64().unwrap_or(0);
        let _registers_and_stack = fields.skip(12);
        let clock = fields.u32().unwrap_or(0);
        let is = |bit: u32| flags & (1 << bit) != 0;
        Ok(Attr {
            kind,
            config,
            period: if is(10) { 1 } else { period },
            sample_type,
            read_format,
            flags,
            clock: is(25).then_some(clock),
            has_branch_index: branches & BRANCH_HW_INDEX != 0,
            has_last_branches: branches & BRANCH_CALL_STACK == 0,
        })
    }

    pub(super) fn has(&self, fields: u64) -> bool {
        self.sample_type & fields != 0
    }

    /// Whether a group's counts are counted for each thread apart.
    pub(super) fn is_inherited(&self) -> bool {
        self.flags & (1 << 1) != 0
    }

    /// Whether every record has a time.
    pub(super) fn is_timed(&self) -> bool {
        self.has(field::TIME) && self.has_sample_id()
    }

    /// Whether times are those of the kernel's own clock.
    pub(super) fn has_default_clock(&self) -> bool {
        self.clock.is_none()
    }

    /// Whether it is an event of this type: `perf_event_attr.type`.
    pub(super) fn is_of(&self, kind: u32) -> bool {
        self.kind == kind
    }

    /// Whether times are those of jitdumps.
    pub(super) fn is_monotonic(&self) -> bool {
        self.clock == Some(CLOCK_MONOTONIC)
    }

    /// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_DUMMY`: only there for its other records.
    pub(super) fn is_dummy(&self) -> bool {
        self.kind == 1 && self.config == 9
    }

    /// Where a record that is no sample has a field, in bytes before its end: `sample_id` has those of samples in this order.
    pub(super) fn before_end(&self, which: u64) -> usize {
        let all = [field::TID, field::TIME, field::ID, field::STREAM_ID, field::CPU, field::IDENTIFIER];
        let from_it = all.iter().skip_while(|bit| **bit != which);
        8 * from_it.filter(|bit| self.has(**bit)).count()
    }

    /// Whether records that are no samples have the fields of `sample_id`.
    pub(super) fn has_sample_id(&self) -> bool {
        self.flags & (1 << 18) != 0
    }

    /// What the profiler promises. A software event of a fault is raised by the instruction itself; with `precise_ip` of 2 and
    /// 3, samples are requested to have no skid.
    pub(super) fn precision(&self) -> Precision {
        let is_fault = self.kind == 1 && matches!(self.config, 2 | 5..=8);
        let precise_ip = self.flags >> 15 & 3;
        if is_fault || precise_ip >= 2 { Precision::Precise } else { Precision::Skids }
    }

    /// A name for an event that has none in the file.
    pub(super) fn fallback_name(&self) -> String {
        let names: &[&str] = match self.kind {
            0 => &HARDWARE,
            1 => &SOFTWARE,
            _ => &[],
        };
        let known = usize::try_from(self.config).ok().and_then(|config| names.get(config));
        known
            .map_or_else(|| format!("type{}/config={:#x}", self.kind, self.config), |name| (*name).to_owned())
    }
}

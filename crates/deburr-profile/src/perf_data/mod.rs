//! `perf.data` of Linux perf → tallies by offset in each mapped file.
//!
//! In: a file that can be read twice. Out: what [`Gather`] keeps. The first pass reads mappings, forks and execs into a
//! [`Timeline`]; the second pass reads samples, each of which is then forgotten. No sample is sorted, and no buffer grows with the
//! number of samples.
//!
//! A trace of Arm SPE is read in the second pass, too: each operation that it sampled is a sample of the trace's event, which names the
//! instruction itself. Another event, [`LATENCY`], has the same samples, weighed by the cycles that their operations took.
//!
//! The place of a sample is `ip - start + pgoff` of its mapping, an offset in the file. Device, inode and build id distinguish
//! files of the same path. Sources: `include/uapi/linux/perf_event.h`, `tools/perf/Documentation/perf.data-file-format.txt`.

mod attr;
mod header;
mod plane;
mod record;
mod run_time;
mod sample;
mod spe;
mod stream;
mod threads;
mod timeline;
mod trace;
mod zstd;

use crate::bytes::Cursor;
use crate::error::Error;
use crate::gather::{At, Gather, Identity, ObjectId, Outside, Spot};
use crate::jitdump::{Jitdump, is_jitdump_name};
use crate::perf_map::PerfMap;
use crate::profile::{Format, Precision, Profile, Tally, WantedJitdump};
use crate::request::Request;
use attr::Attr;
use header::Header;
use run_time::RunTime;
use sample::{Sample, Value};
use spe::{Decoder, Operation};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{Read, Seek};
use stream::{Record, Stream};
use timeline::{Backing, Found, Happening, Timeline};
use trace::{Buffer, Traces};

/// Whether a file begins as one in this format, also of a machine whose files are refused.
pub(crate) fn begins(beginning: &[u8]) -> bool {
    let reversed: Vec<u8> = header::MAGIC.iter().rev().copied().collect();
    beginning.starts_with(header::MAGIC) || beginning.starts_with(&reversed)
}

/// The event of what SPE sampled, weighed by latency.
const LATENCY: &str = "arm_spe/latency/";
/// SPE's event, where the file does not describe it.
const SPE: &str = "arm_spe";
/// The most counters of groups whose last values are kept.
const MOST_COUNTERS: usize = 1 << 20;
/// The most jitdumps that processes have.
const MOST_JITDUMPS: usize = 256;
/// The most processes whose perf maps are wanted.
const MOST_PERF_MAPS: usize = 4096;
/// The most distinct files that mappings name.
const MOST_FILES: usize = 1 << 20;

/// Reads a whole profile.
pub(crate) fn read(input: &mut (impl Read + Seek), request: &Request<'_>) -> Result<Profile, Error> {
    let header = Header::read(&mut *input)?;
    let mut mappings = Mappings { header, ..Mappings::default() };
    mappings.read(&mut *input)?;
    let jitdumps = std::mem::take(&mut mappings.jitdumps);
    let mut samples = Samples::new(mappings);
    samples.describe(&jitdumps, request);
    samples.read(input)?;
    Ok(samples.finish())
}

/// Whether every record has a time. Otherwise their order in the file is that.
fn is_timed(attrs: &[Attr]) -> bool {
    attrs.iter().all(Attr::is_timed)
}

/// Whether the time of a record counts.
fn has_time(kind: u32, traces: &Traces) -> bool {
    matches!(kind, record::MMAP | record::MMAP2 | record::COMM | record::FORK) || traces.is_timed(kind)
}

/// The first pass: everything but samples.
#[derive(Debug, Default)]
struct Mappings {
    header: Header,
    timeline: Timeline,
    traces: Traces,
    gather: Gather,
    files: usize,
    /// Processes, and the jitdumps that they mapped.
    jitdumps: BTreeSet<(u32, String)>,
    is_timed: bool,
}

impl Mappings {
    fn read(&mut self, input: &mut (impl Read + Seek)) -> Result<(), Error> {
        let mut stream = Stream::new(input, self.header.start, self.header.end)?;
        let mut number = 0;
        self.is_timed = is_timed(&self.header.attrs);
        while let Some(found) = stream.next(false)? {
            number += 1;
            if found.kind == record::SAMPLE {
                continue;
            }
            if self.header.record(&found)? {
                self.is_timed = is_timed(&self.header.attrs);
                continue;
            }
            let time = if self.is_timed && has_time(found.kind, &self.traces) {
                self.header.time(&found)?
            } else {
                number
            };
            self.record(&found, time)?;
            self.traces.record(&found, time, &self.header)?;
        }
        if self.header.attrs.is_empty() {
            return Err(Error::new(self.header.start, "the attributes of an event"));
        }
        Ok(())
    }

    fn record(&mut self, found: &Record<'_>, time: u64) -> Result<(), Error> {
        let mut cursor = found.cursor();
        match found.kind {
            record::MMAP | record::MMAP2 => self.mapping(found, time)?,
            record::COMM if found.misc & record::COMM_EXEC != 0 => {
                self.timeline.add(cursor.u32()?, time, Happening::Exec, found.offset)?;
            }
            record::FORK => {
                let (pid, parent) = (cursor.u32()?, cursor.u32()?);
                if pid != parent && found.misc & record::FORK_SYNTHESIZED == 0 {
                    self.timeline.add(pid, time, Happening::Fork { parent }, found.offset)?;
                }
            }
            record::LOST => {
                let (_id, lost) = (cursor.u64()?, cursor.u64()?);
                self.gather.lost.records = self.gather.lost.records.saturating_add(lost);
            }
            record::LOST_SAMPLES => {
                self.gather.lost.records = self.gather.lost.records.saturating_add(cursor.u64()?);
            }
            record::THROTTLE => self.gather.lost.throttled += 1,
            _ => {}
        }
        Ok(())
    }

    fn mapping(&mut self, found: &Record<'_>, time: u64) -> Result<(), Error> {
        if !matches!(found.misc & record::MODE, record::MODE_USER | 0) {
            return Ok(());
        }
        let mut cursor = found.cursor();
        let (pid, _tid) = (cursor.u32()?, cursor.u32()?);
        let (start, length, offset) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let (mut build_id, mut inode) = (None, None);
        if found.kind == record::MMAP2 {
            let mut which = Cursor::new(cursor.take(24)?, found.offset);
            if found.misc & record::MMAP_BUILD_ID == 0 {
                let numbers = (which.u32()?, which.u32()?, which.u64()?);
                inode = Some(numbers).filter(|numbers| *numbers != (0, 0, 0));
            } else {
                let size = which.u32()? & 0xff;
                let bytes = which.take(20)?;
                build_id = bytes.get(..size as usize).filter(|bytes| !bytes.is_empty()).map(<[u8]>::to_vec);
            }
            // Protection and flags.
            cursor.skip(8)?;
        }
        let path = cursor.string();
        if is_jitdump_name(&path) {
            self.jitdumps.insert((pid, path.clone()));
            if self.jitdumps.len() > MOST_JITDUMPS {
                return Err(Error::new(found.offset, format!("at most {MOST_JITDUMPS} jitdumps up to here")));
            }
        }
        let backing = if is_anonymous(&path) {
            Backing::Anonymous
        } else if is_unnamed(&path) {
            Backing::Unnamed
        } else {
            Backing::File(self.file(path, build_id, inode, found.offset)?, offset)
        };
        let happening = Happening::Map { start, end: start.saturating_add(length), backing };
        self.timeline.add(pid, time, happening, found.offset)
    }

    fn file(
        &mut self,
        path: String,
        build_id: Option<Vec<u8>>,
        inode: Option<(u32, u32, u64)>,
        offset: u64,
    ) -> Result<ObjectId, Error> {
        self.files += 1;
        if self.files > MOST_FILES {
            return Err(Error::new(offset, format!("at most {MOST_FILES} mapped files up to here")));
        }
        let living = path.strip_suffix(" (deleted)");
        let (is_deleted, path) = (living.is_some(), living.map(str::to_owned).unwrap_or(path));
        self.gather.object(Identity { path, is_deleted, build_id, inode }, offset)
    }
}

/// Memory that is no file's, by the names that the kernel and perf give it.
fn is_anonymous(path: &str) -> bool {
    let beginnings =
        ["//anon", "/anon_hugepage", "/dev/zero", "/SYSV", "/memfd:", "[heap]", "[stack", "[anon"];
    path.is_empty() || beginnings.iter().any(|beginning| path.starts_with(beginning))
}

/// Files whose paths the kernel could not write (`perf_event_mmap_event`).
fn is_unnamed(path: &str) -> bool {
    matches!(path, "//toolong" | "//enomem")
}

/// Where and when something was seen.
#[derive(Debug, Clone, Copy)]
struct Seen {
    pid: u32,
    time: u64,
    ip: u64,
    /// As in `misc` of a record.
    mode: u16,
    caller: Option<u64>,
    /// Where the record is in the file.
    offset: u64,
}

/// The second pass: samples.
struct Samples<'j> {
    header: Header,
    timeline: Timeline,
    traces: Traces,
    gather: Gather,
    is_timed: bool,
    /// The numbers that events have in the profile. A dummy has one once it has a sample.
    events: Vec<Option<u32>>,
    /// The numbers of the event that the file does not describe, and of [`LATENCY`].
    undescribed: Option<u32>,
    latency: Option<u32>,
    /// How many samples of each event have an exact instruction pointer.
    exact: Vec<u64>,
    /// Events that were read along with samples of others of their group.
    read_along: HashSet<usize>,
    /// The last values of counters, by their number, and the thread where each has its own.
    counters: HashMap<(u64, u32), u64>,
    run_time: RunTime<'j>,
}

impl<'j> Samples<'j> {
    fn new(mappings: Mappings) -> Samples<'j> {
        let Mappings { header, timeline, mut traces, mut gather, is_timed, .. } = mappings;
        traces.end(is_timed && header.attrs.iter().all(Attr::has_default_clock));
        if traces.spe.is_none() {
            gather.unread_trace = traces.bytes;
        }
        let mut samples = Samples {
            events: vec![None; header.attrs.len()],
            undescribed: None,
            latency: None,
            exact: vec![0; header.attrs.len()],
            header,
            timeline,
            traces,
            gather,
            is_timed,
            read_along: HashSet::new(),
            counters: HashMap::new(),
            run_time: RunTime::default(),
        };
        let real = samples.header.attrs.iter().map(|attr| !attr.is_dummy()).enumerate();
        let real: Vec<usize> = real.filter(|(_, is_real)| *is_real).map(|(event, _)| event).collect();
        for event in real {
            samples.event(event);
        }
        samples
    }

    /// The number of an event in the profile.
    fn event(&mut self, event: usize) -> u32 {
        if let Some(Some(number)) = self.events.get(event) {
            return *number;
        }
        let precision = self.header.attrs.get(event).map_or(Precision::Skids, Attr::precision);
        let number = self.gather.event(self.header.name(event), precision);
        if let Some(known) = self.events.get_mut(event) {
            *known = Some(number);
        }
        number
    }

    /// Takes what is given of functions made at run time. A jitdump that cannot be read costs no more than itself.
    fn describe(&mut self, mapped: &BTreeSet<(u32, String)>, request: &Request<'j>) {
        let is_monotonic = self.header.attrs.iter().all(Attr::is_monotonic);
        for (pid, path) in mapped {
            let given = request.jitdumps.iter().find(|(given, _)| given == path);
            match given.map(|(_, bytes)| Jitdump::parse(bytes, is_monotonic && self.is_timed)) {
                Some(Ok(dump)) => {
                    self.run_time.add_dump(*pid, path, dump);
                    continue;
                }
                Some(Err(error)) => self.gather.unread_jitdumps.push((path.clone(), error)),
                None => {}
            }
            self.gather.wanted.insert(WantedJitdump { pid: *pid, path: path.clone() });
        }
        for (pid, bytes) in request.perf_maps {
            self.run_time.add_map(*pid, PerfMap::parse(bytes));
        }
    }

    fn read(&mut self, input: &mut (impl Read + Seek)) -> Result<(), Error> {
        let mut stream = Stream::new(input, self.header.start, self.header.end)?;
        let mut number = 0;
        while let Some(found) = stream.next(true)? {
            number += 1;
            if found.kind == record::SAMPLE {
                self.sample(&found, number)?;
            } else if self.traces.spe.is_some() {
                if found.kind == record::AUXTRACE {
                    let buffer = Buffer::parse(&found)?;
                    self.trace(&buffer, &mut stream)?;
                } else if !self.is_timed {
                    self.traces.passed(number);
                } else if has_time(found.kind, &self.traces) {
                    self.traces.passed(self.header.time(&found)?);
                }
            }
        }
        Ok(())
    }

    /// Reads a buffer of SPE, which follows its record.
    fn trace(&mut self, buffer: &Buffer, stream: &mut Stream<impl Read + Seek>) -> Result<(), Error> {
        let event =
            self.header.attrs.iter().position(|attr| self.traces.spe.is_some_and(|spe| attr.is_of(spe)));
        let mut decoder = Decoder::new(buffer.position);
        let mut read = 0;
        while let Some(piece) = stream.following()? {
            read += piece.len() as u64;
            decoder.push(piece, |operation| self.operation(operation, event, buffer))?;
        }
        let unread = buffer.size.saturating_sub(read);
        self.gather.unread_trace = self.gather.unread_trace.saturating_add(unread);
        self.traces.gaps = self.traces.gaps.saturating_add(decoder.finish());
        Ok(())
    }

    /// An operation that SPE sampled: a sample of the trace's event, and one of [`LATENCY`].
    fn operation(
        &mut self,
        operation: &Operation,
        event: Option<usize>,
        buffer: &Buffer,
    ) -> Result<(), Error> {
        let (number, period) = match event {
            Some(event) => {
                if let Some(exact) = self.exact.get_mut(event) {
                    *exact += 1;
                }
                (self.event(event), self.header.attrs.get(event).map_or(1, |attr| attr.period.max(1)))
            }
            None => {
                let gather = &mut self.gather;
                (*self.undescribed.get_or_insert_with(|| gather.event(SPE.to_owned(), Precision::Precise)), 1)
            }
        };
        let (pid, time) = self.traces.place(buffer, operation);
        let mode = match operation.instruction {
            None => record::MODE_UNKNOWN,
            Some(instruction) if instruction.is_user() => record::MODE_USER,
            Some(_) => record::MODE_KERNEL,
        };
        let ip = operation.instruction.map_or(0, |instruction| instruction.svma);
        let seen = Seen { pid, time, ip, mode, caller: None, offset: buffer.offset };
        let operations = (number, Tally::sample(period));
        match operation.latency {
            None => self.count(&[operations], &seen)?,
            Some(latency) => {
                let gather = &mut self.gather;
                let event =
                    self.latency.get_or_insert_with(|| gather.event(LATENCY.to_owned(), Precision::Precise));
                let cycles = (*event, Tally::sample(latency.saturating_mul(period)));
                self.count(&[operations, cycles], &seen)?;
            }
        }
        let target = operation.target.filter(|target| target.is_user());
        if let Some(target) = target
            && operation.is_branch
            && !operation.is_not_taken
            && mode == record::MODE_USER
        {
            let branch = (ip, target.svma, operation.is_mispredicted);
            self.branch((pid, time), branch, buffer.offset)?;
        }
        Ok(())
    }

    fn event_of(&self, id: Option<u64>) -> Option<usize> {
        if self.header.attrs.len() == 1 {
            return Some(0);
        }
        match id {
            // perf gives samples without a number to the first event.
            None | Some(0) => Some(0),
            Some(id) => self.header.ids.get(&id).copied(),
        }
    }

    fn sample(&mut self, found: &Record<'_>, number: u64) -> Result<(), Error> {
        let Some(first) = self.header.attrs.first() else { return Ok(()) };
        let event = self.event_of(sample::id(found, first)?);
        let Some((event, attr)) = event.and_then(|event| Some((event, *self.header.attrs.get(event)?)))
        else {
            return Err(Error::new(found.offset, "a sample of an event that the file describes"));
        };
        let mut sample = Sample::parse(found, &attr)?;
        if !self.is_timed {
            sample.time = number;
        }
        self.traces.passed(sample.time);
        if found.misc & record::EXACT_IP != 0
            && let Some(exact) = self.exact.get_mut(event)
        {
            *exact += 1;
        }
        if attr.has_last_branches {
            self.branches(&sample, found)?;
        }
        if !attr.has(attr::field::READ) {
            return self.weigh(event, sample.period, &sample, found);
        }
        let mut values: Vec<Value> = Vec::new();
        sample.values(&attr, |value| values.push(value))?;
        if values.iter().all(|value| value.id.is_none()) {
            return self.weigh(event, sample.period, &sample, found);
        }
        for value in values {
            self.counter(value, event, &sample, found)?;
        }
        Ok(())
    }

    /// A counter that was read with a sample of event `of`: what it has gained since is its event's weight here, as perf has it.
    fn counter(
        &mut self,
        value: Value,
        of: usize,
        sample: &Sample<'_>,
        found: &Record<'_>,
    ) -> Result<(), Error> {
        let Some(event) = value.id.and_then(|id| self.header.ids.get(&id)).copied() else {
            return Err(Error::new(found.offset, "a counter of an event that the file describes"));
        };
        let is_inherited = self.header.attrs.get(of).is_some_and(Attr::is_inherited);
        let key = (value.id.unwrap_or(0), if is_inherited { sample.tid } else { 0 });
        if self.counters.len() >= MOST_COUNTERS && !self.counters.contains_key(&key) {
            return Err(Error::new(found.offset, format!("at most {MOST_COUNTERS} counters up to here")));
        }
        let before = self.counters.insert(key, value.value).unwrap_or(0);
        match value.value.wrapping_sub(before) {
            0 => Ok(()),
            gained => {
                if event != of {
                    self.read_along.insert(event);
                }
                self.weigh(event, gained, sample, found)
            }
        }
    }

    /// A sample, by its weight for an event.
    fn weigh(
        &mut self,
        event: usize,
        period: u64,
        sample: &Sample<'_>,
        found: &Record<'_>,
    ) -> Result<(), Error> {
        let event = self.event(event);
        let Sample { pid, time, ip, .. } = *sample;
        let mode = found.misc & record::MODE;
        let seen = Seen { pid, time, ip, mode, caller: sample.caller(), offset: found.offset };
        self.count(&[(event, Tally::sample(period))], &seen)
    }

    /// Counts what was seen at a place, for each event by its tally.
    fn count(&mut self, tallies: &[(u32, Tally)], seen: &Seen) -> Result<(), Error> {
        let Seen { pid, time, ip, offset, .. } = *seen;
        let outside = match seen.mode {
            record::MODE_USER => None,
            record::MODE_KERNEL | record::MODE_HYPERVISOR => Some(Outside::Kernel),
            record::MODE_GUEST_KERNEL | record::MODE_GUEST_USER => Some(Outside::Guest),
            _ => Some(Outside::Unknown),
        };
        let found = match outside {
            None => self.timeline.find(pid, time, ip),
            Some(_) => Found::Unmapped,
        };
        if let Found::File(object, at) = found {
            let leaf = (object, Spot::FileOffset(at));
            let caller = seen.caller.and_then(|caller| self.call_before(pid, time, caller));
            for (event, tally) in tallies {
                self.gather.leaf(leaf, *event, *tally, offset)?;
                if let Some(caller) = caller {
                    self.gather.edge(leaf, caller, *event, *tally, offset)?;
                }
            }
            return Ok(());
        }
        let function = match outside {
            None => self.run_time.find(pid, ip, time, offset)?,
            Some(_) => None,
        };
        let nowhere = if found == Found::Anonymous { Outside::Anonymous } else { Outside::Unknown };
        let wants_map = function.is_none() && outside.is_none() && found == Found::Anonymous;
        if wants_map && self.gather.wanted_perf_maps.len() < MOST_PERF_MAPS && !self.run_time.has_map(pid) {
            self.gather.wanted_perf_maps.insert(pid);
        }
        for (event, tally) in tallies {
            match function {
                Some((function, at)) => self.gather.jit(function, at, *event, *tally, offset)?,
                None => self.gather.outside(outside.unwrap_or(nowhere), *event, *tally),
            }
        }
        Ok(())
    }

    /// A caller by its return address. The call is before that, and may be the mapping's last instruction.
    fn call_before(&mut self, pid: u32, time: u64, caller: u64) -> Option<At> {
        match self.timeline.find(pid, time, caller.wrapping_sub(1)) {
            Found::File(object, offset) => Some((object, Spot::FileOffset(offset.wrapping_add(1)))),
            _ => None,
        }
    }

    fn branches(&mut self, sample: &Sample<'_>, found: &Record<'_>) -> Result<(), Error> {
        for branch in sample.branches() {
            self.branch((sample.pid, sample.time), branch, found.offset)?;
        }
        Ok(())
    }

    /// A taken branch of a process at a time: from, to, and whether it was predicted wrong.
    fn branch(
        &mut self,
        (pid, time): (u32, u64),
        (from, to, is_mispredicted): (u64, u64, bool),
        offset: u64,
    ) -> Result<(), Error> {
        let from = self.timeline.find(pid, time, from);
        let to = self.timeline.find(pid, time, to);
        if let (Found::File(from, from_at), Found::File(to, to_at)) = (from, to) {
            let (from, to) = ((from, Spot::FileOffset(from_at)), (to, Spot::FileOffset(to_at)));
            self.gather.branch(from, to, is_mispredicted, offset)?;
        }
        Ok(())
    }

    fn finish(self) -> Profile {
        let Samples { header, traces, mut gather, events, exact, read_along, run_time, .. } = self;
        gather.lost.gaps = traces.gaps;
        for (attr, (number, exact)) in events.iter().zip(exact).enumerate() {
            let event = number.and_then(|number| gather.events.get_mut(number as usize));
            let Some(event) = event else { continue };
            if read_along.contains(&attr) {
                event.precision = Precision::Skids;
            } else if exact > 0 && exact == event.total.samples {
                event.precision = Precision::Precise;
            }
        }
        gather.build_ids(&header.build_ids);
        let jit = run_time.finish(&gather.jit_functions());
        (gather.command, gather.hostname) = (header.command, header.hostname);
        gather.finish(Format::PerfData, jit)
    }
}

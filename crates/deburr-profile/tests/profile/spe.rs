//! Traces of Arm SPE, in files that are written here: packets by the manual's tables, records as perf and the kernel write them.
//!
//! `spe.data` is such a file, and `spe.script` is what perf makes of it. With `DEBURR_BLESS` set the file is written.

use super::recording::{
    Attributes, CPU, CPU_CLOCK, IDENTIFIER, IP, PERIOD, Recording, SAMPLE, Sample, TID, TIME,
};
use super::{bytes, content, file_offset, leaves, parsed, recordings, tally};
use deburr_profile::{Place, Precision, Profile, Tally};
use std::collections::BTreeMap;

/// The type of SPE's event: `/sys/bus/event_source/devices/arm_spe_0/type`.
const PMU: u32 = 8;
const ARM_SPE: u64 = 4;
const NONE: u32 = u32::MAX;

const SPE: Attributes = Attributes {
    kind: PMU,
    config: 1,
    period: 1024,
    sample_type: IDENTIFIER | IP | TID | TIME | CPU | PERIOD,
    ..CPU_CLOCK
};
/// `dummy:u`, which perf adds for mappings and switches.
const DUMMY: Attributes = Attributes { kind: 1, config: 9, period: 1, id: 8, ..SPE };

/// An operation, as the hardware writes it.
#[derive(Clone, Copy)]
struct Operation {
    pc: Option<u64>,
    level: u64,
    target: Option<u64>,
    events: u16,
    latency: Option<u16>,
    thread: Option<u32>,
    ticks: Option<u64>,
}

const RETIRED: u16 = 1 << 1;
const NOT_TAKEN: u16 = 1 << 6;
const MISPREDICTED: u16 = 1 << 7;

/// Something that is no branch, in user code.
const OPERATION: Operation = Operation {
    pc: None,
    level: 0,
    target: None,
    events: RETIRED,
    latency: Some(10),
    thread: Some(10),
    ticks: None,
};

fn at(pc: u64) -> Operation {
    Operation { pc: Some(pc), ..OPERATION }
}

impl Operation {
    fn packets(&self) -> Vec<u8> {
        // Of user code in the non-secure state: bit 63.
        let address = |svma: u64| (svma & 0x00ff_ffff_ffff_ffff | self.level << 61 | 1 << 63).to_le_bytes();
        let mut packets = Vec::new();
        match self.target {
            Some(target) => packets.extend([&[0x4a, 0x01, 0xb1][..], &address(target)].concat()),
            // An operation that is neither a branch nor a load or a store.
            None => packets.extend([0x48, 0x00]),
        }
        packets.extend([&[0x52][..], &self.events.to_le_bytes()].concat());
        if let Some(pc) = self.pc {
            packets.extend([&[0xb0][..], &address(pc)].concat());
        }
        if let Some(latency) = self.latency {
            // The total latency, and that of its issue.
            packets.extend([&[0x98][..], &latency.to_le_bytes(), &[0x99, 0x01, 0x00]].concat());
        }
        if let Some(thread) = self.thread {
            packets.extend([&[0x65][..], &thread.to_le_bytes()].concat());
        }
        match self.ticks {
            Some(ticks) => packets.extend([&[0x71][..], &ticks.to_le_bytes()].concat()),
            None => packets.push(0x01),
        }
        packets.resize(packets.len().next_multiple_of(16), 0);
        packets
    }
}

fn packets(operations: &[Operation]) -> Vec<u8> {
    operations.iter().flat_map(Operation::packets).collect()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A recording that has a trace.
struct Traced(Recording);

impl Traced {
    /// As perf begins it: what the trace is of, and how its ticks are converted (40 ns each, from 1000 on), where they are.
    fn begun(attributes: &[Attributes], has_clock: bool) -> Traced {
        let mut recording = Recording::new(attributes);
        if has_clock {
            recording.record(79, 0, &words(&[10, 40 << 10, 1000, 0, u64::MAX >> 8, 0x101]));
        }
        recording.record(70, 0, &words(&[ARM_SPE, u64::from(PMU), 1]));
        Traced(recording)
    }

    fn new() -> Traced {
        let mut traced = Traced::begun(&[SPE, DUMMY], true);
        traced.0.map(10, 0, [0x40_0000, 0x10000, 0x1000], "/a", 5);
        traced
    }

    /// `PERF_RECORD_AUX` of the kernel, and `PERF_RECORD_AUXTRACE` of perf with the buffer.
    fn buffer(&mut self, time: u64, flags: u64, (tid, cpu): (u32, u32), trace: &[u8]) {
        self.aux(time, flags, trace.len() as u64);
        let numbers = [if cpu == NONE { tid } else { cpu }, tid, cpu, 0].map(u32::to_le_bytes).concat();
        self.0.record(71, 0, &[words(&[trace.len() as u64, 0, 0]), numbers].concat());
        self.0.records.extend(trace);
    }

    fn aux(&mut self, time: u64, flags: u64, size: u64) {
        self.0.timed(11, 0, words(&[0, size, flags]), 10, time);
    }

    /// Operations of CPU 0, whose threads are in their contexts.
    fn operations(&mut self, operations: &[Operation]) {
        self.buffer(500, 0, (NONE, 0), &packets(operations));
    }

    fn profile(self) -> Profile {
        parsed(&self.0.finish()).expect("a profile")
    }
}

/// The ticks of a time.
fn ticks(time: u64) -> Option<u64> {
    Some((time - 1000) / 40)
}

#[test]
fn each_operation_is_a_precise_sample_of_its_instruction() {
    let mut traced = Traced::new();
    let slow = Operation { latency: Some(300), ..at(0x40_0020) };
    let sampled = [at(0x40_0010), at(0x40_0010), slow, Operation { latency: None, ..at(0x40_0010) }];
    traced.operations(&sampled);
    let profile = traced.profile();
    let events: Vec<_> = profile.events.iter().map(|event| (event.name.as_str(), event.precision)).collect();
    assert_eq!(events, [("type8/config=0x1", Precision::Precise), ("arm_spe/latency/", Precision::Precise)]);
    let expected =
        [(file_offset("/a", 0x1010), tally(3, 3 * 1024)), (file_offset("/a", 0x1020), tally(1, 1024))];
    assert_eq!(leaves(&profile, 0), BTreeMap::from(expected));
    let expected =
        [(file_offset("/a", 0x1010), tally(2, 20 * 1024)), (file_offset("/a", 0x1020), tally(1, 300 * 1024))];
    assert_eq!(leaves(&profile, 1), BTreeMap::from(expected));
    assert_eq!((profile.unread_trace, profile.lost), (0, Default::default()));
}

#[test]
fn the_kernel_and_operations_without_an_instruction_are_left_out() {
    let mut traced = Traced::new();
    let kernel = |level| Operation { level, ..at(0xff_8000_0010_0000) };
    // The same address as one of the program, in the kernel.
    let low = Operation { level: 2, ..at(0x40_0010) };
    traced.operations(&[kernel(1), kernel(2), kernel(3), low, OPERATION, at(0x90_0000), at(0x40_0010)]);
    let profile = traced.profile();
    let left_out = profile.events[0].left_out;
    assert_eq!((left_out.kernel.samples, left_out.unknown.samples, left_out.total().samples), (4, 2, 6));
    assert_eq!(leaves(&profile, 0), BTreeMap::from([(file_offset("/a", 0x1010), tally(1, 1024))]));
}

#[test]
fn timestamps_choose_among_mappings() {
    for has_clock in [true, false] {
        let mut traced = Traced::begun(&[SPE, DUMMY], has_clock);
        traced.0.map(10, 0, [0x40_0000, 0x1000, 0], "/a", 5);
        traced.0.map(10, 9000, [0x40_0000, 0x1000, 0], "/b", 6);
        let timed = |time| Operation { ticks: ticks(time), ..at(0x40_0010) };
        traced.buffer(9500, 0, (NONE, 0), &packets(&[timed(8960), timed(9000), timed(9400), at(0x40_0010)]));
        // A mapping that comes after the buffer in the file, and was there before.
        traced.0.map(10, 9200, [0x40_0000, 0x1000, 0], "/c", 7);
        let found: Vec<_> = leaves(&traced.profile(), 0)
            .into_iter()
            .map(|((path, _), tally)| (path, tally.samples))
            .collect();
        let expected = match has_clock {
            // Without a timestamp it is the time of the buffer.
            true => vec![("/a".to_owned(), 1), ("/b".to_owned(), 1), ("/c".to_owned(), 2)],
            false => vec![("/c".to_owned(), 4)],
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn a_buffer_without_timestamps_has_the_mappings_of_its_time() {
    let mut traced = Traced::new();
    traced.buffer(5000, 0, (NONE, 0), &packets(&[at(0x40_0010)]));
    traced.0.map(10, 6000, [0x40_0000, 0x1000, 0], "/b", 6);
    traced.buffer(7000, 0, (NONE, 0), &packets(&[at(0x40_0010)]));
    let expected = [(file_offset("/a", 0x1010), tally(1, 1024)), (file_offset("/b", 0x10), tally(1, 1024))];
    assert_eq!(leaves(&traced.profile(), 0), BTreeMap::from(expected));
}

#[test]
fn whatever_the_kernel_wrote_before_a_buffer_says_when_it_is() {
    let mut traced = Traced::begun(&[SPE, DUMMY], false);
    traced.0.map(10, 7, [0x40_0000, 0x1000, 0], "/a", 5);
    let numbers = [0, NONE, 0, 0].map(u32::to_le_bytes).concat();
    let trace = packets(&[at(0x40_0010)]);
    traced.0.record(71, 0, &[words(&[trace.len() as u64, 0, 0]), numbers].concat());
    traced.0.records.extend(trace);
    let found: Vec<_> = leaves(&traced.profile(), 0).into_keys().collect();
    assert_eq!(found, [file_offset("/a", 0x10)]);
}

#[test]
fn ticks_mean_nothing_where_the_recording_chose_another_clock() {
    let monotonic = |attributes| Attributes { flags: 1 << 18 | 1 << 25, clock: 1, ..attributes };
    let mut traced = Traced::begun(&[monotonic(SPE), monotonic(DUMMY)], true);
    traced.0.map(10, 0, [0x40_0000, 0x1000, 0], "/a", 5);
    traced.0.map(10, 9000, [0x40_0000, 0x1000, 0], "/b", 6);
    traced.buffer(9500, 0, (NONE, 0), &packets(&[Operation { ticks: ticks(2000), ..at(0x40_0010) }]));
    let found: Vec<_> = leaves(&traced.profile(), 0).into_keys().collect();
    assert_eq!(found, [file_offset("/b", 0x10)]);
}

#[test]
fn without_times_buffers_count_in_the_order_of_the_file() {
    let untimed =
        |attributes: Attributes| Attributes { sample_type: attributes.sample_type & !TIME, ..attributes };
    let mut traced = Traced::begun(&[untimed(SPE), untimed(DUMMY)], true);
    traced.0.map(10, 0, [0x40_0000, 0x1000, 0], "/a", 5);
    traced.buffer(0, 0, (10, NONE), &packets(&[Operation { ticks: ticks(9000), ..at(0x40_0010) }]));
    traced.0.map(10, 0, [0x40_0000, 0x1000, 0], "/b", 6);
    traced.buffer(
        0,
        0,
        (10, NONE),
        &packets(&[Operation { ticks: ticks(2000), thread: None, ..at(0x40_0010) }]),
    );
    let expected = [(file_offset("/a", 0x10), tally(1, 1024)), (file_offset("/b", 0x10), tally(1, 1024))];
    assert_eq!(leaves(&traced.profile(), 0), BTreeMap::from(expected));
}

/// `PERF_RECORD_SWITCH_CPU_WIDE` from one process to another.
fn switch(traced: &mut Traced, cpu: u32, time: u64, from: u32, to: u32) {
    traced.0.cpu = cpu;
    let other = |pid: u32| [pid, pid].map(u32::to_le_bytes).concat();
    traced.0.timed(15, 1 << 13, other(to), from, time);
    traced.0.timed(15, 0, other(from), to, time);
}

#[test]
fn a_process_is_that_of_the_context_or_of_the_cpu_or_of_the_buffer() {
    let mut traced = Traced::new();
    traced.0.map(20, 0, [0x40_0000, 0x10000, 0x1000], "/b", 6);
    // Thread 11 of process 10, and the start of a trace of process 20 on CPU 3.
    let fork = [10u32, 10, 11, 10].map(u32::to_le_bytes).concat();
    traced.0.timed(7, 0, [fork, words(&[0])].concat(), 10, 1);
    traced.0.cpu = 3;
    traced.0.timed(12, 0, [20u32, 20].map(u32::to_le_bytes).concat(), 20, 2000);
    switch(&mut traced, 0, 3000, 20, 10);
    switch(&mut traced, 0, 5000, 10, 20);
    let mut number = 0;
    let mut sampled = |buffer, thread, time| {
        number += 1;
        let operation = Operation { thread, ticks: ticks(time), ..at(0x40_0000 + number) };
        traced.buffer(6000, 0, buffer, &packets(&[operation]));
    };
    // By its context: a thread, and a process, whatever else there is.
    sampled((20, NONE), Some(11), 5800);
    sampled((NONE, 0), Some(20), 4000);
    // By switches on its CPU.
    sampled((20, 0), None, 3040);
    sampled((10, 0), None, 5040);
    // By the start of the trace.
    sampled((10, 3), None, 2040);
    // By the buffer: of a thread, and of a CPU of which nothing is known at that time.
    sampled((11, NONE), None, 4000);
    sampled((20, 0), None, 2960);
    // By nothing.
    sampled((NONE, 1), None, 4000);
    sampled((NONE, NONE), None, 4000);
    // A thread that is of no process that the file has.
    sampled((10, 0), Some(77), 4000);
    let profile = traced.profile();
    let mut places: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (path, place) in leaves(&profile, 0).into_keys() {
        let Place::FileOffset(offset) = place else { panic!("{place:?}") };
        places.entry(path).or_default().push(offset - 0x1000);
    }
    let expected = [("/a".to_owned(), vec![1, 3, 6]), ("/b".to_owned(), vec![2, 4, 5, 7])];
    assert_eq!(places, BTreeMap::from(expected));
    assert_eq!(profile.events[0].left_out.unknown, tally(3, 3 * 1024));
}

#[test]
fn a_thread_that_goes_is_followed_by_nobody_that_is_known() {
    let mut traced = Traced::new();
    traced.0.map(20, 0, [0x40_0000, 0x10000, 0x1000], "/b", 6);
    // `PERF_RECORD_SWITCH` of a recording of two processes: in, out, in.
    for (pid, time, misc) in [(10, 2000, 0), (10, 3000, 1 << 13), (20, 4000, 0)] {
        traced.0.timed(14, misc, Vec::new(), pid, time);
    }
    let nobody = |time| Operation { thread: None, ticks: ticks(time), ..at(0x40_0010) };
    traced.operations(&[nobody(2040), nobody(2960), nobody(4040)]);
    let expected = [(file_offset("/a", 0x1010), tally(2, 2048)), (file_offset("/b", 0x1010), tally(1, 1024))];
    assert_eq!(leaves(&traced.profile(), 0), BTreeMap::from(expected));
}

#[test]
fn taken_branches_have_their_targets() {
    let mut traced = Traced::new();
    traced.0.map(10, 0, [0x50_0000, 0x1000, 0], "/b", 6);
    let branch = |target, events| Operation { target: Some(target), events, ..at(0x40_0010) };
    traced.operations(&[
        branch(0x50_0020, RETIRED),
        branch(0x50_0020, RETIRED | MISPREDICTED),
        branch(0x50_0040, RETIRED | NOT_TAKEN),
        // To nowhere, and in the kernel.
        branch(0x90_0000, RETIRED),
        Operation { level: 1, ..branch(0x50_0020, RETIRED) },
    ]);
    let profile = traced.profile();
    let found: Vec<_> = profile.objects[0]
        .branches
        .iter()
        .map(|branch| (&branch.from, branch.to.object, &branch.to.place, branch.count, branch.mispredicted))
        .collect();
    assert_eq!(found, [(&Place::FileOffset(0x1010), 1, &Place::FileOffset(0x20), 2, 1)]);
    assert_eq!(profile.events[0].total.samples, 5);
}

#[test]
fn what_a_trace_lacks_is_counted() {
    let mut traced = Traced::new();
    let whole = packets(&[at(0x40_0010)]);
    // Truncated, partial, collided; all of a buffer that was read as a snapshot; of a guest's format.
    for flags in [1, 4, 8, 1 | 4 | 8, 2, 0x100] {
        traced.buffer(500, flags, (NONE, 0), &whole);
    }
    // Truncated before anything was written, a record that is cut off, and a damaged one.
    traced.aux(600, 1, 0);
    traced.buffer(700, 0, (NONE, 0), &[&whole[..], &whole[..9]].concat());
    traced.buffer(800, 0, (NONE, 0), &[&[0xff, 0x52, 0, 0, 0x01][..], &whole].concat());
    let profile = traced.profile();
    assert_eq!((profile.lost.gaps, profile.lost.records), (4 + 1 + 2, 0));
    assert_eq!(profile.events[0].total, tally(8, 8 * 1024));
    let mut twice = profile.clone();
    twice.merge(profile);
    assert_eq!(twice.lost.gaps, 14);
}

#[test]
fn traces_of_other_hardware_are_not_read() {
    for kind in [1, 2, 3, 5] {
        let mut traced = Traced(Recording::new(&[SPE, DUMMY]));
        traced.0.record(70, 0, &words(&[kind, u64::from(PMU), 1]));
        traced.0.map(10, 0, [0x40_0000, 0x10000, 0x1000], "/a", 5);
        let whole = packets(&[at(0x40_0010)]);
        traced.operations(&[at(0x40_0010)]);
        // Truncated: of a trace that is not read, nothing is missed.
        traced.0.timed(11, 0, words(&[0, 0, 1]), 10, 2);
        traced.0.sample(Sample { ip: 0x40_0020, ..SAMPLE });
        let profile = traced.profile();
        assert_eq!((profile.unread_trace, profile.events.len()), (whole.len() as u64, 1));
        assert_eq!(profile.lost.gaps, 0);
        assert_eq!(profile.events[0].precision, Precision::Skids);
        assert_eq!(leaves(&profile, 0), BTreeMap::from([(file_offset("/a", 0x1020), tally(1, 1000))]));
    }
}

#[test]
fn a_trace_whose_event_is_not_described_has_one_of_its_own() {
    let mut traced = Traced::begun(&[CPU_CLOCK], true);
    traced.0.map(10, 0, [0x40_0000, 0x10000, 0x1000], "/a", 5);
    let numbers = [0, NONE, 0, 0].map(u32::to_le_bytes).concat();
    let trace = packets(&[at(0x40_0010)]);
    traced.0.record(71, 0, &[words(&[trace.len() as u64, 0, 0]), numbers].concat());
    traced.0.records.extend(trace);
    traced.0.sample(Sample { ip: 0x40_0020, ..SAMPLE });
    let profile = traced.profile();
    let events: Vec<_> =
        profile.events.iter().map(|event| (event.name.as_str(), event.total.samples)).collect();
    assert_eq!(events, [("cpu-clock", 1), ("arm_spe", 1), ("arm_spe/latency/", 1)]);
    assert_eq!(profile.events[0].precision, Precision::Skids);
    assert_eq!(leaves(&profile, 1), BTreeMap::from([(file_offset("/a", 0x1010), tally(1, 1))]));
}

#[test]
fn a_pipe_and_compressed_records_give_the_same() {
    let made = |is_compressed: bool| {
        let mut traced = Traced::begun(&[SPE, DUMMY], true);
        let mut ring = Recording::new(&[SPE, DUMMY]);
        ring.map(10, 0, [0x40_0000, 0x10000, 0x1000], "/a", 5);
        if is_compressed {
            // perf compresses what the kernel wrote, and no traces. A frame of one block as it is.
            let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x38];
            frame.extend(&((ring.records.len() as u32) << 3 | 1).to_le_bytes()[..3]);
            frame.extend(&ring.records);
            traced.0.record(81, 0, &frame);
        } else {
            traced.0.records.extend(&ring.records);
        }
        traced.operations(&[at(0x40_0010), at(0x40_0020), OPERATION]);
        traced.operations(&[at(0x40_0010)]);
        traced
    };
    let plain = made(false).profile();
    assert_eq!(plain.events[0].total, tally(4, 4096));
    assert_eq!(made(true).profile(), plain);
    for is_compressed in [false, true] {
        assert_eq!(parsed(&made(is_compressed).0.finish_pipe()), Ok(plain.clone()));
    }
}

#[test]
fn large_buffers_are_read_in_pieces() {
    let mut traced = Traced::new();
    let operations: Vec<Operation> = (0..20_000u64).map(|number| at(0x40_0000 + number % 16 * 4)).collect();
    let trace = packets(&operations);
    assert!(trace.len() > 9 << 16);
    // So that pieces end within packets.
    traced.buffer(500, 0, (NONE, 0), &[&[0; 7], &trace[..]].concat());
    let profile = traced.profile();
    assert_eq!(
        (leaves(&profile, 0).len(), profile.events[0].total.samples, profile.lost.gaps),
        (16, 20_000, 0)
    );
}

#[test]
fn records_that_contradict_themselves_are_refused_with_their_offset() {
    let refused = |change: &dyn Fn(&mut Traced), expected: &str| {
        let mut traced = Traced::new();
        change(&mut traced);
        let error = parsed(&traced.0.finish()).expect_err(expected).to_string();
        assert!(error.starts_with("at offset 0x") && error.contains(expected), "{error}");
    };
    refused(&|traced| traced.0.record(70, 0, &words(&[4])), "8 more bytes in this record, which has 0");
    refused(&|traced| traced.0.record(79, 0, &words(&[64, 1, 0])), "a shift of a clock below 64");
    refused(&|traced| traced.0.record(79, 0, &words(&[1])), "8 more bytes in this record, which has 0");
    refused(&|traced| traced.0.record(71, 0, &words(&[0, 0])), "8 more bytes in this record, which has 0");
    let huge = words(&[u64::MAX, 0, 0, 0, 0]);
    refused(&|traced| traced.0.record(71, 0, &huge), "bytes after a record, within the records");
    refused(&|traced| traced.0.record(14, 0, &[0; 8]), "8 more bytes in this record, which has 0");
}

/// Two processes with a thread, two CPUs, all kinds of operations; with `PERF_SAMPLE_WEIGHT`, so that perf prints latencies.
fn example() -> Vec<u8> {
    let weighed =
        |attributes: Attributes| Attributes { sample_type: attributes.sample_type | 1 << 14, ..attributes };
    let mut traced = Traced::begun(&[weighed(SPE), weighed(DUMMY)], true);
    for (pid, path, inode) in [(10, "/opt/first", 5), (20, "/opt/second", 6)] {
        let comm = [&[pid, pid].map(u32::to_le_bytes).concat()[..], b"program\0"].concat();
        traced.0.timed(3, 0, comm, pid, 0);
        traced.0.map(pid, 0, [0x40_0000, 0x10000, 0x1000], path, inode);
        traced.0.map(pid, 0, [0x7000_0000, 0x20000, 0], "/opt/library", 7);
    }
    let fork = [10u32, 10, 11, 10].map(u32::to_le_bytes).concat();
    traced.0.timed(7, 0, [fork, words(&[1500])].concat(), 10, 1500);
    // In the middle of the run the half of a file is replaced.
    traced.0.map(20, 16_000, [0x40_8000, 0x8000, 0], "/opt/later", 8);
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for cpu in 0..2u32 {
        traced.0.cpu = cpu;
        let operations: Vec<Operation> = (0..60u64)
            .map(|number| {
                let (base, range) = [(0x40_0000, 0x10000), (0x7000_0000, 0x20000)][random(2) as usize];
                let pc = base + random(8) * (range / 8);
                let is_kernel = random(6) == 0;
                Operation {
                    pc: Some(if is_kernel { 0xff_8000_0010_0000 } else { pc }),
                    level: if is_kernel { 2 } else { 0 },
                    target: (random(3) == 0).then_some(0x40_0000 + random(16) * 4),
                    events: RETIRED | [0, NOT_TAKEN, MISPREDICTED][random(3) as usize],
                    latency: Some(1 + random(600) as u16),
                    thread: Some([10, 11, 20][random(3) as usize]),
                    ticks: ticks(4000 + 400 * number),
                }
            })
            .collect();
        traced.buffer(30_000, 0, (NONE, cpu), &packets(&operations));
    }
    // What ends the order of records for perf.
    traced.0.record(68, 0, &[]);
    traced.0.finish()
}

#[test]
fn the_example_is_the_recording() {
    let path = recordings().join("spe.data");
    if std::env::var_os("DEBURR_BLESS").is_some() {
        std::fs::write(path, example()).expect("a written recording");
    }
    assert!(
        example() == bytes("spe.data"),
        "DEBURR_BLESS=1 cargo test -p deburr-profile --test profile example"
    );
}

/// What `perf script -F pid,tid,time,event,ip,dso,weight` says: for each place in a file, or the kernel, how many operations there
/// were, and their latency.
fn printed() -> BTreeMap<(String, u64), Tally> {
    let mut sums = BTreeMap::new();
    for line in content("spe.script").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, "instructions:", latency, ip, path] = fields[..] else { panic!("{line}") };
        let ip = u64::from_str_radix(ip, 16).expect("hexadecimal");
        let offset = match path.trim_matches(['(', ')']) {
            "/opt/library" => ip - 0x7000_0000,
            "/opt/later" => ip - 0x40_8000,
            "/opt/first" | "/opt/second" => ip - 0x40_0000 + 0x1000,
            _ => 0,
        };
        let place = (path.trim_matches(['(', ')']).to_owned(), offset);
        let latency = latency.parse().expect("a number");
        sums.entry(place).or_insert_with(Tally::default).add(Tally::sample(latency));
    }
    sums
}

#[test]
fn places_and_latencies_are_those_that_perf_script_prints() {
    let profile = parsed(&bytes("spe.data")).expect("a profile");
    let mut own = BTreeMap::new();
    let (mut operations, mut latencies) = (leaves(&profile, 0), leaves(&profile, 1));
    assert!(operations.keys().eq(latencies.keys()));
    for event in [0, 1] {
        let kernel = ("[unknown]".to_owned(), Place::FileOffset(0));
        let sums = if event == 0 { &mut operations } else { &mut latencies };
        sums.insert(kernel, profile.events[event].left_out.kernel);
    }
    for (((path, place), operation), latency) in operations.into_iter().zip(latencies.values()) {
        let Place::FileOffset(offset) = place else { panic!("{place:?}") };
        assert_eq!((operation.samples, operation.weight), (latency.samples, 1024 * operation.samples));
        own.insert((path, offset), tally(latency.samples, latency.weight / 1024));
    }
    let printed = printed();
    assert!(printed.keys().map(|(path, _)| path).collect::<std::collections::BTreeSet<_>>().len() == 5);
    assert_eq!(own, printed);
}

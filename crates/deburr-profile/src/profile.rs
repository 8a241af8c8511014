//! What every reader of profiles gives: tallies by place in a file.
//!
//! A *place* is where an instruction is, in the terms of the format: an offset in the file, an address in its image, or a
//! symbol. Nothing here is resolved any further: that needs the file itself.
//!
//! | format | place of an instruction | event | weight |
//! |---|---|---|---|
//! | perf.data | `FileOffset`: `ip - start + pgoff` of the mapping | each recorded one | sum of periods |
//! | a trace of Arm SPE in it | the same | that of the trace; `arm_spe/latency/` | sum of periods; of cycles, times the period |
//! | perf script | `Symbol` and offset, or `FileOffset` after `+0x…` of `dsoff` | each that is named | sum of periods |
//! | pprof | `FileOffset`: `address - start + offset` of the mapping | one of the sample types | its sum |
//! | callgrind | `Symbol`; with `--dump-instr=yes` `Svma` | each that is counted | the count |
//!
//! For every event, `total` is the sum over the leaves of all objects, all JIT functions, and what is left out.

use crate::error::Error;
use std::sync::Arc;

/// The format that a profile was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// `perf.data` of Linux perf, as a file or from a pipe.
    PerfData,
    /// The text of `perf script`.
    PerfScript,
    /// A pprof profile: `profile.proto`, with or without gzip.
    Pprof,
    /// Callgrind's output.
    Callgrind,
}

/// How near to its cause an instruction is that a sample names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Precision {
    /// The instruction itself was sampled: PEBS, IBS, SPE, or a page fault.
    Precise,
    /// An interrupt came later: the instruction is a few after the cause. Also an event that was only counted along with
    /// samples of another event of its group.
    Skids,
    /// Every execution was counted; nothing was sampled.
    Exact,
}

/// What was seen of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Tally {
    /// How many samples; 0 where events are counted.
    pub samples: u64,
    /// The sum of their periods; or the number of events. At most `u64::MAX`.
    pub weight: u64,
}

impl Tally {
    /// One sample of a period.
    pub fn sample(weight: u64) -> Tally {
        Tally { samples: 1, weight }
    }

    /// Adds what was seen of something else.
    pub fn add(&mut self, other: Tally) {
        self.samples = self.samples.saturating_add(other.samples);
        self.weight = self.weight.saturating_add(other.weight);
    }
}

/// What belongs to no file that could be looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// The kernel, and a hypervisor.
    pub kernel: Tally,
    /// Guests of virtual machines.
    pub guest: Tally,
    /// Memory that is no file's: code made at run time, or text that was moved to large pages.
    pub anonymous: Tally,
    /// No mapping was recorded for it, or no place.
    pub unknown: Tally,
}

impl LeftOut {
    /// All of it.
    pub fn total(&self) -> Tally {
        let mut total = self.kernel;
        [self.guest, self.anonymous, self.unknown].into_iter().for_each(|tally| total.add(tally));
        total
    }

    /// Adds what another profile left out.
    pub(crate) fn add(&mut self, other: &LeftOut) {
        self.kernel.add(other.kernel);
        self.guest.add(other.guest);
        self.anonymous.add(other.anonymous);
        self.unknown.add(other.unknown);
    }
}

/// Something that was sampled, or counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The profiler's name of it: `cycles:u`, `cpu-clock`, `cpu/nanoseconds`, `Ir`.
    pub name: String,
    /// All that was seen, also what is left out.
    pub total: Tally,
    /// What is in no object.
    pub left_out: LeftOut,
    /// How near the samples are to their causes.
    pub precision: Precision,
}

/// Where an instruction is in its object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// An offset in the file, in bytes.
    FileOffset(u64),
    /// An address of the image as it is linked.
    Svma(u64),
    /// A place in a function.
    Symbol {
        /// Its name, as the profiler writes it.
        name: Arc<str>,
        /// Bytes after its beginning, where known.
        offset: Option<u64>,
    },
}

/// A place in one of the profile's objects.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// Index into [`Profile::objects`].
    pub object: usize,
    /// Where in it.
    pub place: Place,
}

/// What was seen at a place: the innermost frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Leaf {
    /// Where.
    pub place: Place,
    /// Index into [`Profile::events`].
    pub event: usize,
    /// How much.
    pub tally: Tally,
}

/// What was seen at a place when a certain caller had called its function. The sum of a leaf's edges is at most the leaf:
/// samples without a chain, or whose caller is in no object, have none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// The innermost frame.
    pub leaf: Place,
    /// The next frame, by its return address: the byte before it is in the call instruction. By frame pointers, the caller of a
    /// function that has not yet set its frame up is missed, and its caller's caller is here.
    pub caller: Site,
    /// Index into [`Profile::events`].
    pub event: usize,
    /// How much.
    pub tally: Tally,
}

/// Calls that were counted, all of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    /// The call instruction; or the calling function, where no addresses are known.
    pub from: Place,
    /// The beginning of the called function.
    pub to: Site,
    /// How often.
    pub count: u64,
    /// What the called function cost, with all that it called, for each of [`Profile::events`].
    pub inclusive: Vec<u64>,
}

/// Taken branches, from a record of the last branches before each sample (LBR). Each record has up to 32 of them, of the kinds
/// that the recording asked for. Or those that Arm SPE sampled.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Branch {
    /// The branch.
    pub from: Place,
    /// Its target.
    pub to: Site,
    /// How often it was recorded.
    pub count: u64,
    /// How often of these it had been predicted wrong, as far as the CPU says so.
    pub mispredicted: u64,
}

/// An executable file, or a shared library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its path as the process saw it on the machine of the recording, or something like `[vdso]`. Two objects may have the same
    /// path: the file was replaced meanwhile, or there are containers.
    pub path: String,
    /// Whether the path led to another file, or to none, when the file was mapped.
    pub is_deleted: bool,
    /// The build id of its ELF note, where recorded.
    pub build_id: Option<Vec<u8>>,
    /// Major and minor number of its device, and its inode, where recorded. They distinguish files within one recording.
    pub inode: Option<(u32, u32, u64)>,
    /// By place and event.
    pub leaves: Vec<Leaf>,
    /// By leaf, caller and event.
    pub edges: Vec<Edge>,
    /// By caller and callee.
    pub calls: Vec<Call>,
    /// By branch and target.
    pub branches: Vec<Branch>,
}

/// What describes a function made at run time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum JitSource {
    /// A jitdump, which has its code.
    Jitdump {
        /// As in [`WantedJitdump`].
        path: Arc<str>,
        /// Where it is in [`crate::jit_images`] of the jitdump; `None` where other code took its place.
        image_svma: Option<u64>,
    },
    /// `perf-PID.map`, which has its name alone.
    PerfMap,
}

/// A function made at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JitFunction {
    /// The process.
    pub pid: u32,
    /// What describes it.
    pub source: JitSource,
    /// Its name.
    pub name: String,
    /// Where it was when it was loaded.
    pub svma: u64,
    /// Its instructions, where they are known.
    pub code: Vec<u8>,
    /// Offset in the code, index into [`Profile::events`], and what was seen there.
    pub leaves: Vec<(u64, usize, Tally)>,
}

/// What the profiler says that it lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    /// Records that did not fit into its buffers, samples or others.
    pub records: u64,
    /// Times that the kernel took fewer samples, as there were too many.
    pub throttled: u64,
    /// Places where a trace of hardware lacks some of it: its buffer was full, samples collided, or a record is damaged.
    pub gaps: u64,
}

/// A jitdump that would give functions to samples in anonymous memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WantedJitdump {
    /// The process.
    pub pid: u32,
    /// Where it was.
    pub path: String,
}

/// A profile, or several that were merged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The format that it was read from.
    pub format: Format,
    /// What was sampled or counted.
    pub events: Vec<Event>,
    /// The files, in the order of their paths.
    pub objects: Vec<Object>,
    /// Functions made at run time that have samples, in the order of process and address.
    pub jit: Vec<JitFunction>,
    /// What the profiler lost.
    pub lost: Lost,
    /// The command line of the profiler, or of the program, where recorded.
    pub command: Option<String>,
    /// The name of the machine, where recorded.
    pub hostname: Option<String>,
    /// Jitdumps that were mapped and not given, or are [`Profile::unread_jitdumps`].
    pub wanted: Vec<WantedJitdump>,
    /// Jitdumps that were given and cannot be read, by path.
    pub unread_jitdumps: Vec<(String, Error)>,
    /// Processes with samples in memory that is no file's, whose perf maps (`/tmp/perf-PID.map`) were not given. The first 4096.
    pub wanted_perf_maps: Vec<u32>,
    /// Bytes of traces of hardware that are in the file and not read. Those of Arm SPE are read.
    pub unread_trace: u64,
}

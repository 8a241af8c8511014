//! Kinds and flags of records: `include/uapi/linux/perf_event.h`, and perf's own from 64 on
//! (`tools/lib/perf/include/perf/event.h`).

pub(super) const MMAP: u32 = 1;
pub(super) const LOST: u32 = 2;
pub(super) const COMM: u32 = 3;
pub(super) const THROTTLE: u32 = 5;
pub(super) const FORK: u32 = 7;
pub(super) const SAMPLE: u32 = 9;
pub(super) const MMAP2: u32 = 10;
pub(super) const AUX: u32 = 11;
pub(super) const ITRACE_START: u32 = 12;
pub(super) const LOST_SAMPLES: u32 = 13;
pub(super) const SWITCH: u32 = 14;
pub(super) const SWITCH_CPU_WIDE: u32 = 15;
pub(super) const HEADER_ATTR: u32 = 64;
pub(super) const HEADER_BUILD_ID: u32 = 67;
pub(super) const AUXTRACE_INFO: u32 = 70;
pub(super) const AUXTRACE: u32 = 71;
pub(super) const EVENT_UPDATE: u32 = 78;
pub(super) const TIME_CONV: u32 = 79;
pub(super) const HEADER_FEATURE: u32 = 80;

/// The CPU's mode, in `misc`.
pub(super) const MODE: u16 = 7;
pub(super) const MODE_UNKNOWN: u16 = 0;
pub(super) const MODE_KERNEL: u16 = 1;
pub(super) const MODE_USER: u16 = 2;
pub(super) const MODE_HYPERVISOR: u16 = 3;
pub(super) const MODE_GUEST_KERNEL: u16 = 4;
pub(super) const MODE_GUEST_USER: u16 = 5;
/// Of `COMM`: an exec.
pub(super) const COMM_EXEC: u16 = 1 << 13;
/// Of `FORK`: perf made it of `/proc`, and makes the mappings, too.
pub(super) const FORK_SYNTHESIZED: u16 = 1 << 13;
/// Of `SWITCH` and `SWITCH_CPU_WIDE`: the thread goes.
pub(super) const SWITCH_OUT: u16 = 1 << 13;
/// Of `SAMPLE`: the instruction pointer is exact.
pub(super) const EXACT_IP: u16 = 1 << 14;
/// Of `MMAP2`: a build id instead of device and inode.
pub(super) const MMAP_BUILD_ID: u16 = 1 << 14;
/// Of `HEADER_BUILD_ID`: the size of the build id follows it.
pub(super) const BUILD_ID_SIZE: u16 = 1 << 15;

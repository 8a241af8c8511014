//! What a benchmark ran on, as far as Linux shows it.
//!
//! In: `/proc` and `/sys`. Out: [`Machine`]. What is not shown is `None`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's own name, or archspec's.
    pub cpu: String,
    /// `x86_64` or `aarch64`.
    pub arch: String,
    /// The smallest level that it covers.
    pub level: String,
    /// Its microcode's version.
    pub microcode: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// How its clock is governed: `performance`, `powersave`.
    pub governor: Option<String>,
    /// Whether two hardware threads of a core are in use.
    pub smt: Option<bool>,
    /// Whether a hypervisor runs it; `None` on AArch64, where that does not show.
    pub virtualised: Option<bool>,
    /// Processors that this process may use.
    pub processors: usize,
}

/// How many different processors there are among those of some threads.
pub fn distinct(processors: &[usize]) -> usize {
    processors.iter().collect::<BTreeSet<_>>().len()
}

impl Machine {
    /// This one. The name and the level are what `deburr cpu` says.
    pub fn here(cpu: String, arch: String, level: String) -> Machine {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line =
                cpuinfo.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
            line.map(|value| value.trim().to_owned())
        };
        let one_line = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        Machine {
            cpu,
            arch,
            level,
            microcode: field("microcode"),
            kernel: one_line("/proc/sys/kernel/osrelease"),
            governor: one_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            smt: one_line("/sys/devices/system/cpu/smt/active").map(|active| active == "1"),
            virtualised: field("flags")
                .map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
            processors: crate::measure::machine::cores(),
        }
    }
}

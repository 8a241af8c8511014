//! What a benchmark ran on, as far as Linux shows it.
//!
//! In: `/proc` and `/sys`. Out: [`Machine`]. What is not shown is `None`.

use crate::measure::provenance::{cpu_field, governor, kernel, one_line, virtualised};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's own name, or the table's.
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
        Machine {
            cpu,
            arch,
            level,
            microcode: cpu_field("microcode"),
            kernel: kernel(),
            governor: governor(),
            smt: one_line("/sys/devices/system/cpu/smt/active").map(|active| active == "1"),
            virtualised: virtualised(),
            processors: crate::measure::machine::cores(),
        }
    }
}

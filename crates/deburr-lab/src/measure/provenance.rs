//! Where and of what numbers are: the machine that runs were made on, and the programs that were run.
//!
//! In: `/proc` and `/sys`. Out: [`Host`], and [`Provenance`] as the header of a record keeps it. What is not
//! shown is `None`; nothing here changes what is measured, or whether two records are of the same experiment.

use serde::{Deserialize, Serialize};
use std::fs;

/// Of all runs of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// When the record was begun: RFC 3339, in UTC.
    pub began: Option<String>,
    /// The machine.
    pub host: Host,
    /// The programs of A and B.
    pub programs: [Program; 2],
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name in the network.
    pub name: Option<String>,
    /// The CPU's own name, or the table's.
    pub cpu: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// How its clock is governed: `performance`, `powersave`.
    pub governor: Option<String>,
    /// Whether a hypervisor runs it; `None` where that does not show.
    pub virtualised: Option<bool>,
    /// What the machine calls itself, where a hypervisor runs it: `Amazon EC2`, `QEMU`.
    pub hypervisor: Option<String>,
    /// Processors that runs may use.
    pub processors: usize,
}

/// A program that was run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its file, links followed; `None` of what a shell runs.
    pub path: Option<String>,
    /// Its build-id, in hexadecimal digits; scripts have none.
    pub build_id: Option<String>,
    /// The commit of the Git tree that it is in.
    pub commit: Option<String>,
    /// Whether files of that tree differ from the commit.
    pub is_dirty: Option<bool>,
}

impl Host {
    /// This one.
    pub fn here(cpu: Option<String>, processors: usize) -> Host {
        let virtualised = virtualised();
        Host {
            name: one_line("/proc/sys/kernel/hostname"),
            cpu,
            kernel: kernel(),
            governor: governor(),
            virtualised,
            hypervisor: hypervisor().filter(|_| virtualised != Some(false)),
            processors,
        }
    }
}

/// The first line of a file of `/proc` or `/sys`; `None` where there is nothing in it.
pub(crate) fn one_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim_matches(['\0', ' ', '\t']);
    (!line.is_empty()).then(|| line.to_owned())
}

/// A field of `/proc/cpuinfo`, by the first processor that has it.
pub(crate) fn cpu_field(name: &str) -> Option<String> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").ok()?;
    let value = cpuinfo.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

/// The kernel's release.
pub(crate) fn kernel() -> Option<String> {
    one_line("/proc/sys/kernel/osrelease")
}

/// How the clock of the first processor is governed.
pub(crate) fn governor() -> Option<String> {
    one_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// Whether a hypervisor runs this machine, by what it shows of itself on x86-64.
pub(crate) fn virtualised() -> Option<bool> {
    cpu_field("flags").map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// What the firmware says of the machine's maker. Real machines have makers, too: it names a hypervisor only
/// where one is known to run it.
fn hypervisor() -> Option<String> {
    if let Some(kind) = one_line("/sys/hypervisor/type") {
        return Some(kind);
    }
    if let Some(kind) = one_line("/proc/device-tree/hypervisor/compatible") {
        return Some(kind);
    }
    virtualised().filter(|is_virtual| *is_virtual)?;
    one_line("/sys/class/dmi/id/sys_vendor").or_else(|| one_line("/sys/class/dmi/id/product_name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_and_what_is_not_shown_is_nothing() {
        let here = Host::here(Some("a".to_owned()), 3);
        assert_eq!(here.kernel, one_line("/proc/sys/kernel/osrelease"));
        assert!(here.kernel.is_some() && here.processors == 3);
        assert_eq!((one_line("/proc/no/such"), cpu_field("no such field")), (None, None));
        assert!(here.virtualised != Some(false) || here.hypervisor.is_none());
    }
}

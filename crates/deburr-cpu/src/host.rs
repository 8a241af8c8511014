//! The machine that runs this program.
//!
//! In: what the CPU and the operating system report. Out: a [`Host`] in the vocabulary of this crate.

use std::string::String;
use std::{fmt, io};

#[cfg(target_arch = "x86_64")]
use crate::detect_x86_64;
use crate::level::highest_level;
use crate::{Arch, FeatureSet, Level, detect_aarch64};

/// The machine that runs this program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Host {
    /// The microarchitecture (`zen4`, `neoverse-n1`): by CPUID's family and model, and on AArch64 by MIDR_EL1 where the
    /// cargo feature `names` is on; the name of the level where it is not known.
    pub name: String,
    /// The maker's name of the CPU; empty where it is not known.
    pub brand: String,
    /// The architecture of this program, hence of the machine.
    pub arch: Arch,
    /// The highest level that the machine covers.
    pub level: &'static Level,
    /// What a program can use: the CPU has it and the operating system has switched it on. On AArch64 the
    /// features of `level` that Linux reports to no program (such as `FEAT_SPECRES`) are taken as present.
    pub features: FeatureSet,
    /// What the CPU has and the operating system has not switched on; always empty on AArch64, where Linux
    /// hides such features.
    pub disabled: FeatureSet,
}

impl Host {
    /// The features beyond the host's level.
    pub fn beyond(&self) -> FeatureSet {
        self.features.minus(self.level.features)
    }
}

/// Why the host's features are not known.
#[derive(Debug)]
#[non_exhaustive]
pub enum UnknownHost {
    /// This program was built for an architecture, or an operating system, that has no detection here.
    Unsupported,
    /// The auxiliary vector could not be read.
    Auxv(io::Error),
    /// The CPU lacks features of the lowest level; these are missing.
    BelowEveryLevel(FeatureSet),
}

impl fmt::Display for UnknownHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownHost::Unsupported => {
                f.write_str("no host detection here: expected x86-64, or AArch64 with Linux")
            }
            UnknownHost::Auxv(error) => write!(f, "/proc/self/auxv: {error}"),
            UnknownHost::BelowEveryLevel(missing) => {
                write!(f, "the CPU covers no level: it lacks {missing:?}")
            }
        }
    }
}

impl std::error::Error for UnknownHost {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            UnknownHost::Auxv(error) => Some(error),
            _ => None,
        }
    }
}

/// Queries the machine that runs this program for what it offers.
///
/// # Errors
/// [`UnknownHost`]; never on an x86-64 CPU.
pub fn host() -> Result<Host, UnknownHost> {
    #[cfg(target_arch = "x86_64")]
    {
        use detect_x86_64::{ThisCpu, brand, detect, microarchitecture};
        let detected = detect(&ThisCpu);
        let all = FeatureSet::from_iter(crate::Feature::all());
        let mut host = described(Arch::X86_64, detected.usable, detected.disabled, all, brand(&ThisCpu))?;
        if let Some(name) = microarchitecture(&ThisCpu, detected.usable) {
            host.name = name.into();
        }
        Ok(host)
    }
    #[cfg(not(target_arch = "x86_64"))]
    if cfg!(all(target_arch = "aarch64", target_os = "linux")) {
        aarch64_host()
    } else {
        Err(UnknownHost::Unsupported)
    }
}

/// The model of the CPU that runs this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// x86-64: EBX of CPUID leaf 0. AArch64: the implementer, bits 31 to 24 of MIDR_EL1.
    pub maker: u32,
    /// x86-64: EAX of CPUID leaf 1 without the stepping. AArch64: the part number, bits 15 to 4 of MIDR_EL1.
    pub signature: u32,
}

/// The model of the CPU that runs this program; of a machine with cores of several kinds that of the first. `None` where
/// neither CPUID nor Linux's `/sys` states it.
pub fn model() -> Option<Model> {
    #[cfg(target_arch = "x86_64")]
    let (maker, signature) = detect_x86_64::model(&detect_x86_64::ThisCpu);
    #[cfg(not(target_arch = "x86_64"))]
    let (maker, signature) = aarch64_model()?;
    Some(Model { maker, signature })
}

/// The model as Linux on AArch64 states it.
#[cfg_attr(target_arch = "x86_64", expect(dead_code, reason = "compiled everywhere so that it cannot rot"))]
fn aarch64_model() -> Option<(u32, u32)> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1").ok()?;
    detect_aarch64::model(u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()?)
}

/// The host as Linux on AArch64 reports it.
#[cfg_attr(target_arch = "x86_64", expect(dead_code, reason = "compiled everywhere so that it cannot rot"))]
fn aarch64_host() -> Result<Host, UnknownHost> {
    let auxv = std::fs::read("/proc/self/auxv").map_err(UnknownHost::Auxv)?;
    let features = detect_aarch64::features_of_auxv(&auxv);
    let mut host =
        described(Arch::Aarch64, features, FeatureSet::EMPTY, detect_aarch64::visible(), String::new())?;
    host.features = host.features.union(host.level.features);
    #[cfg(feature = "names")]
    if let Some(name) = model().and_then(|model| crate::names::core_with_number(model.maker, model.signature))
    {
        host.name = name.into();
    }
    Ok(host)
}

/// Puts a host together from its features, of which those in `visible` can be known.
fn described(
    arch: Arch,
    features: FeatureSet,
    disabled: FeatureSet,
    visible: FeatureSet,
    brand: String,
) -> Result<Host, UnknownHost> {
    let Some(level) = highest_level(arch, features, visible) else {
        return Err(UnknownHost::BelowEveryLevel(crate::first_level(arch).minus(features)));
    };
    Ok(Host { name: level.name.into(), brand, arch, level, features, disabled })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_floating_point_is_below_every_level() {
        let all = FeatureSet::from_iter(crate::Feature::all());
        let error = described(Arch::Aarch64, FeatureSet::EMPTY, FeatureSet::EMPTY, all, String::new());
        assert!(matches!(error, Err(UnknownHost::BelowEveryLevel(missing)) if !missing.is_empty()));
    }

    #[test]
    fn the_host_covers_its_level() {
        if let Ok(host) = host() {
            assert!(host.level.features.is_subset(host.features));
            assert!(!host.name.is_empty() && host.beyond().is_subset(host.features));
        }
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux", feature = "names"))]
    #[test]
    fn the_host_agrees_with_the_kernel_on_every_flag_that_has_a_name_there() {
        use crate::{Feature, linux::features_of_word};
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let line = cpuinfo.lines().find(|line| line.starts_with("flags")).expect("flags in /proc/cpuinfo");
        let flags: std::vec::Vec<&str> = line.split_whitespace().collect();
        // The kernel's own name of SSE3 is that of the "Prescott new instructions".
        fn spelt(flag: &str) -> &str {
            if flag == "pni" { "sse3" } else { flag }
        }
        let flags: std::vec::Vec<&str> = flags.into_iter().map(spelt).collect();
        let known = crate::linux::named_x86_64();
        let told =
            flags.iter().fold(FeatureSet::EMPTY, |set, flag| set.union(features_of_word(Arch::X86_64, flag)));
        let host = host().unwrap();
        let seen = FeatureSet::from_iter(host.features.iter().filter(|feature| known.contains(*feature)));
        // Of these the kernel drops the flag on CPUs that give bad random numbers; the instruction still runs,
        // and a hypervisor's CPUID may still report it.
        let distrusted = FeatureSet::of(&[Feature::RDRAND, Feature::RDSEED]);
        let unexplained = seen.minus(told).minus(distrusted);
        assert_eq!(unexplained, FeatureSet::EMPTY, "CPUID tells more than the kernel");
        assert_eq!(told.minus(seen), FeatureSet::EMPTY, "the kernel tells more than CPUID");
        assert!(host.features.contains(Feature::SSE2) && told.contains(Feature::SSE2));
    }
}

//! What an x86-64 host offers, from `CPUID` and `XGETBV`.
//!
//! In: CPUID leaves (Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E) and XCR0. Out: the features that a
//! program can use, and those that the CPU has but the operating system has not switched on: AVX, AVX-512 and
//! AMX need their registers' state enabled in XCR0 (SDM volume 1, 13.3), protection keys need CR4.PKE. AMX
//! also needs a permission that each Linux process requests by `arch_prctl`; that is not checked.

use crate::query::{CpuidRegister, ROWS, State};
use crate::{Feature, FeatureSet};

use Feature::*;

const XSAVE_ON: (u32, u32) = (1, 27);

/// Where CPUID's answers and XCR0 come from: the CPU, or a test.
pub(crate) trait Cpuid {
    /// EAX, EBX, ECX, EDX of a leaf and subleaf; called only for leaves that exist.
    fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4];
    /// Extended control register 0; called only where CPUID.OSXSAVE is set.
    fn xcr0(&self) -> u64;
}

/// What the CPU has: split into what programs can use and what the operating system has not switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Detected {
    pub(crate) usable: FeatureSet,
    pub(crate) disabled: FeatureSet,
}

/// A leaf's answer; zeros for a leaf that the CPU does not have, for which real CPUs return other leaves' data.
fn answer(cpuid: &impl Cpuid, leaf: u32, subleaf: u32) -> [u32; 4] {
    let [highest, ..] = cpuid.leaf(leaf & 0x8000_0000, 0);
    if leaf > highest || highest & 0x8000_0000 != leaf & 0x8000_0000 {
        return [0; 4];
    }
    if leaf == 7 && subleaf > cpuid.leaf(7, 0)[0] {
        return [0; 4];
    }
    cpuid.leaf(leaf, subleaf)
}

/// Reads all features.
pub(crate) fn detect(cpuid: &impl Cpuid) -> Detected {
    let (leaf, bit) = XSAVE_ON;
    let [_, _, ecx, _] = answer(cpuid, leaf, 0);
    let xsave_on = ecx & (1 << bit) != 0;
    let xcr0 = if xsave_on { cpuid.xcr0() } else { 0 };
    let mut detected = Detected { usable: FeatureSet::EMPTY, disabled: FeatureSet::EMPTY };
    let mut last = ((u32::MAX, u32::MAX), [0; 4]);
    for &(leaf, subleaf, register, bit, feature, State(state)) in ROWS {
        if last.0 != (leaf, subleaf) {
            last = ((leaf, subleaf), answer(cpuid, leaf, subleaf));
        }
        let [eax, ebx, ecx, edx] = last.1;
        let word = match register {
            CpuidRegister::Eax => eax,
            CpuidRegister::Ebx => ebx,
            CpuidRegister::Ecx => ecx,
            CpuidRegister::Edx => edx,
        };
        if word & (1 << bit) == 0 {
            continue;
        }
        let needs_xsave = matches!(feature, XSAVE | XSAVEOPT | XSAVEC | XSAVES);
        if xcr0 & state == state && (xsave_on || !needs_xsave) {
            detected.usable = detected.usable.with(feature);
        } else {
            detected.disabled = detected.disabled.with(feature);
        }
    }
    detected
}

/// The brand string: 48 bytes over three leaves, as the maker wrote them, without the blanks around them.
pub(crate) fn brand(cpuid: &impl Cpuid) -> std::string::String {
    let bytes: std::vec::Vec<u8> = (0x8000_0002..=0x8000_0004)
        .flat_map(|leaf| answer(cpuid, leaf, 0))
        .flat_map(u32::to_le_bytes)
        .take_while(|byte| *byte != 0)
        .collect();
    let text = std::string::String::from_utf8_lossy(&bytes);
    text.split_whitespace().collect::<std::vec::Vec<_>>().join(" ")
}

/// The maker, and family, model and type (Intel SDM volume 2, CPUID leaf 1, EAX).
pub(crate) fn model(cpuid: &impl Cpuid) -> (u32, u32) {
    let [_, maker, ..] = cpuid.leaf(0, 0);
    let [signature, ..] = answer(cpuid, 1, 0);
    (maker, signature & 0x0fff_3ff0)
}

/// Intel's microarchitectures by the model number in family 6 (Intel SDM volume 4, table 2-1).
const INTEL: &[(&str, &[u32])] = &[
    ("core2", &[0x0f, 0x16]),
    ("penryn", &[0x17, 0x1d]),
    ("nehalem", &[0x1a, 0x1e, 0x1f, 0x2e]),
    ("westmere", &[0x25, 0x2c, 0x2f]),
    ("sandybridge", &[0x2a, 0x2d]),
    ("ivybridge", &[0x3a, 0x3e]),
    ("haswell", &[0x3c, 0x3f, 0x45, 0x46]),
    ("broadwell", &[0x3d, 0x47, 0x4f, 0x56]),
    ("skylake", &[0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6]),
    ("skylake-avx512", &[0x55]),
    ("cannonlake", &[0x66]),
    ("icelake-client", &[0x7d, 0x7e, 0x9d, 0xa7]),
    ("icelake", &[0x6a, 0x6c]),
    ("tigerlake", &[0x8c, 0x8d]),
    ("alderlake", &[0x97, 0x9a, 0xb7, 0xba, 0xbf, 0xaa, 0xac]),
    ("arrowlake", &[0xc5]),
    ("arrowlake-s", &[0xc6, 0xbd]),
    ("pantherlake", &[0xcc]),
    ("sapphirerapids", &[0x8f, 0xcf]),
    ("graniterapids", &[0xad]),
    ("graniterapids-d", &[0xae]),
    ("gracemont", &[0xbe]),
    ("sierraforest", &[0xaf, 0xb6]),
    ("clearwaterforest", &[0xdd]),
    ("bonnell", &[0x1c, 0x26, 0x27, 0x35, 0x36]),
    ("silvermont", &[0x37, 0x4a, 0x4c, 0x4d, 0x5a, 0x5d]),
    ("goldmont", &[0x5c, 0x5f]),
    ("goldmont-plus", &[0x7a]),
    ("tremont", &[0x86, 0x8a, 0x96, 0x9c]),
    ("mic-knl", &[0x57]),
    ("mic-knm", &[0x85]),
];

/// The microarchitecture by CPUID's family and model. A name that goes by features alone would be lost where a hypervisor
/// or the kernel hides one of them.
pub(crate) fn microarchitecture(cpuid: &impl Cpuid, features: FeatureSet) -> Option<&'static str> {
    let [_, b, c, d] = cpuid.leaf(0, 0);
    let [signature, ..] = answer(cpuid, 1, 0);
    let (family, extended) = (signature >> 8 & 0xf, signature >> 20 & 0xff);
    let model = (signature >> 4 & 0xf) | (signature >> 12 & 0xf0);
    match &*[b, d, c].map(u32::to_le_bytes).concat() {
        b"AuthenticAMD" => amd_name(family + extended, features),
        b"GenuineIntel" if family == 6 => {
            let name = INTEL.iter().find(|(_, models)| models.contains(&model)).map(|(name, _)| *name)?;
            // Three generations of servers share one number.
            Some(match name {
                "skylake-avx512" if features.contains(AVX512_BF16) => "cooperlake",
                "skylake-avx512" if features.contains(AVX512_VNNI) => "cascadelake",
                _ => name,
            })
        }
        _ => None,
    }
}

/// AMD's microarchitecture by CPUID family (AMD APM volume 3, Fn0000_0001_EAX).
fn amd_name(family: u32, features: FeatureSet) -> Option<&'static str> {
    match family {
        0x10 => Some("k10"),
        0x14 => Some("btver1"),
        0x15 if features.contains(AVX2) => Some("excavator"),
        0x15 if features.contains(FSGSBASE) => Some("steamroller"),
        0x15 if features.contains(FMA) => Some("piledriver"),
        0x15 => Some("bulldozer"),
        0x16 => Some("btver2"),
        0x17 if features.contains(RDPID) => Some("zen2"),
        0x17 => Some("zen"),
        0x19 if features.contains(AVX512F) => Some("zen4"),
        0x19 => Some("zen3"),
        0x1a => Some("zen5"),
        _ => None,
    }
}

/// The CPU that runs this program.
#[cfg(target_arch = "x86_64")]
pub(crate) struct ThisCpu;

#[cfg(target_arch = "x86_64")]
impl Cpuid for ThisCpu {
    #[expect(unsafe_code, clippy::allow_attributes, reason = "CPUID was unsafe before Rust 1.93")]
    #[allow(unused_unsafe, reason = "it is safe since")]
    fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        // SAFETY: every x86-64 has CPUID.
        let answer = unsafe { core::arch::x86_64::__cpuid_count(leaf, subleaf) };
        [answer.eax, answer.ebx, answer.ecx, answer.edx]
    }

    #[expect(unsafe_code, reason = "XGETBV has no safe form")]
    fn xcr0(&self) -> u64 {
        #[target_feature(enable = "xsave")]
        fn read() -> u64 {
            // SAFETY: register 0 exists wherever XGETBV does, and the caller vouches for XGETBV.
            unsafe { core::arch::x86_64::_xgetbv(0) }
        }
        // SAFETY: the trait promises that CPUID.OSXSAVE is set, which means that CR4.OSXSAVE is, so XGETBV is
        // defined in user mode (SDM volume 2, XGETBV).
        unsafe { read() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CPU with every bit of the table set, up to the highest leaves named.
    struct Full {
        basic: u32,
        osxsave: bool,
        xcr0: u64,
    }

    impl Cpuid for Full {
        fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
            match (leaf, subleaf) {
                (0, _) => [self.basic, 0, 0, 0],
                (1, _) if !self.osxsave => [!0, !0, !(1 << 27), !0],
                (7, 0) => [1, !0, !0, !0],
                (0x8000_0000, _) => [0x8000_0008, 0, 0, 0],
                (0x8000_0002, _) => [u32::from_le_bytes(*b"  A "), u32::from_le_bytes(*b"  CP"), 0x55, 0],
                _ => [!0; 4],
            }
        }

        fn xcr0(&self) -> u64 {
            assert!(self.osxsave, "XGETBV is undefined here");
            self.xcr0
        }
    }

    #[test]
    fn avx_and_more_need_the_operating_system() {
        let all = FeatureSet::from_iter(ROWS.iter().map(|row| row.4));
        let nothing_on = detect(&Full { basic: 0x20, osxsave: false, xcr0: 0 });
        assert_eq!(nothing_on.usable.union(nothing_on.disabled), all.minus(FeatureSet::of(&[OSXSAVE])));
        for feature in [AVX, AVX512F, AMX_TILE, VAES, FMA, XSAVE, XSAVEC] {
            assert!(nothing_on.disabled.contains(feature), "{feature}");
        }
        let avx_on = detect(&Full { basic: 0x20, osxsave: true, xcr0: 0b111 });
        assert!(avx_on.usable.contains(AVX2) && avx_on.usable.contains(XSAVE));
        assert!(avx_on.disabled.contains(AVX512F) && avx_on.disabled.contains(AMX_INT8));
        // Without the opmask state the rest of AVX-512's state is of no use.
        let no_opmask = detect(&Full { basic: 0x20, osxsave: true, xcr0: 0b1100_0111 });
        assert!(no_opmask.disabled.contains(AVX512F));
        let all_on = detect(&Full { basic: 0x20, osxsave: true, xcr0: u64::MAX });
        assert_eq!((all_on.usable, all_on.disabled), (all, FeatureSet::EMPTY));
    }

    #[test]
    fn leaves_beyond_the_highest_are_not_believed() {
        let old = detect(&Full { basic: 1, osxsave: true, xcr0: u64::MAX });
        assert!(old.usable.contains(SSE4_2) && old.usable.contains(LZCNT));
        assert!(!old.usable.contains(AVX2) && !old.usable.contains(XSAVEOPT));
    }

    /// A CPU of which only the maker and the family are known.
    struct Amd {
        signature: u32,
    }

    struct Intel(u32);

    impl Cpuid for Intel {
        fn leaf(&self, leaf: u32, _subleaf: u32) -> [u32; 4] {
            let word = |text: [u8; 4]| u32::from_le_bytes(text);
            match leaf {
                0 => [1, word(*b"Genu"), word(*b"ntel"), word(*b"ineI")],
                _ => [self.0, 0, 0, 0],
            }
        }

        fn xcr0(&self) -> u64 {
            0
        }
    }

    #[test]
    fn intel_models_have_names_of_the_table() {
        let none = FeatureSet::EMPTY;
        assert_eq!(microarchitecture(&Intel(0x0009_06a3), none), Some("alderlake"));
        assert_eq!(microarchitecture(&Intel(0x0003_06c3), none), Some("haswell"));
        assert_eq!(microarchitecture(&Intel(0x0005_0654), none), Some("skylake-avx512"));
        let vnni = FeatureSet::of(&[AVX512_VNNI]);
        assert_eq!(microarchitecture(&Intel(0x0005_0657), vnni), Some("cascadelake"));
        assert_eq!(microarchitecture(&Intel(0x0000_0f43), none), None, "family 15");
        #[cfg(feature = "names")]
        for (name, _) in INTEL {
            assert_eq!(crate::cpu_named(name).map(|cpu| cpu.name), Some(*name));
        }
    }

    impl Cpuid for Amd {
        fn leaf(&self, leaf: u32, _subleaf: u32) -> [u32; 4] {
            let word = |text: [u8; 4]| u32::from_le_bytes(text);
            match leaf {
                0 => [1, word(*b"Auth"), word(*b"cAMD"), word(*b"enti")],
                _ => [self.signature, 0, 0, 0],
            }
        }

        fn xcr0(&self) -> u64 {
            0
        }
    }

    #[test]
    fn amd_families_have_names() {
        let zen4 = FeatureSet::of(&[AVX512F]);
        assert_eq!(microarchitecture(&Amd { signature: 0x00b0_0f21 }, zen4), Some("zen5"));
        assert_eq!(microarchitecture(&Amd { signature: 0x00a1_0f11 }, zen4), Some("zen4"));
        assert_eq!(microarchitecture(&Amd { signature: 0x00a0_0f11 }, FeatureSet::EMPTY), Some("zen3"));
        assert_eq!(microarchitecture(&Amd { signature: 0x0080_0f11 }, FeatureSet::EMPTY), Some("zen"));
        assert_eq!(microarchitecture(&Amd { signature: 0x0060_0f12 }, FeatureSet::EMPTY), Some("bulldozer"));
        assert_eq!(microarchitecture(&Amd { signature: 0x00c0_0f12 }, zen4), None);
    }

    #[test]
    fn a_model_has_no_stepping() {
        assert_eq!(model(&Amd { signature: 0x00b0_0f21 }), (u32::from_le_bytes(*b"Auth"), 0x00b0_0f20));
    }

    #[test]
    fn the_brand_is_without_its_blanks() {
        assert_eq!(brand(&Full { basic: 1, osxsave: false, xcr0: 0 }), "A CPU");
    }
}

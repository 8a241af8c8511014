//! What an AArch64 host offers, from what Linux passes to every program.
//!
//! In: the auxiliary vector (`/proc/self/auxv`: pairs of 64-bit words, type and value). Out: the features that
//! its `AT_HWCAP` and `AT_HWCAP2` bits represent (Linux, `Documentation/arch/arm64/elf_hwcaps.rst` and
//! `uapi/asm/hwcap.h`). The kernel hides what it has not enabled, so these are features that programs can use.

use crate::FeatureSet;
use crate::query::{AT_HWCAP, AT_HWCAP2, HWCAP, HWCAP2};

const AT_NULL: u64 = 0;

/// The features that have a bit. A kernel older than a feature has no bit for it: the feature is then unseen.
pub(crate) fn visible() -> FeatureSet {
    HWCAP.iter().chain(HWCAP2).map(|(_, feature)| *feature).collect()
}

/// The features that an auxiliary vector states; a truncated vector is read as far as it goes.
pub(crate) fn features_of_auxv(auxv: &[u8]) -> FeatureSet {
    let (words, _) = auxv.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    let mut features = FeatureSet::EMPTY;
    for [kind, value] in pairs.iter().map(|pair| pair.map(u64::from_le_bytes)) {
        let bits = match kind {
            AT_NULL => break,
            AT_HWCAP => HWCAP,
            AT_HWCAP2 => HWCAP2,
            _ => continue,
        };
        let present = bits.iter().filter(|(bit, _)| value & (1 << bit) != 0).map(|(_, feature)| *feature);
        features = features.union(present.collect());
    }
    features
}

/// The implementer and the part number that MIDR_EL1 states (Arm ARM, D24.2.125); 0 is no CPU's.
pub(crate) fn model(midr: u64) -> Option<(u32, u32)> {
    (midr != 0).then_some(((midr >> 24) as u32 & 0xff, (midr >> 4) as u32 & 0xfff))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Feature::*;
    use crate::level::highest_level;
    use crate::{Arch, level_named};
    use std::vec::Vec;

    fn auxv(pairs: &[[u64; 2]]) -> Vec<u8> {
        pairs.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs.
    const NEOVERSE_N1: u64 = 0x1011_9fff;

    #[test]
    fn a_model_is_an_implementer_and_a_part() {
        // Neoverse N1 r3p1, as Linux prints it.
        assert_eq!(model(0x413f_d0c1), Some((0x41, 0xd0c)));
        assert_eq!(model(0), None);
    }

    #[test]
    fn a_neoverse_n1_is_at_armv8_2() {
        let features = features_of_auxv(&auxv(&[[6, 4096], [AT_HWCAP, NEOVERSE_N1], [AT_HWCAP2, 0], [0, 0]]));
        assert!(
            features.contains(FEAT_LSE) && features.contains(FEAT_DotProd) && features.contains(FEAT_SSBS)
        );
        assert!(!features.contains(FEAT_JSCVT) && !features.contains(FEAT_SVE));
        let level = highest_level(Arch::Aarch64, features, visible());
        assert_eq!(level, level_named("armv8.2-a"));
    }

    #[test]
    fn all_bits_are_at_least_armv9_4() {
        let features = features_of_auxv(&auxv(&[[AT_HWCAP, u64::MAX], [AT_HWCAP2, u64::MAX]]));
        assert_eq!(features, visible());
        let level = highest_level(Arch::Aarch64, features, visible());
        assert_eq!(level, level_named("armv9.5-a"));
    }

    #[test]
    fn a_truncated_or_empty_vector_gives_what_it_holds() {
        assert_eq!(features_of_auxv(&[]), FeatureSet::EMPTY);
        let mut bytes = auxv(&[[AT_HWCAP, 1], [AT_HWCAP2, 1]]);
        bytes.truncate(25);
        assert_eq!(features_of_auxv(&bytes), FeatureSet::of(&[FEAT_FP]));
        assert_eq!(features_of_auxv(&auxv(&[[0, 0], [AT_HWCAP, 1]])), FeatureSet::EMPTY);
    }
}

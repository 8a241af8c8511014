//! What an AArch64 host offers, from what Linux tells every program.
//!
//! In: the auxiliary vector (`/proc/self/auxv`: pairs of 64-bit words, type and value). Out: the features that
//! its `AT_HWCAP` and `AT_HWCAP2` bits stand for (Linux, `Documentation/arch/arm64/elf_hwcaps.rst` and
//! `uapi/asm/hwcap.h`). The kernel hides what it has not enabled, so these are features that programs can use.

use crate::{Feature, FeatureSet};

use Feature::*;

const AT_NULL: u64 = 0;
const AT_HWCAP: u64 = 16;
const AT_HWCAP2: u64 = 26;

/// Bits of `AT_HWCAP`.
const HWCAP: &[(u32, Feature)] = &[
    (0, FEAT_FP),
    (1, FEAT_ASIMD),
    (3, FEAT_AES),
    (4, FEAT_PMULL),
    (5, FEAT_SHA1),
    (6, FEAT_SHA256),
    (7, FEAT_CRC32),
    (8, FEAT_LSE),
    (9, FEAT_FP16),
    (12, FEAT_RDM),
    (13, FEAT_JSCVT),
    (14, FEAT_FCMA),
    (15, FEAT_LRCPC),
    (16, FEAT_DPB),
    (17, FEAT_SHA3),
    (18, FEAT_SM3),
    (19, FEAT_SM4),
    (20, FEAT_DotProd),
    (21, FEAT_SHA512),
    (22, FEAT_SVE),
    (23, FEAT_FHM),
    (24, FEAT_DIT),
    (25, FEAT_LSE2),
    (26, FEAT_LRCPC2),
    (27, FEAT_FlagM),
    (28, FEAT_SSBS),
    (29, FEAT_SB),
    (30, FEAT_PAuth),
    (32, FEAT_GCS),
    (33, FEAT_CMPBR),
    (34, FEAT_FPRCVT),
    (41, FEAT_SVE2p2),
    (42, FEAT_SME2p2),
];

/// Bits of `AT_HWCAP2`.
const HWCAP2: &[(u32, Feature)] = &[
    (0, FEAT_DPB2),
    (1, FEAT_SVE2),
    (2, FEAT_SVE_AES),
    (3, FEAT_SVE_PMULL128),
    (4, FEAT_SVE_BitPerm),
    (5, FEAT_SVE_SHA3),
    (6, FEAT_SVE_SM4),
    (7, FEAT_FlagM2),
    (8, FEAT_FRINTTS),
    (10, FEAT_F32MM),
    (11, FEAT_F64MM),
    (13, FEAT_I8MM),
    (14, FEAT_BF16),
    (16, FEAT_RNG),
    (17, FEAT_BTI),
    (18, FEAT_MTE),
    (19, FEAT_ECV),
    (23, FEAT_SME),
    (24, FEAT_SME_I16I64),
    (25, FEAT_SME_F64F64),
    (31, FEAT_WFxT),
    (32, FEAT_EBF16),
    (34, FEAT_CSSC),
    (36, FEAT_SVE2p1),
    (37, FEAT_SME2),
    (38, FEAT_SME2p1),
    (41, FEAT_SME_B16B16),
    (42, FEAT_SME_F16F16),
    (43, FEAT_MOPS),
    (44, FEAT_HBC),
    (45, FEAT_SVE_B16B16),
    (46, FEAT_LRCPC3),
    (47, FEAT_LSE128),
    (49, FEAT_LUT),
    (50, FEAT_FAMINMAX),
    (51, FEAT_FP8),
    (52, FEAT_FP8FMA),
    (53, FEAT_FP8DOT4),
    (54, FEAT_FP8DOT2),
    (57, FEAT_SME_LUTv2),
    (58, FEAT_SME_F8F16),
    (59, FEAT_SME_F8F32),
];

/// The features that have a bit. A kernel older than a feature has no bit for it: the feature is then unseen.
pub(crate) fn visible() -> FeatureSet {
    HWCAP.iter().chain(HWCAP2).map(|(_, feature)| *feature).collect()
}

/// The features that an auxiliary vector tells of; a truncated vector is read as far as it goes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::highest_level;
    use crate::{Arch, level_named};
    use std::vec::Vec;

    fn auxv(pairs: &[[u64; 2]]) -> Vec<u8> {
        pairs.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn each_bit_and_each_feature_stands_once() {
        for (i, (bit, feature)) in HWCAP.iter().chain(HWCAP2).enumerate() {
            assert!(*bit < 64);
            assert!(HWCAP.iter().chain(HWCAP2).skip(i + 1).all(|(_, other)| other != feature), "{feature}");
        }
        for bits in [HWCAP, HWCAP2] {
            assert!(bits.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }

    /// fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs.
    const NEOVERSE_N1: u64 = 0x1011_9fff;

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

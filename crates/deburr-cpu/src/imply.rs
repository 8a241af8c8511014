//! Which features another one cannot do without.
//!
//! In: a set of features as somebody wrote it down (`+sve2`, a CPU's list). Out: the set with what it implies.
//! Sources: the detection sequences of the Intel SDM (volume 1, chapters 12 to 15), the "implemented if" rules
//! of the Arm ARM, A2.

use crate::{Feature, FeatureSet};

use Feature::*;

/// Each feature with those it directly needs.
const IMPLIES: &[(Feature, &[Feature])] = &[
    (SSE2, &[SSE]),
    (SSE3, &[SSE2]),
    (SSSE3, &[SSE3]),
    (SSE4_1, &[SSSE3]),
    (SSE4_2, &[SSE4_1, POPCNT]),
    (SSE4A, &[SSE3]),
    (D3NOW, &[MMX]),
    (D3NOWEXT, &[D3NOW]),
    (AES, &[SSE2]),
    (PCLMULQDQ, &[SSE2]),
    (SHA, &[SSE2]),
    (GFNI, &[SSE2]),
    (OSXSAVE, &[XSAVE]),
    (XSAVEOPT, &[XSAVE]),
    (XSAVEC, &[XSAVE]),
    (XSAVES, &[XSAVE]),
    (AVX, &[SSE4_2, XSAVE, OSXSAVE]),
    (AVX2, &[AVX]),
    (F16C, &[AVX]),
    (FMA, &[AVX]),
    (FMA4, &[AVX, SSE4A]),
    (XOP, &[FMA4]),
    (VAES, &[AVX, AES]),
    (VPCLMULQDQ, &[AVX, PCLMULQDQ]),
    (AVX_VNNI, &[AVX2]),
    (AVX_IFMA, &[AVX2]),
    (AVX_NE_CONVERT, &[AVX2]),
    (AVX_VNNI_INT8, &[AVX2]),
    (AVX_VNNI_INT16, &[AVX2]),
    (SHA512, &[AVX2]),
    (SM3, &[AVX]),
    (SM4, &[AVX2]),
    (AVX512F, &[AVX2, FMA, F16C]),
    (AVX512BW, &[AVX512F]),
    (AVX512CD, &[AVX512F]),
    (AVX512DQ, &[AVX512F]),
    (AVX512ER, &[AVX512F]),
    (AVX512PF, &[AVX512F]),
    (AVX512VL, &[AVX512F]),
    (AVX512_BF16, &[AVX512BW]),
    (AVX512_BITALG, &[AVX512BW]),
    (AVX512_FP16, &[AVX512BW]),
    (AVX512_IFMA, &[AVX512F]),
    (AVX512_VBMI, &[AVX512BW]),
    (AVX512_VBMI2, &[AVX512BW]),
    (AVX512_VNNI, &[AVX512F]),
    (AVX512_VP2INTERSECT, &[AVX512F]),
    (AVX512_VPOPCNTDQ, &[AVX512F]),
    (AVX512_4FMAPS, &[AVX512F]),
    (AVX512_4VNNIW, &[AVX512F]),
    (AMX_BF16, &[AMX_TILE]),
    (AMX_COMPLEX, &[AMX_TILE]),
    (AMX_FP16, &[AMX_TILE]),
    (AMX_INT8, &[AMX_TILE]),
    (FEAT_ASIMD, &[FEAT_FP]),
    (FEAT_AES, &[FEAT_ASIMD]),
    (FEAT_PMULL, &[FEAT_AES]),
    (FEAT_SHA1, &[FEAT_ASIMD]),
    (FEAT_SHA256, &[FEAT_SHA1]),
    (FEAT_SHA512, &[FEAT_SHA256]),
    (FEAT_SHA3, &[FEAT_SHA256]),
    (FEAT_SM3, &[FEAT_ASIMD]),
    (FEAT_SM4, &[FEAT_ASIMD]),
    (FEAT_RDM, &[FEAT_ASIMD]),
    (FEAT_FP16, &[FEAT_FP]),
    (FEAT_FHM, &[FEAT_FP16, FEAT_ASIMD]),
    (FEAT_DotProd, &[FEAT_ASIMD]),
    (FEAT_FCMA, &[FEAT_ASIMD]),
    (FEAT_I8MM, &[FEAT_ASIMD]),
    (FEAT_JSCVT, &[FEAT_FP]),
    (FEAT_FRINTTS, &[FEAT_FP]),
    (FEAT_BF16, &[FEAT_FP]),
    (FEAT_EBF16, &[FEAT_BF16]),
    (FEAT_DPB2, &[FEAT_DPB]),
    (FEAT_FlagM2, &[FEAT_FlagM]),
    (FEAT_SPECRES2, &[FEAT_SPECRES]),
    (FEAT_LRCPC2, &[FEAT_LRCPC]),
    (FEAT_LRCPC3, &[FEAT_LRCPC2]),
    (FEAT_LSE2, &[FEAT_LSE]),
    (FEAT_LSE128, &[FEAT_LSE]),
    (FEAT_LS64_V, &[FEAT_LS64]),
    (FEAT_LS64_ACCDATA, &[FEAT_LS64_V]),
    (FEAT_SVE, &[FEAT_FP16, FEAT_ASIMD]),
    (FEAT_F32MM, &[FEAT_SVE]),
    (FEAT_F64MM, &[FEAT_SVE]),
    (FEAT_SVE2, &[FEAT_SVE]),
    (FEAT_SVE_AES, &[FEAT_SVE2, FEAT_AES]),
    (FEAT_SVE_PMULL128, &[FEAT_SVE_AES]),
    (FEAT_SVE_BitPerm, &[FEAT_SVE2]),
    (FEAT_SVE_SHA3, &[FEAT_SVE2, FEAT_SHA3]),
    (FEAT_SVE_SM4, &[FEAT_SVE2, FEAT_SM4]),
    (FEAT_SVE2p1, &[FEAT_SVE2]),
    (FEAT_SVE2p2, &[FEAT_SVE2p1]),
    (FEAT_SME, &[FEAT_FCMA, FEAT_FP16, FEAT_BF16]),
    (FEAT_SME_F64F64, &[FEAT_SME]),
    (FEAT_SME_I16I64, &[FEAT_SME]),
    (FEAT_SME2, &[FEAT_SME]),
    (FEAT_SME_F16F16, &[FEAT_SME2]),
    (FEAT_SME_B16B16, &[FEAT_SME2]),
    (FEAT_SME2p1, &[FEAT_SME2]),
    (FEAT_SME2p2, &[FEAT_SME2p1]),
];

/// Each feature with those that every CPU made so far has with it, though no manual says that it must. Programs rely
/// on that: OpenSSL tests for AES-NI and then shuffles bytes with SSSE3.
const COMPANIONS: &[(Feature, &[Feature])] = &[
    (AES, &[SSSE3]),
    (PCLMULQDQ, &[SSSE3]),
    (SHA, &[SSE4_1]),
    (BMI2, &[BMI1]),
    (AVX512F, &[BMI1, BMI2]),
    (AVX512VL, &[AVX512BW, AVX512DQ]),
    (FEAT_AES, &[FEAT_PMULL]),
    (FEAT_SHA3, &[FEAT_SHA512]),
    (FEAT_SHA512, &[FEAT_SHA3]),
];

impl FeatureSet {
    /// The set, all that its features cannot do without, and all that no CPU made so far has them without. For judging
    /// a program's check, not for describing a machine.
    pub fn with_companions(self) -> FeatureSet {
        let set = self.with_implied();
        let companions = COMPANIONS.iter().filter(|(feature, _)| set.contains(*feature));
        companions.fold(set, |set, (_, with)| set.union(FeatureSet::of(with))).with_implied()
    }

    /// The features of the set that no other one of it brings: of AVX2 and AVX, AVX2.
    #[must_use]
    pub fn strongest(self) -> FeatureSet {
        let implied = |feature: Feature| {
            let one = FeatureSet::of(&[feature]);
            one.with_implied().minus(one)
        };
        self.iter().fold(self, |left, feature| left.minus(implied(feature)))
    }

    /// The set and all that its features cannot do without: `FEAT_SVE2` brings `FEAT_SVE`.
    pub fn with_implied(self) -> FeatureSet {
        if self.is_empty() {
            return self;
        }
        // A row needs one feature only: what a set brings is what each of its features brings.
        let brought = IMPLIED.iter().filter(|(feature, _)| self.contains(*feature));
        brought.fold(self, |set, (_, implied)| set.union(*implied))
    }

    /// The features that cannot do without one of this set, and the set itself: for `FEAT_SVE` also `FEAT_SVE2`.
    pub fn with_dependents(self) -> FeatureSet {
        let dependent = IMPLIED.iter().filter(|(_, implied)| !implied.intersection(self).is_empty());
        dependent.fold(self, |set, (feature, _)| set.with(*feature))
    }
}

/// Each row of [`IMPLIES`] with all that it brings, directly or by what it needs: worked out once, by the compiler.
static IMPLIED: [(Feature, FeatureSet); IMPLIES.len()] = {
    let mut rows = [(IMPLIES[0].0, FeatureSet::EMPTY); IMPLIES.len()];
    let mut i = 0;
    while i < rows.len() {
        rows[i] = (IMPLIES[i].0, closed(FeatureSet::of(IMPLIES[i].1)));
        i += 1;
    }
    rows
};

/// Adds what rows of [`IMPLIES`] bring until nothing is added.
const fn closed(mut set: FeatureSet) -> FeatureSet {
    loop {
        let before = set;
        let mut i = 0;
        while i < IMPLIES.len() {
            if set.contains(IMPLIES[i].0) {
                set = set.union(FeatureSet::of(IMPLIES[i].1));
            }
            i += 1;
        }
        if set.is_subset(before) {
            return set;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arch, levels};

    #[test]
    fn levels_hold_what_their_features_imply() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            for level in levels(arch) {
                assert_eq!(level.features.with_implied(), level.features, "{}", level.name);
            }
        }
    }

    #[test]
    fn every_cpu_has_a_feature_with_its_companions() {
        let mut seen = FeatureSet::EMPTY;
        for cpu in crate::table::table().iter().filter(|cpu| cpu.kind != crate::table::CpuKind::Compiler) {
            for (feature, with) in COMPANIONS.iter().filter(|(feature, _)| cpu.features.contains(*feature)) {
                seen = seen.with(*feature);
                assert!(
                    FeatureSet::of(with).is_subset(cpu.features),
                    "{}: {feature} without {with:?}",
                    cpu.name
                );
            }
        }
        assert!(COMPANIONS.iter().all(|(feature, _)| seen.contains(*feature)), "{seen:?}");
    }

    #[test]
    fn implication_is_transitive_in_both_directions() {
        assert!(FeatureSet::of(&[AVX512_VBMI]).with_implied().contains(SSE2));
        assert!(FeatureSet::of(&[AVX]).with_dependents().contains(AVX512_VBMI));
        assert!(!FeatureSet::of(&[AVX]).with_dependents().contains(SSE4_2));
    }

    /// By their definitions, for every feature and every two.
    #[test]
    fn what_is_worked_out_once_is_what_the_rows_say() {
        for one in Feature::all() {
            for other in Feature::all() {
                let set = FeatureSet::of(&[one, other]);
                assert_eq!(set.with_implied(), closed(set), "{set:?}");
            }
            let alone = FeatureSet::of(&[one]);
            let needing = Feature::all().filter(|other| closed(FeatureSet::of(&[*other])).contains(one));
            assert_eq!(alone.with_dependents(), needing.collect(), "{one}");
        }
    }

    #[test]
    fn implication_stays_within_an_architecture() {
        for (feature, needs) in IMPLIES {
            assert!(needs.iter().all(|need| need.arch() == feature.arch()), "{feature}");
        }
    }
}

//! Features as Linux names them in `/proc/cpuinfo`.
//!
//! In: a word of the line `Features` (AArch64) or `flags` (x86-64). Out: our features. Sources: Linux,
//! `arch/arm64/kernel/cpuinfo.c` and `arch/x86/include/asm/cpufeatures.h`.

use crate::{Arch, Feature, FeatureSet};

use Feature::*;

/// Words of x86-64.
const X86_64: &[(&str, &[Feature])] = &[
    ("3dnow", &[D3NOW]),
    ("3dnowext", &[D3NOWEXT]),
    // Linux gives CPUID.8000_0001.ECX[5] AMD's name for POPCNT and LZCNT together; the bit is that of LZCNT.
    ("abm", &[LZCNT]),
    ("adx", &[ADX]),
    ("aes", &[AES]),
    ("amx_bf16", &[AMX_BF16]),
    ("amx_int8", &[AMX_INT8]),
    ("amx_tile", &[AMX_TILE]),
    ("avx", &[AVX]),
    ("avx2", &[AVX2]),
    ("avx512_bf16", &[AVX512_BF16]),
    ("avx512_bitalg", &[AVX512_BITALG]),
    ("avx512_vbmi2", &[AVX512_VBMI2]),
    ("avx512_vnni", &[AVX512_VNNI]),
    ("avx512_vp2intersect", &[AVX512_VP2INTERSECT]),
    ("avx512_vpopcntdq", &[AVX512_VPOPCNTDQ]),
    ("avx512bw", &[AVX512BW]),
    ("avx512cd", &[AVX512CD]),
    ("avx512dq", &[AVX512DQ]),
    ("avx512er", &[AVX512ER]),
    ("avx512f", &[AVX512F]),
    ("avx512ifma", &[AVX512_IFMA]),
    ("avx512pf", &[AVX512PF]),
    ("avx512vbmi", &[AVX512_VBMI]),
    ("avx512vl", &[AVX512VL]),
    ("avx_vnni", &[AVX_VNNI]),
    ("bmi1", &[BMI1]),
    ("bmi2", &[BMI2]),
    ("cldemote", &[CLDEMOTE]),
    ("clflushopt", &[CLFLUSHOPT]),
    ("clwb", &[CLWB]),
    ("clzero", &[CLZERO]),
    ("cx16", &[CMPXCHG16B]),
    ("f16c", &[F16C]),
    ("fma", &[FMA]),
    ("fma4", &[FMA4]),
    ("fsgsbase", &[FSGSBASE]),
    ("gfni", &[GFNI]),
    ("lahf_lm", &[LAHF]),
    ("mmx", &[MMX]),
    ("movbe", &[MOVBE]),
    ("movdir64b", &[MOVDIR64B]),
    ("movdiri", &[MOVDIRI]),
    ("pclmulqdq", &[PCLMULQDQ]),
    ("pku", &[PKU]),
    ("popcnt", &[POPCNT]),
    ("rdpid", &[RDPID]),
    ("rdrand", &[RDRAND]),
    ("rdseed", &[RDSEED]),
    ("serialize", &[SERIALIZE]),
    ("sha_ni", &[SHA]),
    ("sse", &[SSE]),
    ("sse2", &[SSE2]),
    ("sse3", &[SSE3]),
    ("sse4_1", &[SSE4_1]),
    ("sse4_2", &[SSE4_2]),
    ("sse4a", &[SSE4A]),
    ("ssse3", &[SSSE3]),
    ("tbm", &[TBM]),
    ("vaes", &[VAES]),
    ("vpclmulqdq", &[VPCLMULQDQ]),
    ("waitpkg", &[WAITPKG]),
    ("xop", &[XOP]),
    // The kernel shows the flag only where it has switched the instructions on.
    ("xsave", &[XSAVE, OSXSAVE]),
    ("xsavec", &[XSAVEC]),
    ("xsaveopt", &[XSAVEOPT]),
];

/// Words of AArch64: the names of the `HWCAP` bits.
const AARCH64: &[(&str, &[Feature])] = &[
    ("aes", &[FEAT_AES]),
    ("asimd", &[FEAT_ASIMD]),
    ("asimddp", &[FEAT_DotProd]),
    ("asimdfhm", &[FEAT_FHM]),
    ("asimdhp", &[FEAT_FP16]),
    ("asimdrdm", &[FEAT_RDM]),
    ("atomics", &[FEAT_LSE]),
    ("bf16", &[FEAT_BF16]),
    ("bti", &[FEAT_BTI]),
    ("crc32", &[FEAT_CRC32]),
    ("cssc", &[FEAT_CSSC]),
    ("dcpodp", &[FEAT_DPB2]),
    ("dcpop", &[FEAT_DPB]),
    ("dit", &[FEAT_DIT]),
    ("ebf16", &[FEAT_EBF16]),
    ("ecv", &[FEAT_ECV]),
    ("fcma", &[FEAT_FCMA]),
    ("flagm", &[FEAT_FlagM]),
    ("flagm2", &[FEAT_FlagM2]),
    ("fp", &[FEAT_FP]),
    ("fphp", &[FEAT_FP16]),
    ("frint", &[FEAT_FRINTTS]),
    ("hbc", &[FEAT_HBC]),
    ("i8mm", &[FEAT_I8MM]),
    ("ilrcpc", &[FEAT_LRCPC2]),
    ("jscvt", &[FEAT_JSCVT]),
    ("lrcpc", &[FEAT_LRCPC]),
    ("lrcpc3", &[FEAT_LRCPC3]),
    ("mops", &[FEAT_MOPS]),
    ("mte", &[FEAT_MTE]),
    ("mte3", &[FEAT_MTE]),
    ("paca", &[FEAT_PAuth]),
    ("pacg", &[FEAT_PAuth]),
    ("pmull", &[FEAT_PMULL]),
    ("rng", &[FEAT_RNG]),
    ("sb", &[FEAT_SB]),
    ("sha1", &[FEAT_SHA1]),
    ("sha2", &[FEAT_SHA256]),
    ("sha3", &[FEAT_SHA3]),
    ("sha512", &[FEAT_SHA512]),
    ("sm3", &[FEAT_SM3]),
    ("sm4", &[FEAT_SM4]),
    ("sme", &[FEAT_SME]),
    ("sme2", &[FEAT_SME2]),
    ("smef64f64", &[FEAT_SME_F64F64]),
    ("smei16i64", &[FEAT_SME_I16I64]),
    ("ssbs", &[FEAT_SSBS]),
    ("sve", &[FEAT_SVE]),
    ("sve2", &[FEAT_SVE2]),
    ("sve2p1", &[FEAT_SVE2p1]),
    ("sveaes", &[FEAT_SVE_AES]),
    ("svebf16", &[FEAT_SVE, FEAT_BF16]),
    ("svebitperm", &[FEAT_SVE_BitPerm]),
    ("svef32mm", &[FEAT_F32MM]),
    ("svef64mm", &[FEAT_F64MM]),
    ("svei8mm", &[FEAT_SVE, FEAT_I8MM]),
    ("svepmull", &[FEAT_SVE_PMULL128]),
    ("svesha3", &[FEAT_SVE_SHA3]),
    ("svesm4", &[FEAT_SVE_SM4]),
    ("uscat", &[FEAT_LSE2]),
    ("wfxt", &[FEAT_WFxT]),
];

/// Words that name no instruction a program could contain, each with the reason.
#[cfg(test)]
const WITHOUT_FEATURE: &[(&str, &str)] = &[
    ("afp", "another meaning of bits of FPCR, and no instruction"),
    ("cpuid", "the kernel emulates reads of the ID registers"),
    ("dgh", "the data-gathering hint, a NOP where it is missing"),
    ("evtstrm", "the kernel's event stream, a period and no instruction"),
    ("rpres", "a precision of the reciprocal estimates, and no instruction"),
    ("smeb16f32", "part of SME"),
    ("smef16f32", "part of SME"),
    ("smef32f32", "part of SME"),
    ("smei8i32", "part of SME"),
];

/// The features that a word represents: none for an unknown one.
pub(crate) fn features_of_word(arch: Arch, word: &str) -> FeatureSet {
    let words = match arch {
        Arch::X86_64 => X86_64,
        Arch::Aarch64 => AARCH64,
    };
    let row = words.iter().find(|(name, _)| *name == word);
    row.map_or(FeatureSet::EMPTY, |(_, features)| FeatureSet::of(features))
}

/// Every feature of x86-64 that has a word.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) fn named_x86_64() -> FeatureSet {
    X86_64.iter().flat_map(|(_, features)| features.iter().copied()).collect()
}

/// Whether a word is known, or known to mean no feature.
#[cfg(test)]
pub(crate) fn is_known(word: &str) -> bool {
    let is_feature = !features_of_word(Arch::Aarch64, word).is_empty();
    is_feature != WITHOUT_FEATURE.iter().any(|(name, _)| *name == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_features_of_their_architecture() {
        for (arch, words) in [(Arch::X86_64, X86_64), (Arch::Aarch64, AARCH64)] {
            for (word, features) in words {
                assert!(features.iter().all(|feature| feature.arch() == arch), "{word}");
            }
        }
    }
}

//! The words in names of functions that are for some CPUs: extensions of the instruction sets, and cores.

use deburr_cpu::Feature::*;
use deburr_cpu::{Arch, Feature, FeatureSet};
use std::collections::HashMap;
use std::sync::LazyLock;

const V4: &[Feature] = &[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL];

/// What AVX-512 had become in Ice Lake.
const ICE_LAKE: &[Feature] = &[
    AVX512F,
    AVX512BW,
    AVX512CD,
    AVX512DQ,
    AVX512VL,
    AVX512_VNNI,
    AVX512_VBMI,
    AVX512_VBMI2,
    AVX512_BITALG,
    AVX512_VPOPCNTDQ,
    AVX512_IFMA,
    VAES,
    VPCLMULQDQ,
    GFNI,
];

/// Words that mean nothing else. `aes`, `sha` and `crc32` are not among them: algorithms are called so.
const X86_64: &[(&str, &[Feature])] = &[
    ("mmx", &[]),
    ("sse", &[]),
    ("sse2", &[]),
    ("sse3", &[SSE3]),
    ("ssse3", &[SSSE3]),
    ("sse4", &[SSE4_1, SSE4_2, POPCNT]),
    ("sse41", &[SSE4_1]),
    ("sse42", &[SSE4_2, POPCNT]),
    ("avx", &[AVX]),
    ("avx2", &[AVX2]),
    ("fma3", &[FMA]),
    ("fma4", &[FMA4]),
    ("xop", &[XOP]),
    ("f16c", &[F16C]),
    ("bmi1", &[BMI1]),
    ("bmi2", &[BMI2]),
    ("adx", &[ADX]),
    ("popcnt", &[POPCNT]),
    ("lzcnt", &[LZCNT]),
    ("pclmul", &[PCLMULQDQ]),
    ("pclmulqdq", &[PCLMULQDQ]),
    ("vpclmulqdq", &[VPCLMULQDQ]),
    ("aesni", &[AES]),
    ("vaes", &[VAES]),
    ("gfni", &[GFNI]),
    ("shani", &[SHA]),
    ("avxvnni", &[AVX_VNNI]),
    ("vnni", &[AVX512_VNNI]),
    ("avx512", V4),
    ("avx512f", &[AVX512F]),
    ("avx512bw", &[AVX512F, AVX512BW]),
    ("avx512cd", &[AVX512F, AVX512CD]),
    ("avx512dq", &[AVX512F, AVX512DQ]),
    ("avx512vl", &[AVX512F, AVX512VL]),
    ("avx512skx", V4),
    ("avx512icl", ICE_LAKE),
    ("avx512vnni", &[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL, AVX512_VNNI]),
    ("avx512vbmi", &[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL, AVX512_VBMI]),
    ("avx512vbmi2", &[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL, AVX512_VBMI2]),
    ("evex", V4),
    ("evex512", V4),
    ("rtm", &[RTM]),
    ("skx", V4),
    ("skylakex", V4),
    // SLEEF's (sleef.org, "Additional topics": the vector extensions that it is built for).
    ("avx2128", &[AVX2]),
    ("avx512fnofma", &[AVX512F]),
    ("purecfma", &[AVX2, FMA]),
    // XNNPACK's: the same extensions on vectors of 256 bits, and sets of them (its `tools/xnncommon.py`).
    ("avx256skx", V4),
    ("avx256vnni", &[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL, AVX512_VNNI]),
    ("avx256vnnigfni", &[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL, AVX512_VNNI, GFNI]),
    ("avx512vnnigfni", &[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL, AVX512_VNNI, GFNI]),
    ("avx512amx", &[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL, AMX_TILE, AMX_INT8]),
    ("avx512fp16", &[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL, AVX512_FP16]),
    ("avxvnniint8", &[AVX_VNNI, AVX_VNNI_INT8]),
    // Highway's names of the same.
    ("avx3", V4),
    ("avx3dl", ICE_LAKE),
    ("avx3zen4", ICE_LAKE),
];

/// Intel's MKL has names of its own for older CPUs.
const MKL: &[(&str, &[Feature])] =
    &[("p4n", &[SSE3]), ("mc", &[SSSE3]), ("mc3", &[SSE4_1, SSE4_2, POPCNT]), ("avx10", ICE_LAKE)];

const AARCH64: &[(&str, &[Feature])] = &[
    ("neon", &[]),
    ("asimd", &[]),
    ("dotprod", &[FEAT_DotProd]),
    ("i8mm", &[FEAT_DotProd, FEAT_I8MM]),
    ("lse", &[FEAT_LSE]),
    ("pmull", &[FEAT_AES, FEAT_PMULL]),
    ("sve", &[FEAT_SVE]),
    ("sve128", &[FEAT_SVE]),
    ("sve256", &[FEAT_SVE]),
    ("sve512", &[FEAT_SVE]),
    ("sve2", &[FEAT_SVE2]),
    ("armv8sve", &[FEAT_SVE]),
    ("sme", &[FEAT_SME]),
    ("sme2", &[FEAT_SME2]),
    // XNNPACK's (its `tools/xnncommon.py`). `neonfp16` converts, and does not compute.
    ("neonfp16", &[]),
    ("neonfma", &[]),
    ("neonv8", &[]),
    ("neonfp16arith", &[FEAT_FP16]),
    ("neonbf16", &[FEAT_BF16]),
    ("neondot", &[FEAT_DotProd]),
    ("neondotfp16arith", &[FEAT_DotProd, FEAT_FP16]),
    ("neoni8mm", &[FEAT_DotProd, FEAT_I8MM]),
    ("neonsme", &[FEAT_SME]),
    ("neonsme2", &[FEAT_SME2]),
];

/// What words begin with that say which data a kernel computes with, where its name has an extension too:
/// `kai_matmul_clamp_f32_bf16p1x4_bf16p12x4b_1x36_neon_dot` (KleidiAI, `docs/microkernel_names.md`).
const AARCH64_TYPES: &[(&str, Feature)] = &[("bf16", FEAT_BF16), ("f16", FEAT_FP16)];

/// Cores of the table of CPUs that are known by the same name. Names that mean other things as well are left out.
const CORES: &[&str] = &[
    "nehalem",
    "westmere",
    "sandybridge",
    "ivybridge",
    "haswell",
    "broadwell",
    "skylake",
    "cascadelake",
    "icelake",
    "sapphirerapids",
    "bulldozer",
    "piledriver",
    "steamroller",
    "excavator",
    "zen",
    "zen2",
    "zen3",
    "zen4",
    "zen5",
    "neoversen1",
    "neoversev1",
    "neoversen2",
    "neoversev2",
    "a64fx",
    "thunderx2",
];

/// Parts of all of these words but `rtm`, which means something only beside others, and of few other names.
const BEGINNINGS: &[&str] = &[
    "x86_64_v", "x86-64-v", "mmx", "sse", "avx", "fma", "xop", "f16c", "bmi", "adx", "popcnt", "lzcnt",
    "pclmul", "aesni", "vaes", "gfni", "shani", "vnni", "evex", "skx", "skylake", "mkl_", "neon", "asimd",
    "dotprod", "i8mm", "lse", "pmull", "sve", "sme",
];

/// The same and the cores, by their first letter: names are many.
static BY_FIRST: LazyLock<Vec<Vec<&[u8]>>> = LazyLock::new(|| {
    let mut by_first = vec![Vec::new(); 1 << u8::BITS];
    for part in BEGINNINGS.iter().chain(CORES).map(|part| part.as_bytes()) {
        let first = part.first().and_then(|&first| by_first.get_mut(usize::from(first)));
        first.into_iter().for_each(|parts: &mut Vec<&[u8]>| parts.push(part));
    }
    by_first
});

/// What the words mean on one architecture.
pub(crate) struct Words {
    meanings: HashMap<String, FeatureSet>,
    mkl: HashMap<&'static str, FeatureSet>,
    types: &'static [(&'static str, Feature)],
}

impl Words {
    pub(crate) fn of(arch: Arch) -> Words {
        let table = match arch {
            Arch::X86_64 => X86_64,
            Arch::Aarch64 => AARCH64,
        };
        let extensions = table
            .iter()
            .map(|(word, features)| ((*word).to_owned(), FeatureSet::of(features).with_implied()));
        let cores = deburr_cpu::cpus_by_features(arch).into_iter();
        let cores = cores.map(|(name, features)| (name.replace('-', ""), features));
        let cores = cores.filter(|(name, _)| CORES.contains(&name.as_str()));
        let (mkl, types): (&[_], &[_]) = match arch {
            Arch::X86_64 => (MKL, &[]),
            Arch::Aarch64 => (&[], AARCH64_TYPES),
        };
        let mkl = mkl.iter().map(|(word, features)| (*word, FeatureSet::of(features).with_implied()));
        // `x86_64_v3`: the first level needs nothing.
        let levels = deburr_cpu::levels(arch).iter().filter(|level| level.name.starts_with("x86-64-"));
        let first = deburr_cpu::first_level(arch);
        let levels = levels.map(|level| {
            let features = if level.features.is_subset(first) { FeatureSet::EMPTY } else { level.features };
            (level.name.replace('-', ""), features)
        });
        Words { meanings: cores.chain(levels).chain(extensions).collect(), mkl: mkl.collect(), types }
    }

    /// Whether any may be in a name, mangled or not. Most names have none, and are not worth demangling.
    pub(crate) fn may_be_in(name: &str) -> bool {
        let name = name.as_bytes();
        let begins = |at: usize| {
            let rest = name.get(at..).unwrap_or_default();
            let known = rest.first().and_then(|first| BY_FIRST.get(usize::from(first.to_ascii_lowercase())));
            let mut known = known.into_iter().flatten();
            known.any(|part| rest.get(..part.len()).is_some_and(|head| head.eq_ignore_ascii_case(part)))
        };
        (0..name.len()).any(begins)
    }

    /// Whether a word means something.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.meanings.contains_key(word)
    }

    /// All that a name says, going by its words in lower case; `None` if it says nothing.
    pub(crate) fn features(&self, name: &[String]) -> Option<FeatureSet> {
        self.parted(name).0
    }

    /// All that a name says, going by its words in lower case, `None` if it says nothing; and the words that say nothing.
    pub(crate) fn parted<'n>(&self, name: &'n [String]) -> (Option<FeatureSet>, Vec<&'n str>) {
        let is_mkl = name.first().is_some_and(|word| word == "mkl");
        let meaning = |word: &str| {
            let of_mkl = self.mkl.get(word).filter(|_| is_mkl);
            self.meanings.get(word).or(of_mkl).copied()
        };
        let mut found: Option<FeatureSet> = None;
        let mut others = Vec::new();
        let mut rest = name;
        while let [first, after @ ..] = rest {
            // `x86_64_v3`, `SSE4_1`, `avx512_vnni` and `neoverse_n1` are one.
            let joined = |count: usize| -> Option<(usize, FeatureSet)> {
                Some((count, meaning(&rest.get(..count)?.concat())?))
            };
            match joined(3).or_else(|| joined(2)).or_else(|| joined(1)) {
                Some((count, features)) => {
                    found = Some(found.unwrap_or(FeatureSet::EMPTY).union(features));
                    rest = rest.get(count..).unwrap_or_default();
                }
                None => {
                    others.push(first.as_str());
                    rest = after;
                }
            }
        }
        let of_type = |word: &&str| self.types.iter().find(|(beginning, _)| word.starts_with(beginning));
        let computed = others.iter().filter_map(of_type);
        let computed = computed.map(|(_, feature)| FeatureSet::of(&[*feature]).with_implied());
        (found.map(|found| computed.fold(found, FeatureSet::union)), others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::reach::file::names::words;

    fn features(arch: Arch, name: &str) -> Option<FeatureSet> {
        Words::of(arch).features(&words(name))
    }

    #[test]
    fn names_say_for_which_cpus_their_functions_are() {
        let x86_64: &[(&str, &[Feature])] = &[
            ("WelsQuant4x4_avx2", &[AVX2]),
            ("jxl::N_AVX2::L2Diff(float)", &[AVX2]),
            ("jxl::N_AVX3_DL::L2Diff(float)", ICE_LAKE),
            ("cv::opt_SSE4_1::blur", &[SSE4_1]),
            ("crc32_sse42", &[SSE4_2, POPCNT]),
            ("bitpacking::bitpacker4x::sse3::pack", &[SSE3]),
            ("HUF_readStats_body_bmi2", &[BMI2]),
            ("dot_avx512_vnni", &[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL, AVX512_VNNI]),
            ("sgemm_kernel_SKYLAKEX", V4),
            ("mkl_blas_mc3_xddot", &[SSE4_1, SSE4_2, POPCNT]),
            ("sum_avx2_fma3", &[AVX2, FMA]),
        ];
        let level = |name: &str| deburr_cpu::level_named(name).map(|level| level.features);
        assert_eq!(features(Arch::X86_64, "libx-x86_64-v3.so"), level("x86-64-v3"));
        assert_eq!(features(Arch::X86_64, "libx.x86-64-v1.so"), Some(FeatureSet::EMPTY));
        for (name, said) in x86_64 {
            assert_eq!(features(Arch::X86_64, name), Some(FeatureSet::of(said).with_implied()), "{name}");
        }
        let aarch64: &[(&str, &[Feature])] = &[
            ("aom_convolve8_horiz_neon_dotprod", &[FEAT_DotProd]),
            ("highbd_convolve_8tap_horiz_sve", &[FEAT_SVE]),
            ("ldadd_lse", &[FEAT_LSE]),
            ("sum_neon_i8mm", &[FEAT_DotProd, FEAT_I8MM]),
            ("xnn_f16_vexp_ukernel__neonfp16arith_poly_3_u8", &[FEAT_FP16]),
            ("kai_run_lhs_quant_pack_bf16p1x4_f32_neon", &[FEAT_BF16]),
            ("kai_run_lhs_quant_pack_qai8dxp_f16_neon", &[FEAT_FP16]),
        ];
        assert_eq!(features(Arch::Aarch64, "convert_bf16_to_f32"), None);
        for (name, said) in aarch64 {
            assert_eq!(features(Arch::Aarch64, name), Some(FeatureSet::of(said).with_implied()), "{name}");
        }
        let has = |arch, name, feature| features(arch, name).is_some_and(|said| said.contains(feature));
        assert!(has(Arch::X86_64, "dgemm_kernel_HASWELL", AVX2));
        assert!(has(Arch::Aarch64, "dot_neoverse_n1", FEAT_LSE));
        assert!(has(Arch::Aarch64, "srot_k_A64FX", FEAT_SVE));
    }

    #[test]
    fn every_word_is_looked_for() {
        let words = X86_64.iter().chain(AARCH64).map(|(word, _)| *word).chain(CORES.iter().copied());
        for word in words.filter(|word| *word != "rtm") {
            assert!(Words::may_be_in(&format!("f_{word}")), "{word}");
        }
        assert!(MKL.iter().all(|(word, _)| Words::may_be_in(&format!("mkl_{word}_f"))));
        assert!(!Words::may_be_in("update_rtm"));
    }

    #[test]
    fn every_core_is_known() {
        let known =
            |arch| deburr_cpu::cpus_by_features(arch).into_iter().map(|(name, _)| name.replace('-', ""));
        let known: Vec<String> = known(Arch::X86_64).chain(known(Arch::Aarch64)).collect();
        for core in CORES {
            assert!(known.iter().any(|name| name == core), "{core}");
        }
    }

    #[test]
    fn names_of_algorithms_say_nothing_of_the_cpu() {
        for name in
            ["aes_encrypt", "crc32_update", "sha256_block", "false_positive", "mc3_step", "assess", "saved"]
        {
            assert_eq!(features(Arch::X86_64, name), None, "{name}");
            assert_eq!(features(Arch::Aarch64, name), None, "{name}");
        }
        assert_eq!(features(Arch::X86_64, "sad16_sse2"), Some(FeatureSet::EMPTY));
        assert_eq!(features(Arch::Aarch64, "copy_avx2"), None);
    }
}

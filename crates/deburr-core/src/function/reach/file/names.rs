//! What the procedure call standards and the C library say of registers and of functions by name.

use crate::image::demangle;
use crate::image::linkage::Export;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Whether a function of this name never comes back.
pub(crate) fn does_not_return(name: &str) -> bool {
    matches!(
        name,
        "abort"
            | "exit"
            | "_exit"
            | "_Exit"
            | "quick_exit"
            | "__stack_chk_fail"
            | "__assert_fail"
            | "__assert"
            | "__fortify_fail"
            | "__chk_fail"
            | "__libc_fatal"
            | "err"
            | "errx"
            | "longjmp"
            | "siglongjmp"
            | "__longjmp_chk"
            | "__cxa_throw"
            | "__cxa_rethrow"
            | "__cxa_bad_cast"
            | "_Unwind_Resume"
            | "_ZSt9terminatev"
            | "_ZSt17__throw_bad_allocv"
            | "_ZSt20__throw_length_errorPKc"
            | "_ZSt20__throw_out_of_rangePKc"
            | "_ZSt24__throw_out_of_range_fmtPKcz"
            | "pthread_exit"
            | "thrd_exit"
            | "__builtin_unreachable"
            | "OPENSSL_die"
    )
}

/// Whether an exported function of this name only lists variants, each with a flag that says whether it can be used:
/// glibc's, for its own tests.
pub(crate) fn lists_variants(name: &str) -> bool {
    name == "__libc_ifunc_impl_list"
}

/// Whether a function of this name calls a function that it is given.
pub(crate) fn calls_back(name: &str) -> bool {
    matches!(
        name,
        "__libc_start_main"
            | "pthread_create"
            | "thrd_create"
            | "pthread_once"
            | "call_once"
            | "signal"
            | "bsd_signal"
            | "sigaction"
            | "sigset"
            | "atexit"
            | "at_quick_exit"
            | "__cxa_atexit"
            | "__cxa_thread_atexit"
            | "on_exit"
            | "pthread_atfork"
            | "qsort"
            | "qsort_r"
            | "bsearch"
            | "lfind"
            | "makecontext"
            | "dl_iterate_phdr"
            | "g_thread_new"
    )
}

/// Whether a name may have the word CPU, or hardware, in it. Most have not, and are not worth demangling.
pub(crate) fn mentions_cpu(name: &str) -> bool {
    name.as_bytes().windows(3).any(|word| matches!(word, b"cpu" | b"Cpu" | b"CPU"))
        || name.contains("ardware")
}

/// Functions and data of libraries that say what the CPU has, by names that [`reports_cpu`] has no rule for.
///
/// Sources: VLC, `include/vlc_cpu.h`; liborc, `orc/orctarget.h`; GIMP, `libgimpbase/gimpcpuaccel.h`; GEGL's babl,
/// `babl/babl-cpuaccel.h`; xine, `include/xine/xineutils.h`; mpg123, `src/libmpg123/getcpuflags.h`; VOLK,
/// `include/volk/volk.h`; google/cpu_features, `include/cpuinfo_*.h`; GMP, `gmp-impl.h`; FAISS, `utils/simd_levels.h`;
/// OpenSSL, `crypto/arm_arch.h`; libwebp, `src/dsp/cpu.h`; DPDK, `lib/eal/include/rte_vect.h`.
const REPORTERS: [&str; 24] = [
    "vlc_CPU",
    "orc_target_get_default",
    "orc_target_get_default_flags",
    "orc_target_get_flag_name",
    "gimp_cpu_accel_get_support",
    "babl_cpu_accel_get_support",
    "mm_accel",
    "xine_mm_accel",
    "getcpuflags",
    "volk_get_machine",
    "volk_get_lvarch",
    "GetX86Info",
    "GetAarch64Info",
    "GetX86Microarchitecture",
    "__gmpn_cpuvec",
    "__gmpn_cpuvec_init",
    "_ZN5faiss10SIMDConfig5levelE",
    "_ZN5faiss10SIMDConfig9get_levelEv",
    "OPENSSL_armcap_P",
    "OPENSSL_armv8_rsa_neonized",
    "VP8GetCPUInfo",
    "SharpYuvGetCPUInfo",
    "rte_vect_get_max_simd_bitwidth",
    "rte_cpu_get_flag_enabled",
];

/// Whether an imported function of this name, mangled or not, says what the CPU has: `av_get_cpu_flags`, `SDL_HasAVX2`,
/// `hwy::SupportedTargets`.
pub(crate) fn reports_cpu(name: &str) -> bool {
    // Most names have none of the words, and are not worth demangling.
    if !may_report_cpu(name) {
        return REPORTERS.contains(&name);
    }
    if REPORTERS.contains(&name) {
        return true;
    }
    let demangled = demangle(name);
    let name = demangled.split('(').next().unwrap_or_default();
    let words = words(name);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let follows = |first: &[&str], then: &[&str]| {
        let near = words.windows(3).chain(words.windows(2));
        near.filter(|near| first.contains(&near.first().map_or("", String::as_str)))
            .any(|near| near.iter().skip(1).any(|word| then.contains(&word.as_str())))
    };
    const REPORTS: &[&str] = &[
        "flags",
        "feature",
        "features",
        "caps",
        "capabilities",
        "capability",
        "supports",
        "supported",
        "support",
        "has",
        "detect",
        "detection",
        "id",
        "isa",
        "isas",
    ];
    let is_extension = |word: &String| {
        matches!(
            word.as_str(),
            "mmx" | "neon" | "asimd" | "lse" | "fma3" | "popcnt" | "aesni" | "f16c" | "pclmul" | "pclmulqdq"
        ) || ["sse", "ssse", "avx", "sve", "bmi"].iter().any(|family| {
            word.strip_prefix(family)
                .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()) || rest.starts_with("512"))
        })
    };
    has(&["hwcap", "hwcap2", "hwcaps", "cpuid", "cpuflags", "cpufeatures", "cpucaps"])
        || follows(&["cpu"], REPORTS)
        || follows(&["cpuinfo"], &["has"])
        || follows(&["cpu"], &["info"]) && has(&["has", "instance", "supported", "supports"])
        || follows(&["hw"], &["features", "caps"])
        || follows(&["hardware"], &["feature", "features", "support", "supported", "supports"])
        || follows(&["simd"], &["flags", "level", "caps", "support", "supported", "detect"])
        || words.iter().any(is_extension)
            && has(&["has", "have", "supports", "supported", "can", "available", "usable"])
        || words.first().is_some_and(|word| word == "hwy") && has(&["target", "targets"])
        // Rust's `std_detect`: the library's copy of the answers, and what fills it.
        || words.starts_with(&["std".to_owned(), "detect".to_owned()])
}

/// Whether a name may have a word in it that [`reports_cpu`] looks for. Rust's manglings can write letters as numbers.
fn may_report_cpu(name: &str) -> bool {
    const WORDS: [&str; 18] = [
        "cpu",
        "std_detect",
        "hw",
        "hardware",
        "simd",
        "mmx",
        "neon",
        "asimd",
        "lse",
        "fma3",
        "popcnt",
        "aesni",
        "f16c",
        "pclmul",
        "sse",
        "avx",
        "sve",
        "bmi",
    ];
    let bytes = name.as_bytes();
    let begins_with_one = |at: usize| {
        let here = bytes.get(at..).unwrap_or_default();
        let first = here.first().map(u8::to_ascii_lowercase);
        let mut begun = WORDS.map(str::as_bytes).into_iter().filter(|word| word.first().copied() == first);
        begun.any(|word| here.get(..word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word)))
    };
    name.starts_with("_R") || name.contains('$') || (0..bytes.len()).any(begins_with_one)
}

/// The words of a name, in lower case: parted by what is no letter or digit, and by a change of case.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let letters: Vec<char> = name.chars().take(256).collect();
    let mut is_new = true;
    for (index, &letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            is_new = true;
            continue;
        }
        let before = index.checked_sub(1).and_then(|before| letters.get(before)).copied().unwrap_or('_');
        let after = letters.get(index.saturating_add(1)).copied().unwrap_or('_');
        // `CPUInfo` has two words, `AVX2` one.
        let is_acronym = before.is_ascii_uppercase() && !after.is_ascii_lowercase();
        is_new |= letter.is_ascii_uppercase() && !is_acronym;
        match words.last_mut() {
            Some(word) if !is_new => word.push(letter.to_ascii_lowercase()),
            _ => words.push(letter.to_ascii_lowercase().to_string()),
        }
        is_new = false;
    }
    words
}

/// Whether a host enters a module by this name: Python's, Node's or Java's. What else such a module exports is not for
/// others.
pub(crate) fn is_module_entry(name: &str) -> bool {
    const PREFIXES: &[&str] =
        &["PyInit_", "PyInitU_", "napi_register_module_v", "node_register_module_v", "Java_", "JNI_On"];
    PREFIXES.iter().any(|prefix| name.len() > prefix.len() && name.starts_with(prefix))
}

/// Whether an exported function is a vector variant for a part of the instruction set that its name states.
/// `_ZGVdN4v_cos` is for AVX2, and what calls it was compiled for that (x86-64 Vector Function ABI, "Vector Function
/// Name Mangling"; Vector Function ABI for AArch64). Those of the first level, `b` and `n`, need nothing.
pub(crate) fn is_vector_variant(name: &str) -> bool {
    let Some(mangled) = name.strip_prefix("_ZGV") else { return false };
    let masked = mangled.strip_prefix(['c', 'd', 'e', 's']);
    masked.is_some_and(|rest| rest.starts_with(['N', 'M']) && rest.contains('_'))
}

/// Whether a function is exported without being meant for others. That is an inline function or a template's instance
/// of C++, which every unit that uses it has and the linker merges. It is also one in a version that says so, and what is
/// inside of Intel's MKL, where that is linked in statically.
pub(crate) fn is_incidental(export: &Export<'_>) -> bool {
    const INSIDE_MKL: [&str; 7] =
        ["mkl_blas_", "mkl_dft_", "mkl_lapack_", "mkl_spblas_", "mkl_trans_", "mkl_vml_kernel_", "mkl_vsl_"];
    if INSIDE_MKL.iter().any(|prefix| export.name.starts_with(prefix)) {
        return true;
    }
    let is_private = |version: &str| version.split('_').any(|word| matches!(word, "PRIVATE" | "INTERNAL"));
    export.is_weak && export.name.starts_with("_Z") || export.version.is_some_and(is_private)
}

/// The exported functions whose names say for which CPUs they are, and that have siblings for others:
/// `scopy_k_NEOVERSEN2` next to `scopy_k_ARMV8`. The `default` of such a family is one of them. Code that calls one of
/// them has chosen it.
pub(crate) fn variants<'a>(exports: &[Export<'a>]) -> HashSet<&'a str> {
    let mut families: HashMap<&'a str, BTreeSet<&'a str>> = HashMap::new();
    let mut stems: HashSet<&'a str> = HashSet::new();
    for name in exports.iter().map(|export| export.name) {
        let of_cpus = stem_of_cpus(name);
        stems.extend(of_cpus);
        if let Some(stem) = of_cpus.or_else(|| Some(name.rsplit_once('_')?.0)) {
            families.entry(stem).or_default().insert(name);
        }
    }
    // One function may be exported in several versions.
    let families = families.into_iter().filter(|(stem, names)| stems.contains(stem) && names.len() > 1);
    let is_variant = |name: &&str| stem_of_cpus(name).is_some() || name.ends_with("_default");
    families.flat_map(|(_, names)| names).filter(is_variant).collect()
}

/// What comes before the CPUs in a name: `crc32_mix` in `crc32_mix_neoverse_n1`.
fn stem_of_cpus(name: &str) -> Option<&str> {
    let (stem, last) = name.rsplit_once('_')?;
    if is_of_cpus(last) {
        return Some(stem);
    }
    // The number of a core: `_neoverse_n1`, `_cortex_a53`.
    let (stem, family) = stem.rsplit_once('_')?;
    let is_core = last.len() <= 4 && last.ends_with(|letter: char| letter.is_ascii_digit());
    (is_core && matches!(family, "neoverse" | "cortex")).then_some(stem)
}

/// Whether a suffix of a name is for some CPUs: an extension of the instruction set, or a core.
fn is_of_cpus(suffix: &str) -> bool {
    const BEGINNINGS: [&str; 46] = [
        "a64fx",
        "amx",
        "armv8",
        "armv9",
        "athlon",
        "atom",
        "avx",
        "barcelona",
        "bmi",
        "bobcat",
        "bulldozer",
        "cooperlake",
        "core2",
        "cortex",
        "crc32",
        "dotprod",
        "dunnington",
        "emag",
        "excavator",
        "fma",
        "haswell",
        "i8mm",
        "icelake",
        "knl",
        "nehalem",
        "neon",
        "neoverse",
        "opteron",
        "penryn",
        "piledriver",
        "pmull",
        "popcnt",
        "prescott",
        "sandybridge",
        "sapphirerapids",
        "skx",
        "skylake",
        "sme",
        "sse",
        "ssse",
        "steamroller",
        "sve",
        "thunderx",
        "tsv110",
        "vnni",
        "zen",
    ];
    let begins_with = |beginning: &&str| {
        suffix.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
    };
    BEGINNINGS.iter().any(begins_with)
}

/// Whether what a function of this name returns is known: see `machine::queries`.
pub(crate) fn answers(name: &str) -> bool {
    matches!(
        name,
        "getauxval"
            | "__getauxval"
            | "__x86_get_cpuid_feature_leaf"
            | "__x86_get_cpu_features"
            | "_dl_x86_get_cpu_features"
            | "__get_cpu_features"
            | "__cpu_indicator_init"
            | "__init_cpu_features_resolver"
            | "__init_cpu_features"
    )
}

/// Whether a function of this name gives the text of an environment variable (getenv(3)).
pub(crate) fn reads_environment(name: &str) -> bool {
    matches!(name, "getenv" | "secure_getenv" | "__secure_getenv")
}

/// Whether a function of this name makes a number of a text (strtoul(3)).
pub(crate) fn parses_number(name: &str) -> bool {
    let name = name.strip_prefix("__isoc23_").unwrap_or(name);
    matches!(name, "atoi" | "atol" | "strtol" | "strtoul" | "strtoll" | "strtoull")
}

/// Whether a function of this name compares two texts (strcmp(3), GLib's `g_strcmp0`).
pub(crate) fn compares_texts(name: &str) -> bool {
    matches!(
        name,
        "strcmp"
            | "strncmp"
            | "strcasecmp"
            | "strncasecmp"
            | "memcmp"
            | "bcmp"
            | "strstr"
            | "g_strcmp0"
            | "g_str_equal"
            | "g_ascii_strcasecmp"
            | "g_ascii_strncasecmp"
    )
}

/// Whether a text is the name of an extension of the instruction set, as lists of what the CPU has give it. `aes` and
/// `crc32` are not among them: algorithms are called so.
pub(crate) fn is_extension(text: &[u8]) -> bool {
    const NAMES: [&str; 26] = [
        "sse3",
        "ssse3",
        "sse4",
        "sse41",
        "sse4.1",
        "sse4_1",
        "sse42",
        "sse4.2",
        "sse4_2",
        "avx",
        "avx2",
        "fma3",
        "f16c",
        "bmi1",
        "bmi2",
        "popcnt",
        "pclmul",
        "pclmulqdq",
        "avx512",
        "avx512f",
        "neon",
        "asimd",
        "dotprod",
        "i8mm",
        "sve",
        "sve2",
    ];
    NAMES.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(text))
}

/// Whether a function of this name takes part in handling signals.
pub(crate) fn takes_part_in_handling(name: &str) -> bool {
    name == "sigaction" || is_return_point(name)
}

pub(crate) fn is_return_point(name: &str) -> bool {
    matches!(name, "setjmp" | "_setjmp" | "sigsetjmp" | "__sigsetjmp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Svma;

    #[test]
    fn exports_for_some_cpus_with_siblings_are_variants() {
        let exports = [
            "copy_AVX2",
            "copy_C",
            "scopy_k_ARMV8",
            "scopy_k_NEOVERSEN2",
            "list_first",
            "list_last",
            "hash_sse42",
            "hash",
            "mix_default",
            "mix_neoverse_n1",
            "mix_neoverse_n2_base",
            "sort_default",
            "sort_reverse",
        ];
        let exports = exports.map(|name| Export { at: Svma(0), name, is_weak: false, version: None });
        let mut found: Vec<_> = variants(&exports).into_iter().collect();
        found.sort_unstable();
        assert_eq!(
            found,
            ["copy_AVX2", "mix_default", "mix_neoverse_n1", "scopy_k_ARMV8", "scopy_k_NEOVERSEN2"]
        );
    }

    #[test]
    fn imported_functions_that_report_the_cpu_are_known_by_their_names() {
        let reporting = [
            "av_get_cpu_flags",
            "aom_get_cpu_caps",
            "x264_cpu_detect",
            "android_getCpuFeatures",
            "android_getCpuFeaturesExt",
            "SDL_HasAVX2",
            "SDL_HasSSE41",
            "cpuinfo_has_x86_avx2",
            "cpu_supports_avx",
            "__cpu_has_fma",
            "Sleef_x86CpuID",
            "_gcry_get_hw_features",
            "is_avx2_supported",
            "OPENSSL_cpuid_setup",
            "_dl_hwcap2",
            "_ZN3hwy16SupportedTargetsEv",
            "_ZN3hwy15GetChosenTargetEv",
            "_ZN8CryptoPP7HasAVX2Ev",
            "_ZN4llvm3sys18getHostCPUFeaturesEv",
            "_ZN2cv20checkHardwareSupportEi",
            "mkl_serv_cpu_detect",
            "_ZN5arrow8internal7CpuInfo11GetInstanceEv",
            "_ZNK5arrow8internal7CpuInfo11IsSupportedEl",
            "_ZN7$u63$pu8features17h0123456789abcdefE",
            "_ZN10std_detect6detect5cache5CACHE17hbdd1fd9d2b270eafE",
            "_ZN10std_detect6detect5cache21detect_and_initialize17ha22d56e394874365E",
        ];
        assert!(REPORTERS.into_iter().all(reports_cpu));
        for name in reporting {
            assert!(reports_cpu(name), "{name}");
        }
        let others = [
            "sched_getcpu",
            "__sched_cpucount",
            "cpuinfo_get_processors_count",
            "uv_cpu_info",
            "_ZN5arrow8internal7CpuInfo8num_coresEv",
            "uv_available_parallelism",
            "cpu_relax",
            "has_cpu_backend",
            "encode_avx2",
            "ff_h264_idct_add_8_avx",
            "EVP_CIPHER_flags",
            "fcntl_flags",
            "have_savx",
            "hasNeonate",
            "_ZN2at3cpu5clampEv",
            "_ZN3hwy5AbortEv",
            "simd_sum",
            "feature_flags",
            "gpu_has_feature",
            "hardware_concurrency",
            "clock_getcpuclockid",
            "pthread_getcpuclockid",
            "vlc_CPU_name",
            "_ZN3std6detect5cacheE",
            "detect_std",
        ];
        for name in others {
            assert!(!reports_cpu(name), "{name}");
        }
    }

    #[test]
    fn names_of_extensions_are_no_names_of_algorithms() {
        assert!(["sse4.1", "AVX2", "neon", "i8mm"].iter().all(|name| is_extension(name.as_bytes())));
        let others = ["", "aes", "crc32", "sha256", "sse", "avx2x", "x avx2", "mp3"];
        assert!(!others.iter().any(|name| is_extension(name.as_bytes())));
        assert!(["strcmp", "g_strcmp0", "memcmp"].into_iter().all(compares_texts));
        assert!(!["strcpy", "strcmp_avx2", "memmove"].into_iter().any(compares_texts));
    }

    #[test]
    fn modules_are_entered_by_fixed_names() {
        let names =
            ["PyInit__multiarray_umath", "PyInitU_x", "napi_register_module_v1", "node_register_module_v108"];
        assert!(names.into_iter().all(is_module_entry));
        assert!(["JNI_OnLoad", "Java_org_sqlite_core_NativeDB_open"].into_iter().all(is_module_entry));
        let others = [
            "PyInit_",
            "PyInitialize",
            "Py_Initialize",
            "JNI_CreateJavaVM",
            "Javascript",
            "napi_create_object",
        ];
        assert!(!others.into_iter().any(is_module_entry));
    }

    #[test]
    fn vector_variants_state_their_instruction_set() {
        assert!(["_ZGVdN4v_cos", "_ZGVeN8vvv_sincos", "_ZGVsMxv_exp"].into_iter().all(is_vector_variant));
        let others = ["_ZGVbN2v_cos", "_ZGVnN2v_cos", "_ZGVZ4mainE5cache", "_ZGVN3foo3barE", "_ZGV", "cos"];
        assert!(!others.into_iter().any(is_vector_variant));
    }

    #[test]
    fn an_inline_function_is_exported_by_accident() {
        let export = |name, is_weak, version| Export { at: Svma(0), name, is_weak, version };
        assert!(is_incidental(&export("_ZN2np10qsort_simdIfEEvPT_", true, None)));
        assert!(is_incidental(&export("_nettle_aes128_encrypt_aesni", false, Some("NETTLE_INTERNAL_8_6"))));
        assert!(is_incidental(&export("__libc_memset", false, Some("GLIBC_PRIVATE"))));
        assert!(is_incidental(&export("mkl_blas_avx512_sgemm_mscale", false, None)));
        assert!(!is_incidental(&export("_ZN5Botan3AES7encryptEv", false, None)));
        assert!(!is_incidental(&export("mkl_malloc", false, None)));
        assert!(!is_incidental(&export("strdup", true, Some("GLIBC_2.2.5"))));
        assert!(!is_incidental(&export("f", false, Some("INTERNALS_1"))));
    }
}

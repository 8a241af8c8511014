//! Where learning begins: words of memory whose meaning is laid down by the C library and the compilers' run-time
//! libraries, or known of other files.
//!
//! Sources: GCC's `common/config/i386/cpuinfo.h` and `i386-cpuinfo.h` (`__cpu_model`), glibc's
//! `sysdeps/x86/include/cpu-features.h`, the Arm C Language Extensions' function multiversioning.

use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::foreign::foreign;
use crate::function::reach::file::knowledge::{self, Knowledge};
use crate::function::reach::file::view::View;
use crate::function::reach::learn::{glibc, go, libgcc};
use crate::function::reach::machine::memory::Memory;
use crate::function::reach::machine::queries::{cpuid_answer, proof};
use deburr_cpu::query::GLIBC_LEAVES;
use deburr_cpu::{Arch, Feature};

/// Bits of `__cpu_model.__cpu_features` and, from 32 on, of `__cpu_features2`.
const CPU_MODEL: &[(u16, Feature)] = {
    use Feature::*;
    &[
        (0, CMOV),
        (1, MMX),
        (2, POPCNT),
        (3, SSE),
        (4, SSE2),
        (5, SSE3),
        (6, SSSE3),
        (7, SSE4_1),
        (8, SSE4_2),
        (9, AVX),
        (10, AVX2),
        (11, SSE4A),
        (12, FMA4),
        (13, XOP),
        (14, FMA),
        (15, AVX512F),
        (16, BMI1),
        (17, BMI2),
        (18, AES),
        (19, PCLMULQDQ),
        (20, AVX512VL),
        (21, AVX512BW),
        (22, AVX512DQ),
        (23, AVX512CD),
        (24, AVX512ER),
        (25, AVX512PF),
        (26, AVX512_VBMI),
        (27, AVX512_IFMA),
        (28, AVX512_4VNNIW),
        (29, AVX512_4FMAPS),
        (30, AVX512_VPOPCNTDQ),
        (31, AVX512_VBMI2),
        (32, GFNI),
        (33, VPCLMULQDQ),
        (34, AVX512_VNNI),
        (35, AVX512_BITALG),
        (36, AVX512_BF16),
        (37, AVX512_VP2INTERSECT),
        (40, ADX),
        (49, F16C),
        (57, LZCNT),
        (58, MOVBE),
        (64, PKU),
        (70, RDRAND),
        (71, RTM),
        (74, SHA),
        (78, VAES),
        (79, WAITPKG),
        (85, AMX_TILE),
        (86, AMX_INT8),
        (87, AMX_BF16),
        (93, AVX_VNNI),
        (94, AVX512_FP16),
    ]
};

/// Bits of `__cpu_features2` that stand for a level: `__builtin_cpu_supports("x86-64-v3")`.
const CPU_MODEL_LEVELS: &[(u16, &str)] = &[(96, "x86-64-v2"), (97, "x86-64-v3"), (98, "x86-64-v4")];

fn cpu_model_word(first: u16) -> Value {
    let features = CPU_MODEL.iter().map(|&(bit, feature)| (bit, proof(feature)));
    let levels = CPU_MODEL_LEVELS
        .iter()
        .filter_map(|&(bit, name)| Some((bit, Proof::of(deburr_cpu::level_named(name)?.features))));
    let here = features.chain(levels).filter_map(|(bit, proof)| {
        let bit = bit.checked_sub(first).filter(|&bit| bit < 32)?;
        Some((u8::try_from(bit).ok()?, proof))
    });
    Value::word(here, 4)
}

/// Bits of `__aarch64_cpu_features.features`.
const AARCH64_CPU_FEATURES: &[(u8, Feature)] = {
    use Feature::*;
    &[
        (0, FEAT_RNG),
        (1, FEAT_FlagM),
        (2, FEAT_FlagM2),
        (3, FEAT_FHM),
        (4, FEAT_DotProd),
        (5, FEAT_SM4),
        (6, FEAT_RDM),
        (7, FEAT_LSE),
        (8, FEAT_FP),
        (9, FEAT_ASIMD),
        (10, FEAT_CRC32),
        (11, FEAT_SHA1),
        (12, FEAT_SHA256),
        (13, FEAT_SHA3),
        (14, FEAT_AES),
        (15, FEAT_PMULL),
        (16, FEAT_FP16),
        (17, FEAT_DIT),
        (18, FEAT_DPB),
        (19, FEAT_DPB2),
        (20, FEAT_JSCVT),
        (21, FEAT_FCMA),
        (22, FEAT_LRCPC),
        (23, FEAT_LRCPC2),
        (24, FEAT_FRINTTS),
        (26, FEAT_I8MM),
        (27, FEAT_BF16),
        (30, FEAT_SVE),
        (36, FEAT_SVE2),
    ]
};

/// Where the leaves begin in `struct cpu_features`, after five integers.
const GLIBC_LEAVES_AT: u64 = 20;

/// `struct cpu_features` at an address whose leaves begin at `leaves`. Of each leaf it has the four registers, and the
/// four again with what the operating system does not support cleared. After them come the preferences.
fn glibc_cpu_features(memory: &mut Memory, leaves: u64) {
    let mut at = leaves;
    for &(leaf, subleaf) in GLIBC_LEAVES {
        let answer = cpuid_answer(leaf, subleaf);
        for word in answer.iter().chain(&answer) {
            memory.words.insert((at, 4), word.clone());
            at += 4;
        }
    }
    /// `AVX_Fast_Unaligned_Load`, which glibc sets only where AVX2 is usable.
    const FAST_UNALIGNED_AVX: u8 = 9;
    // glibc 2.39 keeps one leaf more; no program tests bit 9 of what is then here.
    for preferences in [at, at + 32] {
        memory.words.insert((preferences, 4), Value::word([(FAST_UNALIGNED_AVX, proof(Feature::AVX2))], 4));
    }
}

/// Bytes of other files' data that says by its name what the CPU has: Rust's `std_detect` keeps three words.
const REPORT: u64 = 24;

/// The words that are known by name.
pub(crate) fn known(file: &View<'_, '_>) -> Memory {
    let mut memory = Memory::default();
    let linkage = file.linkage;
    for (index, import) in linkage.imports.iter().enumerate() {
        let at = if import.is_copy { import.at.0 } else { foreign(index) };
        named(file, &mut memory, import.name, at);
        add_words(file.foreign, import.name, at, &mut memory);
        // What it holds is known to the file that defines it alone.
        let is_known = memory.words.range((at, 0)..(at.saturating_add(REPORT), 0)).next().is_some();
        if file.answerers.contains(import.name) && !is_known {
            let words = (0..REPORT).step_by(8).map(|offset| ((at.saturating_add(offset), 8), Value::Tainted));
            memory.words.extend(words);
        }
    }
    for object in &linkage.objects {
        named(file, &mut memory, object.name, object.extent.start.0);
    }
    let models = if file.image.arch == Arch::X86_64 { libgcc::cpu_models(file) } else { Vec::new() };
    for found in models {
        named(file, &mut memory, "__cpu_model", found.model);
        if let Some(features2) = found.features2 {
            named(file, &mut memory, "__cpu_features2", features2);
        }
    }
    if file.image.arch == Arch::Aarch64 {
        let words = go::kernel_words(file).into_iter();
        memory.words.extend(words.map(|(at, word)| ((at, 8), file.subject.hwcap(word))));
    }
    if file.image.arch == Arch::Aarch64 && !file.resolvers.is_empty() {
        // `__ifunc_arg_t`: its size, then the kernel's words.
        let argument = foreign(linkage.imports.len());
        memory.words.insert((argument + 8, 8), file.subject.hwcap(1));
        memory.words.insert((argument + 16, 8), file.subject.hwcap(2));
    }
    memory
}

fn named(file: &View<'_, '_>, memory: &mut Memory, name: &str, at: u64) {
    let arch = file.image.arch;
    match (arch, name) {
        (Arch::X86_64, "__cpu_model") => {
            // The vendor, which proves nothing; but queries begin with the address of the whole.
            memory.words.insert((at, 4), Value::word([], 4));
            memory.words.insert((at + 12, 4), cpu_model_word(0));
        }
        (Arch::X86_64, "__cpu_features2") => {
            for word in 0..3u16 {
                memory.words.insert((at + u64::from(word) * 4, 4), cpu_model_word(32 + word * 32));
            }
        }
        (Arch::X86_64, "OPENSSL_ia32cap_P") => {
            let ([_, _, ecx1, edx1], [_, ebx7, ecx7, _]) = (cpuid_answer(1, 0), cpuid_answer(7, 0));
            for (offset, word) in (0..).step_by(4).zip([edx1, ecx1, ebx7, ecx7]) {
                memory.words.insert((at + offset, 4), word);
            }
        }
        (Arch::X86_64, "__x86_get_cpuid_feature_leaf") => glibc_cpu_features(memory, at),
        (
            Arch::X86_64,
            "__x86_get_cpu_features"
            | "_dl_x86_get_cpu_features"
            | "__get_cpu_features"
            | "_dl_x86_cpu_features",
        ) => glibc_cpu_features(memory, at + GLIBC_LEAVES_AT),
        (Arch::X86_64, "_rtld_global_ro") => {
            if let Some(leaves) = glibc::leaves_in_rtld(file, at) {
                glibc_cpu_features(memory, at + leaves);
            }
        }
        (Arch::Aarch64, "__aarch64_have_lse_atomics") => {
            memory.words.insert((at, 1), Value::word([(0, proof(Feature::FEAT_LSE))], 1).and_mask(1));
        }
        (Arch::Aarch64, "__aarch64_cpu_features") => {
            let bits = AARCH64_CPU_FEATURES.iter().map(|&(bit, feature)| (bit, proof(feature)));
            memory.words.insert((at, 8), Value::word(bits, 8));
        }
        _ => {}
    }
}

/// Adds the words of the imported data of a name, which is at an address; what is known by name stays.
fn add_words(foreign: &[&Knowledge], name: &str, at: u64, memory: &mut Memory) {
    let words = knowledge::words(foreign, name);
    for (offset, width, value) in words.into_iter().flatten() {
        memory.words.entry((at.saturating_add(*offset), *width)).or_insert_with(|| value.clone());
    }
}

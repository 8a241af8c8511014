//! Words of memory, registers and functions whose meaning is laid down: by the CPU's manual, by the kernel, by the C
//! library and the compilers' run-time libraries.
//!
//! Sources: Intel SDM (CPUID), Linux `uapi/asm/hwcap.h`, GCC's `common/config/i386/cpuinfo.h` and `i386-cpuinfo.h`
//! (`__cpu_model`), glibc's `sysdeps/x86/include/cpu-features.h`, the Arm C Language Extensions' function
//! multiversioning.

use super::World;
use super::knowledge;
use super::libgcc;
use super::memory::{Memory, foreign};
use super::proof::Proof;
use super::state::State;
use super::value::Value;
use crate::address::CodeOffset;
use crate::insn::{Insn, Reg};
use deburr_cpu::query::{self, CpuidRegister};
use deburr_cpu::{Arch, Feature, FeatureSet};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const AT_HWCAP: u64 = 16;
const AT_HWCAP2: u64 = 26;

fn proof(feature: Feature) -> Proof {
    Proof::of(FeatureSet::EMPTY.with(feature))
}

/// The registers that CPUID answers in, by number, in the order in which structures keep them.
const REGISTERS: [(u8, CpuidRegister); 4] =
    [(0, CpuidRegister::Eax), (3, CpuidRegister::Ebx), (1, CpuidRegister::Ecx), (2, CpuidRegister::Edx)];

/// What CPUID answers to a leaf, in the order of [`REGISTERS`].
type Answer = [Value; 4];

fn make_answer(leaf: u32, subleaf: u32) -> Answer {
    REGISTERS.map(|(_, register)| {
        let feature = |bit: u8| query::cpuid_bit(leaf, subleaf, register, u32::from(bit));
        Value::word((0..32).filter_map(|bit| Some((bit, proof(feature(bit)?)))), 4)
    })
}

/// The answers that everybody asks for: what a feature implies takes a while to work out.
static ANSWERS: LazyLock<BTreeMap<(u32, u32), Answer>> = LazyLock::new(|| {
    let leaves = query::FEATURE_LEAVES.into_iter();
    let places = leaves.flat_map(|leaf| [0, 1].map(|subleaf| (leaf, subleaf)));
    places.map(|(leaf, subleaf)| ((leaf, subleaf), make_answer(leaf, subleaf))).collect()
});

fn cpuid_answer(leaf: u32, subleaf: u32) -> Answer {
    match ANSWERS.get(&(leaf, subleaf)) {
        Some(answer) => answer.clone(),
        // Highest leaves, vendor, caches: nothing that proves a feature.
        None if !query::is_feature_leaf(leaf) => [0; 4].map(|_| Value::word([], 4)),
        None => make_answer(leaf, subleaf),
    }
}

/// Runs `cpuid`.
pub(super) fn cpuid(state: &mut State) {
    let leaf =
        state.read(Reg::general(0)).truncate(4).as_constant().and_then(|leaf| u32::try_from(leaf).ok());
    let subleaf =
        state.read(Reg::general(1)).truncate(4).as_constant().and_then(|leaf| u32::try_from(leaf).ok());
    // Without a subleaf programs mean the first.
    let answer = leaf.map(|leaf| cpuid_answer(leaf, subleaf.unwrap_or(0)));
    let answer = answer.unwrap_or_else(|| [0; 4].map(|_| Value::Tainted));
    for ((number, _), value) in REGISTERS.into_iter().zip(answer) {
        state.write(Reg::general(number), value);
    }
}

/// The word that `getauxval` gives, or the kernel to a resolver.
fn hwcap(word: u8) -> Value {
    let bits = (0..64u8).filter_map(|bit| Some((bit, proof(query::hwcap_bit(word, u32::from(bit))?))));
    Value::word(bits, 8)
}

/// What `mrs` of an ID register gives. A bit of a field proves what all values with that bit set or clear mean.
pub(super) fn id_register(insn: &Insn) -> Value {
    let number = insn.imm.and_then(|imm| u16::try_from(imm).ok()).unwrap_or(0);
    let mut bits: Vec<(u8, Proof)> = Vec::new();
    for field in query::id_register_bits(number) {
        for bit in 0..4u8 {
            let values =
                (0..16u16).filter(|value| value >> bit & 1 != 0).fold(0, |values, value| values | 1 << value);
            bits.push((field.low + bit, Proof::of(field.proven(values))));
        }
    }
    Value::word(bits, 8)
}

/// What a function known by name returns.
pub(super) fn answer(world: &World<'_, '_>, name: &str, state: &State) -> Option<Value> {
    let argument = || state.read(*super::names::arguments(world.image.arch).first()?).as_constant();
    match name {
        "getauxval" | "__getauxval" if world.image.arch == Arch::Aarch64 => Some(match argument() {
            Some(AT_HWCAP) => hwcap(1),
            Some(AT_HWCAP2) => hwcap(2),
            Some(_) => Value::Unknown,
            None => Value::Tainted,
        }),
        "__x86_get_cpuid_feature_leaf"
        | "__x86_get_cpu_features"
        | "_dl_x86_get_cpu_features"
        | "__get_cpu_features" => {
            let import = world.linkage.imports.iter().position(|import| import.name == name)?;
            let leaf = if name == "__x86_get_cpuid_feature_leaf" { argument()?.checked_mul(32)? } else { 0 };
            Some(Value::constant(foreign(import) + leaf))
        }
        // These only read what their callers then test.
        "__cpu_indicator_init" | "__init_cpu_features_resolver" | "__init_cpu_features" => {
            Some(Value::Unknown)
        }
        _ => {
            let told = knowledge::returned(world.foreign, name).cloned();
            told.or_else(|| world.answerers.contains(name).then_some(Value::Tainted))
        }
    }
}

/// What is known where a function begins: a resolver of AArch64 is given the kernel's words.
pub(super) fn entry_state(world: &World<'_, '_>, entry: CodeOffset) -> State {
    let mut state = State::entry(world.image.arch);
    if world.image.arch == Arch::Aarch64 && world.is_resolver(entry) {
        state.write(Reg::general(0), hwcap(1));
        state.write(Reg::general(1), Value::constant(foreign(world.linkage.imports.len())));
    }
    state
}

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

/// The leaves that glibc's `struct cpu_features` keeps, in its order, with their subleaves.
const GLIBC_LEAVES: &[(u32, u32)] = &[
    (1, 0),
    (7, 0),
    (0x8000_0001, 0),
    (0xd, 1),
    (0x8000_0007, 0),
    (0x8000_0008, 0),
    (7, 1),
    (0x19, 0),
    (0x14, 0),
];
/// Where the leaves begin in `struct cpu_features`, after five integers.
const GLIBC_LEAVES_AT: u64 = 20;

/// `struct cpu_features` at an address whose leaves begin at `leaves`: of each leaf the four registers, and the four
/// again with what the operating system does not support cleared; after them the preferences.
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
    // glibc 2.39 keeps one leaf more; nobody asks for bit 9 of what then stands here.
    for preferences in [at, at + 32] {
        memory.words.insert((preferences, 4), Value::word([(FAST_UNALIGNED_AVX, proof(Feature::AVX2))], 4));
    }
}

/// The words that are known by name.
pub(super) fn known(world: &World<'_, '_>) -> Memory {
    let mut memory = Memory::default();
    let linkage = world.linkage;
    for (index, import) in linkage.imports.iter().enumerate() {
        let at = if import.is_copy { import.at.0 } else { foreign(index) };
        named(world, &mut memory, import.name, at);
        knowledge::add_words(world.foreign, import.name, at, &mut memory);
    }
    for object in &linkage.objects {
        named(world, &mut memory, object.name, object.extent.start.0);
    }
    let models = if world.image.arch == Arch::X86_64 { libgcc::cpu_models(world) } else { Vec::new() };
    for found in models {
        named(world, &mut memory, "__cpu_model", found.model);
        if let Some(features2) = found.features2 {
            named(world, &mut memory, "__cpu_features2", features2);
        }
    }
    if world.image.arch == Arch::Aarch64 && !world.resolvers.is_empty() {
        // `__ifunc_arg_t`: its size, then the kernel's words.
        let argument = foreign(linkage.imports.len());
        memory.words.insert((argument + 8, 8), hwcap(1));
        memory.words.insert((argument + 16, 8), hwcap(2));
    }
    memory
}

fn named(world: &World<'_, '_>, memory: &mut Memory, name: &str, at: u64) {
    let arch = world.image.arch;
    match (arch, name) {
        (Arch::X86_64, "__cpu_model") => {
            // The vendor, which proves nothing; but who asks begins with the address of the whole.
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
            if let Some(leaves) = super::glibc::leaves_in_rtld(world, at) {
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

/// Whether [`answer`] knows a function of this name.
pub(super) fn answers(name: &str) -> bool {
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

//! Which CPU features each x86-64 instruction needs, as groups, and one packed number per instruction code.
//!
//! In: the decoder's table of CPUID flags per instruction code. A code already distinguishes VEX from EVEX and xmm from
//! ymm and zmm, and masks and registers 16-31 exist in EVEX codes only. Out: [`FeatureGroup`]s that name [`Feature`]s,
//! and [`CodeFacts`] for the sweep. Source: the CPUID column of the Intel SDM volume 2 and the AMD APM volume 3, except
//! for the encodings that processors without the feature run too.

use std::sync::LazyLock;

use deburr_cpu::{Feature, FeatureSet};
use iced_x86::{Code, CpuidFeature, FlowControl, Mnemonic};

use super::arithmetic::{Named, named};
use super::class::possible_classes;
use crate::insn::arithmetic::Work;
use crate::insn::{Class, ClassSet, FeatureGroup};

/// How many groups there can be; group numbers are below it. A power of two, so that eight bits of
/// [`CodeFacts`] index a table of groups without a bounds check.
pub(super) const GROUPS: usize = 256;

/// How many codes the table holds: the decoder's, rounded up to a power of two.
pub(super) const CODES: usize = 8192;

/// Features of every x86-64 processor (psABI, x86-64-v1).
const BASELINE: FeatureSet = FeatureSet::of(&[
    Feature::FPU,
    Feature::CMOV,
    Feature::CX8,
    Feature::FXSR,
    Feature::MMX,
    Feature::SSE,
    Feature::SSE2,
]);

/// Prefetches that do nothing on processors without the feature. AMD64 has had `prefetchw` from the start (APM volume
/// 3, PREFETCH), and Intel 64 runs 0F 0D and 0F 18 as no-operations elsewhere.
const PREFETCH_HINTS: FeatureSet =
    FeatureSet::of(&[Feature::PREFETCHW, Feature::PREFETCHWT1, Feature::PREFETCHI]);

/// What the sweep needs of an instruction code, in one number: the group in bits 0 to 7, flags from bit 8,
/// and the possible classes from bit 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CodeFacts(u64);

impl CodeFacts {
    /// Not an instruction.
    pub(super) const INVALID: u64 = 1 << 8;
    /// Needs a feature above x86-64-v1.
    pub(super) const ABOVE_BASELINE: u64 = 1 << 9;
    /// A direct jump.
    pub(super) const JUMP: u64 = 1 << 10;
    /// A direct branch, which may fall through.
    pub(super) const BRANCH: u64 = 1 << 11;
    /// A direct call.
    pub(super) const CALL: u64 = 1 << 12;
    /// May store if its first operand is memory.
    pub(super) const MAY_STORE: u64 = 1 << 13;
    /// Stores whatever its operands are, calls, or enters the system.
    pub(super) const ACTS: u64 = 1 << 14;
    /// Computes on vectors.
    pub(super) const VECTOR: u64 = 1 << 15;
    /// Computes on one floating-point number, or multiplies general registers.
    pub(super) const SCALAR: u64 = 1 << 16;

    const CLASSES: u32 = 32;

    /// The mask that selects the codes that may be of a wanted class without a `lock` prefix.
    pub(super) fn wanting(wants: ClassSet) -> u64 {
        wants.0 << Self::CLASSES
    }

    /// Whether any bit of the mask is set.
    pub(super) const fn any(self, mask: u64) -> bool {
        self.0 & mask != 0
    }

    /// All of them as one number, which differs where any of them does.
    pub(super) const fn number(self) -> u64 {
        self.0
    }

    /// The possible classes, as the set of them.
    pub(super) const fn classes(self) -> u64 {
        self.0 >> Self::CLASSES
    }

    /// The feature group's number.
    pub(super) const fn group(self) -> u8 {
        self.0 as u8
    }
}

/// The groups and the facts of every code.
pub(super) struct CodeTable {
    groups: Vec<FeatureSet>,
    codes: Box<[CodeFacts; CODES]>,
}

impl CodeTable {
    /// The facts of a code.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the mask keeps the index inside the array")]
    pub(super) fn facts(&self, code: Code) -> CodeFacts {
        self.codes[code as usize & (CODES - 1)]
    }
}

/// Built at first use, in well under a millisecond.
pub(super) static TABLE: LazyLock<CodeTable> = LazyLock::new(build);

/// How many feature groups there are; group numbers are below it, and those that no instruction uses are
/// empty.
pub fn feature_group_count() -> usize {
    GROUPS
}

/// The features of a group.
pub fn features_of(group: FeatureGroup) -> FeatureSet {
    TABLE.groups.get(usize::from(group.0)).copied().unwrap_or(FeatureSet::EMPTY)
}

/// The features that an instruction of this code needs to give its documented result.
fn features_of_code(code: Code) -> FeatureSet {
    let named = match code.mnemonic() {
        // `rep bsf` where BMI1 is missing: compilers emit it at every level, for it differs only where the
        // source is 0, which they know not to be.
        Mnemonic::Tzcnt => FeatureSet::EMPTY,
        // The leaf after OSXSAVE that run-time checks of AVX read: part of a check, no use of a feature.
        Mnemonic::Xgetbv => FeatureSet::EMPTY,
        // Faults outside a transaction (SDM, XEND), so who comes to it has run XBEGIN, which is examined itself. What
        // leads to it is often kept in the lock.
        Mnemonic::Xend => FeatureSet::EMPTY,
        // In the range of reserved no-operations (0F 1E): leaves its register alone without CET.
        Mnemonic::Rdsspd | Mnemonic::Rdsspq => FeatureSet::EMPTY,
        // In 64-bit mode it has a CPUID flag of its own (8000_0001h, ECX bit 0).
        Mnemonic::Lahf | Mnemonic::Sahf => FeatureSet::of(&[Feature::LAHF]),
        _ => code
            .cpuid_features()
            .iter()
            .filter_map(|&flag| match need(flag) {
                Some(Need::Feature(feature)) => Some(feature),
                Some(Need::Nothing(_)) => None,
                None => Some(Feature::OTHER_X86_64),
            })
            .collect(),
    };
    if code.is_privileged() { named.with(Feature::SYSTEM) } else { named }
}

/// What the decoder's name for a CPUID flag or a processor generation requires of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// That feature.
    Feature(Feature),
    /// Nothing, and why.
    Nothing(&'static str),
}

/// Why flags need nothing.
const ALWAYS: &str = "every processor with 64-bit mode has it";
const HINT: &str = "runs as a no-operation elsewhere";
const NEVER_DECODED: &str = "does not exist in 64-bit mode or is not decoded with the options used";

/// What a flag requires; `None` if this table does not know the flag.
pub(super) fn need(flag: CpuidFeature) -> Option<Need> {
    use CpuidFeature as C;
    match flag {
        C::INTEL8086 | C::INTEL186 | C::INTEL286 | C::INTEL386 | C::INTEL486 | C::X64 | C::CPUID => {
            Some(Need::Nothing(ALWAYS))
        }
        C::MSR | C::TSC | C::SYSCALL | C::SEP | C::RDPMC | C::SMM => Some(Need::Nothing(ALWAYS)),
        C::MULTIBYTENOP | C::PAUSE | C::CET_IBT | C::CLDEMOTE | C::HLE => Some(Need::Nothing(HINT)),
        C::INTEL8086_ONLY
        | C::INTEL286_ONLY
        | C::INTEL386_ONLY
        | C::INTEL386_A0_ONLY
        | C::INTEL486_A_ONLY
        | C::FPU287XL_ONLY
        | C::FPU387SL_ONLY
        | C::UMOV
        | C::IA64
        | C::CL1INVMB
        | C::OSS
        | C::PCOMMIT
        | C::SKINIT
        | C::CYRIX_D3NOW
        | C::CYRIX_FPU
        | C::CYRIX_SMM
        | C::CYRIX_SMINT
        | C::CYRIX_SMINT_0F7E
        | C::CYRIX_SHR
        | C::CYRIX_DDI
        | C::CYRIX_EMMI
        | C::CYRIX_DMI
        | C::CENTAUR_AIS
        | C::MOV_TR
        | C::UDBG
        | C::TSE
        | C::KNC => Some(Need::Nothing(NEVER_DECODED)),
        _ => named_feature(flag).map(Need::Feature),
    }
}

/// The feature that a flag names.
fn named_feature(flag: CpuidFeature) -> Option<Feature> {
    use CpuidFeature as C;
    use Feature as F;
    macro_rules! same_name {
        ($($name:ident)*) => {
            match flag {
                $(C::$name => return Some(F::$name),)*
                _ => {}
            }
        };
    }
    same_name! {
        ADX AES AESKLE AMX_BF16 AMX_COMPLEX AMX_FP16 AMX_INT8 AMX_TILE AVX AVX2 AVX512BW AVX512CD AVX512DQ
        AVX512ER AVX512F AVX512PF AVX512VL AVX512_4FMAPS AVX512_4VNNIW AVX512_BF16 AVX512_BITALG AVX512_FP16
        AVX512_IFMA AVX512_VBMI AVX512_VBMI2 AVX512_VNNI AVX512_VP2INTERSECT AVX512_VPOPCNTDQ AVX_IFMA
        AVX_NE_CONVERT AVX_VNNI AVX_VNNI_INT16 AVX_VNNI_INT8 BMI1 BMI2 CET_SS CLFLUSHOPT CLWB CLZERO CMOV
        CMPCCXADD CMPXCHG16B CX8 D3NOW D3NOWEXT ENQCMD F16C FMA FMA4 FPU FRED FSGSBASE FXSR GFNI HRESET
        INVLPGB INVPCID KL LKGS LWP LZCNT MCOMMIT MMX MONITOR MONITORX MOVBE MOVDIR64B MOVDIRI MPX MSRLIST
        PCLMULQDQ PCONFIG PKU POPCNT PREFETCHW PREFETCHWT1 PTWRITE RAO_INT RDPID RDPRU RDRAND RDSEED RDTSCP RTM
        SERIALIZE SHA SHA512 SM3 SM4 SMAP SMX SSE SSE2 SSE3 SSE4A SSE4_1 SSE4_2 SSSE3 SVM TBM TDX TSXLDTRK
        UINTR VAES VMX VPCLMULQDQ WAITPKG WBNOINVD WRMSRNS XOP XSAVE XSAVEC XSAVEOPT XSAVES
    }
    match flag {
        C::FPU287 | C::FPU387 => Some(F::FPU),
        // Every processor with SSE2 has `clflush`, and compilers offer it with SSE2.
        C::CLFSH => Some(F::SSE2),
        C::HLE_or_RTM => Some(F::RTM),
        C::INVEPT | C::INVVPID => Some(F::VMX),
        C::SKINIT_or_SVM => Some(F::SVM),
        C::SEV_ES | C::SEV_SNP | C::RMPQUERY => Some(F::SEV),
        C::SGX1 => Some(F::SGX),
        C::WIDE_KL => Some(F::KL),
        C::PREFETCHITI => Some(F::PREFETCHI),
        C::PADLOCK_ACE
        | C::PADLOCK_PHE
        | C::PADLOCK_PMM
        | C::PADLOCK_RNG
        | C::PADLOCK_GMI
        | C::PADLOCK_UNDOC => Some(F::PADLOCK),
        _ => None,
    }
}

fn build() -> CodeTable {
    let mut groups = vec![FeatureSet::EMPTY];
    let mut codes = Box::new([CodeFacts(CodeFacts::INVALID); CODES]);
    // Neighbouring codes mostly need the same, so the last group found is tried first.
    let mut last = 0;
    for (facts, code) in codes.iter_mut().zip(Code::values()) {
        let features = features_of_code(code);
        if groups.get(last) != Some(&features) {
            last = groups.iter().position(|&group| group == features).unwrap_or_else(|| {
                groups.push(features);
                groups.len() - 1
            });
        }
        *facts = CodeFacts(last as u64 | flags_of_code(code, features) | classes_of_code(code));
    }
    debug_assert!(groups.len() <= GROUPS);
    groups.resize(GROUPS, FeatureSet::EMPTY);
    CodeTable { groups, codes }
}

/// Whether an instruction with these features is above x86-64-v1 for a program. Privileged instructions
/// are not: kernels choose them by the machine that they run on.
fn is_above_baseline(features: FeatureSet) -> bool {
    let extra = features.minus(BASELINE).minus(PREFETCH_HINTS);
    !extra.is_empty() && !extra.contains(Feature::SYSTEM)
}

fn flags_of_code(code: Code, features: FeatureSet) -> u64 {
    let flow = match code.flow_control() {
        FlowControl::UnconditionalBranch => CodeFacts::JUMP,
        FlowControl::ConditionalBranch => CodeFacts::BRANCH,
        // Of the other members of these two, only these name a target: `syscall` and `xend` do not.
        FlowControl::Call if code.is_call_near() => CodeFacts::CALL,
        FlowControl::XbeginXabortXend if code.mnemonic() == Mnemonic::Xbegin => CodeFacts::BRANCH,
        _ => 0,
    };
    let above = if is_above_baseline(features) { CodeFacts::ABOVE_BASELINE } else { 0 };
    let invalid = if code == Code::INVALID { CodeFacts::INVALID } else { 0 };
    flow | above | invalid | effect_of_code(code) | work_of_code(code)
}

/// Whether a loop with an instruction of the code is one that computes. Floating-point logic is left out: compilers
/// clear registers and make absolute values with it.
fn work_of_code(code: Code) -> u64 {
    match named(code.mnemonic()) {
        Some(
            Named { work: Work::Logic, is_float: true, .. }
            | Named { work: Work::Convert, is_packed: false, .. },
        ) => 0,
        Some(Named { is_packed: true, .. }) => CodeFacts::VECTOR,
        Some(Named { is_packed: false, .. }) => CodeFacts::SCALAR,
        None => 0,
    }
}

/// What an instruction of the code does beyond its registers, for all that the code alone shows.
fn effect_of_code(code: Code) -> u64 {
    use Mnemonic as M;
    let calls = matches!(
        code.flow_control(),
        FlowControl::Call | FlowControl::IndirectCall | FlowControl::Interrupt | FlowControl::Exception
    );
    if calls || code.is_string_instruction() {
        return CodeFacts::ACTS;
    }
    match code.mnemonic() {
        M::Push | M::Pushf | M::Pushfq | M::Enter | M::Maskmovq | M::Maskmovdqu | M::Vmaskmovdqu => {
            CodeFacts::ACTS
        }
        // The instructions of loops that wait or search whose first operand is only read.
        M::Cmp | M::Test | M::Bt | M::Nop | M::Mul | M::Imul | M::Div | M::Idiv => 0,
        M::Prefetchnta | M::Prefetcht0 | M::Prefetcht1 | M::Prefetcht2 | M::Prefetchw | M::Jmp => 0,
        _ => CodeFacts::MAY_STORE,
    }
}

/// The classes that the code alone makes possible. What only a `lock` prefix makes atomic is left out: the
/// sweep tests for the prefix, which is rare, and not for additions, which are not.
fn classes_of_code(code: Code) -> u64 {
    match possible_classes(code) {
        [Class::LockedAtomic] if code.mnemonic() != Mnemonic::Xchg => 0,
        classes => CodeFacts::wanting(ClassSet::of(classes)),
    }
}

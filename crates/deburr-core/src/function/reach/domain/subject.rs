//! What an analysis follows the tests of: the CPU's features, or whether its identification registers can be read.
//!
//! A program reads an identification register of AArch64 (`mrs x0, midr_el1`) by grace of the kernel, which has emulated
//! that since Linux 4.11 and says so by HWCAP_CPUID. Before, the instruction is undefined at EL0. Sources: Linux,
//! `Documentation/arch/arm64/cpu-feature-registers.rst` and `uapi/asm/hwcap.h`.

use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::value::Value;
use crate::insn::{Insn, Operation};
use deburr_cpu::{Feature, FeatureSet, query};

/// What an analysis follows the tests of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Subject {
    /// The features of the CPU.
    #[default]
    Features,
    /// Whether the kernel lets programs read the identification registers of AArch64.
    IdRegisters {
        /// Whether nothing is known of words at fixed places. In a relocatable object those of other objects all seem to be
        /// at one place, and a word there may be AT_HWCAP.
        forgets_words: bool,
        /// Whether a bit of an unknown word counts as HWCAP_CPUID if it is bit 11.
        guesses: bool,
    },
}

/// HWCAP_CPUID, in the first word.
const HWCAP_CPUID: u8 = 11;

/// The feature that represents HWCAP_CPUID in proofs, which are sets of features. Under [`Subject::IdRegisters`] no
/// answer proves any other, so that any one serves that implies none.
pub(crate) const READABLE: Feature = Feature::FEAT_CSSC;

impl Subject {
    /// The word that `getauxval` gives, or the kernel to a resolver: 1 for AT_HWCAP, 2 for AT_HWCAP2.
    pub(crate) fn hwcap(self, word: u8) -> Value {
        let of = |feature: Feature| Proof::of(FeatureSet::EMPTY.with(feature));
        match self {
            Subject::Features => {
                let bit = |bit: u8| Some((bit, of(query::hwcap_bit(word, u32::from(bit))?)));
                Value::word((0..64).filter_map(bit), 8)
            }
            Subject::IdRegisters { .. } => Value::word((word == 1).then(|| (HWCAP_CPUID, of(READABLE))), 8),
        }
    }

    /// Whether nothing is known of words at fixed places.
    pub(crate) const fn forgets_words(self) -> bool {
        matches!(self, Subject::IdRegisters { forgets_words: true, .. })
    }

    /// What an instruction reads of a register. An argument or a field of which nothing is known may be AT_HWCAP, if it is
    /// the bit HWCAP_CPUID that the instruction selects: the word has gone through memory or a call that was not followed.
    pub(crate) fn read(self, insn: &Insn, value: Value) -> Value {
        match self {
            Subject::IdRegisters { guesses: true, .. } if value == Value::Unknown && selects(insn) => {
                self.hwcap(1)
            }
            _ => value,
        }
    }
}

/// Whether an instruction selects HWCAP_CPUID of its first operand, alone or with few others.
fn selects(insn: &Insn) -> bool {
    /// Bits that programs test together.
    const TOGETHER: u32 = 3;
    let Some(imm) = insn.imm else { return false };
    let bit = i64::from(HWCAP_CPUID);
    match insn.operation {
        Operation::BranchBit | Operation::ShiftRight => imm == bit,
        Operation::ExtractBits => imm == bit | 1 << 8,
        Operation::And | Operation::Test => imm >> bit & 1 != 0 && imm.count_ones() <= TOGETHER,
        _ => false,
    }
}

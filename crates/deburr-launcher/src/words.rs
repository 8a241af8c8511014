//! Features → the words that the launcher compares with those of the CPU.
//!
//! In: a set of features. Out: twelve words of 32 bits: a CPU has all features where all bits that are set here are set
//! there. The order is that of `enum deburr_word` in `c/deburr_select.c`.
//!
//! | word | x86-64 | AArch64 |
//! |---|---|---|
//! | 0 | CPUID.1:ECX | AT_HWCAP, low half |
//! | 1 | CPUID.1:EDX | AT_HWCAP, high half |
//! | 2 | CPUID.7.0:EBX | AT_HWCAP2, low half |
//! | 3 | CPUID.7.0:ECX | AT_HWCAP2, high half |
//! | 4 | CPUID.7.0:EDX | |
//! | 5 | CPUID.80000001H:ECX | |
//! | 6 | CPUID.80000001H:EDX | |
//! | 7 | XCR0, low half | |
//! | 8 | CPUID.7.1:EAX | |
//! | 9 | CPUID.7.1:EDX | |
//! | 10 | CPUID.0DH.1:EAX | |
//! | 11 | CPUID.80000008H:EBX | |

use deburr_cpu::query::{CpuidRegister, cpuid_place, hwcap_place};
use deburr_cpu::{Arch, Feature, FeatureSet, levels, system_features};

/// How many words there are.
pub const WORDS: usize = 12;

/// The word that holds XCR0.
const XCR0: usize = 7;
/// CPUID.OSXSAVE: without it XCR0 cannot be read.
const OSXSAVE: (usize, u32) = (0, 27);

/// What a variant needs, or a CPU has.
pub type Words = [u32; WORDS];

/// The words that state `features`, and the features that no word states.
///
/// Features that no program needs of the CPU in user mode ([`system_features`]) are in neither, nor are those that Linux
/// reports to no program but that a level makes mandatory whose other features are all needed, and so tested: a CPU
/// with `FEAT_LSE`, `FEAT_RDM` and `FEAT_CRC32` implements Armv8.1, and `FEAT_LOR` with it.
pub fn words_of(arch: Arch, features: FeatureSet) -> (Words, FeatureSet) {
    let mut words = [0; WORDS];
    let mut unstated = FeatureSet::EMPTY;
    for feature in features.minus(system_features(arch)).iter() {
        match bits_of(arch, feature) {
            Some(bits) => bits.into_iter().for_each(|(word, mask)| words[word] |= mask),
            None => unstated = unstated.with(feature),
        }
    }
    for level in levels(arch).iter().filter(|level| level.features.is_subset(features)) {
        unstated = unstated.minus(level.features);
    }
    (words, unstated)
}

/// The word and the mask of a feature, and of the register state that it needs.
pub(crate) fn bits_of(arch: Arch, feature: Feature) -> Option<Vec<(usize, u32)>> {
    match arch {
        Arch::X86_64 => {
            let place = cpuid_place(feature)?;
            let word = match (place.leaf, place.register) {
                ((1, 0), CpuidRegister::Ecx) => 0,
                ((1, 0), CpuidRegister::Edx) => 1,
                ((7, 0), CpuidRegister::Ebx) => 2,
                ((7, 0), CpuidRegister::Ecx) => 3,
                ((7, 0), CpuidRegister::Edx) => 4,
                ((0x8000_0001, 0), CpuidRegister::Ecx) => 5,
                ((0x8000_0001, 0), CpuidRegister::Edx) => 6,
                ((7, 1), CpuidRegister::Eax) => 8,
                ((7, 1), CpuidRegister::Edx) => 9,
                ((0xd, 1), CpuidRegister::Eax) => 10,
                ((0x8000_0008, 0), CpuidRegister::Ebx) => 11,
                _ => return None,
            };
            let mut bits = vec![(word, 1 << place.bit)];
            let state = u32::try_from(place.xcr0).ok()?;
            if state != 0 {
                bits.extend([(XCR0, state), (OSXSAVE.0, 1 << OSXSAVE.1)]);
            }
            Some(bits)
        }
        Arch::Aarch64 => {
            let (word, bit) = hwcap_place(feature)?;
            Some(vec![(usize::from(word - 1) * 2 + (bit / 32) as usize, 1 << (bit % 32))])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::level_named;

    fn level(name: &str) -> (Words, FeatureSet) {
        let level = level_named(name).unwrap();
        words_of(level.arch, level.features)
    }

    #[test]
    fn the_levels_of_x86_64_are_stated_whole() {
        for name in ["x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"] {
            assert_eq!(level(name).1, FeatureSet::EMPTY, "{name}");
        }
        // SDM volume 2, CPUID: AVX2 is EBX bit 5 of leaf 7; YMM state is bits 1 and 2 of XCR0.
        let (v2, v3) = (level("x86-64-v2").0, level("x86-64-v3").0);
        assert_eq!((v2[2], v2[XCR0]), (0, 0));
        assert_eq!((v3[2] & 1 << 5, v3[XCR0]), (1 << 5, 0b110));
        assert_eq!(level("x86-64-v4").0[XCR0], 0b1110_0110);
    }

    #[test]
    fn lse_is_bit_8_of_hwcap() {
        let (words, unstated) = words_of(Arch::Aarch64, FeatureSet::of(&[Feature::FEAT_LSE]));
        assert_eq!((words[..4].to_vec(), unstated), (vec![1 << 8, 0, 0, 0], FeatureSet::EMPTY));
        let (words, _) = words_of(Arch::Aarch64, FeatureSet::of(&[Feature::FEAT_SVE2p1, Feature::FEAT_GCS]));
        assert_eq!(words[..4], [0, 1, 0, 1 << 4]);
    }

    #[test]
    fn what_a_level_makes_mandatory_is_tested_by_its_other_features() {
        for level in deburr_cpu::levels(Arch::Aarch64) {
            assert_eq!(words_of(Arch::Aarch64, level.features).1, FeatureSet::EMPTY, "{}", level.name);
        }
        let alone = FeatureSet::of(&[Feature::FEAT_LOR]);
        assert_eq!(words_of(Arch::Aarch64, alone), ([0; WORDS], alone));
    }

    #[test]
    fn a_feature_of_a_leaf_that_is_not_read_is_unstated() {
        let features = FeatureSet::of(&[Feature::PTWRITE, Feature::SSE3]);
        assert_eq!(words_of(Arch::X86_64, features).1, FeatureSet::of(&[Feature::PTWRITE]));
    }
}

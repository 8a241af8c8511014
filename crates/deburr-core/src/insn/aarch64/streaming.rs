//! Streaming mode: what instructions need there that need SVE elsewhere.
//!
//! In: words. Out: changes of the mode, and groups of features. Source: DDI 0487, B1.4.6 and the features that C8 gives for each
//! instruction: `FEAT_SVE || FEAT_SME` is executed in streaming mode by a CPU that has no SVE, as Apple's M4.

use super::features::Group;
use super::summary;
use crate::insn::FeatureGroup;
use disarm64_defn::InsnFeatureSet as Defined;

/// Whether an instruction enters streaming mode (`smstart`, `smstart sm`) or leaves it (`smstop`); `None` where it does neither.
pub fn streaming_change(code: &[u8]) -> Option<bool> {
    let word = u32::from_le_bytes(*code.first_chunk::<4>()?);
    let (changes_svcr, changes_sm) = (word & 0xffff_f8ff == 0xd503_407f, word & 0x200 != 0);
    (changes_svcr && changes_sm).then_some(word & 0x100 != 0)
}

/// What an instruction of a group needs in streaming mode.
pub fn in_streaming_mode(code: &[u8], group: FeatureGroup) -> FeatureGroup {
    let word = code.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    let streaming = match word.and_then(summary::define).map(|decoded| decoded.definition.feature_set) {
        Some(Defined::SVE | Defined::SVE2 | Defined::SVE2P1_SME | Defined::BFLOAT16_SVE) => Group::Sme,
        Some(Defined::SVE2P1_SME2) => Group::Sme2,
        Some(Defined::SVE2P1_SME2P1) => Group::Sme2p1,
        Some(Defined::SVE2P2_SME2P2) => Group::Sme2p2,
        Some(Defined::SVE2P3_SME2P3) => Group::Sme2p3,
        _ => return group,
    };
    FeatureGroup(streaming as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_is_entered_and_left_by_what_names_it() {
        let changes = [
            (0xd503_477f_u32, Some(true)),
            (0xd503_437f, Some(true)),
            (0xd503_467f, Some(false)),
            (0xd503_427f, Some(false)),
            (0xd503_457f, None),
            (0xd503_201f, None),
        ];
        for (word, change) in changes {
            assert_eq!(streaming_change(&word.to_le_bytes()), change, "{word:#x}");
        }
    }

    #[test]
    fn what_sme_has_of_sve_needs_sme_alone() {
        let sve = FeatureGroup(Group::Sve as u16);
        let cases = [
            (0x2598_e3e0_u32, Group::Sme), // ptrue p0.s
            (0x4540_0000, Group::Sme),     // saddlb z0.h, z0.b, z0.b: SVE2
            (0x2530_4001, Group::Sme),     // psel p1, p0, p0.s[w12, 0]: SVE2.1
            (0x2520_7810, Group::Sme2),    // ptrue pn8.b
            (0x0e22_1c20, Group::Sve),     // and v0.8b: as it was
        ];
        for (word, group) in cases {
            let found = in_streaming_mode(&word.to_le_bytes(), sve);
            assert_eq!(found, FeatureGroup(group as u16), "{word:#x}");
        }
    }
}

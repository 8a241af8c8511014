//! What code shows of the CPU to other code: by a value, or because it runs only after a test.

use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::value::Value;
use deburr_cpu::FeatureSet;

/// Features that others may know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Told {
    pub features: FeatureSet,
    /// Whether an answer of the CPU is among what they get, and which was lost: it may be any.
    pub is_lost: bool,
}

impl Told {
    /// Whether they get to know nothing.
    pub(crate) fn is_nothing(self) -> bool {
        self == Told::default()
    }

    #[must_use]
    pub(crate) fn union(self, other: Told) -> Told {
        Told { features: self.features.union(other.features), is_lost: self.is_lost || other.is_lost }
    }

    /// What a test proves that came out as it did.
    pub(crate) fn by(proof: Proof) -> Told {
        match proof.is_impossible() {
            true => Told::default(),
            false => Told { features: proof.features, is_lost: proof.is_doubtful },
        }
    }

    /// What a value says, whichever of its bits is looked at.
    pub(crate) fn of(value: &Value) -> Told {
        match value {
            Value::Unknown | Value::Stack(_) => Told::default(),
            Value::Tainted => Told { is_lost: true, ..Told::default() },
            Value::Choice(choice) => {
                choice.iter().fold(Told::default(), |told, (_, proof)| told.union(Told::by(*proof)))
            }
            Value::Bits(bits) => {
                let each = bits.all().flat_map(|bit| [bit.set, bit.clear]);
                let told = each.fold(Told::default(), |told, proof| told.union(Told::by(proof)));
                Told { is_lost: told.is_lost || bits.tainted, ..told }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::Feature;

    #[test]
    fn a_word_tells_what_its_open_bits_mean() {
        let of = |feature| Proof::of(FeatureSet::of(&[feature]));
        let word = Value::word([(8, of(Feature::FEAT_LSE)), (22, of(Feature::FEAT_SVE))], 8);
        assert!(Told::of(&word).features.contains(Feature::FEAT_SVE));
        let masked = Told::of(&word.and_mask(1 << 8));
        assert!(masked.features.contains(Feature::FEAT_LSE) && !masked.features.contains(Feature::FEAT_SVE));
        assert!(!masked.is_lost && Told::of(&Value::Tainted).is_lost);
        assert!(Told::of(&Value::Unknown).is_nothing() && Told::of(&Value::constant(3)).is_nothing());
    }
}

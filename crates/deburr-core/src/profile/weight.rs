//! How much of a run something took.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A part of all that a profile saw, from 0 to 1, to a millionth. Serialized as a number: `0.1234`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(u32);

/// One, in parts per million.
const WHOLE: u32 = 1_000_000;

impl Share {
    /// The share of a weight in all of it, rounded; nothing of nothing.
    pub fn of(weight: u64, total: u64) -> Share {
        let parts = (u128::from(weight) * u128::from(WHOLE) + u128::from(total / 2))
            .checked_div(u128::from(total))
            .unwrap_or(0);
        Share(u32::try_from(parts).unwrap_or(WHOLE).min(WHOLE))
    }

    /// So many parts of a million; one at most.
    pub const fn parts_per_million(parts: u32) -> Share {
        Share(if parts < WHOLE { parts } else { WHOLE })
    }

    /// From 0 to 1.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    /// Both together; one at most.
    #[must_use]
    pub const fn plus(self, other: Share) -> Share {
        Share::parts_per_million(self.0.saturating_add(other.0))
    }

    /// From 0 to 100.
    pub fn percent(self) -> f64 {
        self.fraction() * 100.0
    }
}

/// In percent, with as many decimals as matter: `12 %`, `3.4 %`, `0.08 %`, `< 0.01 %`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.percent();
        f.pad(&match percent {
            _ if self.0 == 0 => "0 %".to_owned(),
            _ if percent >= 9.95 => format!("{percent:.0} %"),
            _ if percent >= 0.95 => format!("{percent:.1} %"),
            _ if percent >= 0.01 => format!("{percent:.2} %"),
            _ => "< 0.01 %".to_owned(),
        })
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.fraction())
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
        let fraction = f64::deserialize(deserializer)?;
        let parts = (fraction.clamp(0.0, 1.0) * f64::from(WHOLE)).round();
        // From 0 to a million.
        Ok(Share(parts as u32))
    }
}

/// What a weight comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WeighedBy {
    /// All that its function took: the profile names functions only.
    Function,
    /// The samples in the code itself, and on the instruction after it.
    Code,
    /// These, and the samples in the function that it calls whose callers are known: call chains.
    CallChains,
    /// These, and the samples in the function that it calls, in the proportion of recorded branches to it.
    Branches,
    /// These, and the samples in the function that it calls, in the proportion of counted calls.
    CallCounts,
}

/// How much of a run a piece of code took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Weight {
    /// Its share of all that the profile saw.
    pub share: Share,
    /// What says so.
    pub by: WeighedBy,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_to_a_millionth_and_never_above_one() {
        assert_eq!(Share::of(1, 3).fraction(), 0.333_333);
        assert_eq!(Share::of(2, 3).fraction(), 0.666_667);
        assert_eq!(Share::of(5, 3), Share::of(3, 3));
        assert_eq!(Share::of(u64::MAX, u64::MAX).fraction(), 1.0);
        assert_eq!(Share::of(0, 0), Share::default());
        let json = serde_json::to_string(&Share::of(1, 8)).unwrap();
        assert_eq!(json, "0.125");
        assert_eq!(serde_json::from_str::<Share>(&json).unwrap(), Share::of(1, 8));
    }

    #[test]
    fn shares_are_shown_with_the_decimals_that_matter() {
        let shown = |parts: u64| Share::of(parts, 1_000_000).to_string();
        assert_eq!(shown(0), "0 %");
        assert_eq!(shown(42), "< 0.01 %");
        assert_eq!(shown(1234), "0.12 %");
        assert_eq!(shown(34_567), "3.5 %");
        assert_eq!(shown(99_600), "10 %");
        assert_eq!(shown(1_000_000), "100 %");
    }
}

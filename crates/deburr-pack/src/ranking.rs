//! The measured order of variants: verdicts on pairs of levels → which are worth having, best first.
//!
//! In: levels from the lowest up, each with the verdict on it against the best one before it. Out: what
//! [`crate::record::Measured`] states. A level is given up only where it is proven to be no better than one that needs
//! less; what could not be decided keeps the place that it has without measurements, before the levels below it.

use deburr_cpu::FeatureSet;

/// A level that runs on this CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub level: String,
    /// What it needs.
    pub features: FeatureSet,
}

/// What measuring says of a level against another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gain {
    /// It is proven to be better.
    Better,
    /// It is proven to be the same.
    Same,
    /// It is proven to be worse.
    Worse,
    /// Nothing is proven.
    Undecided,
}

/// The order so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranking {
    /// Best first.
    preferred: Vec<Candidate>,
    /// Where in `preferred` the level is with which the next one is compared.
    best: usize,
    without_gain: Vec<String>,
}

impl Ranking {
    /// Begins with the lowest level.
    pub fn new(lowest: Candidate) -> Ranking {
        Ranking { preferred: vec![lowest], best: 0, without_gain: Vec::new() }
    }

    /// The level with which the next one is compared: the best that is proven.
    pub fn best(&self) -> &Candidate {
        &self.preferred[self.best]
    }

    /// Adds a level by the verdict on it against [`Ranking::best`].
    pub fn add(&mut self, level: Candidate, gain: Gain) {
        let needs_more = self.best().features.is_subset(level.features);
        match gain {
            Gain::Better => {
                self.preferred.insert(0, level);
                self.best = 0;
            }
            Gain::Undecided => {
                self.preferred.insert(0, level);
                self.best += 1;
            }
            Gain::Same | Gain::Worse if needs_more => self.without_gain.push(level.level),
            // Another CPU may have the one and not the other.
            Gain::Same | Gain::Worse => self.preferred.insert(self.best + 1, level),
        }
    }

    /// The levels worth having, best first, and those that gain nothing.
    pub fn into_levels(self) -> (Vec<String>, Vec<String>) {
        (self.preferred.into_iter().map(|candidate| candidate.level).collect(), self.without_gain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::Target;

    fn candidate(name: &str) -> Candidate {
        Candidate { level: name.to_owned(), features: Target::parse(name).unwrap().features }
    }

    fn ranked(lowest: &str, others: &[(&str, Gain)]) -> (Vec<String>, Vec<String>) {
        let mut ranking = Ranking::new(candidate(lowest));
        others.iter().for_each(|(level, gain)| ranking.add(candidate(level), *gain));
        ranking.into_levels()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_better_comes_first_and_what_is_not_is_given_up() {
        let others = [("x86-64-v2", Gain::Same), ("x86-64-v3", Gain::Better), ("x86-64-v4", Gain::Worse)];
        let (preferred, without_gain) = ranked("x86-64-v1", &others);
        assert_eq!(preferred, names(&["x86-64-v3", "x86-64-v1"]));
        assert_eq!(without_gain, names(&["x86-64-v2", "x86-64-v4"]));
    }

    #[test]
    fn what_is_undecided_keeps_its_place_and_is_compared_with_no_other() {
        let mut ranking = Ranking::new(candidate("x86-64-v1"));
        ranking.add(candidate("x86-64-v2"), Gain::Undecided);
        assert_eq!(ranking.best().level, "x86-64-v1");
        ranking.add(candidate("x86-64-v3"), Gain::Worse);
        assert_eq!(ranking.best().level, "x86-64-v1");
        assert_eq!(ranking.into_levels(), (names(&["x86-64-v2", "x86-64-v1"]), names(&["x86-64-v3"])));
    }

    #[test]
    fn levels_of_which_neither_needs_more_are_both_kept() {
        // Neither has what the other has.
        let others = [("armv8-a+lse", Gain::Better), ("armv8-a+crc", Gain::Worse)];
        let (preferred, without_gain) = ranked("armv8-a", &others);
        assert_eq!(preferred, names(&["armv8-a+lse", "armv8-a+crc", "armv8-a"]));
        assert_eq!(without_gain, names(&[]));
    }
}

//! What every reader of profiles gives: weights by function.

use std::collections::BTreeMap;

/// What the weights of a profile count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// Samples, taken after equal portions of CPU time, or of cycles. Each sample may have a weight of its own.
    Time,
    /// Events that were counted, every one of them; what the profile calls them: `Ir`.
    Events(String),
}

/// A function, as the profile names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProfiledFunction {
    /// The file that it is in: a path, or something like `[vdso]`.
    pub object: String,
    /// Its name, demangled where the profiler did so.
    pub name: String,
}

/// What was seen of something.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Weight {
    /// How many samples; 0 where events are counted.
    pub samples: u64,
    /// The sum of their weights; or the number of events.
    pub sum: f64,
    /// The sum of the weights' squares; 0 where events are counted.
    pub squares: f64,
}

impl Weight {
    /// Adds what was seen of something else.
    pub fn add(&mut self, other: Weight) {
        self.samples += other.samples;
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

/// A profile of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// What its weights count.
    pub unit: Unit,
    /// The functions, each once, in the order of their objects and names.
    pub functions: Vec<(ProfiledFunction, Weight)>,
    /// The kernel, whatever the function.
    pub kernel: Weight,
    /// What is in no function that has a name.
    pub nameless: Weight,
}

impl Profile {
    /// Adds another profile with the same unit.
    pub fn merge(&mut self, other: Profile) {
        let mut functions: BTreeMap<ProfiledFunction, Weight> =
            std::mem::take(&mut self.functions).into_iter().collect();
        for (function, weight) in other.functions {
            functions.entry(function).or_default().add(weight);
        }
        self.functions = functions.into_iter().collect();
        self.kernel.add(other.kernel);
        self.nameless.add(other.nameless);
    }

    /// All that was seen.
    pub fn total(&self) -> Weight {
        let mut total = self.kernel;
        total.add(self.nameless);
        self.functions.iter().for_each(|(_, weight)| total.add(*weight));
        total
    }
}

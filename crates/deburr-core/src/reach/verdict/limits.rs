//! The bounds of this room.

/// What all models of a file may cost together, in operations: some 0.1 s. C programs of the tests take 20,000 a model.
pub(super) const BUDGET: u64 = 240_000;

/// The part of the budget that the first model may cost: one over this. Two models are the least that say anything.
pub(super) const FIRST_SHARE: u64 = 3;

/// Maximum of bytes of code. Of 150 released files none that has more was settled within the budget.
pub(super) const MAX_CODE: u64 = 1 << 20;

/// Maximum of features with a model of their own. AVX-512's programs need up to 14 that no other implies.
pub(super) const MAX_FEATURES: usize = 20;

/// Maximum of known CPUs that a program is evaluated on.
pub(super) const MAX_CPUS: usize = 5;

/// Maximum of features for which a path is tested whether it proves them.
pub(super) const MAX_PROVEN: usize = 8;

/// Maximum of blocks of a path. Where a root was handed out on a doubtful path, it may lead in a circle.
pub(super) const MAX_PATH_BLOCKS: usize = 4096;

/// Maximum of steps of a path.
pub(super) const MAX_PATH: usize = 64;

//! Instruction-set levels: what a program may rely on.
//!
//! x86-64 levels are those of the psABI (x86-64-v1 to v4); AArch64 levels the architecture versions
//! armv8.0-a to armv9.x with the features that each makes mandatory (Arm ARM, A2).

use crate::{Arch, FeatureSet};

/// A named set of features that a program may rely on: a psABI level, an architecture version or a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// `x86-64-v3`, `armv8.1-a`, `neoverse-n1`.
    pub name: &'static str,
    /// Whose level it is.
    pub arch: Arch,
    /// All features that the level guarantees, those of lower levels included.
    pub features: FeatureSet,
}

/// The levels of an architecture, lowest first; each holds all features of the one before it, except that
/// armv9.0-a follows armv8.5-a and the two lines then run side by side.
pub fn levels(_arch: Arch) -> &'static [Level] {
    &[]
}

/// The smallest level that covers as many of `features` as any level does, and the features left over.
pub fn smallest_level(_arch: Arch, features: FeatureSet) -> (Option<&'static Level>, FeatureSet) {
    (None, features)
}

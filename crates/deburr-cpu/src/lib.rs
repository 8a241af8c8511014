//! What a CPU offers and what a program needs, in one vocabulary: features, levels, CPU names, the host.
//!
//! This crate is the contract between the programs of deburr, and holds nothing that they do not share. Its
//! heart (features, levels, [`query`]) is `no_std` without an allocator. The cargo feature `std` adds [`host`], which
//! queries the machine that runs the program, and [`Target`], which reads what a user wrote after `--target`;
//! `names` adds CPU names (`neoverse-n1`, `zen4`), from the tables in `data/`.
//!
//! ```
//! use deburr_cpu::{Arch, Feature, FeatureSet, describe, smallest_level};
//!
//! let used = FeatureSet::of(&[Feature::AES, Feature::SSE2, Feature::SSSE3]);
//! let (level, beyond) = smallest_level(Arch::X86_64, used);
//! assert_eq!(describe(level, beyond).to_string(), "x86-64-v2 + AES");
//! ```

#![no_std]

#[cfg(any(test, feature = "std"))]
extern crate std;

#[cfg(feature = "std")]
mod detect_aarch64;
#[cfg(all(feature = "std", any(target_arch = "x86_64", test)))]
mod detect_x86_64;
mod feature;
#[cfg(feature = "std")]
mod host;
mod imply;
mod level;
#[cfg(feature = "names")]
mod linux;
#[cfg(feature = "names")]
mod names;
pub mod query;
#[cfg(feature = "names")]
mod table;
#[cfg(feature = "std")]
mod target;

pub use feature::{Arch, Feature, FeatureSet};
#[cfg(feature = "std")]
pub use host::{Host, Model, UnknownHost, host, model};
pub use level::{
    Description, Level, describe, first_level, level_named, level_names, levels, smallest_level,
    system_features, universal_features,
};
#[cfg(feature = "names")]
pub use names::{cpu_named, cpu_names, cpus, cpus_by_features, cpus_having, cpus_lacking};
#[cfg(feature = "names")]
pub use table::{Cpu, CpuKind};
#[cfg(feature = "std")]
pub use target::{Target, UnknownTarget};

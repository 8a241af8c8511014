//! May these runs be trusted? What threatens an experiment's validity, and what that leaves of a verdict.
//!
//! [`drift`] tests whether the machine changed, [`load`] what else it did, [`modes`] whether a side's runs
//! fall into two groups, [`placement`] what layouts do, [`position`] what the place in a pair does. [`tails`] finds the
//! few runs far out that a typical run hides. [`limit`]
//! says when no verdict is left.

pub mod drift;
pub(super) mod limit;
pub mod load;
pub mod modes;
pub mod placement;
pub mod position;
pub mod tails;

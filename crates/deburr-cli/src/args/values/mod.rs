//! The values that options take: amounts with units, and names that a shell offers.

pub(super) mod amounts;
pub(super) mod offers;

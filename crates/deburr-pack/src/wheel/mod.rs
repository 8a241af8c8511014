//! Wheels by level: what a build made at several levels → variant wheels (PEP 825), and their index.
//!
//! In: a wheel for each level. Out: the same wheels with `variant.json`, the null variant and a plain wheel from the first level, and
//! the index of the version. The build unpacks a wheel into the tree of its variant ([`take`]), where it is checked; [`write_wheels`]
//! checks what comes from elsewhere.

mod error;
mod take;
mod usable;
mod write;

pub use error::WheelStepError;
pub use take::{FOLDER, built};
pub(crate) use take::{filled, take};
pub use write::{
    Fallback, LeftOut, LevelWheel, VariantWheel, WheelRequest, WrittenWheels, rank, write_wheels,
};

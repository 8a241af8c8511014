//! What the tests of several crates share: folders that go away, and documents checked against their schemas.
//!
//! It depends on no crate of ours, so that each of them can use it.

mod emulation;
mod schema;
mod scratch;

pub use emulation::emulating;
pub use schema::schema_faults;
pub use scratch::Scratch;

//! Spin locks: taken by one instruction or another, with a pause between two tries or none, around a delay or a computation.

pub(super) mod lock;
pub(super) mod mutex_crc;
mod spin;

//! Files that are read to be rewritten, and where what is made of them goes.

pub(super) mod destination;
pub(super) mod install;
pub(super) mod source;

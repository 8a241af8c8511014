//! A tar archive with some members changed, as a stream.
//!
//! [`pax`] has headers and extensions, [`edit`] the interface of editors, [`stream`] the new bytes.

pub(crate) mod edit;
mod pax;
pub(crate) mod stream;

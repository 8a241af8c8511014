//! A tar archive with some members changed: its headers and extensions, who changes members, and the stream
//! of its new bytes.

pub(crate) mod edit;
mod pax;
pub(crate) mod stream;

//! What is said of unknown verdicts: the cause of each ([`cause`]), found backwards along the edges ([`origin`]), and the
//! functions that have one cause in common ([`group`]).

pub(crate) mod cause;
pub(crate) mod group;
pub(super) mod origin;

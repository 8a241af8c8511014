//! Renderers: reports → text for people or JSON for programs. They see `&Report` and the sums of a run, and
//! compute layout only.

pub(crate) mod diff;
pub(crate) mod functions;
pub(crate) mod json;
pub(crate) mod listing;
pub(crate) mod style;
pub(crate) mod text;
pub(crate) mod totals;

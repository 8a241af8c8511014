//! The configuration, `deburr.toml`: its text → [`document::Config`], with the findings that it allows, the
//! guards that it states, and the allowances that a run adds to it.

pub(crate) mod add;
pub(crate) mod allow;
pub(crate) mod document;
pub(crate) mod fail_on;
pub(crate) mod guard;
pub(crate) mod in_force;
mod source;
mod trust;

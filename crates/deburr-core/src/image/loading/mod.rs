//! What the loader of a system reads of a file: which libraries, symbols and versions it needs, with which pages it can be mapped, and
//! which rights it wants changed.

pub mod needed;
pub mod pages;
pub(crate) mod python;
pub mod rights;
pub mod runtime;
pub mod undefined;
pub(crate) mod version;

//! What runs found, complete, for whoever writes it down or shows it.
//!
//! In: what verbs have measured or read. Out: values with all that a renderer, a table or an option names. Nothing here knows a verb, an option or
//! a renderer.

pub(crate) mod scan_item;
pub(crate) mod try_record;

//! The standard error: what is said to people while something else is written.

use deburr_text::Plain;
use std::io;

/// The standard error, on which nothing acts that a message names.
pub(crate) fn complaints() -> Plain<io::Stderr> {
    Plain::new(io::stderr(), false)
}

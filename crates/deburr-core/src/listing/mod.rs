//! The annotated disassembly of one function, as a value: bytes and a place → [`Listing`].
//!
//! In: an ELF file, what is requested of a check, and a place in the code. Out: the function's instructions as text,
//! with the loops and exclusive sequences they are in, and where they branch to. With them come the features they need
//! beyond what is permitted, their source lines, and the findings about them. It is the line of [`crate::check()`] with
//! another end: the findings are those that `check` reports. Source texts are files, which the caller opens.
//! [`annotate()`] lists the code that findings are about.

mod annotate;
mod file;
mod model;
mod part;
mod place;

pub use annotate::annotate;
pub(crate) use annotate::code_of_findings;
pub use model::{
    Annotated, Candidate, CodePart, Edge, FunctionSize, Line, Listing, ListingPlace, Shown, Target, View,
    Within,
};
pub use place::listing;

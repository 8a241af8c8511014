//! Packages read and packages rewritten.

mod making;
mod reading;
mod rewriting;

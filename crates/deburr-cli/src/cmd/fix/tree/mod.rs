//! Directories: what is in them is rewritten in its place, or copied into a new tree with rewritten files.

pub(super) mod entries;
mod members;
mod mirror;

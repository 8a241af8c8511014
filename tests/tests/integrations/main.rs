//! deburr in the tools that packagers run: each test drives the real tool, and the files of `examples/` and of the repository's root
//! that docs/how-to/integrations.md tells people to use.
//!
//! One program for all, one file for each integration. What needs the network, or a tool that is large, is ignored; `cargo xtask
//! nightly` runs it.

mod action;
mod cibuildwheel;
mod debian;
mod fixture;
mod images;
mod npm;
mod pre_commit;
mod release;
mod rpm;
mod sarif;
mod tables;
mod wheels;

//! The developers' tasks: `cargo xtask <task>`.

fn main() {}

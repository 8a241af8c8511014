//! Functions: where they begin and end, and what the sweep found in each.

/// All functions of a file. Placeholder.
pub struct Program;

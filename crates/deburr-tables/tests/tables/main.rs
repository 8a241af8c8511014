//! The tables against their documentation, and against what must hold of rows, shards and their names.

mod document;
mod shards;

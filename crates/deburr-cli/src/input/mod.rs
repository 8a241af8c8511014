//! Input: paths → files to check, and their bytes. Nothing here reads code; nothing that is read is run.

pub(crate) mod closure;
pub(crate) mod content;
pub(crate) mod debug_file;
pub(crate) mod exclude;
pub(crate) mod gate;
pub(crate) mod held;
pub(crate) mod image_layout;
pub(crate) mod mapped;
pub(crate) mod pairs;
pub(crate) mod path;
pub(crate) mod root;
pub(crate) mod source_lines;
pub(crate) mod walk;

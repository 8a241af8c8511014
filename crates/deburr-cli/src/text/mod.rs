//! Words and numbers as text, for renderers, messages and progress: nothing here knows what they are about.

pub(crate) mod line;
pub(crate) mod number;

//! How much of a report the text for people shows, and how wide it is.

use crate::render::style::Palette;

/// What to show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detail {
    pub(crate) palette: Palette,
    /// Columns that a line may take; `None`: as many as it needs.
    pub(crate) width: Option<usize>,
    /// Findings per rule and file; 0: all; `None`: the worst few, or all where every detail is wanted.
    pub(crate) limit: Option<usize>,
    /// Whether files without findings have lines of their own.
    pub(crate) clean_files: bool,
    pub(crate) verbose: bool,
    pub(crate) statistics: bool,
    pub(crate) show_skipped: bool,
}

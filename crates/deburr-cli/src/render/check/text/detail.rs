//! How much of a report the text for people shows, and how wide it is.

use crate::render::style::Palette;
use deburr_core::profile::Share;

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
    /// With a profile, the most findings of a file, the heaviest; `None`: all.
    pub(crate) top: Option<usize>,
    /// With a profile, findings that took less are not shown one by one.
    pub(crate) min_share: Share,
    pub(crate) verbose: bool,
    pub(crate) statistics: bool,
    pub(crate) show_skipped: bool,
}

//! Styles of text: what is bold, dim or coloured, where there are colours at all.

use anstyle::{AnsiColor, Style};
use deburr_core::finding::Severity;
use deburr_text::Plain;
use std::io::Write;

/// Applies styles, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    color: bool,
}

impl Palette {
    pub(crate) const fn new(color: bool) -> Palette {
        Palette { color }
    }

    /// A writer of text for people: nothing acts upon the terminal other than these styles.
    pub(crate) fn plain<W: Write>(self, out: W) -> Plain<W> {
        Plain::new(out, self.color)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    /// What belongs to the one or the other of two sides.
    pub(crate) fn side(self, is_other: bool, text: &str) -> String {
        let color = if is_other { AnsiColor::Yellow } else { AnsiColor::Blue };
        self.paint(color.on_default(), text)
    }

    pub(crate) fn severity(self, severity: Severity, text: &str) -> String {
        let color = match severity {
            Severity::Error => AnsiColor::Red,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Note => AnsiColor::Cyan,
        };
        self.paint(color.on_default().bold(), text)
    }

    fn paint(self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

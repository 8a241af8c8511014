//! Which of upstream's faults are kept.

/// Whether upstream's faults are corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Upstream {
    /// As the methods are meant.
    #[default]
    Corrected,
    /// To the digit what benchstat prints.
    AsPrinted,
}

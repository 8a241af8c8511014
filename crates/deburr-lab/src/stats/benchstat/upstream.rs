//! Which of upstream's faults are kept.
//!
//! Corrected by default. As printed, tables agree with benchstat's to the digit. What the faults are is in
//! [`super`].

/// Whether upstream's faults are corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Upstream {
    /// As the methods are meant.
    #[default]
    Corrected,
    /// To the digit what benchstat prints.
    AsPrinted,
}

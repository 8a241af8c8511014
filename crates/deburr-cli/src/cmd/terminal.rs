//! What the terminal is like that the output goes to: colours and columns.

use crate::args::format::When;
use std::io;

/// Whether output to a terminal, or to none, has colours.
pub(super) fn colored(when: When, terminal: bool) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => {
            let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            terminal && !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Columns of the terminal that the standard output is.
pub(super) fn width_of_terminal() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}

//! Names are data: text that a stranger chose → text that a terminal, a log and a build service may be shown.
//!
//! In: names of symbols, sections, files and members, lines of source, words of a configuration: whatever was read and is
//! printed. Out: the same text on one line, in which a control character, a character that turns the direction of
//! writing, and a separator of lines are spelt out. What would otherwise colour a terminal, hide a line of a report, or
//! begin a command of a build service (`::error::`) is then read as what it is.
//!
//! Text is made harmless in two places. Where it is read, by [`shown`], it also loses the ends of lines. Where it is
//! printed for people, [`Plain`] lets nothing else through than the lines and the colours of deburr itself.

mod plain;
mod shown;

pub use plain::Plain;
pub use shown::{ShownPath, is_active, lines, one_line, plain, plain_table, shown, spell, spelt};

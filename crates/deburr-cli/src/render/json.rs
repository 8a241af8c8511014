//! One JSON value in a document that is written piece by piece.

use serde::Serialize;
use std::io::{self, Write};

/// Writes a value, in one line or with so much before each further line.
pub(super) fn write_value(
    out: &mut dyn Write,
    pretty: bool,
    value: &impl Serialize,
    indent: &str,
) -> io::Result<()> {
    if pretty {
        // JSON strings hold no raw line ends, so that every one is layout.
        out.write_all(serde_json::to_string_pretty(value)?.replace('\n', indent).as_bytes())
    } else {
        serde_json::to_writer(out, value).map_err(io::Error::from)
    }
}

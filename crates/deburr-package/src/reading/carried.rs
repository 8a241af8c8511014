//! What a program carries after its end, or in a section of its own ([`crate::appended()`]) → its content.
//!
//! In: the program. Out: what is in it, as of a package that has the program's path.

use super::reader::{Bytes, Flow, Nesting, Reader};
use super::{iso, pyinstaller, zip};
use crate::appended::{ELF_FILE, Kind, Reading, appended};
use crate::sink::Sink;

/// Reads all that a program carries.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    program: &[u8],
    nesting: Nesting,
) -> Flow {
    let most = reader.meter.limits.depth;
    for part in appended(program).into_iter().filter(|part| part.reading == Reading::Opens) {
        if nesting.depth >= most {
            return reader.skip(path, &format!("nested in more than {most} packages (--max-depth)"), true);
        }
        let bytes = program.get(part.range.clone()).unwrap_or_default();
        let around = nesting.payload();
        match part.kind {
            // Offsets may count from the beginning of the program.
            Kind::Zip => {
                let whole = program.get(..part.range.end).unwrap_or_default();
                zip::read(reader, path, Bytes::Slice(whole), around)?;
            }
            Kind::Iso => iso::read(reader, path, Bytes::Slice(bytes), around)?,
            Kind::PyInstaller => pyinstaller::read(reader, path, bytes, around)?,
            // A program may follow a program: each is one level more.
            Kind::Found => {
                let inner = Nesting { depth: nesting.depth + 1, ..around };
                let place = format!("{path}!{}", part.range.start);
                let is_file = matches!(part.name, ELF_FILE | "static archive");
                let (at, around) = if is_file { (place.as_str(), inner) } else { (path, around) };
                reader.content(at, Bytes::Slice(bytes), around)?;
            }
            Kind::Unread => {}
        }
    }
    Ok(())
}

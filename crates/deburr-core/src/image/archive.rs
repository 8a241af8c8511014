//! Static libraries: bytes → the members and where they are.
//!
//! In: the bytes of a file. Out: names and byte ranges of its members; what they hold is for [`super::Image`].
//! Formats: the System V and GNU archive, the BSD archive with long names.

use super::Error;
use object::read::archive::ArchiveFile;
use std::ops::Range;

/// A member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name, as the archive has it.
    pub name: String,
    /// Where its bytes are in the archive.
    pub range: Range<usize>,
}

/// A static library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Its members, in their order in the file, without the symbol table.
    pub members: Vec<Member>,
    /// Non-fatal faults met while reading.
    pub faults: Vec<String>,
}

impl Archive {
    /// Reads an archive's headers; `None` if the file is none.
    ///
    /// # Errors
    /// [`Error`] for thin archives, whose members are in other files, and for headers that cannot be read.
    pub fn parse(bytes: &[u8]) -> Result<Option<Archive>, Error> {
        if bytes.starts_with(b"!<thin>\n") {
            return Err(Error::Unsupported("thin archive".to_owned()));
        }
        if !bytes.starts_with(b"!<arch>\n") {
            return Ok(None);
        }
        let file = ArchiveFile::parse(bytes)
            .map_err(|error| Error::Malformed { offset: 8, expected: format!("an archive: {error}") })?;
        let mut archive = Archive { members: Vec::new(), faults: Vec::new() };
        for member in file.members() {
            let member = match member {
                Ok(member) => member,
                Err(error) => {
                    archive.faults.push(format!("archive: {error}: the rest left out"));
                    break;
                }
            };
            let name = deburr_text::shown(member.name()).into_owned();
            let (offset, size) = member.file_range();
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let end = usize::try_from(size).ok().and_then(|size| start.checked_add(size));
            match end.filter(|&end| end <= bytes.len()) {
                Some(end) => archive.members.push(Member { name, range: start..end }),
                None => archive
                    .faults
                    .push(format!("member {name} reaches past the end of the archive: left out")),
            }
        }
        Ok(Some(archive))
    }
}

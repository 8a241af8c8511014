//! Emulating stage: `/proc/PID/maps` of an emulated process → which file is at an address.
//!
//! In: the text of the file (Linux, proc_pid_maps(5)). Out: [`Maps`], by address. qemu maps a guest's files at the addresses
//! that the guest sees, as long as its guest base is 0, as it is for 64-bit guests on 64-bit hosts by default; and without
//! permission to execute them, so that all parts of a file count.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A part of a file in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedPart {
    /// Its first address, and the one after its last.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file, as the kernel names it.
    pub path: PathBuf,
}

/// The files in a process's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Maps {
    /// By address.
    parts: Vec<MappedPart>,
}

impl Maps {
    /// Reads them; lines that are none are passed over.
    pub fn parse(text: &[u8]) -> Maps {
        let mut parts: Vec<_> = text.split(|byte| *byte == b'\n').filter_map(part).collect();
        parts.sort_by_key(|part| part.start);
        Maps { parts }
    }

    /// The part at an address.
    pub fn at(&self, address: u64) -> Option<&MappedPart> {
        let after = self.parts.partition_point(|part| part.start <= address);
        self.parts.get(after.checked_sub(1)?).filter(|part| address < part.end)
    }
}

/// `4000001000-4000002000 r--p 00001000 fe:00 1234    /usr/bin/true`.
fn part(line: &[u8]) -> Option<MappedPart> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let hexadecimal = |digits: &[u8]| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let (range, _, offset, _, inode) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let path = fields.next()?.trim_ascii_start();
    let dash = range.iter().position(|byte| *byte == b'-')?;
    let (start, end) = (hexadecimal(&range[..dash])?, hexadecimal(&range[dash + 1..])?);
    let is_file = inode != b"0" && path.first() == Some(&b'/');
    (is_file && start < end)
        .then(|| MappedPart { start, end, offset: 0, path: PathBuf::from(unescaped(path)) })
        .and_then(|part| Some(MappedPart { offset: hexadecimal(offset)?, ..part }))
}

/// The kernel writes a line feed in a name as `\012`.
fn unescaped(path: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            bytes.push(b'\n');
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const MAPS: &[u8] = b"4000000000-4000001000 r--p 00000000 fe:00 77                     /tmp/a b\\012c\n\
        4000001000-4000002000 r--p 00001000 fe:00 77                     /tmp/a b\\012c\n\
        4002005000-4002806000 rw-p 00000000 00:00 0 \n\
        7f0000000000-7f0000001000 rw-p 00000000 00:00 0                  [heap]\n\
        nonsense\n7f0000002000-7f0000001000 r--p 0 fe:00 7 /x\n";

    #[test]
    fn an_address_is_in_the_file_that_is_mapped_there() {
        let maps = Maps::parse(MAPS);
        let part = maps.at(0x40_0000_1290).unwrap();
        assert_eq!(
            (part.path.as_path(), part.offset, part.start),
            (Path::new("/tmp/a b\nc"), 0x1000, 0x40_0000_1000)
        );
        for nowhere in [0, 0x3f_ffff_ffff, 0x40_0000_2000, 0x40_0200_5000, 0x7f00_0000_0000, u64::MAX] {
            assert_eq!(maps.at(nowhere), None, "{nowhere:#x}");
        }
    }

    #[test]
    fn text_of_any_kind_is_read() {
        for cut in 0..MAPS.len() {
            let maps = Maps::parse(&MAPS[cut..]);
            assert!(maps.parts.len() <= 2);
        }
        assert_eq!(Maps::parse(b"\xff\xfe"), Maps::default());
    }
}

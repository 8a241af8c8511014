//! Inodes and directories of a squashfs image: a reference → what it names, and the entries of a directory.
//!
//! A reference has the place of a metadata block in the table of inodes, and 16 bits of an offset in it.

use super::table::{Cursor, Tables};
use crate::number::{le16, le32, le64};
use std::io;

/// A directory's listing in the table of directories.
pub(super) struct Directory {
    block: u32,
    offset: u16,
    size: u32,
}

/// A regular file.
pub(super) struct FileInode<'t, 'a> {
    pub(super) size: u64,
    /// Where its first block is.
    pub(super) start: u64,
    /// The block of fragments that has its end, and where in it.
    pub(super) fragment: Option<(u32, u32)>,
    /// The sizes of its blocks.
    pub(super) sizes: Cursor<'t, 'a>,
}

pub(super) enum Inode<'t, 'a> {
    Directory(Directory),
    File(FileInode<'t, 'a>),
    /// A link, a device, a socket.
    Other,
}

/// Bytes that all inodes begin with.
const HEADER: usize = 16;
/// No fragment.
const NONE: u32 = u32::MAX;

/// Reads the inode at a reference.
pub(super) fn inode<'t, 'a>(tables: &'t Tables<'a>, reference: u64) -> io::Result<Inode<'t, 'a>> {
    let at = tables.superblock.inode_table.saturating_add(reference >> 16);
    let mut cursor = Cursor { tables, at, offset: usize::try_from(reference & 0xffff).unwrap_or(usize::MAX) };
    let header = cursor.take(HEADER)?;
    let half = |bytes: &[u8], at| le16(bytes, at).unwrap_or_default();
    let word = |bytes: &[u8], at| le32(bytes, at).unwrap_or_default();
    let long = |bytes: &[u8], at| le64(bytes, at).unwrap_or_default();
    let fragment = |number: u32, offset: u32| (number != NONE).then_some((number, offset));
    Ok(match half(&header, 0) {
        1 => {
            let rest = cursor.take(16)?;
            let size = u32::from(half(&rest, 8));
            Inode::Directory(Directory { block: word(&rest, 0), offset: half(&rest, 10), size })
        }
        8 => {
            let rest = cursor.take(24)?;
            Inode::Directory(Directory {
                block: word(&rest, 8),
                offset: half(&rest, 18),
                size: word(&rest, 4),
            })
        }
        2 => {
            let rest = cursor.take(16)?;
            Inode::File(FileInode {
                size: u64::from(word(&rest, 12)),
                start: u64::from(word(&rest, 0)),
                fragment: fragment(word(&rest, 4), word(&rest, 8)),
                sizes: cursor,
            })
        }
        9 => {
            let rest = cursor.take(40)?;
            Inode::File(FileInode {
                size: long(&rest, 8),
                start: long(&rest, 0),
                fragment: fragment(word(&rest, 28), word(&rest, 32)),
                sizes: cursor,
            })
        }
        3..=7 | 10..=14 => Inode::Other,
        other => return Err(io::Error::other(format!("an inode of type {other}"))),
    })
}

/// A name in a directory.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) reference: u64,
    pub(super) is_directory: bool,
}

/// The names in a directory, as far as they can be read.
#[derive(Default)]
pub(super) struct Listed {
    pub(super) entries: Vec<Entry>,
    /// Why there are no more.
    pub(super) error: Option<io::Error>,
}

/// The number of names in a directory that are held at a time: a million, as of all members.
const MOST: usize = 1 << 20;

/// Lists a directory.
pub(super) fn entries(tables: &Tables<'_>, directory: &Directory) -> io::Result<Listed> {
    let at = tables.superblock.directory_table.saturating_add(u64::from(directory.block));
    let mut cursor = Cursor { tables, at, offset: usize::from(directory.offset) };
    // Three bytes more than there are, for the entries `.` and `..` that are not stored.
    let mut left = u64::from(directory.size).saturating_sub(3);
    let mut listed = Listed::default();
    while left > 0 && listed.error.is_none() {
        match run(&mut cursor, &mut left, &mut listed.entries) {
            Ok(()) if listed.entries.len() > MOST => {
                listed.error = Some(io::Error::other("a directory of more than a million names"));
            }
            Ok(()) => {}
            Err(error) => listed.error = Some(error),
        }
    }
    Ok(listed)
}

/// Entries that share a block of inodes.
fn run(cursor: &mut Cursor<'_, '_>, left: &mut u64, entries: &mut Vec<Entry>) -> io::Result<()> {
    let header = cursor.take(12)?;
    *left = left.saturating_sub(12);
    let (count, block) = (le32(&header, 0).unwrap_or_default(), le32(&header, 4).unwrap_or_default());
    if count >= 256 {
        return Err(io::Error::other(format!("a run of {count} names")));
    }
    for _ in 0..=count {
        let fixed = cursor.take(8)?;
        let half = |at| le16(&fixed, at).unwrap_or_default();
        let name = cursor.take(usize::from(half(6)) + 1)?;
        *left = left.saturating_sub(8 + name.len() as u64);
        let reference = u64::from(block) << 16 | u64::from(half(0));
        entries.push(Entry { name, reference, is_directory: half(4) == 1 });
    }
    Ok(())
}

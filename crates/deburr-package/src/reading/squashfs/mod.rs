//! squashfs 4.0 (the kernel's `fs/squashfs/squashfs_fs.h`): directories from the root → regular files as members.
//!
//! In: an image, which is held in memory where it comes as a stream: its tables are at its end. Out: each regular file once,
//! under the first of its names. Directories that are met again are not entered again, so that no image is without end.

mod file;
mod inode;
mod table;

use super::reader::{Bytes, Flow, Nesting, Reader, Trouble};
use crate::codec::block::{BlockCodec, Blocks};
use crate::codec::meter::Meter;
use crate::name::shown;
use crate::number::{le16, le32, le64};
use crate::sink::Sink;
use inode::{Inode, entries, inode};
use std::collections::HashSet;
use std::io;
use std::rc::Rc;
use table::Tables;

const SUPERBLOCK: usize = 96;
/// No block is larger (`SQUASHFS_FILE_MAX_SIZE`).
const LARGEST_BLOCK: u32 = 1 << 20;
/// Longer paths cannot be used: Linux opens no path above PATH_MAX.
const LONGEST_PATH: usize = 4096;

/// The superblock, as far as files need it.
struct Superblock {
    block_size: u32,
    fragments: u32,
    codec: BlockCodec,
    root: u64,
    inode_table: u64,
    directory_table: u64,
    fragment_table: u64,
    /// Bytes of the image.
    size: u64,
}

/// Reads an image.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: Bytes<'_>,
    nesting: Nesting,
) -> Flow {
    match bytes {
        Bytes::Slice(slice) => image(reader, path, slice, nesting),
        Bytes::Stream(stream, _) => {
            let Some(held) = reader.held(path, stream)? else { return Ok(()) };
            let result = image(reader, path, &held, nesting);
            reader.release(&held);
            result
        }
    }
}

fn image<S: Sink>(reader: &mut Reader<'_, S>, path: &str, bytes: &[u8], nesting: Nesting) -> Flow {
    let superblock = match superblock(bytes) {
        Ok(superblock) => superblock,
        Err(why) => return reader.skip(path, &format!("squashfs: {why}"), true),
    };
    let bytes = usize::try_from(superblock.size).ok().and_then(|size| bytes.get(..size)).unwrap_or(bytes);
    let meter: Rc<Meter> = Rc::clone(&reader.meter);
    let blocks = Blocks::new(superblock.codec, "squashfs", bytes.len() as u64, &meter);
    let number = blocks.number();
    let tables = Tables::new(bytes, blocks, superblock);
    match walk(reader, path, &tables, nesting) {
        Err(Trouble::Broken(broken)) if broken == number => Ok(()),
        result => result,
    }
}

/// Understands the superblock.
fn superblock(bytes: &[u8]) -> Result<Superblock, String> {
    let parsed = || {
        let major = le16(bytes, 28)?;
        Some((
            Superblock {
                block_size: le32(bytes, 12)?,
                fragments: le32(bytes, 16)?,
                codec: BlockCodec::Zlib,
                root: le64(bytes, 32)?,
                size: le64(bytes, 40)?,
                inode_table: le64(bytes, 64)?,
                directory_table: le64(bytes, 72)?,
                fragment_table: le64(bytes, 80)?,
            },
            (major, le16(bytes, 20)?),
        ))
    };
    let Some((parsed, (major, codec))) = parsed().filter(|_| bytes.len() >= SUPERBLOCK) else {
        return Err("cut off".to_owned());
    };
    let codec = match codec {
        1 => BlockCodec::Zlib,
        2 => BlockCodec::Lzma,
        3 => return Err("compressed by lzo: not read".to_owned()),
        4 => BlockCodec::Xz,
        5 => BlockCodec::Lz4,
        6 => BlockCodec::Zstd,
        other => return Err(format!("compressed by method {other}: not read")),
    };
    match () {
        () if major != 4 => Err(format!("version {major}: not read")),
        () if !parsed.block_size.is_power_of_two()
            || !(4096..=LARGEST_BLOCK).contains(&parsed.block_size) =>
        {
            Err(format!("blocks of {} bytes", parsed.block_size))
        }
        () if parsed.size > bytes.len() as u64 => {
            Err(format!("cut off: {} of {} bytes are there", bytes.len(), parsed.size))
        }
        () => Ok(Superblock { codec, ..parsed }),
    }
}

/// Goes through all directories, each once, in their order.
fn walk<S: Sink>(reader: &mut Reader<'_, S>, path: &str, tables: &Tables<'_>, nesting: Nesting) -> Flow {
    let mut pending = vec![(path.to_owned() + "!", tables.superblock.root)];
    let mut seen = HashSet::new();
    while let Some((before, reference)) = pending.pop() {
        let listed = inode(tables, reference).and_then(|inode| match inode {
            Inode::Directory(directory) => entries(tables, &directory),
            _ => Err(io::Error::other("no directory where one is named")),
        });
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) => {
                failed(reader, &before, &error)?;
                continue;
            }
        };
        let mut below = Vec::new();
        for entry in listed.entries {
            let name = format!("{before}{}", shown(&entry.name));
            reader.begin_member()?;
            if !seen.insert(entry.reference) || entry.name.contains(&b'/') {
                continue;
            }
            match entry.is_directory {
                true if name.len() > path.len() + LONGEST_PATH => {
                    reader.skip(&name, "squashfs: a path that is too long", true)?;
                }
                true => below.push((name + "/", entry.reference)),
                false => file(reader, &name, tables, entry.reference, nesting)?,
            }
        }
        if let Some(error) = listed.error {
            failed(reader, &before, &error)?;
        }
        pending.extend(below.into_iter().rev());
    }
    Ok(())
}

/// Reads one file, if it is a regular one.
fn file<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    tables: &Tables<'_>,
    reference: u64,
    nesting: Nesting,
) -> Flow {
    match inode(tables, reference) {
        Ok(Inode::File(inode)) => {
            let size = inode.size;
            let mut content = file::Content::new(tables, inode);
            reader.content(path, Bytes::Stream(&mut content, Some(size)), nesting.within())
        }
        Ok(_) => Ok(()),
        Err(error) => failed(reader, path, &error),
    }
}

fn failed<S: Sink>(reader: &mut Reader<'_, S>, path: &str, error: &io::Error) -> Flow {
    let path = path.trim_end_matches(['!', '/']);
    let error = io::Error::new(error.kind(), format!("squashfs: {error}"));
    reader.failed(path, &error, true)
}

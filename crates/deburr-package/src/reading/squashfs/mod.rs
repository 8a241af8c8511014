//! squashfs 4.0 (the kernel's `fs/squashfs/squashfs_fs.h`): directories from the root → regular files as members.
//!
//! In: an image, which is held in memory where it comes as a stream: its tables are at its end. Out: each regular file once,
//! under the first of its names. Directories that are met again are not entered again, so that no image is without end.

mod file;
mod inode;
mod superblock;
mod table;

use super::reader::{Bytes, Flow, Nesting, Reader, Trouble};
use crate::codec::block::Blocks;
use crate::codec::meter::Meter;
use crate::name::shown;
use crate::sink::Sink;
use crate::tar::LONGEST_NAME;
use inode::{Inode, entries, inode};
use std::collections::HashSet;
use std::io;
use std::rc::Rc;
use superblock::superblock;
use table::Tables;

/// Reads an image.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: Bytes<'_>,
    nesting: Nesting,
) -> Flow {
    reader.whole(path, bytes, |reader, whole| image(reader, path, whole, nesting))
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
                true if name.len() > path.len() + LONGEST_NAME => {
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

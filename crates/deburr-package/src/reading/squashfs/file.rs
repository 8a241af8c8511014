//! The content of a file in a squashfs image: blocks, and its end in a block of fragments → a stream.

use super::inode::FileInode;
use super::table::Tables;
use std::io::{self, ErrorKind, Read};

/// A file's content, as it is read.
pub(super) struct Content<'t, 'a> {
    tables: &'t Tables<'a>,
    inode: FileInode<'t, 'a>,
    /// Where the next block is.
    at: u64,
    /// Blocks that are left.
    blocks: u64,
    /// Bytes that are left.
    left: u64,
    block: Vec<u8>,
    used: usize,
}

impl<'t, 'a> Content<'t, 'a> {
    pub(super) fn new(tables: &'t Tables<'a>, inode: FileInode<'t, 'a>) -> Content<'t, 'a> {
        let size = u64::from(tables.superblock.block_size);
        // The rest that fills no block is in a fragment, or in a block of its own.
        let blocks = if inode.fragment.is_some() { inode.size / size } else { inode.size.div_ceil(size) };
        let (at, left) = (inode.start, inode.size);
        Content { tables, inode, at, blocks, left, block: Vec::new(), used: 0 }
    }

    /// The next block.
    fn fill(&mut self) -> io::Result<()> {
        let block_size = u64::from(self.tables.superblock.block_size);
        let wanted = usize::try_from(self.left.min(block_size)).unwrap_or(usize::MAX);
        let mut block = match (self.blocks, self.inode.fragment) {
            (0, Some((number, offset))) => {
                let fragment = self.tables.fragment(number)?;
                let start = offset as usize;
                let part =
                    fragment.get(start..start.saturating_add(wanted)).ok_or(ErrorKind::UnexpectedEof)?;
                part.to_vec()
            }
            (0, None) => return Err(ErrorKind::UnexpectedEof.into()),
            _ => {
                self.blocks -= 1;
                let size = self.inode.sizes.le32()?;
                match size & 0xff_ffff {
                    // A hole.
                    0 => {
                        self.tables.blocks.count(wanted as u64)?;
                        vec![0; wanted]
                    }
                    stored => {
                        let block = self.tables.data(self.at, size)?;
                        self.at = self.at.saturating_add(u64::from(stored));
                        block
                    }
                }
            }
        };
        if block.len() < wanted {
            return Err(io::Error::other(format!("a block of {} bytes, where {wanted} belong", block.len())));
        }
        block.truncate(wanted);
        self.left -= wanted as u64;
        (self.block, self.used) = (block, 0);
        Ok(())
    }
}

impl Read for Content<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.used >= self.block.len() {
            if self.left == 0 {
                return Ok(0);
            }
            self.fill()?;
        }
        let read = self.block.get(self.used..).unwrap_or_default().read(into)?;
        self.used += read;
        Ok(read)
    }
}

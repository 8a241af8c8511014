//! The tables of a squashfs image: metadata blocks → bytes at a place.
//!
//! A metadata block has two bytes, of which 15 bits are its size and the highest says that it is not compressed, and becomes at
//! most 8 KiB. A table goes on from one block to the next. Blocks are kept for a while: neighbours are read one after another.

use super::superblock::Superblock;
use crate::codec::block::Blocks;
use crate::number::{le16, le32, le64};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::rc::Rc;

/// Bytes of a metadata block.
const METADATA: usize = 8192;
/// Blocks that are kept: 2 MiB.
const KEPT: usize = 256;
/// The number of a block's entry in the table of fragments.
const FRAGMENT_ENTRY: u64 = 16;

/// A metadata block, and where the next one is.
struct Block {
    bytes: Vec<u8>,
    next: u64,
}

/// The image.
pub(super) struct Tables<'a> {
    pub(super) image: &'a [u8],
    pub(super) blocks: Blocks,
    pub(super) superblock: Superblock,
    kept: RefCell<HashMap<u64, Rc<Block>>>,
    /// The last block of fragments, by its number: many small files share one.
    fragment: RefCell<Option<(u32, Rc<Vec<u8>>)>>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(image: &'a [u8], blocks: Blocks, superblock: Superblock) -> Tables<'a> {
        Tables { image, blocks, superblock, kept: RefCell::default(), fragment: RefCell::default() }
    }

    /// So many bytes of the image at a place.
    pub(super) fn slice(&self, at: u64, size: usize) -> io::Result<&'a [u8]> {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        self.image.get(start..start.saturating_add(size)).ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    fn block(&self, at: u64) -> io::Result<Rc<Block>> {
        if let Some(block) = self.kept.borrow().get(&at) {
            return Ok(Rc::clone(block));
        }
        let header = le16(self.slice(at, 2)?, 0).unwrap_or_default();
        let size = usize::from(header & 0x7fff);
        // Every block has something, or a table could go on for ever.
        if size == 0 || size > METADATA {
            return Err(io::Error::other(format!("a metadata block of {size} bytes")));
        }
        let start = at.saturating_add(2);
        let stored = self.slice(start, size)?;
        let bytes =
            if header & 0x8000 == 0 { self.blocks.unpack(stored, METADATA)? } else { stored.to_vec() };
        let block = Rc::new(Block { bytes, next: start + size as u64 });
        let mut kept = self.kept.borrow_mut();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(at, Rc::clone(&block));
        Ok(block)
    }

    /// The bytes of a block of fragments.
    pub(super) fn fragment(&self, number: u32) -> io::Result<Rc<Vec<u8>>> {
        if let Some((last, bytes)) = self.fragment.borrow().as_ref()
            && *last == number
        {
            return Ok(Rc::clone(bytes));
        }
        if number >= self.superblock.fragments {
            return Err(io::Error::other(format!("no block of fragments {number}")));
        }
        // The table's index has the places of its metadata blocks, 512 entries each.
        let in_block = METADATA as u64 / FRAGMENT_ENTRY;
        let index = self.superblock.fragment_table.saturating_add(u64::from(number) / in_block * 8);
        let place = le64(self.slice(index, 8)?, 0).unwrap_or_default();
        let offset = u64::from(number) % in_block * FRAGMENT_ENTRY;
        let mut cursor =
            Cursor { tables: self, at: place, offset: usize::try_from(offset).unwrap_or(usize::MAX) };
        let entry = cursor.take(16)?;
        let (start, size) = (le64(&entry, 0).unwrap_or_default(), le32(&entry, 8).unwrap_or_default());
        let bytes = Rc::new(self.data(start, size)?);
        *self.fragment.borrow_mut() = Some((number, Rc::clone(&bytes)));
        Ok(bytes)
    }

    /// A block of data: 24 bits are its size, and the next says that it is not compressed.
    pub(super) fn data(&self, at: u64, size: u32) -> io::Result<Vec<u8>> {
        let most = self.superblock.block_size as usize;
        let stored = self.slice(at, (size & 0xff_ffff) as usize)?;
        match size & (1 << 24) {
            0 => self.blocks.unpack(stored, most),
            _ if stored.len() > most => Err(io::Error::other(format!("a block of {} bytes", stored.len()))),
            _ => {
                self.blocks.count(stored.len() as u64)?;
                Ok(stored.to_vec())
            }
        }
    }
}

/// A place in a table.
#[derive(Clone)]
pub(super) struct Cursor<'t, 'a> {
    pub(super) tables: &'t Tables<'a>,
    /// Where the metadata block is.
    pub(super) at: u64,
    /// How far it is read.
    pub(super) offset: usize,
}

impl Cursor<'_, '_> {
    /// The next bytes, of several blocks where they go on.
    pub(super) fn take(&mut self, size: usize) -> io::Result<Vec<u8>> {
        let mut taken = Vec::with_capacity(size.min(METADATA));
        while taken.len() < size {
            let block = self.tables.block(self.at)?;
            let rest = block.bytes.get(self.offset..).ok_or(ErrorKind::UnexpectedEof)?;
            let part = rest.get(..rest.len().min(size - taken.len())).unwrap_or_default();
            taken.extend_from_slice(part);
            self.offset += part.len();
            if self.offset >= block.bytes.len() {
                (self.at, self.offset) = (block.next, 0);
            }
        }
        Ok(taken)
    }

    pub(super) fn le32(&mut self) -> io::Result<u32> {
        self.take(4).map(|bytes| le32(&bytes, 0).unwrap_or_default())
    }
}

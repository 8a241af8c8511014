//! The superblock of a squashfs image: where its tables are, and how its blocks are compressed.

use crate::codec::block::BlockCodec;
use crate::number::{le16, le32, le64};

const SUPERBLOCK: usize = 96;
/// No block is larger (`SQUASHFS_FILE_MAX_SIZE`).
const LARGEST_BLOCK: u32 = 1 << 20;

/// The superblock, as far as files need it.
pub(super) struct Superblock {
    pub(super) block_size: u32,
    pub(super) fragments: u32,
    pub(super) codec: BlockCodec,
    pub(super) root: u64,
    pub(super) inode_table: u64,
    pub(super) directory_table: u64,
    pub(super) fragment_table: u64,
    /// Bytes of the image.
    pub(super) size: u64,
}

/// Understands the superblock.
pub(super) fn superblock(bytes: &[u8]) -> Result<Superblock, String> {
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

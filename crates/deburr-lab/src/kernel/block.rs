//! 16 KiB, their CRC-32 and the table for it: what the thread that has a mutex computes.
//!
//! CRC-32 is that of ISO 3309 (zlib's): polynomial 0x04c11db7, reflected, all ones before and inverted after.

/// Bytes of the block.
const BYTES: usize = 16 * 1024;

/// A block. The assembly knows the offsets.
#[repr(C)]
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// What a byte changes in the CRC.
    table: [u32; 256],
    /// The bytes.
    bytes: [u8; BYTES],
    /// Their CRC-32.
    crc: u32,
}

/// The block of all benchmarks.
pub(super) static BLOCK: Block = Block::new();

impl Block {
    const fn new() -> Block {
        let table = table();
        let mut bytes = [0; BYTES];
        let (mut at, mut state) = (0, 1u32);
        while at < BYTES {
            // A linear congruential generator: any bytes do that do not repeat soon.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes[at] = (state >> 24) as u8;
            at += 1;
        }
        let crc = crc(&table, &bytes);
        Block { table, bytes, crc }
    }
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte as u32, 0);
        while bit < 8 {
            value = (value >> 1) ^ if value & 1 == 1 { 0xedb8_8320 } else { 0 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

const fn crc(table: &[u32; 256], bytes: &[u8]) -> u32 {
    let (mut value, mut at) = (u32::MAX, 0);
    while at < bytes.len() {
        value = table[((value ^ bytes[at] as u32) & 0xff) as usize] ^ (value >> 8);
        at += 1;
    }
    !value
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_crc_is_that_of_the_published_check_value() {
        // The check value of CRC-32/ISO-HDLC in the catalogue of parametrised CRC algorithms.
        assert_eq!(crc(&table(), b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn the_assembly_reads_the_fields_where_they_are() {
        assert_eq!(
            (offset_of!(Block, table), offset_of!(Block, bytes), offset_of!(Block, crc)),
            (0, 1024, 17408)
        );
    }
}

//! CRC-32C by tables: one of 1 KiB, byte by byte, and eight of them, 8 bytes at a time (Kounavis and Berry, "Novel Table Lookup-Based
//! Algorithms for High-Performance CRC Generation", 2008).

use super::buffer::{Buffer, shifted};

/// By byte, its remainder with so many zero bytes after it.
const TABLES: [[u32; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut zeros = 0;
        let mut remainder = byte as u32;
        while zeros < 8 {
            remainder = shifted(remainder, 8);
            tables[zeros][byte] = remainder;
            zeros += 1;
        }
        byte += 1;
    }
    tables
};

static TABLE: [[u32; 256]; 8] = TABLES;

/// Byte by byte.
#[inline(never)]
pub(super) fn by_byte(buffer: &Buffer, _: u32) -> u32 {
    let mut remainder = !0u32;
    for word in &buffer.0 {
        for byte in word.to_le_bytes() {
            remainder = TABLE[0][usize::from(remainder as u8 ^ byte)] ^ remainder >> 8;
        }
    }
    !remainder
}

/// Eight bytes at a time.
#[inline(never)]
pub(super) fn by_eight(buffer: &Buffer, _: u32) -> u32 {
    let mut remainder = !0u32;
    for word in &buffer.0 {
        let bytes = (u64::from(remainder) ^ word).to_le_bytes();
        remainder = 0;
        for (table, byte) in TABLE.iter().rev().zip(bytes) {
            remainder ^= table[usize::from(byte)];
        }
    }
    !remainder
}

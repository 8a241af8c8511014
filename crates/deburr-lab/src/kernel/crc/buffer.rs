//! The CRC of a buffer of 4 KiB, bit by bit: RFC 3720 (iSCSI), appendix B.4, and what the x86-64 instruction `crc32` calculates.
//!
//! Polynomials are reflected: the lowest bit is of the highest power. A CRC begins with all ones, and is inverted in the end.

use crate::kernel::pieces::{Pieces, Words};
use std::array;
use std::sync::OnceLock;

/// The polynomial, reflected, without its highest power.
pub(super) const POLYNOMIAL: u32 = 0x82f6_3b78;

/// A buffer.
#[derive(Debug, Clone)]
#[repr(C, align(4096))]
pub(super) struct Buffer(pub(super) [u64; 512]);

/// Bytes of a buffer.
pub(super) const BYTES: usize = size_of::<Buffer>();

/// A remainder times a power of two: so many zeros later.
pub(super) const fn shifted(mut remainder: u32, bits: u32) -> u32 {
    let mut bit = 0;
    while bit < bits {
        let carry = remainder & 1;
        remainder = remainder >> 1 ^ if carry == 1 { POLYNOMIAL } else { 0 };
        bit += 1;
    }
    remainder
}

/// Bit by bit: what all variants must give.
pub(super) fn plain(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |remainder, byte| shifted(remainder ^ u32::from(*byte), 8))
}

/// Four buffers, in the first level of cache.
pub(super) fn cached() -> &'static Pieces<Buffer> {
    static CACHED: OnceLock<Pieces<Buffer>> = OnceLock::new();
    static BUFFERS: OnceLock<Vec<Buffer>> = OnceLock::new();
    CACHED.get_or_init(|| {
        Pieces::new(BUFFERS.get_or_init(|| filled(4)), |buffer, _| {
            let bytes: Vec<u8> = buffer.0.iter().flat_map(|word| word.to_le_bytes()).collect();
            plain(&bytes)
        })
    })
}

/// So many buffers of words that look random.
fn filled(buffers: usize) -> Vec<Buffer> {
    let mut words = Words::new();
    let mut word = || u64::from(words.word()) | u64::from(words.word()) << 32;
    (0..buffers).map(|_| Buffer(array::from_fn(|_| word()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::crc::kernel::KERNEL;
    use crate::kernel::work::Work;

    /// The check value of CRC-32C, and two of RFC 3720, appendix B.4: 32 bytes of zeros, and of ones.
    #[test]
    fn the_plain_one_gives_the_published_values() {
        assert_eq!(plain(b"123456789"), 0xe306_9283);
        assert_eq!(plain(&[0; 32]), 0x8a91_36aa);
        assert_eq!(plain(&[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn every_variant_gives_the_crcs_of_the_plain_one() {
        let features = deburr_cpu::host().unwrap().features;
        let sums = (KERNEL.data().unwrap().sums)();
        for variant in KERNEL.variants.iter().filter(|variant| variant.lacks(features).is_empty()) {
            for (first, iterations) in [(0, 1), (1, 1), (2, 1), (3, 1), (1, 9)] {
                let mut cell = u64::from(first);
                // SAFETY: the cell is here, and the CPU has what the variant needs.
                unsafe { (variant.body)(&raw mut cell, iterations, 1, &Work::NONE) };
                assert!(sums.is_right(first, iterations, cell), "{}: {first} {iterations}", variant.name);
            }
        }
    }
}

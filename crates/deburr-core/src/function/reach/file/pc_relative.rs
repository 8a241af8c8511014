//! Places that A64 instructions refer to by a distance from themselves: `adrp`, `adr`, literal loads, and addresses made
//! of an `adr` and a distance in a literal, as OpenSSL 1.1.1 makes that of `OPENSSL_armcap_P`
//! (`crypto/sha/asm/sha1-armv8.pl`):
//!
//! ```text
//! ldr  x16, 1f          ; the distance
//! adr  x17, 1f          ; from here
//! add  x16, x16, x17
//! …
//! 1: .quad OPENSSL_armcap_P - .
//! ```
//!
//! In: the words of code. Out: the places (Arm ARM, C6.2 *ADR*, *ADRP*, *LDR (literal)*).

use crate::address::Svma;
use crate::image::Image;
use deburr_cpu::Arch;

/// What an `adr` makes.
pub(super) fn adr(word: u32, here: Svma) -> Option<Svma> {
    (word & 0x9f00_0000 == 0x1000_0000).then(|| here.offset(distance(word)))
}

/// What a literal load loads from.
pub(super) fn literal_of(word: u32, here: Svma) -> Option<Svma> {
    (word & 0x3b00_0000 == 0x1800_0000).then(|| here.offset(high(word) << 2))
}

/// The distance in an `adr`.
const fn distance(word: u32) -> i64 {
    (high(word) << 2) | (word >> 29 & 3) as i64
}

/// The 19 bits of an immediate that are adjacent, with their sign.
const fn high(word: u32) -> i64 {
    (((word >> 5) << 13) as i32 >> 13) as i64
}

/// The constant in code that a load refers to. Code of x86-64 holds none in practice.
pub(crate) fn literal(image: &Image<'_>, at: Svma, width: u8) -> Option<u64> {
    if image.arch != Arch::Aarch64 {
        return None;
    }
    let bytes = image.bytes_at(at)?.get(..usize::from(width))?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// Where the word at `index` loads 8 bytes from a literal and an `adr` nearby makes the literal's address: the index of
/// that `adr`, and the place at the distance that the literal holds.
pub(super) fn relative_to_itself(
    image: &Image<'_>,
    words: &[[u8; 4]],
    (index, here): (usize, Svma),
) -> Option<(usize, Svma)> {
    /// Instructions between the two, in either order.
    const NEAR: usize = 4;
    let load = u32::from_le_bytes(*words.get(index)?);
    // ldr x
    let from = literal_of(load, here).filter(|_| load & 0xff00_0000 == 0x5800_0000)?;
    let first = index.saturating_sub(NEAR);
    let near = words.get(first..words.len().min(index + NEAR + 1))?;
    let other = (first..).zip(near).find_map(|(other, word)| {
        let at = here.offset((other as i64 - index as i64) * 4);
        (adr(u32::from_le_bytes(*word), at) == Some(from)).then_some(other)
    })?;
    Some((other, from.offset(literal(image, from, 8)? as i64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::aarch64::adrp_page;

    /// What GNU as makes of `adrp x0, . + 0x1000`, `adrp x0, . - 0x1000` and `adr x1, . - 4`.
    #[test]
    fn distances_have_their_sign() {
        let here = Svma(0x40_1234);
        assert_eq!(adrp_page(0xb000_0000, here), Some(Svma(0x40_2000)));
        assert_eq!(adrp_page(0xf0ff_ffe0, here), Some(Svma(0x40_0000)));
        assert_eq!(adrp_page(0x10ff_ffe1, here), None);
        assert_eq!(distance(0x10ff_ffe1), -4);
    }
}

//! Exception tables → landing pads: where the unwinder lets a function go on after a call in it has thrown.
//!
//! In: for each frame description entry that names one, the language-specific data area (in `.gcc_except_table`). Out:
//! the landing pads by address, and the functions whose table is not understood: these may be entered anywhere. All
//! that is read is the header and the call-site table; C++, Rust, D and Ada share their format.
//! Follows the Itanium C++ ABI, "Exception Handling Tables", and the LSB, "DWARF Exception Header Encoding".

use super::ranges::CodeRanges;
use crate::address::{Extent, Svma};
use crate::image::elf::Elf;
use crate::image::sorted::sort_addresses;
use rayon::prelude::*;

/// In place of an encoding: there is no such value.
const OMITTED: u8 = 0xff;
/// The part of an encoding that says how a value is stored.
const FORMAT: u8 = 0x0f;
/// The part of an encoding that says what it is relative to, and whether it is indirect.
const RELATIVE_TO: u8 = 0xf0;
const TO_ITSELF: u8 = 0x10;

/// The exception table of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Table {
    /// The function, or the part of it that the table is for.
    pub(crate) function: Extent,
    /// Where the table is; `None` where the entry does not say so directly.
    pub(crate) at: Option<u64>,
}

/// What exception tables say.
#[derive(Debug, Default)]
pub(crate) struct LandingPads {
    /// By address, without duplicates.
    pub(crate) known: Vec<Svma>,
    /// Runs of code in which calls that throw go on at a landing pad, by address, with that.
    pub(crate) sites: Vec<(Extent, Svma)>,
    /// Functions whose table cannot be read, by address.
    pub(crate) unread: Vec<Extent>,
}

/// Reads the tables of a linked file.
pub(crate) fn read<'a>(elf: &Elf<'a>, tables: &[Table], ranges: &CodeRanges) -> LandingPads {
    const SHARD: usize = 8192;
    let shards: Vec<LandingPads> = tables
        .par_chunks(SHARD)
        .map(|tables| {
            let mut found = LandingPads::default();
            // The bytes from the first table looked up on: the others are near it.
            let mut window: (u64, &'a [u8]) = (0, &[]);
            let mut bytes_at = |at: u64| {
                let inside = |(start, bytes): (u64, &'a [u8])| {
                    let rest = bytes.get(usize::try_from(at.checked_sub(start)?).ok()?..)?;
                    Some(rest).filter(|rest| !rest.is_empty())
                };
                inside(window).or_else(|| {
                    window = (at, elf.bytes_at(at)?);
                    inside(window)
                })
            };
            for table in tables {
                let before = (found.known.len(), found.sites.len());
                let (pads, sites) = (&mut found.known, &mut found.sites);
                let mut add = |(site, pad): (Extent, u64)| {
                    if ranges.contains(pad) {
                        pads.push(Svma(pad));
                        sites.push((site, Svma(pad)));
                    }
                };
                let data = table.at.and_then(|at| Some(Reader { bytes: bytes_at(at)?, at }));
                let read = data.and_then(|data| data.landing_pads(table.function, &mut add));
                if read.is_none() {
                    found.known.truncate(before.0);
                    found.sites.truncate(before.1);
                    found.unread.push(table.function);
                }
            }
            found
        })
        .collect();
    let mut all = LandingPads::default();
    for found in shards {
        all.known.extend(found.known);
        all.sites.extend(found.sites);
        all.unread.extend(found.unread);
    }
    sort_addresses(&mut all.known);
    all.known.shrink_to_fit();
    all.sites.sort_unstable();
    all.sites.shrink_to_fit();
    all.unread.sort_unstable();
    all
}

/// Bytes that are read one value after the other.
struct Reader<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl Reader<'_> {
    /// Hands out the landing pads of a function's table, each with the code whose calls lead there; `None` where it is not
    /// understood.
    fn landing_pads(mut self, function: Extent, found: &mut impl FnMut((Extent, u64))) -> Option<()> {
        let base = match self.byte()? {
            OMITTED => function.start.0,
            encoding => self.encoded(encoding)?,
        };
        if self.byte()? != OMITTED {
            self.uleb()?;
        }
        let encoding = self.byte()?;
        let length = self.uleb()?;
        let end = self.at.checked_add(length)?;
        while self.at < end {
            let (start, length) = (self.encoded(encoding)?, self.encoded(encoding)?);
            let pad = self.encoded(encoding)?;
            self.uleb()?;
            if pad != 0 {
                // The call sites count from the function, its landing pads from their base.
                let site = Extent::sized(Svma(function.start.0.wrapping_add(start)), length);
                found((site, base.wrapping_add(pad)));
            }
        }
        (self.at == end).then_some(())
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk::<N>()?;
        (self.bytes, self.at) = (rest, self.at.checked_add(N as u64)?);
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    /// A LEB128 value, and how many bits it has.
    fn leb(&mut self) -> Option<(u64, u32)> {
        let (mut value, mut shift) = (0_u64, 0_u32);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some((value, shift));
            }
        }
    }

    fn uleb(&mut self) -> Option<u64> {
        self.leb().map(|(value, _)| value)
    }

    fn sleb(&mut self) -> Option<u64> {
        let (value, bits) = self.leb()?;
        let unused = 64_u32.saturating_sub(bits);
        Some((value << unused).cast_signed().wrapping_shr(unused).cast_unsigned())
    }

    /// A value of an encoding (LSB, "DWARF Exception Header Encoding").
    fn encoded(&mut self, encoding: u8) -> Option<u64> {
        let here = self.at;
        let value = match encoding & FORMAT {
            0x00 | 0x04 | 0x0c => u64::from_le_bytes(self.take()?),
            0x01 => self.uleb()?,
            0x02 => u64::from(u16::from_le_bytes(self.take()?)),
            0x03 => u64::from(u32::from_le_bytes(self.take()?)),
            0x09 => self.sleb()?,
            0x0a => i64::from(i16::from_le_bytes(self.take()?)).cast_unsigned(),
            0x0b => i64::from(i32::from_le_bytes(self.take()?)).cast_unsigned(),
            _ => return None,
        };
        match encoding & RELATIVE_TO {
            0 => Some(value),
            TO_ITSELF => Some(here.wrapping_add(value)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &[u8]) -> Reader<'_> {
        Reader { bytes, at: 0x1000 }
    }

    fn pads(bytes: &[u8]) -> Option<Vec<u64>> {
        let mut found = Vec::new();
        let function = Extent::sized(Svma(0x4000), 0x100);
        reader(bytes).landing_pads(function, &mut |(_, pad)| found.push(pad)).map(|()| found)
    }

    #[test]
    fn landing_pads_count_from_the_function_or_from_the_stated_base() {
        // No base, types at 0x11; uleb128; two call sites, of which the second has no landing pad.
        let table = [0xff, 0x9b, 0x11, 0x01, 8, 0x10, 4, 0x40, 1, 0x20, 4, 0, 0];
        assert_eq!(pads(&table), Some(vec![0x4040]));
        let mut sites = Vec::new();
        let function = Extent::sized(Svma(0x4000), 0x100);
        reader(&table).landing_pads(function, &mut |(site, pad)| sites.push((site, pad))).unwrap();
        assert_eq!(sites, [(Extent::sized(Svma(0x4010), 4), 0x4040)], "the calls that lead there");
        // Base 0x9000 in 8 bytes, no types; udata4.
        let with_base = [0x00, 0, 0x90, 0, 0, 0, 0, 0, 0, 0xff, 0x03, 13];
        let site = [0, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0, 0];
        assert_eq!(pads(&[&with_base[..], &site].concat()), Some(vec![0x9008]));
        for shorter in 0..table.len() {
            assert_eq!(pads(&table[..shorter]), None, "{shorter} bytes");
        }
        let past_its_end = [0xff, 0xff, 0x01, 3, 0x10, 4, 0x40, 1];
        assert_eq!(pads(&past_its_end), None);
    }

    #[test]
    fn values_of_every_encoding_are_read() {
        let cases: [(u8, &[u8], u64); 9] = [
            (0x00, &[1, 0, 0, 0, 0, 0, 0, 0x80], 0x8000_0000_0000_0001),
            (0x01, &[0xe5, 0x8e, 0x26], 624_485),
            (0x02, &[0xff, 0xff], 0xffff),
            (0x03, &[0xff, 0xff, 0xff, 0xff], 0xffff_ffff),
            (0x04, &[2, 0, 0, 0, 0, 0, 0, 0], 2),
            (0x09, &[0x80, 0x7f], (-128_i64).cast_unsigned()),
            (0x0a, &[0xfe, 0xff], (-2_i64).cast_unsigned()),
            (0x0b, &[0xfe, 0xff, 0xff, 0xff], (-2_i64).cast_unsigned()),
            (0x1b, &[0xfe, 0xff, 0xff, 0xff], 0xffe),
        ];
        for (encoding, bytes, value) in cases {
            assert_eq!(reader(bytes).encoded(encoding), Some(value), "{encoding:#x}");
            assert_eq!(
                reader(&bytes[1..]).encoded(encoding).filter(|_| encoding & 0xf != 1 && encoding != 9),
                None
            );
        }
        for encoding in [0x05, 0x0f, 0x23, 0x33, 0x9b] {
            assert_eq!(reader(&[0; 16]).encoded(encoding), None, "{encoding:#x}");
        }
        assert_eq!(reader(&[0xff; 16]).uleb(), None, "no end");
    }
}

//! The coders of a 7z folder (Methods.txt of the LZMA SDK) → the decoder of its stream.
//!
//! In: packed streams. Out: one reader, of coders that read from one another; a coder's dictionary is no larger than what it
//! unpacks to. Encrypted streams, and methods that few archives use, are told by name.

use super::header::{Archive, Coder, Folder};
use crate::codec::decode::WINDOW;
use crate::number::le32;
use crate::tar::slice_of;
use flate2::bufread::DeflateDecoder;
use lzma_rust2::filter::bcj::BcjReader;
use lzma_rust2::filter::bcj2::Bcj2Reader;
use lzma_rust2::filter::delta::DeltaReader;
use lzma_rust2::{Lzma2Reader, LzmaReader};
use std::io::{BufReader, Read};

/// Coders that read from one another.
const DEEPEST: u32 = 16;

type Decoder<'a> = Box<dyn Read + 'a>;

/// The decoder of a folder.
pub(super) fn decoder<'a>(
    bytes: &'a [u8],
    archive: &Archive,
    folder: &Folder,
) -> Result<Decoder<'a>, String> {
    let main = folder.main().ok_or("coders that read from one another in a circle")?;
    Chain { bytes, archive, folder }.output(main, 0)
}

struct Chain<'a, 'f> {
    bytes: &'a [u8],
    archive: &'f Archive,
    folder: &'f Folder,
}

impl<'a> Chain<'a, '_> {
    /// The output of a coder, which has one each.
    fn output(&self, number: usize, depth: u32) -> Result<Decoder<'a>, String> {
        let coder = self.folder.coders.get(number).ok_or("a coder that is not there")?;
        let size = *self.folder.sizes.get(number).ok_or("a coder whose size is not stated")?;
        if depth > DEEPEST {
            return Err("too many coders that read from one another".to_owned());
        }
        let first: u64 = self.folder.coders.iter().take(number).map(|coder| coder.inputs).sum();
        let inputs = (first..first + coder.inputs).map(|input| self.input(input, depth + 1));
        let inputs: Vec<Decoder<'a>> = inputs.collect::<Result<_, String>>()?;
        Ok(Box::new(decoded(coder, size, inputs)?.take(size)))
    }

    /// What a coder reads: the output of another, or a packed stream.
    fn input(&self, input: u64, depth: u32) -> Result<Decoder<'a>, String> {
        if let Some((_, output)) = self.folder.bonds.iter().find(|bond| bond.0 == input) {
            return self.output(usize::try_from(*output).unwrap_or(usize::MAX), depth);
        }
        let at = self.folder.inputs.iter().position(|free| *free == input).ok_or("a coder without input")?;
        let packed = self.folder.packed.get(at).and_then(|packed| self.archive.packed.get(*packed));
        let packed = packed.and_then(|(at, size)| slice_of(self.bytes, *at, *size));
        Ok(Box::new(packed.ok_or("cut off: the archive ends in a packed stream")?))
    }
}

/// Puts a coder before its inputs.
fn decoded<'a>(coder: &Coder, size: u64, mut inputs: Vec<Decoder<'a>>) -> Result<Decoder<'a>, String> {
    let id = coder.id.as_slice();
    if id == [3, 3, 1, 0x1b] {
        let reader = Bcj2Reader::try_new(inputs, size).map_err(|error| format!("BCJ2: {error}"))?;
        return Ok(Box::new(reader));
    }
    let (Some(input), true) = (inputs.pop(), inputs.is_empty()) else {
        return Err(format!("a coder of {} inputs: not read", coder.inputs));
    };
    Ok(match id {
        [] | [0] => input,
        [0x21] => {
            let size = dictionary(lzma2_dictionary(coder.properties.first().copied()), size)?;
            Box::new(Lzma2Reader::new(input, size, None))
        }
        [3, 1, 1] => {
            let (Some(&properties), Some(stated)) = (coder.properties.first(), le32(&coder.properties, 1))
            else {
                return Err("LZMA without its properties".to_owned());
            };
            let dictionary = dictionary(u64::from(stated), size)?;
            let reader = LzmaReader::new_with_props(input, size, properties, dictionary, None);
            Box::new(reader.map_err(|error| format!("LZMA: {error}"))?)
        }
        [3] => {
            let distance = usize::from(coder.properties.first().copied().unwrap_or(0)) + 1;
            Box::new(DeltaReader::new(input, distance))
        }
        [4] | [3, 3, 1, 3] => Box::new(BcjReader::new_x86(input, 0)),
        [5] | [3, 3, 2, 5] => Box::new(BcjReader::new_ppc(input, 0)),
        [6] | [3, 3, 4, 1] => Box::new(BcjReader::new_ia64(input, 0)),
        [7] | [3, 3, 5, 1] => Box::new(BcjReader::new_arm(input, 0)),
        [8] | [3, 3, 7, 1] => Box::new(BcjReader::new_arm_thumb(input, 0)),
        [9] | [3, 3, 8, 5] => Box::new(BcjReader::new_sparc(input, 0)),
        [0x0a] => Box::new(BcjReader::new_arm64(input, le32(&coder.properties, 0).unwrap_or(0) as usize)),
        [0x0b] => Box::new(BcjReader::new_riscv(input, le32(&coder.properties, 0).unwrap_or(0) as usize)),
        [4, 1, 8] => Box::new(DeflateDecoder::new(BufReader::new(input))),
        [4, 2, 2] => Box::new(crate::codec::bzip2_of(BufReader::new(input))),
        [4, 0xf7, 0x11, 1] => Box::new(crate::codec::zstd_of(BufReader::new(input), WINDOW)),
        [4, 0xf7, 0x11, 4] => Box::new(crate::codec::lz4_of(BufReader::new(input))),
        [6, 0xf1, 7, 1] => return Err("encrypted: not read".to_owned()),
        [3, 4, 1] => return Err("compressed by PPMd: not read".to_owned()),
        [4, 1, 9] => return Err("compressed by Deflate64: not read".to_owned()),
        other => return Err(format!("compressed by method {}: not read", hexadecimal(other))),
    })
}

fn hexadecimal(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The dictionary of LZMA2 by its property.
fn lzma2_dictionary(property: Option<u8>) -> u64 {
    match property.unwrap_or(0) {
        40.. => u64::from(u32::MAX),
        bits => (2 | u64::from(bits & 1)) << (bits / 2 + 11),
    }
}

/// A dictionary: no more of it is used than what is unpacked.
fn dictionary(stated: u64, unpacked: u64) -> Result<u32, String> {
    let used = stated.min(unpacked.max(1 << 12));
    if used > WINDOW {
        return Err(format!("a dictionary of {used} bytes, where at most {WINDOW} are held"));
    }
    u32::try_from(used).map_err(|error| error.to_string())
}

//! Containers one by one: the choice says which, and its first bytes are put right, so that edits reach what comes after them.

use crate::input::split;
use crate::package::{Held, LIMITS};
use deburr_package::{Reading, appended, read, read_appended};

/// Where an ISO 9660 image has its magic number.
const ISO: usize = 0x8001;

/// Reads a squashfs image, a 7z archive, a cpio archive, an ISO 9660 image, or a program with PyInstaller's archive or anything else.
///
/// # Panics
/// Where a limit is passed, or a program carries what is outside of it.
pub fn container(data: &[u8]) {
    let Some((choice, bytes)) = split(data) else { return };
    let mut bytes = bytes.to_vec();
    match choice.number() % 6 {
        0 => put(&mut bytes, 0, b"hsqs"),
        1 => seven_zip(&mut bytes),
        2 => put(&mut bytes, 0, b"070701"),
        3 => {
            bytes.splice(0..0, [0; ISO - 1]);
            put(&mut bytes, ISO, b"CD001");
        }
        4 => {
            let cookie = bytes.len().saturating_sub(88);
            put(&mut bytes, cookie, b"MEI\x0c\x0b\x0a\x0b\x0e");
            bytes = [&program()[..], &bytes].concat();
        }
        _ => {}
    }
    let _ = read("p", &bytes, &LIMITS, &mut Held);
    let parts = appended(&bytes);
    for part in &parts {
        assert!(part.range.start < part.range.end && part.range.end <= bytes.len(), "{part:?}");
        assert!(!part.name.is_empty());
    }
    if parts.iter().any(|part| part.reading == Reading::Opens) {
        let _ = read_appended("p", &bytes, &LIMITS, &mut Held);
    }
}

fn put(bytes: &mut [u8], at: usize, magic: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + magic.len()) {
        place.copy_from_slice(magic);
    }
}

/// Makes the checksum of the header that of its bytes: no edit would come further.
fn seven_zip(bytes: &mut [u8]) {
    put(bytes, 0, b"7z\xbc\xaf\x27\x1c");
    let number = |at: usize| {
        let field = bytes.get(at..at + 8)?.try_into().ok()?;
        usize::try_from(u64::from_le_bytes(field)).ok()
    };
    let header = || {
        let start = number(12)?.checked_add(32)?;
        bytes.get(start..start.checked_add(number(20)?)?)
    };
    let Some(sum) = header().map(crc32) else { return };
    put(bytes, 28, &sum.to_le_bytes());
}

/// CRC-32 of IEEE 802.3, bit by bit: inputs are small.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// The header of an ELF file that ends with it.
fn program() -> Vec<u8> {
    let mut header = b"\x7fELF\x02\x01\x01".to_vec();
    header.resize(64, 0);
    put(&mut header, 16, &[3, 0, 62, 0]);
    header
}

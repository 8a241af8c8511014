//! Damaged copies of real ELF64 files, the same ones on every run.
//!
//! Blind bit flips mostly hit code, where every byte is legal; so most mutations aim: at the headers, the two tables, and the
//! sections that deburr reads (symbols, unwind tables, notes, debug information, Go's tables). The gABI's offsets are written
//! out here, since the mutations must not depend on the parser that they test.

pub use deburr_mutator::Sequence;

const E_PHOFF: usize = 0x20;
const E_SHOFF: usize = 0x28;
const E_PHNUM: usize = 0x38;
const E_SHNUM: usize = 0x3c;
const PHDR: usize = 56;
const SHDR: usize = 64;
const SH_ADDR: usize = 16;
const SH_OFFSET: usize = 24;
const SH_SIZE: usize = 32;

fn word(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 8).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap_or_default()) as usize)
}

fn half(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 2).map_or(0, |b| usize::from(u16::from_le_bytes(b.try_into().unwrap_or_default())))
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    if let Some(field) = bytes.get_mut(at..at.saturating_add(8)) {
        field.copy_from_slice(&value.to_le_bytes());
    }
}

/// A part of the file: offset and length.
type Part = (usize, usize);

fn table(bytes: &[u8], offset: usize, number: usize, entry: usize) -> Part {
    (word(bytes, offset), half(bytes, number) * entry)
}

/// The contents of one section that is in the file.
fn any_section(bytes: &[u8], random: &mut Sequence) -> Part {
    let (start, length) = table(bytes, E_SHOFF, E_SHNUM, SHDR);
    for _ in 0..50 {
        let header = start + random.below(length / SHDR) * SHDR;
        let (offset, size) = (word(bytes, header + SH_OFFSET), word(bytes, header + SH_SIZE));
        // Executable sections are left to one kind of their own.
        if offset + size <= bytes.len()
            && size > 0
            && bytes.get(header + 8).is_some_and(|flags| flags & 4 == 0)
        {
            return (offset, size);
        }
    }
    (0, 64)
}

fn flip(bytes: &mut [u8], part: Part, times: usize, random: &mut Sequence) {
    for _ in 0..times {
        if let Some(byte) = bytes.get_mut(part.0 + random.below(part.1)) {
            *byte ^= 1 << random.below(8);
        }
    }
}

fn lie(bytes: &mut [u8], part: Part, random: &mut Sequence) {
    let length = bytes.len() as u64;
    let lies = [u64::MAX, 1 << 63, 1 << 40, u64::from(u32::MAX), length, length - 1, 1, 0];
    let value = lies[random.below(lies.len())];
    put(bytes, part.0 + random.below(part.1 / 8) * 8, value);
}

/// One damaged copy, and what was done to it.
pub fn mutate(original: &[u8], seed: u64) -> (&'static str, Vec<u8>) {
    let mut random = Sequence::scattered(seed);
    let random = &mut random;
    let mut bytes = original.to_vec();
    let segments = table(&bytes, E_PHOFF, E_PHNUM, PHDR);
    let sections = table(&bytes, E_SHOFF, E_SHNUM, SHDR);
    let what = match seed % 13 {
        0 => {
            bytes.truncate(random.below(original.len()));
            "truncated"
        }
        1 => {
            let times = 1 + random.below(4);
            flip(&mut bytes, (16, 48), times, random);
            "bits of the ELF header flipped"
        }
        2 => {
            let times = 1 + random.below(6);
            flip(&mut bytes, segments, times, random);
            "bits of the program headers flipped"
        }
        3 => {
            let times = 1 + random.below(8);
            flip(&mut bytes, sections, times, random);
            "bits of the section headers flipped"
        }
        4 | 5 => {
            let (part, times) = (any_section(&bytes, random), 1 + random.below(16));
            flip(&mut bytes, part, times, random);
            "bits of a section flipped"
        }
        6 => {
            lie(&mut bytes, sections, random);
            "a lie in the section headers"
        }
        7 => {
            lie(&mut bytes, segments, random);
            "a lie in the program headers"
        }
        8 => {
            let count = sections.1 / SHDR;
            let (a, b) = (sections.0 + random.below(count) * SHDR, sections.0 + random.below(count) * SHDR);
            for field in [SH_ADDR, SH_OFFSET, SH_SIZE] {
                let value = word(&bytes, a + field) as u64;
                put(&mut bytes, b + field, value.wrapping_add(random.below(2) as u64 * 8));
            }
            "overlapping sections"
        }
        9 => {
            let (start, size) = any_section(&bytes, random);
            bytes[start..start + size].fill(if random.below(2) == 0 { 0 } else { 0xff });
            "a section of zeros or ones"
        }
        10 => {
            let part = any_section(&bytes, random);
            lie(&mut bytes, part, random);
            "a lie in a section"
        }
        11 => {
            let (start, length) = (random.below(original.len()), 1 + random.below(400));
            for byte in bytes.iter_mut().skip(start).take(length) {
                *byte = random.draw() as u8;
            }
            "noise"
        }
        _ => {
            for part in [any_section(&bytes, random), sections, segments] {
                flip(&mut bytes, part, 3, random);
            }
            "bits flipped in several places"
        }
    };
    (what, bytes)
}

//! The floor of the measurements: decodes all executable sections of a file and does nothing else.
//!
//! Prints the bytes of code, the instructions, and the CPU seconds of the loop alone, so that reading the file does not
//! count. The same decoders as deburr's, one thread.

use deburr_tests::cpu_time::thread_seconds;
use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::{Architecture, Object, ObjectSection, SectionKind};
use std::error::Error;
use std::hint::black_box;

fn x86_64(code: &[u8]) -> u64 {
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let (mut instruction, mut count) = (Instruction::default(), 0);
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        black_box(&instruction);
        count += 1;
    }
    count
}

fn aarch64(code: &[u8]) -> u64 {
    let words = code.as_chunks::<4>().0;
    words
        .iter()
        .map(|word| u64::from(black_box(disarm64::decoder::decode(u32::from_le_bytes(*word))).is_some()))
        .sum()
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: decode_only FILE")?;
    let bytes = std::fs::read(path)?;
    let file = object::File::parse(&*bytes)?;
    let decode = if file.architecture() == Architecture::Aarch64 { aarch64 } else { x86_64 };
    let (mut length, mut count, start) = (0, 0, thread_seconds());
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let code = section.data()?;
        length += code.len();
        count += decode(code);
    }
    println!("{length} {count} {:.6}", thread_seconds() - start);
    Ok(())
}

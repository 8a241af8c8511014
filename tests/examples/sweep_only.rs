//! The sweep alone compared with the decoder alone: over all executable sections of x86-64 files, one thread.
//!
//! Prints for each file the bytes of code, the megabytes per second of iced-x86 in a bare loop and of deburr's sweep for
//! what the default rules want, and how many times as fast the sweep is. Runs of the two alternate; medians of CPU time.

use deburr_core::address::{CodeOffset, Svma};
use deburr_core::insn::sweep::{Interest, Sweep, Wants};
use deburr_core::insn::{Class, ClassSet, sweep_unit};
use deburr_core::rule::RULES;
use deburr_cpu::Arch;
use deburr_tests::cpu_time::thread_seconds;
use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::{Object, ObjectSection, SectionKind};
use std::error::Error;
use std::hint::black_box;

/// Runs of each.
const RUNS: usize = 9;
/// Bytes after which a unit ends at the next instruction: a function of common size.
const UNIT: usize = 256;

/// Where units end.
fn units(code: &[u8]) -> Vec<usize> {
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let (mut instruction, mut ends) = (Instruction::default(), vec![0]);
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if decoder.position() >= ends[ends.len() - 1] + UNIT {
            ends.push(decoder.position());
        }
    }
    ends.push(code.len());
    ends
}

fn decode(code: &[u8]) {
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        black_box(&instruction);
    }
}

fn sweep(code: &[u8], units: &[usize], wants: Wants, found: &mut Sweep) {
    found.clear();
    let interest = Interest {
        wants,
        code_base: Svma(0),
        code_length: CodeOffset(code.len() as u32),
        conditional_exits: true,
    };
    for unit in units.windows(2) {
        let length = unit[1] - unit[0];
        let at = CodeOffset(unit[0] as u32);
        sweep_unit(Arch::X86_64, &code[unit[0]..], length, length, at, &interest, found);
    }
    black_box(found);
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let rules = RULES.iter().filter(|rule| !rule.preview);
    let wants =
        rules.fold(Wants::classes(ClassSet::of(&[Class::FeatureQuery])), |all, rule| all.union(rule.wants));
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        let file = object::File::parse(&*bytes)?;
        let sections = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections: Vec<&[u8]> = sections.map(|section| section.data()).collect::<Result<_, _>>()?;
        let units: Vec<Vec<usize>> = sections.iter().map(|code| units(code)).collect();
        let length: usize = sections.iter().map(|code| code.len()).sum();
        let (mut decoded, mut swept, mut found) = (Vec::new(), Vec::new(), Sweep::default());
        for _ in 0..RUNS {
            let start = thread_seconds();
            sections.iter().for_each(|code| decode(code));
            decoded.push(thread_seconds() - start);
            let start = thread_seconds();
            sections.iter().zip(&units).for_each(|(code, units)| sweep(code, units, wants, &mut found));
            swept.push(thread_seconds() - start);
        }
        let (decoded, swept) = (median(&mut decoded), median(&mut swept));
        let rate = |seconds: f64| length as f64 / seconds / 1e6;
        println!(
            "{path}: {length} bytes; decoding {:.0} MB/s, sweeping {:.0} MB/s: {:.2} times",
            rate(decoded),
            rate(swept),
            decoded / swept
        );
    }
    Ok(())
}

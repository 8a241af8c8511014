//! What the sweep over x86-64 code costs beside a loop that only decodes the same bytes.
//!
//! In: ELF files. Out: MB per CPU second of both, the best of several alternating runs, and their ratio; the
//! sweep once over whole sections and once in units of the given length, as functions would give them.
//! CPU time is the thread's own (`/proc/self/schedstat`).
//!
//! `cargo run --release -p deburr-core --example decode_floor -- [--runs N] [--unit BYTES] FILE…`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use std::error::Error;

use deburr_core::address::Svma;
use deburr_core::image::Image;
use deburr_core::insn::sweep::{Interest, Sweep};
use deburr_core::insn::{Class, ClassSet, sweep_unit};
use deburr_cpu::Arch;
use iced_x86::{Decoder, DecoderOptions, Instruction};

/// CPU time of this thread in nanoseconds.
fn cpu_time() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().ok_or("schedstat is empty")?.parse()?)
}

fn decode_only(sections: &[Vec<u8>]) -> u64 {
    let mut insn = Instruction::default();
    let mut count = 0;
    for section in sections {
        let mut decoder = Decoder::with_ip(64, section, 0, DecoderOptions::NONE);
        while decoder.can_decode() {
            decoder.decode_out(&mut insn);
            count += 1;
        }
    }
    count
}

/// Sweeps each section in units of `unit` bytes; an instruction that crosses a unit's end belongs to it.
fn sweep_sections(sections: &[Vec<u8>], unit: usize) -> Sweep {
    let mut sweep = Sweep::default();
    let interest = Interest {
        code_base: Svma(0),
        wants: ClassSet::of(&[Class::LockedAtomic, Class::SpinHint]),
        code_length: sections.iter().map(Vec::len).max().unwrap_or(0) as u32,
        conditional_exits: false,
    };
    for section in sections {
        let mut at = 0;
        while at < section.len() {
            let rest = section.get(at..).unwrap_or_default();
            let code = rest.get(..unit.saturating_add(15)).unwrap_or(rest);
            at = sweep_unit(Arch::X86_64, code, unit, at as u32, &interest, &mut sweep) as usize;
        }
    }
    sweep
}

fn timed<T>(run: impl FnOnce() -> T) -> Result<(u64, T), Box<dyn Error>> {
    let start = cpu_time()?;
    let value = run();
    Ok((cpu_time()? - start, value))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut runs, mut unit, mut files) = (5, 256, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--runs" => runs = args.next().ok_or("--runs: a number is missing")?.parse()?,
            "--unit" => unit = args.next().ok_or("--unit: a number is missing")?.parse()?,
            _ => files.push(arg),
        }
    }
    for file in files {
        let bytes = std::fs::read(&file)?;
        let image = Image::parse(&bytes, None, None)?;
        let sections: Vec<Vec<u8>> = image.code.iter().map(|code| code.bytes.to_vec()).collect();
        let length: usize = sections.iter().map(Vec::len).sum();
        let (mut floor, mut whole, mut units) = (u64::MAX, u64::MAX, u64::MAX);
        let mut found = Sweep::default();
        let mut instructions = 0;
        for _ in 0..runs {
            let (time, count) = timed(|| decode_only(&sections))?;
            (floor, instructions) = (floor.min(time), count);
            let (time, sweep) = timed(|| sweep_sections(&sections, usize::MAX))?;
            (whole, found) = (whole.min(time), sweep);
            units = units.min(timed(|| sweep_sections(&sections, unit))?.0);
        }
        let speed = |time: u64| length as f64 * 1e3 / time as f64;
        println!(
            "{file}: {:.1} MB of code, {instructions} instructions\n  decode only {:.0} MB/s; sweep {:.0} MB/s, {:.2} times the floor; in units of {unit} bytes {:.0} MB/s, {:.2} times",
            length as f64 / 1e6,
            speed(floor),
            speed(whole),
            whole as f64 / floor as f64,
            speed(units),
            units as f64 / floor as f64,
        );
        println!(
            "  {} calls, {} jumps, {} references, {} hits, {} marks, {} undecoded bytes in {} runs",
            found.calls.len(),
            found.jumps.len(),
            found.references.len(),
            found.hits.len(),
            found.marks.len(),
            found.undecoded,
            found.undecodable.len(),
        );
    }
    Ok(())
}

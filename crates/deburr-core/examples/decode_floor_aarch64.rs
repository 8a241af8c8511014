//! How fast A64 code is read: by the decoder alone, and by the sweep. Takes a file of raw code
//! (`objcopy -O binary -j .text`).

#![allow(clippy::print_stdout, reason = "an example for developers")]

use deburr_core::Svma;
use deburr_core::insn::Class;
use deburr_core::insn::ClassSet;
use deburr_core::insn::aarch64::sweep;
use deburr_core::insn::sweep::{Interest, Sweep};
use std::hint::black_box;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: decode_floor_aarch64 FILE")?;
    let code = &*std::fs::read(path)?;
    let base = 0x40_0000;
    let megabytes = code.len() as f64 / 1e6;
    // Grown once, so that page faults of fresh memory do not count as reading code.
    let mut warm = Sweep::default();
    for _ in 0..3 {
        let start = Instant::now();
        let mut decoded = 0u64;
        for word in code.as_chunks::<4>().0 {
            decoded += u64::from(black_box(disarm64::decoder::decode(u32::from_le_bytes(*word))).is_some());
        }
        let floor = start.elapsed().as_secs_f64();
        println!("decoder  {:6.0} MB/s  ({decoded} instructions)", megabytes / floor);
        for conditional_exits in [false, true] {
            for unit in [256, usize::MAX] {
                let wants = ClassSet::of(&[
                    Class::LoadExclusive,
                    Class::StoreExclusive,
                    Class::LseAtomic,
                    Class::Barrier,
                ]);
                let interest = Interest {
                    wants,
                    code_base: Svma(base),
                    code_length: code.len() as u32,
                    conditional_exits,
                };
                let mut found = core::mem::take(&mut warm);
                found.calls.clear();
                found.jumps.clear();
                found.references.clear();
                found.hits.clear();
                found.marks.clear();
                found.undecodable.clear();
                found.undecoded = 0;
                let start = Instant::now();
                for (i, part) in code.chunks(unit.min(code.len())).enumerate() {
                    sweep(part, part.len(), (i * unit.min(code.len())) as u32, &interest, &mut found);
                }
                let time = start.elapsed().as_secs_f64();
                println!(
                    "sweep    {:6.0} MB/s  (conditional exits {conditional_exits}, units of {} bytes: {} calls, {} jumps, {} references, {} hits, {} marks, {} bytes undecoded)",
                    megabytes / time,
                    unit.min(code.len()),
                    found.calls.len(),
                    found.jumps.len(),
                    found.references.len(),
                    found.hits.len(),
                    found.marks.len(),
                    found.undecoded,
                );
                warm = found;
            }
        }
    }
    Ok(())
}

//! Holds the sweep's prefilter for A64 against the full decoder, for all 2³² words.

#![expect(clippy::print_stdout, reason = "an example for developers")]

use deburr_core::insn::aarch64::check_prefilter;

fn main() -> Result<(), String> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let part = (1u64 << 32).div_ceil(threads);
    let settled = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|i| {
                let words = (i * part..(1 << 32).min((i + 1) * part)).map(|word| word as u32);
                scope.spawn(move || check_prefilter(words))
            })
            .collect();
        parts
            .into_iter()
            .map(|part| {
                part.join().map_err(|_| "a thread panicked".to_string())?.map_err(|e| format!("{e:x?}"))
            })
            .sum::<Result<u64, String>>()
    })?;
    println!("the prefilter settles {settled} of 4294967296 words as the decoder does");
    Ok(())
}

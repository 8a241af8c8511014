//! Writes a large perf.data, to measure the reader: `synthetic FILE [SAMPLES]`. Each sample has a chain of six frames and takes
//! 104 bytes, so that a million are 104 MB; they are at 20,000 places of 40 processes, and each 1,000 are of one of two CPUs.

#[path = "../tests/profile/recording.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod recording;

use recording::{CPU_CLOCK, Recording, SAMPLE, Sample};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("a file to write is missing")?;
    let samples: u64 = arguments.next().map_or(Ok(1_000_000), |count| count.parse())?;
    let mut recording = Recording::new(&[CPU_CLOCK]);
    for pid in 1..=40 {
        recording.exec(pid, 0);
        for library in 0..30 {
            let start = 0x5000_0000_0000 + library * 0x1000_0000;
            let place = [start, 0x100_0000, 0x1000];
            recording.map(pid, 1, place, &format!("/usr/lib/lib{library}.so"), 100 + library);
        }
    }
    let mut state = 1u64;
    for number in 0..samples {
        // Each of 20,000 places has three callers, and low places are the hot ones.
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let place = |number: u64| 0x5000_0000_0000 + number % 30 * 0x1000_0000 + number / 30 * 16;
        let number_of_place = (state >> 33) % 20_000 * ((state >> 20) % 20_000) / 20_000;
        let (ip, caller) = (place(number_of_place), place(number_of_place * 7 % 20_000 + (state >> 40) % 3));
        let chain = [0u64.wrapping_sub(512), ip, caller, caller + 64, caller + 128, caller + 192];
        // Two CPUs, whose buffers are written one after the other.
        let time = 1000 + number / 2000 * 2000 + number % 1000;
        let pid = 1 + (number / 1000 % 40) as u32;
        recording.sample(Sample { pid, time, ip, period: 1000 + number % 7, chain: &chain, ..SAMPLE });
    }
    std::fs::write(path, recording.finish())?;
    Ok(())
}

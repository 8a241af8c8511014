//! Drives the stage `discover`: see `deburr_stages`.

#![no_main]

use deburr_stages::{cross_elf, discover, mutate_elf, on_this_thread};
use libfuzzer_sys::{fuzz_crossover, fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(init: on_this_thread(), |data: &[u8]| discover(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate_elf(data, size, max_size, seed, fuzzer_mutate)
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| { cross_elf(one, other, out, seed) });

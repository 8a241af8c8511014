//! Drives the stage `jit`: see `deburr_stages`.

#![no_main]

use deburr_stages::{jit, on_this_thread};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: on_this_thread(), |data: &[u8]| jit(data));

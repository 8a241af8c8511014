//! Drives the stage `sweep`: see `deburr_stages`.

#![no_main]

use deburr_stages::{on_this_thread, sweep};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: on_this_thread(), |data: &[u8]| sweep(data));

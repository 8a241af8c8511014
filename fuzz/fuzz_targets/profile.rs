//! Drives the stage `profile`: see `deburr_stages`.

#![no_main]

use deburr_stages::{on_this_thread, profile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: on_this_thread(), |data: &[u8]| profile(data));

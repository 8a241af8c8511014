//! Drives the stage `readers`: see `deburr_stages`.

#![no_main]

use deburr_stages::{on_this_thread, readers};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: on_this_thread(), |data: &[u8]| readers(data));

//! Drives the stage `container`: see `deburr_stages`.

#![no_main]

use deburr_stages::{container, on_this_thread};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: on_this_thread(), |data: &[u8]| container(data));

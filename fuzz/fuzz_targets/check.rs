//! The whole line, from bytes to a report: whatever the bytes are, no panic.
//!
//! The first byte chooses the request; the rest is the file.

#![no_main]

use deburr_core::image::{Image, Linkage};
use deburr_core::{Request, check, wanted_debug_file};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let _ = wanted_debug_file(bytes);
    // The file as its own debug file: two views of one lie.
    let request = Request { debug_file: (choice & 1 == 1).then_some(bytes), ..Request::default() };
    let _ = check(bytes, &request);
    // Whatever needs no check at run time does not ask for it.
    if let Ok(image) = Image::parse(bytes, request.debug_file) {
        let _ = Linkage::parse(&image);
    }
});

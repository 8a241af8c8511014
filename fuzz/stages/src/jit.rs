//! Code made at run time: a jitdump → programs, each of them an ELF file that is checked like any other.

use crate::input::split;
use deburr_core::image::{Image, Kind};
use deburr_core::{Request, check};
use deburr_profile::jit_images;

/// Makes programs of a jitdump, and checks them.
///
/// # Panics
/// Where functions overlap or are not where the image says, a byte of code is lost, or a program is refused.
pub fn jit(data: &[u8]) {
    let Some((choice, bytes)) = split(data) else { return };
    let Ok(found) = jit_images(bytes) else { return };
    let mut last_end = 0;
    for jit in &found.images {
        assert!(last_end <= jit.extent.start && jit.extent.start < jit.extent.end);
        last_end = jit.extent.end;
        let image = Image::parse(&jit.elf, None).expect("an image of a jitdump is a program");
        assert_eq!((image.kind, image.faults.len()), (Kind::Executable, 0), "{:?}", image.faults);
        let ends = image.code.first().zip(image.code.last()).expect("an image has a function");
        assert_eq!((ends.0.extent.start.0, ends.1.extent.end.0), (jit.extent.start, jit.extent.end));
        let code: u64 = image.code.iter().map(|code| code.bytes.len() as u64).sum();
        assert!(code <= bytes.len() as u64);
        let request = Request { made_at_run_time: !choice.bit(0), ..Request::default() };
        assert_eq!(code, written(&jit.elf));
        let report = check(&jit.elf, &request).expect("a program is checked");
        assert_eq!(report.coverage.executable_bytes, code);
        assert!(choice.bit(0) || report.isa_functions.is_empty() && report.advice.is_empty());
    }
}

/// The bytes of executable sections, by the headers themselves.
fn written(elf: &[u8]) -> u64 {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    let headers = elf[word(&elf[40..]) as usize..].chunks_exact(64);
    // SHF_ALLOC | SHF_EXECINSTR
    headers.filter(|header| word(&header[8..]) == 6).map(|header| word(&header[32..])).sum()
}

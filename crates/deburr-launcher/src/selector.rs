//! The selector for libraries that are opened by name: a shared library, its header and its source.
//!
//! In: an architecture. Out: the files, as `cargo xtask launcher` makes them of `c/deburr_select.c`.

use deburr_cpu::Arch;

/// The name by which a program that is linked with the selector needs it.
pub const SELECTOR_NAME: &str = "libdeburr-select.so.0";
/// The selector's header.
pub const SELECTOR_HEADER: &str = include_str!("../c/deburr_select.h");
/// The selector's source, one file.
pub const SELECTOR_SOURCE: &str = include_str!("../c/deburr_select.c");

/// The selector as a shared library. It needs what every C library has, and names none.
pub fn selector(arch: Arch) -> &'static [u8] {
    match arch {
        Arch::X86_64 => include_bytes!("../prebuilt/libdeburr-select-x86_64.so"),
        Arch::Aarch64 => include_bytes!("../prebuilt/libdeburr-select-aarch64.so"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_a_small_library_of_its_architecture_and_has_its_name() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            let bytes = selector(arch);
            assert!(bytes.starts_with(b"\x7fELF") && bytes.len() <= 12_288, "{arch:?}: {}", bytes.len());
            assert_eq!(bytes[16..20], [&[3, 0][..], &crate::table::machine(arch).to_le_bytes()].concat());
            assert!(bytes.windows(SELECTOR_NAME.len()).any(|window| window == SELECTOR_NAME.as_bytes()));
        }
    }
}

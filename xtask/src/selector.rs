//! Compiles `crates/deburr-launcher/c/deburr_select.c` as a shared library for both architectures, and compares with
//! `prebuilt/`.
//!
//! The library names no other one that it needs, and no version of a symbol: what it calls is in every program that is
//! linked dynamically, so that one file serves glibc and musl.

use crate::launcher::{keep, run_tool};
use crate::repository;
use std::fs;
use std::process::Command;

/// Name, the prefix of its tools, and the options that only its compiler has.
const LIBRARIES: [(&str, &str, &[&str]); 2] = [
    (
        "x86_64",
        "x86_64-linux-gnu-",
        &["-march=x86-64", "-fcf-protection=full", "-Wl,-z,relro", "-Wl,-z,max-page-size=4096"],
    ),
    // RELRO must begin a page, of up to 64 KiB here: the file would be 64 KiB long, for 16 pointers.
    (
        "aarch64",
        "aarch64-linux-gnu-",
        &["-march=armv8-a", "-mbranch-protection=standard", "-Wl,-z,norelro", "-Wl,-z,max-page-size=65536"],
    ),
];

const OPTIONS: &[&str] = &[
    "-std=gnu11",
    "-Os",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fPIC",
    "-fno-plt",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-U_FORTIFY_SOURCE",
    "-nostdlib",
    "-shared",
    "-s",
    "-Wl,--build-id=none",
    "-Wl,--hash-style=gnu",
    "-Wl,-soname,libdeburr-select.so.0",
    "-Wl,--version-script=libdeburr-select.map",
    "-Wl,-Bsymbolic",
    "-Wl,-z,now",
    "-Wl,-z,noseparate-code",
];

/// Compares, or with `bless` writes, the prebuilt libraries.
pub fn run(bless: bool) -> Result<(), String> {
    let home = repository().join("crates/deburr-launcher");
    let library = repository().join("target/launcher/libdeburr-select.so");
    for (name, prefix, options) in LIBRARIES {
        let mut compiler = Command::new(format!("{prefix}gcc"));
        compiler.current_dir(home.join("c")).args(OPTIONS).args(options);
        run_tool(compiler.arg("deburr_select.c").arg("-o").arg(&library))?;
        let bytes = fs::read(&library).map_err(|error| format!("{}: {error}", library.display()))?;
        keep(&home.join("prebuilt").join(format!("libdeburr-select-{name}.so")), &bytes, prefix, bless)?;
    }
    Ok(())
}

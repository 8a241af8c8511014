//! Build stage: a compiler and a target → the flags by which this compiler builds for it, or that it does not know it.
//!
//! In: compilers that are installed, which are asked. Out: flags for the wrappers; and before anything is built, which compilers could
//! not build for a target.

use super::{flags, go, wrap};
use deburr_cpu::{Arch, Target};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Lets a driver of GCC or Clang preprocess an empty file.
const EMPTY: [&str; 4] = ["-E", "-x", "c", "/dev/null"];

/// The flags of a driver of GCC or Clang; `None` where it does not know the target by any name. A driver that is not for machines like
/// this one is not asked: Clang's machine is in the arguments of each call.
pub(super) fn driver_flags(real: &Path, target: &Target, is_native: bool) -> Option<Vec<String>> {
    let mut named = flags::spellings(target).into_iter().map(|name| flags::c_family(target, &name));
    let mut flags = named.find(|flags| !is_native || takes(real, flags))?;
    if is_native {
        let macros: Vec<&str> = flags.iter().map(String::as_str).chain(["-dM"]).chain(EMPTY).collect();
        let beyond = flags::beyond(target, flags::features_of_driver(&output_of(real, &macros)));
        let removed = beyond.iter().map(|name| format!("-mno-{name}"));
        flags.extend(removed.filter(|flag| takes(real, std::slice::from_ref(flag))).collect::<Vec<_>>());
    }
    Some(flags)
}

/// The flags of rustc, and whether it knows the target. Where it does not it says so itself, with the flags of the first name.
pub(super) fn rustc_flags(real: &Path, target: &Target) -> (Vec<String>, bool) {
    let names = flags::spellings(target);
    let is_cpu = target.cpu().is_some();
    let known = if is_cpu { output_of(real, &["--print", "target-cpus"]) } else { String::new() };
    let is_known =
        |name: &&String| known.lines().any(|line| line.split_whitespace().next() == Some(name.as_str()));
    let name = names.iter().find(is_known);
    let mut flags = flags::rustc(target, name.or(names.first()).map_or("", String::as_str));
    if is_cpu && name.is_some() {
        let asked: Vec<&str> =
            ["--print", "cfg"].into_iter().chain(flags.iter().map(String::as_str)).collect();
        let beyond = flags::beyond(target, flags::features_of_rustc(&output_of(real, &asked)));
        flags.extend(beyond.iter().map(|name| format!("-Ctarget-feature=-{name}")));
    }
    (flags, !is_cpu || name.is_some())
}

/// The compilers of `PATH` and of variables such as `CC` for machines like this one by whether they know a target: those that do, and those that do not, each file
/// by its first name.
pub(super) fn compilers(target: &Target) -> (Vec<String>, Vec<String>) {
    let (mut able, mut unable) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    let mut found: Vec<_> = wrap::compilers().into_iter().chain(wrap::named_by_variables()).collect();
    // `gcc` before `c++` and `cc`, which are links to it.
    found.sort_by_key(|(name, _)| {
        wrap::DRIVERS.iter().position(|driver| driver == name).unwrap_or(usize::MAX)
    });
    for (name, real) in found {
        let is_known = if go::is_go(&name) {
            true
        } else if name.starts_with("rustc") {
            rustc_flags(&real, target).1
        } else if output_of(&real, &["-dumpmachine"]).starts_with(machine(target.arch)) {
            driver_flags(&real, target, true).is_some()
        } else {
            continue;
        };
        if seen.insert(fs::canonicalize(&real).unwrap_or(real)) {
            if is_known { able.push(name) } else { unable.push(name) }
        }
    }
    (able, unable)
}

pub(super) const fn machine(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "x86_64",
        Arch::Aarch64 => "aarch64",
    }
}

pub(super) fn output_of(real: &Path, arguments: &[&str]) -> String {
    let output = Command::new(real).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// Whether a driver takes some flags.
fn takes(real: &Path, flags: &[String]) -> bool {
    let mut command = Command::new(real);
    command.args(flags).args(EMPTY).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

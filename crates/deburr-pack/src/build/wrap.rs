//! Build stage: the compilers of `PATH` → wrappers of the same names, which put the target's flags in front.
//!
//! In: a target, the folder of its variant, the environment. Out: a folder of `sh` scripts (POSIX.1-2017, "Shell Command
//! Language") that comes first in `PATH`. The flags are the first arguments, so that a project's own flags for single files
//! still win, and `CFLAGS` stays as it is: setting it would switch off the `-O2` of autoconf. Each call is a line in a log.

use super::known::{self, machine, output_of};
use super::script::{REFUSED, Script, quoted};
use super::{flags, go};
use deburr_cpu::Target;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The wrappers of one variant.
pub(super) struct Wrappers {
    /// The folder that comes first in `PATH`.
    pub(super) folder: PathBuf,
    /// What was called: a line for each call.
    pub(super) calls: PathBuf,
    /// Names of the wrapped compilers.
    pub(super) names: Vec<String>,
    /// Variables that name compilers; where they named one by its absolute path, they name its wrapper.
    pub(super) variables: Vec<(&'static str, OsString)>,
}

/// The folder of the wrappers, next to the log of calls.
const FOLDER: &str = "wrappers";
pub(super) const DRIVERS: [&str; 8] = ["gcc", "g++", "cc", "c++", "clang", "clang++", "gfortran", "c99"];
const VARIABLES: [&str; 5] = ["CC", "CXX", "FC", "RUSTC", "GO"];

/// Writes the wrappers. `copy`: where the variant's sources are; `source`: where the user has them.
pub(super) fn write(target: &Target, folder: &Path, copy: &Path, source: &Path) -> io::Result<Wrappers> {
    let wrappers = folder.join(FOLDER);
    if wrappers.exists() {
        fs::remove_dir_all(&wrappers)?;
    }
    fs::create_dir_all(&wrappers)?;
    let calls = folder.join("calls.log");
    // A build that goes on in its copy need not call a compiler again; a refusal may be over.
    let before = fs::read_to_string(&calls).unwrap_or_default();
    let kept = before
        .lines()
        .filter(|line| !line.starts_with(REFUSED))
        .fold(String::new(), |all, it| all + it + "\n");
    // Whole or not at all: without it, a build that has nothing left to do would seem to have called no compiler.
    let renewed = folder.join("calls.new");
    fs::write(&renewed, kept).and_then(|()| fs::rename(&renewed, &calls))?;
    let mut made = Wrappers { folder: wrappers, calls, names: Vec::new(), variables: Vec::new() };
    for (name, real) in compilers() {
        let script = script(&name, &real, target, &made.calls, copy, source);
        write_script(&made.folder.join(&name), &script)?;
        made.names.push(name);
    }
    for variable in VARIABLES {
        let Some(value) = std::env::var_os(variable) else { continue };
        let mut words = Vec::new();
        for (word, real) in words_of(&value) {
            let Some(real) = real else {
                words.push(word);
                continue;
            };
            let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // In a folder of its own: a program of this name in PATH may be another one.
            let path = made.folder.join(variable).join(&name);
            fs::create_dir_all(made.folder.join(variable))?;
            write_script(&path, &script(&name, &real, target, &made.calls, copy, source))?;
            words.push(path.into_os_string());
        }
        made.variables.push((variable, words.join(OsStr::new(" "))));
    }
    Ok(made)
}

/// The compilers that variables such as `CC` name by their absolute paths.
pub(super) fn named_by_variables() -> Vec<(String, PathBuf)> {
    let values = VARIABLES.into_iter().filter_map(std::env::var_os);
    let reals = values.flat_map(|value| words_of(&value)).filter_map(|(_, real)| real);
    reals.filter_map(|real| Some((real.file_name()?.to_str()?.to_owned(), real.clone()))).collect()
}

/// The words of a variable such as `CC`, which may have options or a cache in front; for each that names a compiler by its
/// absolute path, that path.
fn words_of(value: &OsStr) -> Vec<(OsString, Option<PathBuf>)> {
    let compiler = |word: &OsStr| {
        let path = PathBuf::from(word);
        let name = path.file_name()?.to_string_lossy().into_owned();
        let is_compiler = is_driver(&name) || name.starts_with("rustc") || go::is_go(&name);
        (path.is_absolute() && is_compiler && path.is_file()).then_some(path)
    };
    match (compiler(value), value.to_str()) {
        (None, Some(text)) => {
            let words = text.split_whitespace().map(OsString::from);
            words.map(|word| (word.clone(), compiler(&word))).collect()
        }
        (whole, _) => vec![(value.to_owned(), whole)],
    }
}

fn write_script(path: &Path, script: &[u8]) -> io::Result<()> {
    fs::write(path, script)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// The compilers of `PATH`, by name; the first of each name.
pub(super) fn compilers() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    for folder in std::env::split_paths(&path).filter(|folder| folder.is_absolute()) {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_program = fs::metadata(entry.path())
                .is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
            if is_program && (is_driver(&name) || name == "rustc" || go::is_go(&name)) {
                found.entry(name).or_insert_with(|| entry.path());
            }
        }
    }
    found
}

/// Whether a name is that of GCC or Clang: `gcc`, `g++-14`, `aarch64-linux-gnu-gcc`.
fn is_driver(name: &str) -> bool {
    let without_version = match name.rsplit_once('-') {
        Some((base, version)) if version.chars().all(|c| c.is_ascii_digit() || c == '.') => base,
        _ => name,
    };
    let is_cross = |driver: &str| {
        without_version.strip_suffix(driver).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('-'))
    };
    DRIVERS.iter().any(|driver| is_cross(driver))
}

fn script(name: &str, real: &Path, target: &Target, calls: &Path, copy: &Path, source: &Path) -> Vec<u8> {
    let mut text = Script::new(name, real, calls);
    text.assign("wrappers", calls.with_file_name(FOLDER).as_os_str());
    if go::is_go(name) {
        go::script(&mut text, target);
    } else if name.starts_with("rustc") {
        rustc_script(&mut text, real, target, copy, source);
    } else {
        driver_script(&mut text, real, target, copy, source);
    }
    text.0
}

fn option(prefix: &str, from: &Path, to: &Path) -> OsString {
    let mut option = OsString::from(prefix);
    option.push(from);
    option.push("=");
    option.push(to);
    option
}

/// What is said by a compiler that does not know the target; the caller of the build reads it in the calls.
fn refuse(text: &mut Script, target: &Target) {
    text.assign("level", OsStr::new(&target.name));
    text.line(&format!("printf '%s\\n' \"{REFUSED}$name does not know the target $level\" >>\"$calls\""));
    text.line("echo \"deburr pack: $real does not know the target $level\" >&2");
    text.line("exit 1");
}

/// Takes the folder of the wrappers out of `PATH`: a compiler that is a script, or a link to ccache or distcc, looks there for
/// the compiler that it stands for, and would find the wrapper again.
fn leave_path(text: &mut Script) {
    text.line("all=:$PATH:");
    text.line("case $all in *\":$wrappers:\"*)");
    text.line("PATH=${all%%\":$wrappers:\"*}:${all#*\":$wrappers:\"}; PATH=${PATH#:}; PATH=${PATH%:} ;;");
    text.line("esac");
}

fn driver_script(text: &mut Script, real: &Path, target: &Target, copy: &Path, source: &Path) {
    let host = output_of(real, &["-dumpmachine"]);
    let is_clang = output_of(real, &["--version"]).contains("clang");
    // Clang compiles for any machine; whether it is this one is in its arguments.
    leave_path(text);
    text.line(if host.starts_with(machine(target.arch)) { "is_meant=1" } else { "is_meant=" });
    text.line("is_link=1 has_input=");
    text.line("for argument in \"$@\"; do");
    text.line("case $argument in");
    text.line("-c|-S|-E|-M|-MM|-fsyntax-only|-r|-nostdlib) is_link= ;;");
    text.line("-fuse-ld=bfd|-fuse-ld=mold) ;;");
    text.line("-fuse-ld=*) is_link= ;;");
    text.line("-m32|-m16|-mx32) is_meant= ;;");
    if is_clang {
        let machine = machine(target.arch);
        text.line(&format!("--target={machine}*|{machine}-*-*) is_meant=1 ;;"));
        text.line("--target=*) is_meant= ;;");
    }
    text.line("-march=*|-mcpu=*) printf '%s\\n' \"own $argument\" >>\"$calls\" ;;");
    text.line("-*) ;;");
    text.line("*) has_input=1 ;;");
    text.line("esac");
    text.line("done");
    text.line("[ -n \"$is_meant\" ] || exec \"$real\" \"$@\"");
    let is_native = host.starts_with(machine(target.arch));
    let Some(flags) = known::driver_flags(real, target, is_native) else {
        refuse(text, target);
        return;
    };
    text.line("printf '%s\\n' \"called $name\" >>\"$calls\"");
    text.assign("map", &option("-ffile-prefix-map=", copy, source));
    let words: Vec<String> =
        flags.iter().map(|flag| String::from_utf8_lossy(&quoted(OsStr::new(flag))).into_owned()).collect();
    text.line(&format!("set -- {} \"$map\" \"$@\"", words.join(" ")));
    let linker = output_of(real, &["-Wl,--version"]);
    if let Some(stated) = flags::stated_level(target)
        && (linker.contains("GNU ld") || linker.contains("mold"))
    {
        text.line(&format!("[ -z \"$is_link\" ] || [ -z \"$has_input\" ] || set -- '{stated}' \"$@\""));
    }
    text.line("exec \"$real\" \"$@\"");
}

fn rustc_script(text: &mut Script, real: &Path, target: &Target, copy: &Path, source: &Path) {
    let version = output_of(real, &["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let machine = machine(target.arch);
    let flags = known::rustc_flags(real, target).0;
    text.line(if host.starts_with(machine) { "is_meant=1" } else { "is_meant=" });
    text.line("is_tool= before=");
    text.line("for argument in \"$@\"; do");
    text.line("case $before$argument in");
    text.line(&format!("--target{machine}*|--target={machine}*) is_meant=1 ;;"));
    text.line("--target?*) is_meant= ;;");
    // They run while the build does, on a CPU that may lack the target's features.
    text.line("--crate-namebuild_script_*|--crate-name=build_script_*) is_tool=1 ;;");
    text.line("--crate-typeproc-macro|--crate-type=proc-macro) is_tool=1 ;;");
    text.line("esac");
    text.line("before=");
    text.line("case $argument in --target|--crate-name|--crate-type) before=$argument ;; esac");
    text.line("done");
    text.line("[ -n \"$is_meant\" ] && [ -z \"$is_tool\" ] || exec \"$real\" \"$@\"");
    text.line("case \" $* \" in *\" --crate-name ___ \"*|*\" -vV \"*) ;;");
    text.line("*) printf '%s\\n' \"called $name\" >>\"$calls\" ;; esac");
    text.assign("map", &option("--remap-path-prefix=", copy, source));
    let words: Vec<String> = flags.iter().map(|flag| format!("'{flag}'")).collect();
    text.line(&format!("exec \"$real\" {} \"$map\" \"$@\"", words.join(" ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_known_with_versions_and_prefixes() {
        for name in ["gcc", "g++-14", "clang-19", "aarch64-linux-gnu-gcc", "x86_64-linux-gnu-g++-13", "cc"] {
            assert!(is_driver(name), "{name}");
        }
        for name in ["gcc-ar", "gcc-nm-14", "clang-format", "ccache", "c++filt", "gccgo"] {
            assert!(!is_driver(name), "{name}");
        }
    }
}

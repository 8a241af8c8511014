//! The command as the user gave it → the ELF file that qemu runs, with its arguments.
//!
//! In: words. Out: the same with the program found in the search path, and a script after its interpreter, as the kernel does
//! it (`execve(2)`, "Interpreter scripts"): otherwise the interpreter would be started outside of the emulation.

use crate::system_error::error_text;
use deburr_cpu::Arch;
use deburr_lab::emulate::run::in_path;
use deburr_text::ShownPath as _;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Bytes that the kernel looks at.
const HEAD: u64 = 256;
/// Interpreters that are scripts themselves.
const DEEPEST: usize = 4;

/// A command to be emulated.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) words: Vec<OsString>,
    /// What the user should know of it.
    pub(super) notes: Vec<String>,
}

/// Finds what is to be run.
pub(super) fn resolve(command: &[OsString], arch: Arch, cpu: &str) -> Result<Resolved, String> {
    let mut words = command.to_vec();
    let mut notes = Vec::new();
    for _ in 0..DEEPEST {
        let Some(first) = words.first_mut() else { return Err("an empty command".to_owned()) };
        let path = found(first)?;
        *first = path.clone().into_os_string();
        let fault = |reason: &str| format!("{}: {reason}", path.shown());
        let mut head = Vec::new();
        let file = File::open(&path).map_err(|error| fault(&error_text(&error)))?;
        let metadata = file.metadata().map_err(|error| fault(&error_text(&error)))?;
        if !metadata.is_file() {
            return Err(fault("no program"));
        }
        file.take(HEAD).read_to_end(&mut head).map_err(|error| fault(&error_text(&error)))?;
        if let Some(line) = head.strip_prefix(b"#!") {
            let before = interpreter(line).ok_or_else(|| fault("a script that names no interpreter"))?;
            words.splice(..0, before);
            continue;
        }
        let other = match head.get(18..20).filter(|_| head.starts_with(b"\x7fELF\x02\x01")) {
            Some([62, 0]) => Arch::X86_64,
            Some([183, 0]) => Arch::Aarch64,
            Some(_) => return Err(fault("a program for neither x86_64 nor aarch64")),
            None => return Err(fault("no 64-bit ELF program, and no script")),
        };
        if other != arch {
            return Err(fault(&format!("it is for {other}, and --cpu {cpu} is of {arch}")));
        }
        if metadata.permissions().mode() & 0o6000 != 0 {
            notes.push(format!(
                "{}: it runs without the rights that its file gives (set-user-ID)",
                path.shown()
            ));
        }
        return Ok(Resolved { words, notes });
    }
    Err(format!("{}: more interpreters than {DEEPEST}", Path::new(&command[0]).shown()))
}

/// The program that a word names.
fn found(word: &OsStr) -> Result<PathBuf, String> {
    let path = Path::new(word);
    if word.as_bytes().contains(&b'/') {
        return Ok(path.to_owned());
    }
    let name = word.to_str().ok_or_else(|| format!("{}: command not found", path.shown()))?;
    in_path(name).ok_or_else(|| format!("{name}: command not found"))
}

/// What a script's first line puts before it: the interpreter, and one argument. `env` is passed over, because it only starts
/// the program that it names.
fn interpreter(line: &[u8]) -> Option<Vec<OsString>> {
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let (program, argument) = line.split_at(end);
    let argument = argument.trim_ascii();
    let word = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    if program.is_empty() {
        return None;
    }
    if program.ends_with(b"/env") {
        let rest = argument.strip_prefix(b"-S").unwrap_or(argument);
        let words: Vec<OsString> =
            rest.split(u8::is_ascii_whitespace).filter(|part| !part.is_empty()).map(word).collect();
        return (!words.is_empty()).then_some(words);
    }
    Some(std::iter::once(program).chain((!argument.is_empty()).then_some(argument)).map(word).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_goes_after_its_interpreter() {
        let words = |line: &[u8]| interpreter(line).unwrap_or_default();
        assert_eq!(words(b"/bin/sh\necho"), ["/bin/sh"]);
        assert_eq!(words(b" /usr/bin/perl -w -T\n"), ["/usr/bin/perl", "-w -T"]);
        assert_eq!(words(b"/usr/bin/env python3\n"), ["python3"]);
        assert_eq!(words(b"/usr/bin/env -S python3 -u\n"), ["python3", "-u"]);
        assert_eq!(words(b"\n"), Vec::<OsString>::new());
        assert_eq!(words(b"/usr/bin/env\n"), Vec::<OsString>::new());
    }

    #[test]
    fn what_is_no_program_is_said() {
        let of = |word: &str| resolve(&[word.into()], Arch::X86_64, "x86-64-v2").unwrap_err();
        assert_eq!(of("no-such-command-here"), "no-such-command-here: command not found");
        assert_eq!(of("/no/such"), "/no/such: no such file or directory");
        assert_eq!(of("/usr"), "/usr: no program");
        assert!(of("/etc/passwd").contains("no 64-bit ELF program"));
        assert!(of("/proc/self/environ").contains("no"));
    }
}

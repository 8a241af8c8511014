//! Build stage: lines → a wrapper's script in the language of POSIX.1-2017, "Shell Command Language".
//!
//! In: its name, the compiler that it stands for, the log of calls. Out: its bytes; paths need not be UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How a line of the calls begins that says why a compiler cannot build for the target.
pub(super) const REFUSED: &str = "refused ";

/// A script in the making. Paths are bytes, and need not be UTF-8.
pub(super) struct Script(pub(super) Vec<u8>);

impl Script {
    /// A script that knows its name, the compiler that it stands for, and the log of calls.
    pub(super) fn new(name: &str, real: &Path, calls: &Path) -> Script {
        let mut script = Script(b"#!/bin/sh\n".to_vec());
        script.assign("name", OsStr::new(name));
        script.assign("real", real.as_os_str());
        script.assign("calls", calls.as_os_str());
        script
    }

    /// Adds a line.
    pub(super) fn line(&mut self, line: &str) {
        self.0.extend(line.as_bytes());
        self.0.push(b'\n');
    }

    /// Assigns a value, whatever bytes it has, to a variable of the script.
    pub(super) fn assign(&mut self, variable: &str, value: &OsStr) {
        self.0.extend(variable.as_bytes());
        self.0.push(b'=');
        self.0.extend(quoted(value));
        self.0.push(b'\n');
    }
}

/// A value in single quotes, of which a quote itself steps out.
pub(super) fn quoted(value: &OsStr) -> Vec<u8> {
    let mut out = vec![b'\''];
    for &byte in value.as_bytes() {
        match byte {
            b'\'' => out.extend(b"'\\''"),
            byte => out.push(byte),
        }
    }
    out.push(b'\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quote_in_a_path_ends_no_quoting() {
        assert_eq!(quoted(OsStr::new("it's $x")), b"'it'\\''s $x'");
    }
}

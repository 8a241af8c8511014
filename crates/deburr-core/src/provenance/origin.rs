//! Whose code a function is, where it is not its file's owner's.

use serde::{Deserialize, Serialize};

/// Who wrote a function that the file's owner did not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Origin {
    /// Go's runtime and standard library.
    GoRuntime,
    /// Rust's standard library.
    RustStd,
    /// A C library that is linked statically.
    CLibrary,
    /// The helpers that compilers call: libgcc, compiler-rt.
    CompilerRuntime,
}

impl Origin {
    /// As JSON has it: `go-runtime`.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::GoRuntime => "go-runtime",
            Origin::RustStd => "rust-std",
            Origin::CLibrary => "c-library",
            Origin::CompilerRuntime => "compiler-runtime",
        }
    }

    /// As text has it: `Go's runtime`.
    pub const fn described(self) -> &'static str {
        match self {
            Origin::GoRuntime => "Go's runtime",
            Origin::RustStd => "Rust's standard library",
            Origin::CLibrary => "the C library",
            Origin::CompilerRuntime => "the compiler's runtime",
        }
    }
}

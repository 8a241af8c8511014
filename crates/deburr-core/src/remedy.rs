//! Remedies: flags of compilers that remove findings.
//!
//! Versions are those of the first release that has a flag. Sources for gcc's `-moutline-atomics`, `-mneeded` and the
//! levels of x86-64: the release notes of GCC 10 and 11. For clang's `-moutline-atomics`: LLVM 12 (its review D91157).
//! For FEAT_LSE in clang's code generation: LLVM 5 (D33586), which Rust 1.25 passed with LLVM 6. For levels of x86-64
//! elsewhere: archspec's data (Rust 1.52 came with LLVM 12). For Go's `GOARM64` and `GOAMD64`: the release notes of Go
//! 1.23 and 1.18. For `-march=armv8-a` to `armv9-a`: those of GCC 4.8 to 12, and of LLVM 3.4 to 14. For Zig's `-Dcpu`:
//! those of Zig 0.6; it builds for the machine that it runs on unless a target is stated.

use crate::finding::{Evidence, Value};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A compiler, as far as its flags differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compiler {
    /// GNU's, for any language.
    Gcc,
    /// LLVM's for C and C++.
    Clang,
    /// Rust's.
    Rustc,
    /// Go's own.
    Go,
    /// Zig's, and its `zig cc`.
    Zig,
    /// An assembler: somebody wrote the instructions.
    Assembler,
}

impl Compiler {
    /// Its name as users know it.
    pub const fn name(self) -> &'static str {
        match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang => "clang",
            Compiler::Rustc => "rustc",
            Compiler::Go => "Go",
            Compiler::Zig => "Zig",
            Compiler::Assembler => "assembler",
        }
    }
}

/// A compiler and its version: what made a function, or a part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Maker {
    /// The compiler.
    pub compiler: Compiler,
    /// Major and minor; `None` where the file does not say.
    pub version: Option<(u32, u32)>,
}

impl Maker {
    /// Of a line of `.comment`, a `DW_AT_producer`.
    pub fn parse(text: &str) -> Option<Maker> {
        let of = |compiler, version| Some(Maker { compiler, version: Some(version) });
        let after = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
        if let Some(rest) = after("rustc version ") {
            return of(Compiler::Rustc, version(rest)?);
        }
        // `zig 0.13.0`, and `zig cc` by the clang in it, which has a version of its own.
        if let Some(rest) = text.strip_prefix("zig ") {
            return Some(Maker { compiler: Compiler::Zig, version: version(rest) });
        }
        if text.contains("clang version ") && text.contains("ziglang/") {
            return Some(Maker { compiler: Compiler::Zig, version: None });
        }
        if let Some(rest) = after("clang version ") {
            return of(Compiler::Clang, version(rest)?);
        }
        // `Go cmd/compile go1.22.1; regabi`; without a version where only Go's function table says so.
        if let Some(rest) = text.strip_prefix("Go ") {
            let stated = rest.split_once(" go").and_then(|(_, rest)| version(rest));
            return Some(Maker { compiler: Compiler::Go, version: stated });
        }
        // `GCC: (Debian 12.2.0-14) 12.2.0`
        if text.starts_with("GCC: ") {
            return of(Compiler::Gcc, version(text.rsplit(") ").next()?)?);
        }
        // `GNU AS 2.40`, NASM and YASM with their versions, LLVM's assembler.
        let assemblers = ["GNU AS ", "NASM ", "yasm ", "LLVM MC", "AsmSource"];
        if assemblers.iter().any(|assembler| text.starts_with(assembler)) {
            return Some(Maker { compiler: Compiler::Assembler, version: None });
        }
        // `GNU C17 12.2.0 -mlittle-endian -O2`
        let rest = text.strip_prefix("GNU ")?;
        of(Compiler::Gcc, rest.split(' ').find_map(version)?)
    }

    /// Those of a program's producers. gcc's own library has debug information in some distributions, and is linked into what
    /// another compiler made.
    pub fn of_producers(texts: &[String]) -> impl Iterator<Item = Maker> {
        let of_program = texts.iter().filter(|text| !text.contains(" -fbuilding-libgcc"));
        of_program.filter_map(|text| Maker::parse(text))
    }

    /// Its version, or the earliest of all.
    pub fn version_or_first(self) -> (u32, u32) {
        self.version.unwrap_or_default()
    }
}

/// `12.2.0` → (12, 2).
pub(crate) fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    let minor = text.split_once('.').and_then(|_| numbers.next()?.parse().ok())?;
    Some((major, minor))
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.compiler.name();
        match self.version {
            Some((major, minor)) => write!(f, "{name} {major}.{minor}"),
            None => f.write_str(name),
        }
    }
}

impl Serialize for Maker {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Maker {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Maker, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let (name, stated) = text.split_once(' ').map_or((&*text, None), |(name, rest)| (name, Some(rest)));
        let all = [
            Compiler::Gcc,
            Compiler::Clang,
            Compiler::Rustc,
            Compiler::Go,
            Compiler::Zig,
            Compiler::Assembler,
        ];
        let compiler = all.into_iter().find(|compiler| compiler.name() == name);
        let version = stated.map(|stated| version(stated).ok_or(stated)).transpose();
        let wrong = || D::Error::custom(format!("expected a compiler such as gcc 12.2, found {text:?}"));
        Ok(Maker { compiler: compiler.ok_or_else(wrong)?, version: version.map_err(|_| wrong())? })
    }
}

/// Flags of one compiler that remove findings.
#[derive(Debug, Clone, Copy)]
pub struct Remedy {
    /// The compiler.
    pub compiler: Compiler,
    /// Its first version, major and minor, that has the flags.
    pub since: (u32, u32),
    /// As they are written on a command line or in the environment; empty where the version alone does it.
    pub flags: &'static str,
    /// The level that every machine must have then (`armv8.1-a`); `None`: it runs where it ran.
    pub needs: Option<&'static str>,
    /// What the evidence of a finding must say, if not all are removed: a key and the text there.
    pub only: Option<(&'static str, &'static str)>,
    /// Flags whose place they take: what makes a program for the machine that it is built on.
    pub without: Option<&'static str>,
}

impl Remedy {
    /// Flags that leave the program running where it ran, and remove every finding of the rule.
    pub const fn new(compiler: Compiler, since: (u32, u32), flags: &'static str) -> Remedy {
        Remedy { compiler, since, flags, needs: None, only: None, without: None }
    }

    /// With the level that every machine must have then.
    pub const fn needing(self, level: &'static str) -> Remedy {
        Remedy { needs: Some(level), ..self }
    }

    /// For the findings alone whose evidence says so.
    pub const fn only(self, key: &'static str, text: &'static str) -> Remedy {
        Remedy { only: Some((key, text)), ..self }
    }

    /// In the place of other flags.
    pub const fn without(self, flags: &'static str) -> Remedy {
        Remedy { without: Some(flags), ..self }
    }

    /// Whether it removes a finding with this evidence.
    pub fn removes(&self, evidence: &Evidence) -> bool {
        // Where only another source helps, the rules say so.
        let is_by_hand = evidence.get("written_by_hand") == Some(&Value::Flag(true));
        let says = |(key, text): (&str, &str)| match evidence.get(key) {
            Some(Value::Text(said)) => &**said == text,
            _ => false,
        };
        // Flags that make what is found faster elsewhere, and slower on the target.
        let is_better_so = evidence.get(SLOWER_BY_LSE).is_some();
        !is_by_hand && !is_better_so && self.only.is_none_or(says)
    }
}

/// The key of the evidence that names the target's CPU, on which LSE is slower than what was found.
pub(crate) const SLOWER_BY_LSE: &str = "slower_by_lse";

/// gcc: one LSE instruction for each atomic.
pub(crate) const GCC_LSE: Remedy =
    Remedy::new(Compiler::Gcc, (6, 0), "-march=armv8.1-a").needing("armv8.1-a");
/// clang: the same.
pub(crate) const CLANG_LSE: Remedy =
    Remedy::new(Compiler::Clang, (5, 0), "-march=armv8.1-a").needing("armv8.1-a");
/// rustc: the same.
pub(crate) const RUSTC_LSE: Remedy =
    Remedy::new(Compiler::Rustc, (1, 25), "-C target-feature=+lse").needing("armv8.1-a");
/// Go: the same.
pub(crate) const GO_LSE: Remedy = Remedy::new(Compiler::Go, (1, 23), "GOARM64=v8.1").needing("armv8.1-a");

/// The key of the evidence that names the level to build for.
pub(crate) const BUILD_FOR: &str = "build_for";

const fn gcc(since: (u32, u32), flags: &'static str, level: &'static str) -> Remedy {
    Remedy::new(Compiler::Gcc, since, flags).only(BUILD_FOR, level).without("-march=native")
}

const fn clang(since: (u32, u32), flags: &'static str, level: &'static str) -> Remedy {
    Remedy::new(Compiler::Clang, since, flags).only(BUILD_FOR, level).without("-march=native")
}

const fn rustc(since: (u32, u32), flags: &'static str, level: &'static str) -> Remedy {
    Remedy::new(Compiler::Rustc, since, flags).only(BUILD_FOR, level).without("-C target-cpu=native")
}

/// Go builds for the first level unless it is told otherwise.
const fn go(since: (u32, u32), flags: &'static str, level: &'static str) -> Remedy {
    Remedy::new(Compiler::Go, since, flags).only(BUILD_FOR, level)
}

const fn zig(flags: &'static str, level: &'static str) -> Remedy {
    Remedy::new(Compiler::Zig, (0, 6), flags).only(BUILD_FOR, level).without("-Dcpu=native, its default")
}

/// By compiler and level: how to build for that level what was built for a newer machine.
pub(crate) const LOWER: &[Remedy] = &[
    GCC_LOWEST,
    gcc((11, 1), "-march=x86-64-v2", "x86-64-v2"),
    gcc((11, 1), "-march=x86-64-v3", "x86-64-v3"),
    gcc((11, 1), "-march=x86-64-v4", "x86-64-v4"),
    CLANG_LOWEST,
    clang((12, 0), "-march=x86-64-v2", "x86-64-v2"),
    clang((12, 0), "-march=x86-64-v3", "x86-64-v3"),
    clang((12, 0), "-march=x86-64-v4", "x86-64-v4"),
    RUSTC_LOWEST,
    rustc((1, 52), "-C target-cpu=x86-64-v2", "x86-64-v2"),
    rustc((1, 52), "-C target-cpu=x86-64-v3", "x86-64-v3"),
    rustc((1, 52), "-C target-cpu=x86-64-v4", "x86-64-v4"),
    go((1, 18), "GOAMD64=v1", "x86-64-v1"),
    go((1, 18), "GOAMD64=v2", "x86-64-v2"),
    go((1, 18), "GOAMD64=v3", "x86-64-v3"),
    go((1, 18), "GOAMD64=v4", "x86-64-v4"),
    ZIG_LOWEST,
    zig("-Dcpu=x86_64_v2", "x86-64-v2"),
    zig("-Dcpu=x86_64_v3", "x86-64-v3"),
    zig("-Dcpu=x86_64_v4", "x86-64-v4"),
    gcc((4, 8), "-march=armv8-a", "armv8.0-a"),
    gcc((6, 0), "-march=armv8.1-a", "armv8.1-a"),
    gcc((7, 0), "-march=armv8.2-a", "armv8.2-a"),
    gcc((8, 0), "-march=armv8.4-a", "armv8.4-a"),
    gcc((9, 0), "-march=armv8.5-a", "armv8.5-a"),
    gcc((12, 1), "-march=armv9-a", "armv9.0-a"),
    clang((3, 4), "-march=armv8-a", "armv8.0-a"),
    clang((5, 0), "-march=armv8.1-a", "armv8.1-a"),
    clang((5, 0), "-march=armv8.2-a", "armv8.2-a"),
    clang((7, 0), "-march=armv8.4-a", "armv8.4-a"),
    clang((8, 0), "-march=armv8.5-a", "armv8.5-a"),
    clang((14, 0), "-march=armv9-a", "armv9.0-a"),
    rustc((1, 0), "-C target-cpu=generic", "armv8.0-a"),
    go((1, 23), "GOARM64=v8.0", "armv8.0-a"),
    go((1, 23), "GOARM64=v8.1", "armv8.1-a"),
    go((1, 23), "GOARM64=v8.2", "armv8.2-a"),
    go((1, 23), "GOARM64=v8.4", "armv8.4-a"),
    go((1, 23), "GOARM64=v8.5", "armv8.5-a"),
    go((1, 23), "GOARM64=v9.0", "armv9.0-a"),
    zig("-Dcpu=baseline", "armv8.0-a"),
];

/// The same for those compilers whose programs have an ELF note, and the first level of x86-64.
pub(crate) const GCC_LOWEST: Remedy = gcc((4, 2), "-march=x86-64", "x86-64-v1");
pub(crate) const CLANG_LOWEST: Remedy = clang((3, 0), "-march=x86-64", "x86-64-v1");
pub(crate) const RUSTC_LOWEST: Remedy = rustc((1, 0), "-C target-cpu=x86-64", "x86-64-v1");
pub(crate) const ZIG_LOWEST: Remedy = zig("-Dcpu=baseline", "x86-64-v1");

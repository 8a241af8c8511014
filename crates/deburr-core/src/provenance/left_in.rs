//! What a build left in a file that is for development: instrumentation, assertions, overflow checks.
//!
//! In: an image, its functions, and what other files are to define. Out: [`Instrumentation`] by kind, and [`Assertions`]. The names of
//! functions decide, which the compiler calls and no program does by itself; messages where a stripped file has no names.

use super::Origins;
use super::source::Source;
use crate::address::CodeOffset;
use crate::image::{Kind, Undefined};
use std::collections::BTreeMap;

/// A kind of instrumentation: what people call it, how to remove it, and functions that only instrumented code needs. A `*` ends the
/// beginning of several names.
struct Instrument {
    name: &'static str,
    advice: &'static str,
    functions: &'static [&'static str],
    /// What its maker leaves in the data of each file, where others call the functions, too.
    mark: Option<&'static [u8]>,
}

/// What compilers and Cython insert. A compiled file asks for these functions, and a runtime library of theirs defines them.
const INSTRUMENTS: [Instrument; 9] = [
    // Cython 3.2, `Cython/Utility/Profile.c`, and the name that each of its modules imports (`ModuleSetupCode.c`); CPython 3.13,
    // `Include/cpython/monitoring.h`. Debuggers and greenlet call these functions for themselves.
    Instrument {
        name: "Cython's tracing",
        advice: "without the directives profile and linetrace, and without -DCYTHON_TRACE or -DCYTHON_PROFILE",
        functions: &["PyThreadState_EnterTracing", "PyMonitoring_EnterScope", "_PyMonitoring_Fire*"],
        mark: Some(b"cython_runtime"),
    },
    // compiler-rt 20, `lib/ubsan/ubsan_handlers.h`, `lib/asan/asan_interface.inc` and the like.
    Instrument {
        name: "UndefinedBehaviorSanitizer",
        advice: "without -fsanitize=undefined",
        functions: &["__ubsan_handle_*"],
        mark: None,
    },
    Instrument {
        name: "AddressSanitizer",
        advice: "without -fsanitize=address",
        functions: &["__asan_init", "__hwasan_init"],
        mark: None,
    },
    Instrument {
        name: "ThreadSanitizer",
        advice: "without -fsanitize=thread",
        functions: &["__tsan_init", "__tsan_func_entry"],
        mark: None,
    },
    Instrument {
        name: "MemorySanitizer",
        advice: "without -fsanitize=memory",
        functions: &["__msan_init", "__msan_warning*"],
        mark: None,
    },
    Instrument {
        name: "SanitizerCoverage",
        advice: "without -fsanitize=fuzzer and -fsanitize-coverage",
        functions: &["__sanitizer_cov_*"],
        mark: None,
    },
    // GCC 15, `libgcc/libgcov.h`; LLVM 20, `lib/profile`. Linked into each file, unless that is linked with `-shared-libgcc` and the like.
    Instrument {
        name: "coverage",
        advice: "without --coverage and -fprofile-instr-generate",
        functions: &[
            "__gcov_init",
            "__gcov_exit",
            "llvm_gcda_*",
            "llvm_gcov_init",
            "__llvm_profile_runtime",
            "__llvm_profile_instrument_*",
        ],
        mark: None,
    },
    // GCC 15, "Instrumentation Options": -pg and -finstrument-functions.
    Instrument {
        name: "-pg",
        advice: "without -pg",
        functions: &["mcount", "_mcount", "__fentry__"],
        mark: None,
    },
    Instrument {
        name: "-finstrument-functions",
        advice: "without -finstrument-functions",
        functions: &["__cyg_profile_func_enter"],
        mark: None,
    },
];

/// Functions that a failed assertion calls: glibc and musl (`assert.h`), bionic, libstdc++ 13 (`-D_GLIBCXX_ASSERTIONS`), libc++ 15
/// (hardening), GLib. Each with whose assertions these are.
const ASSERTIONS: [(&str, Maker); 8] = [
    ("__assert_fail", Maker::Assert),
    ("__assert_perror_fail", Maker::Assert),
    ("__assert2", Maker::Assert),
    ("__assert", Maker::Assert),
    ("_ZSt21__glibcxx_assert_failPKciS0_S0_", Maker::Libstdcxx),
    ("_ZNSt3__122__libcpp_verbose_abortEPKcz", Maker::Libcxx),
    ("_ZNSt6__ndk122__libcpp_verbose_abortEPKcz", Maker::Libcxx),
    ("g_assertion_message_expr", Maker::Glib),
];

/// Whose assertions a function reports: what removes them is another switch for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Maker {
    /// `assert` of C.
    Assert,
    /// The checks of libstdc++. A library that is linked statically has some of its own (`libstdc++_nonshared.a` of gcc-toolset).
    Libstdcxx,
    /// Those of libc++.
    Libcxx,
    /// GLib's.
    Glib,
}

impl Maker {
    /// As evidence has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Maker::Assert => "assert",
            Maker::Libstdcxx => "libstdc++",
            Maker::Libcxx => "libc++",
            Maker::Glib => "GLib",
        }
    }

    /// Whether the file's owner asserts. What a C++ library checks may be of that library alone, where it is linked statically.
    pub(crate) const fn is_owner(self) -> bool {
        matches!(self, Maker::Assert | Maker::Glib)
    }

    /// By the function that reports.
    pub(crate) fn of(function: &str) -> Option<Maker> {
        ASSERTIONS.iter().find(|(name, _)| *name == function).map(|&(_, maker)| maker)
    }
}

/// What Rust says of a sum, product and the like that overflows (Rust 1.91, `library/core/src/panicking.rs`, `panic_const`): only code
/// with `-C overflow-checks` does. Divisions are always checked, and overflow too.
const OVERFLOWS: [&[u8]; 3] = [
    b"attempt to add with overflow",
    b"attempt to subtract with overflow",
    b"attempt to multiply with overflow",
];

/// Instrumentation of one kind in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instrumentation {
    /// What people call it: `AddressSanitizer`.
    pub(crate) name: &'static str,
    /// How to build without it.
    pub(crate) advice: &'static str,
    /// A function of it that the file needs.
    pub(crate) function: String,
    /// Calls of such functions.
    pub(crate) calls: u64,
    /// Functions with such calls.
    pub(crate) callers: u64,
    /// The first call.
    pub(crate) first: Option<CodeOffset>,
}

/// Assertions in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Assertions {
    /// Functions with calls of functions that report a failed assertion.
    pub(crate) callers: u64,
    /// Such calls by the name of the function that reports.
    pub(crate) by_name: BTreeMap<String, u64>,
    /// The same by whose assertions they report, and the first of each.
    pub(crate) by_maker: BTreeMap<Maker, (u64, CodeOffset)>,
    /// Messages of Rust's overflow checks.
    pub(crate) overflow_messages: u64,
}

fn is_named(name: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

impl Instrumentation {
    /// All kinds in a file, in a fixed order. Code that the kernel changes at start (`__fentry__`) costs nothing there.
    pub(crate) fn of(source: &Source<'_, '_>) -> Vec<Instrumentation> {
        // Of an archive, other members may define the functions: it is the runtime library itself.
        if source.image.build.is_linux_kernel || source.image.kind == Kind::Relocatable {
            return Vec::new();
        }
        let kinds = INSTRUMENTS.iter().filter_map(|kind| {
            // A weak reference is a question, not a need: libraries ask whether a sanitizer is there.
            let needs = |it: &&Undefined<'_>| !it.is_weak && is_named(it.name, kind.functions);
            let function = source.undefined.iter().find(needs)?.name.to_owned();
            let has_mark = |mark: &[u8]| {
                source.image.loaded.iter().any(|it| memchr::memmem::find(it.bytes, mark).is_some())
            };
            if kind.mark.is_some_and(|mark| !has_mark(mark)) {
                return None;
            }
            let calls = source.calls(&|name| is_named(name, kind.functions));
            let (name, advice) = (kind.name, kind.advice);
            let callers = source.count_functions(calls.iter().map(|call| call.from));
            let first = calls.first().map(|call| call.from);
            Some(Instrumentation { name, advice, function, calls: calls.len() as u64, callers, first })
        });
        kinds.collect()
    }
}

impl Assertions {
    /// Calls that report a failed assertion, and the first of them.
    pub(crate) fn all(&self) -> (u64, Option<CodeOffset>) {
        self.made_by(|_| true)
    }

    /// Those that report what the file's owner asserts.
    pub(crate) fn of_owner(&self) -> (u64, Option<CodeOffset>) {
        self.made_by(Maker::is_owner)
    }

    fn made_by(&self, is_meant: fn(Maker) -> bool) -> (u64, Option<CodeOffset>) {
        let meant = || self.by_maker.iter().filter(|&(&maker, _)| is_meant(maker)).map(|(_, found)| found);
        (meant().map(|(calls, _)| calls).sum(), meant().map(|&(_, first)| first).min())
    }

    /// Those of a file, without what a runtime that is linked into it asserts: glibc's allocator does.
    pub(crate) fn of(source: &Source<'_, '_>) -> Assertions {
        let image = source.image;
        if image.build.is_linux_kernel {
            return Assertions::default();
        }
        let mut calls = source.calls(&|name| Maker::of(name).is_some());
        if !calls.is_empty() {
            let origins = Origins::of(image);
            calls.retain(|call| origins.at(image, source.program, image.svma(call.from), None).is_none());
        }
        let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
        let mut by_maker = BTreeMap::new();
        for call in &calls {
            if let Some(maker) = Maker::of(call.name) {
                by_maker.entry(maker).or_insert((0, call.from)).0 += 1;
            }
            *by_name.entry(call.name.to_owned()).or_default() += 1;
        }
        let texts = if image.kind == Kind::Relocatable { &[] } else { &*image.constants };
        let messages = texts.iter().map(|(_, bytes)| overflow_messages(bytes));
        Assertions {
            callers: source.count_functions(calls.iter().map(|call| call.from)),
            by_name,
            by_maker,
            overflow_messages: messages.sum(),
        }
    }
}

fn overflow_messages(bytes: &[u8]) -> u64 {
    OVERFLOWS.iter().map(|text| memchr::memmem::find_iter(bytes, text).count() as u64).sum()
}

//! What is known of runtimes, a source for each list.

use super::origin::Origin;

/// First parts of the import paths of Go's standard library, and of what it contains: `go list std` of Go 1.26.
pub(super) const GO_STANDARD: &[&str] = &[
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "runtime",
    "slices",
    "sort",
    "strconv",
    "strings",
    "structs",
    "sync",
    "syscall",
    "testing",
    "text",
    "time",
    "unicode",
    "unique",
    "unsafe",
    "vendor",
    "weak",
];

/// Crates of Rust's standard library: the folders of `library/` in the sources of Rust 1.95.
pub(super) const RUST_CRATES: [&str; 10] = [
    "alloc",
    "compiler_builtins",
    "core",
    "panic_abort",
    "panic_unwind",
    "proc_macro",
    "std",
    "std_detect",
    "test",
    "unwind",
];

/// Functions of the standard library whose names are not mangled: `library/std/src/{alloc,panicking,rt}.rs` and
/// `library/panic_unwind` of Rust 1.95.
pub(super) const RUST_SYMBOLS: [&str; 12] = [
    "__rdl_alloc",
    "__rdl_alloc_zeroed",
    "__rdl_dealloc",
    "__rdl_realloc",
    "__rg_oom",
    "__rust_alloc_error_handler",
    "__rust_drop_panic",
    "__rust_foreign_exception",
    "__rust_panic_cleanup",
    "__rust_start_panic",
    "rust_eh_personality",
    "rust_panic",
];

/// Parts of the paths of the standard library's sources in debug information, and where they are such.
pub(super) const LIBRARY_SOURCES: [(&str, &str); 3] = [
    ("/rustc/", "rustc's --remap-path-prefix of its own sources, in every release since 1.20"),
    ("/lib/rustlib/src/rust/library/", "the component rust-src of rustup"),
    ("/usr/src/rustc-", "Debian's package rust-src"),
];

/// Shared libraries that are a runtime, by how their sonames begin.
pub(super) const RUNTIME_SONAMES: [(&str, Origin); 6] = [
    // gccgo, gcc's libgo.
    ("libgo.so", Origin::GoRuntime),
    // `rustc --print sysroot`/lib.
    ("libstd-", Origin::RustStd),
    // rustc's own, into which its build links the standard library.
    ("librustc_driver-", Origin::RustStd),
    // gcc's libgcc, LLVM's compiler-rt.
    ("libgcc_s.so", Origin::CompilerRuntime),
    ("libclang_rt.", Origin::CompilerRuntime),
    ("libcompiler_rt", Origin::CompilerRuntime),
];

/// Functions of the C library that a program may define itself: the GNU C library's manual, "Replacing malloc".
pub(super) const REPLACEABLE: [&str; 10] = [
    "aligned_alloc",
    "calloc",
    "free",
    "malloc",
    "malloc_usable_size",
    "memalign",
    "posix_memalign",
    "pvalloc",
    "realloc",
    "valloc",
];

/// Global functions of the C library, one a line.
pub(super) const C_LIBRARY: &str = include_str!("c-library.txt");

/// Functions of compilers' run-time libraries, one a line.
pub(super) const COMPILER_RUNTIME: &str = include_str!("compiler-runtime.txt");

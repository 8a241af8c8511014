//! Provenance: whose code a function of a linked file is, and whether an optimiser has seen it.
//!
//! And what else its build shows: [`Build`], of which rules and `diff` take what they need.
//!
//! In: an image and its functions. Out: [`Optimisation`], the stretches of functions that no optimiser has seen, and [`Origins`],
//! which answers for an address: the code is its owner's, or that of a language's runtime or a C library that was linked into
//! it. Names decide, with data from [`rows`]; a
//! function without a name is its owner's, and so is everything in a relocatable object, which nothing was linked into. A
//! shared library that is itself the runtime, by its soname, is its owner's as a whole.

pub(crate) mod allocator;
mod build;
mod fast_math;
mod frame;
mod frame_pointer;
mod imported;
pub(crate) mod interposable;
mod left_in;
mod optimisation;
mod origin;
mod rows;
mod source;
mod stretch;

use crate::address::{Extent, Svma};
use crate::function::Program;
use crate::image::{Image, Kind, Symbol, SymbolKind, SymbolOrigin, needed};
pub(crate) use build::Build;
pub(crate) use fast_math::FastMath;
pub use frame::FrameUse;
pub(crate) use frame_pointer::FramePointers;
pub(crate) use left_in::{Assertions, Instrumentation, Maker};
pub use optimisation::{Optimisation, Stretch, explanation, frame_use};
pub use origin::Origin;
use rows::{GO_STANDARD, LIBRARY_SOURCES, REPLACEABLE, RUNTIME_SONAMES, RUST_CRATES, RUST_SYMBOLS};
pub(crate) use source::Source;

/// Global functions of a C library in a row, by address, from which on they are the C library. Static programs with Debian 12's
/// glibc have one row of 780 and more, and with musl one of 86 where they use `printf` and threads. A replacement of the
/// allocator defines the some 20 functions of allocation that C, POSIX and GNU have, and no more in a row.
const LEAST_ROW: usize = 32;

/// Whose code the functions of a file are.
pub(crate) struct Origins {
    /// The runtime that the file is.
    own: Option<Origin>,
    is_linked: bool,
    /// Where the C library is, by address.
    c_library: Vec<Extent>,
}

impl Origins {
    /// Reads what the file and its symbols say.
    pub(crate) fn of(image: &Image<'_>) -> Origins {
        let is_linked = image.kind != Kind::Relocatable;
        let needed = is_linked.then(|| needed(image.bytes).ok()).flatten();
        let soname = needed.as_ref().and_then(|needed| needed.soname);
        let own = soname.and_then(|soname| {
            RUNTIME_SONAMES.iter().find(|(start, _)| soname.starts_with(start)).map(|&(_, origin)| origin)
        });
        let is_static = image.kind == Kind::Executable
            && soname.is_none()
            && needed.is_some_and(|needed| needed.libraries.is_empty());
        Origins { own, is_linked, c_library: if is_static { c_library(image) } else { Vec::new() } }
    }

    /// Who wrote the function at an address, if its owner did not. `source`: the file of the instruction's source line, where
    /// that is known.
    pub(crate) fn at(
        &self,
        image: &Image<'_>,
        program: &Program,
        at: Svma,
        source: Option<&str>,
    ) -> Option<Origin> {
        if !self.is_linked {
            return None;
        }
        let function = program.whole(program.function_at(image.code_offset(at)?)?);
        let start = image.svma(function.start);
        let found = match go_name(image, start) {
            Some(name) => is_go_standard(name).then_some(Origin::GoRuntime),
            None => program.name(function, image).and_then(|name| self.of_name(name, start, source)),
        };
        found.filter(|origin| self.own != Some(*origin))
    }

    fn of_name(&self, name: &str, start: Svma, source: Option<&str>) -> Option<Origin> {
        // What was inlined into a function of the standard library from elsewhere is its owner's.
        let is_library = |file: &str| LIBRARY_SOURCES.iter().any(|(part, _)| file.contains(part));
        if is_rust_std(name) {
            return source.is_none_or(is_library).then_some(Origin::RustStd);
        }
        if is_listed(rows::COMPILER_RUNTIME, name) {
            return Some(Origin::CompilerRuntime);
        }
        self.c_library.iter().any(|extent| extent.contains(start)).then_some(Origin::CLibrary)
    }
}

/// The name that Go's function table has for the function at an address.
fn go_name<'i>(image: &'i Image<'_>, start: Svma) -> Option<&'i str> {
    let from = image.symbols.partition_point(|symbol| symbol.svma < start);
    let here = image.symbols.get(from..)?.iter().take_while(|symbol| symbol.svma == start);
    let mut here = here.filter(|symbol| symbol.origin == SymbolOrigin::Pclntab);
    here.next().map(|symbol| &*symbol.name)
}

/// Whether a function's name has a package of Go's standard library: `sync/atomic.(*Value).Load`. Such packages alone have no dot in
/// the first part of their path, apart from `main` and modules without a domain, whose first parts are not in the list.
fn is_go_standard(name: &str) -> bool {
    // Type arguments are paths, too.
    let name = name.split('[').next().unwrap_or(name);
    let (folders, last) = name.rsplit_once('/').map_or((None, name), |(folders, last)| (Some(folders), last));
    let Some((package, _)) = last.split_once('.') else { return false };
    let first = folders.map_or(package, |folders| folders.split('/').next().unwrap_or(folders));
    GO_STANDARD.contains(&first)
}

/// Whether a symbol is Rust's standard library: all crates that its name mentions are. `<Vec<T> as mine::Trait>::f` is the
/// owner's, and so is an instance for a type of the owner, where the name has it.
fn is_rust_std(name: &str) -> bool {
    if RUST_SYMBOLS.contains(&name) {
        return true;
    }
    let Ok(demangled) = rustc_demangle::try_demangle(name) else { return false };
    let text = format!("{demangled:#}");
    let mut crates = roots(&text).peekable();
    crates.peek().is_some() && crates.all(|root| RUST_CRATES.contains(&root))
}

/// The first parts of the paths in a demangled name.
fn roots(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut rest = text;
    let mut is_below = false;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(is_word)?;
            let (before, from) = rest.split_at_checked(start)?;
            // After `::` it is a part of a path that has begun.
            is_below = before.ends_with("::") || (is_below && before.is_empty());
            let end = from.find(|character: char| !is_word(character)).unwrap_or(from.len());
            let (word, after) = from.split_at_checked(end)?;
            rest = after;
            if !is_below && after.starts_with("::") {
                return Some(word);
            }
        }
    })
}

/// Whether a name is in a list of [`rows`], which is sorted.
fn is_listed(list: &str, name: &str) -> bool {
    // A byte position in the list is narrowed down to the line that would be the name.
    let (mut low, mut high) = (0, list.len());
    while low < high {
        let middle = low.midpoint(high);
        let start =
            list.get(..middle).and_then(|before| before.rfind('\n')).map_or(0, |at| at.saturating_add(1));
        let line = list.get(start..).and_then(|rest| rest.split('\n').next()).unwrap_or_default();
        let end = start.saturating_add(line.len()).saturating_add(1);
        match (line.starts_with('#'), line.cmp(name)) {
            (false, std::cmp::Ordering::Equal) => return !line.is_empty(),
            (false, std::cmp::Ordering::Greater) => high = start.min(middle),
            _ => low = end,
        }
    }
    false
}

/// Global functions in a row, by address, that a C library has.
struct Row {
    extent: Extent,
    count: usize,
    /// Whether one has a name that only the implementation may define.
    is_reserved: bool,
    /// Whether one has a name that programs may define, too.
    is_replaced: bool,
}

/// Where the C library is in a static program: rows of global functions that all are its own or the compiler's, with the local
/// ones among them. Linkers put its members next to one another, after the program's own.
fn c_library(image: &Image<'_>) -> Vec<Extent> {
    let is_function = |symbol: &&Symbol<'_>| {
        matches!(symbol.kind, SymbolKind::Function | SymbolKind::IfuncResolver) && symbol.is_global
    };
    let functions: Vec<&Symbol<'_>> = image.symbols.iter().filter(is_function).collect();
    let mut rows: Vec<Row> = Vec::new();
    let mut row: Option<Row> = None;
    for group in functions.chunk_by(|a, b| a.svma == b.svma) {
        let Some(first) = group.first() else { continue };
        let is_known = |symbol: &&&Symbol<'_>| {
            is_listed(rows::C_LIBRARY, &symbol.name) || is_listed(rows::COMPILER_RUNTIME, &symbol.name)
        };
        if group.iter().any(|symbol| is_known(&symbol)) {
            let size = group.iter().map(|symbol| symbol.size).max().unwrap_or(0).max(1);
            let end = Svma(first.svma.0.saturating_add(size));
            let row = row.get_or_insert(Row {
                extent: Extent { start: first.svma, end },
                count: 0,
                is_reserved: false,
                is_replaced: false,
            });
            row.extent.end = end;
            row.count = row.count.saturating_add(1);
            row.is_reserved |= group.iter().any(|symbol| symbol.name.starts_with('_') && is_known(&symbol));
            row.is_replaced |= group.iter().any(|symbol| REPLACEABLE.contains(&&*symbol.name));
        } else {
            rows.extend(row.take());
        }
    }
    rows.extend(row);
    // Parts that compilers keep apart, such as `.text.unlikely`, have short rows of their own.
    let has_library = rows.iter().any(|row| row.count >= LEAST_ROW);
    let is_library =
        |row: &Row| row.count >= LEAST_ROW || (has_library && row.is_reserved && !row.is_replaced);
    let rows = rows.into_iter().filter(is_library);
    rows.map(|row| Extent { start: first_local(image, row.extent.start), ..row.extent }).collect()
}

/// Where the local functions begin that are placed just before a C library's first global one and have names that only the
/// implementation may define (C11, section 7.1.3): glibc's `__libc_start_call_main`.
fn first_local(image: &Image<'_>, global: Svma) -> Svma {
    let is_function =
        |symbol: &&Symbol<'_>| matches!(symbol.kind, SymbolKind::Function | SymbolKind::IfuncResolver);
    let before = image.symbols.iter().filter(is_function).rev().skip_while(|symbol| symbol.svma >= global);
    let is_reserved = |symbol: &&Symbol<'_>| !symbol.is_global && symbol.name.starts_with("__");
    before.take_while(is_reserved).last().map_or(global, |symbol| symbol.svma)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_go_are_distinguished_from_those_of_a_module() {
        for name in [
            "runtime.runqput",
            "runtime.(*mheap).alloc.func1",
            "internal/runtime/atomic.Cas64",
            "sync/atomic.(*Value).CompareAndSwap",
            "slices.SortFunc[go.shape.struct { github.com/a/b.x int }]",
            "vendor/golang.org/x/crypto/chacha20.(*Cipher).XORKeyStream",
        ] {
            assert!(is_go_standard(name), "{name}");
        }
        for name in [
            "main.main",
            "main.runqput[go.shape.int]",
            "github.com/a/runtime.runqput",
            "golang.org/x/sys/cpu.init",
            "gopkg.in/yaml%2ev3.(*parser).fetch",
            "myapp/sync.(*Queue).Push",
            "type:.eq.runtime.itab",
            "cmd/go/internal/load.init",
            "memcpy",
        ] {
            assert!(!is_go_standard(name), "{name}");
        }
    }

    #[test]
    fn rust_functions_are_the_standard_librarys_only_where_all_their_crates_are() {
        for name in [
            "_ZN3std2io5stdio6_print17h0123456789abcdefE",
            "_ZN5alloc4sync16Arc$LT$T$C$A$GT$9drop_slow17h0123456789abcdefE",
            // <alloc::vec::Vec<T> as core::clone::Clone>::clone
            "_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE",
            "rust_eh_personality",
        ] {
            assert!(is_rust_std(name), "{name}");
        }
        for name in [
            // core::ptr::drop_in_place<mine::Queue>
            "_ZN4core3ptr32drop_in_place$LT$mine..Queue$GT$17h0123456789abcdefE",
            // <alloc::string::String as mine::Push>::push
            "_ZN52_$LT$alloc..string..String$u20$as$u20$mine..Push$GT$4push17h0123456789abcdefE",
            "_ZN4mine4core4push17h0123456789abcdefE",
            // std::vector<int>::push_back(int), of C++
            "_ZNSt6vectorIiSaIiEE9push_backEi",
            "std_push",
        ] {
            assert!(!is_rust_std(name), "{name}");
        }
    }

    #[test]
    fn lists_are_sorted_and_every_name_is_found() {
        for list in [rows::C_LIBRARY, rows::COMPILER_RUNTIME] {
            let names: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
            assert!(names.len() > 500 && names.is_sorted());
            assert!(names.iter().all(|name| is_listed(list, name)));
        }
        assert!(is_listed(rows::C_LIBRARY, "qsort") && is_listed(rows::COMPILER_RUNTIME, "__popcountdi2"));
        for name in ["", "main", "qsor", "qsortx", "zzzz", "#", "AAAA"] {
            assert!(!is_listed(rows::C_LIBRARY, name), "{name}");
        }
    }
}

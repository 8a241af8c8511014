//! What a file takes from its process or brings to it: the allocator, threads, OpenMP, linear algebra, and static thread-local storage.
//!
//! In: an image, and the names that its dynamic section and symbols have. Out: [`Runtime`]. Names decide, and the messages of allocators
//! where a stripped file has none: no code is read.

use super::needed::needed;
use super::pages::pages;
use super::undefined::Undefined;
use crate::image::elf::{DT_FLAGS, Elf, PT_INTERP, PT_TLS};
use crate::image::{Image, Kind, SymbolOrigin};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The library's thread-local variables are at a fixed distance from the thread pointer (gABI, `DF_STATIC_TLS`).
const DF_STATIC_TLS: u64 = 0x10;
/// Bytes of static thread-local storage that glibc keeps for libraries that are loaded later (`glibc.rtld.optional_static_tls`, glibc
/// 2.41, `manual/tunables.texi`). musl and bionic keep none.
pub const STATIC_TLS_RESERVE: u64 = 512;

/// What a file takes from its process, or brings to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Runtime {
    /// Whose `malloc` it uses: one that is in the file, or of a library that it asks for. `None` where it uses none, or no name says whose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<String>,
    /// Whether it starts threads by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starts_threads: bool,
    /// Libraries of OpenMP that it asks for, or whose interface it uses; `its own` where it has that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openmp: Vec<String>,
    /// Libraries of linear algebra (BLAS) that it asks for; `its own` where it has such functions, and `unknown` where it uses some of a library
    /// that no name shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blas: Vec<String>,
    /// Bytes of thread-local variables of a library that needs them in the static block, which the loader cannot enlarge when it loads the
    /// library later. `None` of a program, or where the library does without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_tls: Option<u64>,
}

/// An allocator, and what shows that it is in a file.
struct Allocator {
    name: &'static str,
    /// Beginning of the name of its library.
    library: &'static str,
    /// Functions that no other has.
    functions: &'static [&'static str],
    /// A text that its code holds.
    message: &'static [u8],
}

/// jemalloc 5.3 (`src/malloc_io.c`; Rust's crate puts a prefix before its functions), mimalloc 2.1 (`src/options.c`), tcmalloc of gperftools
/// 2.15 (`src/tcmalloc.cc`).
const ALLOCATORS: [Allocator; 3] = [
    Allocator {
        name: "jemalloc",
        library: "libjemalloc",
        functions: &["mallctl", "je_mallctl", "_rjem_mallctl"],
        message: b"<jemalloc>: ",
    },
    Allocator {
        name: "mimalloc",
        library: "libmimalloc",
        functions: &["mi_malloc"],
        message: b"mimalloc: warning: ",
    },
    Allocator {
        name: "tcmalloc",
        library: "libtcmalloc",
        functions: &["tc_malloc"],
        message: b"tcmalloc: large alloc ",
    },
];

/// What only a C library that is linked statically says: glibc's `malloc/malloc.c`, musl's `src/errno/__strerror.h`.
const C_LIBRARY_MESSAGES: [(&str, &[u8]); 2] = [("glibc", b"malloc(): "), ("musl", b"No error information")];

/// What a file has within itself.
const OWN: &str = "its own";

/// Functions that allocate, in C and C++.
const ALLOCATING: [&str; 7] =
    ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign", "_Znwm"];
const THREADS: [&str; 2] = ["pthread_create", "thrd_create"];

/// Libraries of OpenMP, and the beginning of the functions that only such a library has: GCC 15 (`libgomp/libgomp.map`), LLVM 20
/// (`openmp/runtime/src/dllexports`), whose interface Intel's library has too.
const OPENMP: [&str; 3] = ["libgomp", "libomp", "libiomp5"];
const OPENMP_FUNCTIONS: [(&str, &str); 2] = [("GOMP_", "libgomp"), ("__kmpc_", "libomp")];

/// Libraries of linear algebra.
const BLAS: [&str; 10] = [
    "libopenblas",
    "libscipy_openblas",
    "libblas",
    "libcblas",
    "libmkl_",
    "libflexiblas",
    "libblis",
    "libatlas",
    "libarmpl",
    "libnvpl_blas",
];
/// The product of two matrices of doubles, as Fortran and C call it.
const BLAS_FUNCTIONS: [&str; 2] = ["dgemm_", "cblas_dgemm"];

impl Runtime {
    /// Of a program or library; nothing of a relocatable object, or of the kernel. `undefined`: what it asks other files for.
    pub(crate) fn of(image: &Image<'_>, undefined: &[Undefined<'_>]) -> Option<Runtime> {
        if image.kind == Kind::Relocatable || image.build.is_linux_kernel {
            return None;
        }
        let elf = Elf::parse(image.bytes).ok()?;
        let libraries: Vec<&str> =
            needed(image.bytes).map(|needed| needed.libraries.into_iter().map(file_name).collect()).ok()?;
        let named = |stems: &[&str]| -> BTreeSet<String> {
            let is_named = |library: &&&str| stems.iter().any(|stem| library.starts_with(stem));
            libraries.iter().filter(is_named).map(|library| (*library).to_owned()).collect()
        };
        let seen = Seen::of(image, undefined);
        let (mut openmp, mut blas) = (named(&OPENMP), named(&BLAS));
        // `libompitrace` is of MPI.
        openmp.retain(|library| {
            OPENMP.iter().filter_map(|stem| library.strip_prefix(stem)).any(is_end_of_name)
        });
        if openmp.is_empty() {
            openmp = seen.openmp.iter().map(|&library| library.to_owned()).collect();
        }
        if blas.is_empty() {
            blas = seen.blas.iter().map(|&whose| whose.to_owned()).collect();
        }
        let asks_for_static = elf.dynamic_value(DT_FLAGS).unwrap_or(0) & DF_STATIC_TLS != 0;
        let tls = elf.segments.iter().find(|segment| segment.kind == PT_TLS);
        let tls = tls.filter(|_| image.kind == Kind::SharedObject && asks_for_static);
        let has_interpreter = elf.segments.iter().any(|segment| segment.kind == PT_INTERP);
        let is_static = image.kind == Kind::Executable && libraries.is_empty() && !has_interpreter;
        let found = Runtime {
            allocator: allocator(image, &seen, &libraries, is_static).map(str::to_owned),
            starts_threads: seen.starts_threads,
            openmp: openmp.into_iter().collect(),
            blas: blas.into_iter().collect(),
            static_tls: tls.map(|segment| segment.memory_size).filter(|&size| size > 0),
        };
        Some(found).filter(|found| *found != Runtime::default())
    }
}

/// `malloc: musl; starts threads; OpenMP: libgomp.so.1`.
impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |what: &str, libraries: &[String]| {
            (!libraries.is_empty()).then(|| format!("{what}: {}", libraries.join(", ")))
        };
        let tls = self.static_tls.map(|size| match size > STATIC_TLS_RESERVE {
            true => {
                let reserve = "that glibc keeps for libraries loaded later";
                format!("static TLS: {size} bytes, more than the {STATIC_TLS_RESERVE} {reserve}")
            }
            false => format!("static TLS: {size} bytes"),
        });
        let parts = [
            self.allocator.as_ref().map(|name| format!("malloc: {name}")),
            self.starts_threads.then(|| "starts threads".to_owned()),
            listed("OpenMP", &self.openmp),
            listed("BLAS", &self.blas),
            tls,
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

/// Whether what follows the name of a library is a version, a hash or an ending.
fn is_end_of_name(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// `libgomp-24e2ab19.so.1.0.0` of a path.
fn file_name(library: &str) -> &str {
    library.rsplit('/').next().unwrap_or(library)
}

/// What the names of functions say that a file has, or asks for.
#[derive(Default)]
struct Seen {
    allocates: bool,
    /// An allocator that is in the file.
    allocator: Option<&'static str>,
    starts_threads: bool,
    openmp: BTreeSet<&'static str>,
    /// Whose functions of linear algebra it uses, where no name of a library says it.
    blas: Option<&'static str>,
}

impl Seen {
    fn of(image: &Image<'_>, undefined: &[Undefined<'_>]) -> Seen {
        let mut seen = Seen {
            allocates: undefined.iter().any(|undefined| ALLOCATING.contains(&undefined.name)),
            ..Seen::default()
        };
        for symbol in &image.symbols {
            let name: &str = &symbol.name;
            let own = ALLOCATORS.iter().find(|allocator| allocator.functions.contains(&name));
            seen.allocator = seen.allocator.or(own.map(|allocator| allocator.name));
            if symbol.origin != SymbolOrigin::Plt {
                seen.add(name, Some(OWN));
            }
        }
        undefined.iter().for_each(|undefined| seen.add(undefined.name, None));
        seen
    }

    /// `whose`: where the function is, if it is known.
    fn add(&mut self, name: &str, whose: Option<&'static str>) {
        self.starts_threads |= THREADS.contains(&name);
        self.blas = self.blas.or(BLAS_FUNCTIONS.contains(&name).then_some(whose.unwrap_or("unknown")));
        let library = OPENMP_FUNCTIONS.iter().find(|(start, _)| name.starts_with(start));
        self.openmp.extend(library.map(|(_, library)| whose.unwrap_or(library)));
    }
}

/// Whose `malloc` a file uses. `libraries`: the names of those that it asks for.
fn allocator(image: &Image<'_>, seen: &Seen, libraries: &[&str], is_static: bool) -> Option<&'static str> {
    let is_needed = |start: &str| libraries.iter().any(|library| library.starts_with(start));
    let has_text =
        |text: &[u8]| image.constants.iter().any(|(_, bytes)| memchr::memmem::find(bytes, text).is_some());
    let needed = || ALLOCATORS.iter().find(|it| is_needed(it.library)).map(|it| it.name);
    let inside = || ALLOCATORS.iter().find(|it| has_text(it.message)).map(|it| it.name);
    if let Some(name) = seen.allocator.or_else(needed).or_else(inside) {
        return Some(name);
    }
    if is_static {
        return C_LIBRARY_MESSAGES.iter().find(|(_, message)| has_text(message)).map(|(name, _)| *name);
    }
    if !seen.allocates {
        return None;
    }
    let is_android = || pages(image.bytes).is_ok_and(|pages| pages.is_android);
    // Where musl is a cross compiler's, its library has the name that bionic's has.
    let has_plain_name = libraries.contains(&"libc.so");
    match () {
        () if is_needed("libc.so.6") => Some("glibc"),
        () if is_needed("libc.musl-") => Some("musl"),
        () if has_plain_name && is_android() => Some("bionic"),
        () if has_plain_name => Some("musl"),
        () => None,
    }
}

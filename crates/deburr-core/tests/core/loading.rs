//! What loaders read of a file, compared with what binutils read of it, and what is reported of claims.

use super::image::build;
use deburr_core::finding::Severity;
use deburr_core::image::{needed_versions, undefined};
use deburr_core::{Report, Request, StatedClaim, check};
use std::collections::BTreeSet;
use std::process::Command;

/// `getrandom` came with glibc 2.25, and the others are older.
const SOURCE: &str = "#include <stdio.h>\n#include <string.h>\n#include <sys/random.h>\n\
    int f(char *p, const char *s) { strcpy(p, s); puts(p); return getrandom(p, 1, 0); }";
const LIBRARY: [&str; 4] = ["-O1", "-shared", "-fPIC", "-fno-builtin"];

/// A check of a file that is claimed to run from a version of glibc 2 on.
fn held_to(bytes: &[u8], minor: u32) -> Report {
    let level = if cfg!(target_arch = "x86_64") { "x86-64-v1" } else { "armv8.0-a" };
    let (part, text) = ("p", "says (here)");
    let oldest_glibc = Some((2, minor));
    let claim = StatedClaim { part, text, level, raised: None, largest_page: None, oldest_glibc, pythons: 0 };
    let rules: Option<&[&str]> = Some(&["refused-by-loader"]);
    let baseline = Some(deburr_cpu::Target::parse(level).expect("a level").features);
    check(bytes, &Request { baseline, claim: Some(claim), rules, ..Request::default() }).expect("a library")
}

#[test]
fn undefined_symbols_and_their_versions_are_those_that_nm_lists() {
    let library = build("versions", SOURCE, &LIBRARY);
    let versions = needed_versions(&library).expect("a library");
    let name =
        |index: u16| versions.iter().find(|version| version.index == index).map(|version| version.name);
    let found: BTreeSet<String> = undefined(&library)
        .expect("a library")
        .iter()
        .map(|symbol| match name(symbol.version) {
            Some(version) => format!("{}@{version}", symbol.name),
            None => symbol.name.to_owned(),
        })
        .collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/image-tests/versions");
    let nm = Command::new("nm").args(["-D", "--undefined-only", path]).output().expect("binutils");
    let listed = String::from_utf8(nm.stdout).unwrap();
    let expected: BTreeSet<String> =
        listed.lines().filter_map(|line| Some(line.split_whitespace().last()?.to_owned())).collect();
    assert!(expected.contains("getrandom@GLIBC_2.25"), "{expected:?}");
    assert_eq!(found, expected);
    let weak = undefined(&library).unwrap().iter().filter(|symbol| symbol.is_weak).count();
    let listed_weak = listed.lines().filter(|line| line.trim_start().starts_with(['w', 'v'])).count();
    assert_eq!(weak, listed_weak);
}

#[test]
fn a_newer_glibc_than_is_claimed_is_an_error_unless_it_may_be_missing() {
    let library = build("newer", SOURCE, &LIBRARY);
    let [finding] = &held_to(&library, 17).findings[..] else {
        panic!("{:?}", held_to(&library, 17).findings)
    };
    assert_eq!(finding.severity.name(), "error");
    assert!(
        finding
            .message
            .contains("glibc before 2.25 refuses to load it: it needs GLIBC_2.25 of libc.so.6 for getrandom"),
        "{}",
        finding.message
    );
    assert!(held_to(&library, 25).findings.is_empty());
    // A weak reference alone does not help: glibc looks for the version that the file says it needs, unless that says that it may be
    // missing (`VER_FLG_WEAK`), which no linker here writes.
    let source = SOURCE
        .replace("int f(", "ssize_t getrandom(void *, size_t, unsigned) __attribute__((weak));\nint f(");
    let mut weak = build("weak", &source, &LIBRARY);
    assert!(undefined(&weak).unwrap().iter().any(|it| it.is_weak && it.name == "getrandom"));
    assert_eq!(held_to(&weak, 17).findings.len(), 1);
    let hash = elf_hash("GLIBC_2.25").to_le_bytes();
    let flags = memchr::memmem::find(&weak, &hash).expect("the version that is needed") + 4;
    weak[flags] |= 2;
    assert!(held_to(&weak, 17).findings.is_empty(), "{:?}", held_to(&weak, 17).findings);
}

/// The hash of a name (gABI, "Hash Table").
fn elf_hash(name: &str) -> u32 {
    name.bytes().fold(0, |hash: u32, byte| {
        let hash = (hash << 4).wrapping_add(byte.into());
        (hash ^ (hash >> 24 & 0xf0)) & 0x0fff_ffff
    })
}

/// GNU ld has them for x86-64 first.
#[cfg(target_arch = "x86_64")]
#[test]
fn packed_relocations_are_refused_without_the_version_that_says_so() {
    let source = "#include <stdio.h>\nint (*volatile p)(const char *) = puts; void *here = &here; void f(void) { p(\"\"); }";
    let flags = [&LIBRARY[..], &["-Wl,-z,pack-relative-relocs"]].concat();
    let packed = build("packed", source, &flags);
    assert!(held_to(&packed, 36).findings.is_empty(), "{:?}", held_to(&packed, 36).findings);
    let [finding] = &held_to(&packed, 35).findings[..] else { panic!("{:?}", held_to(&packed, 35).findings) };
    assert!(finding.message.contains("GLIBC_ABI_DT_RELR"), "{}", finding.message);
    // Another name for the version, as a linker without it writes none.
    let at = memchr::memmem::find(&packed, b"GLIBC_ABI_DT_RELR").expect("the version");
    let mut without = packed.clone();
    without[at..at + 17].copy_from_slice(b"GLIBC_2.2.5_other");
    let findings = held_to(&without, 36).findings;
    assert!(
        findings.iter().any(|it| it.message.contains("has packed relocations (DT_RELR)")),
        "{findings:?}"
    );
}

#[test]
fn what_a_file_takes_from_its_process_is_said_by_names() {
    let runtime = |name: &str, source: &str, flags: &[&str]| {
        let library = build(name, source, flags);
        check(&library, &Request::default()).expect("a library").runtime
    };
    let plain = "int f(int x) { return x + 1; }";
    assert_eq!(runtime("takes-nothing", plain, &LIBRARY), None);
    // A text that names an allocator is not its message, and threads that only a caller starts are not the library's.
    let source = "#include <stdlib.h>\n#include <pthread.h>\n\
        const char *help = \"--malloc=jemalloc|mimalloc\"; pthread_mutex_t m; void *f(void) { pthread_mutex_lock(&m); return malloc(8); }";
    let found = runtime("takes-memory", source, &LIBRARY).expect("what it takes");
    assert_eq!((found.allocator.as_deref(), found.starts_threads), (Some("glibc"), false));
    assert_eq!((found.openmp.len(), found.blas.len(), found.static_tls), (0, 0, None));
    let source = "#include <stdlib.h>\n#include <pthread.h>\n\
        int mallctl(void) { return 0; } double dgemm_(void); pthread_t t;\n\
        void *g(void *p) { return p; }\n\
        void f(int n) { pthread_create(&t, 0, g, malloc(dgemm_()));\n_Pragma(\"omp parallel for\") for (int i = 0; i < n; i++) g(0); }\n\
        static __thread char buffer[4096]; char *h(void) { return buffer; }";
    let flags = ["-O1", "-shared", "-fPIC", "-fno-builtin", "-fopenmp", "-ftls-model=initial-exec"];
    let found = runtime("takes-all", source, &flags).expect("what it takes");
    assert_eq!(found.allocator.as_deref(), Some("jemalloc"));
    assert_eq!(found.openmp, ["libgomp.so.1"]);
    assert_eq!(found.blas, ["unknown"]);
    assert_eq!((found.starts_threads, found.static_tls), (true, Some(4096)));
    let text = "malloc: jemalloc; starts threads; OpenMP: libgomp.so.1; BLAS: unknown; \
        static TLS: 4096 bytes, more than the 512 that glibc keeps for libraries loaded later";
    assert_eq!(found.to_string(), text);
    // The C library that is linked statically.
    let program = "#include <stdlib.h>\n#include <stdio.h>\nint main(int n, char **a) { puts(malloc(n) ? a[0] : \"\"); return 0; }";
    let found = runtime("takes-static", program, &["-O1", "-static"]).expect("what it takes");
    assert_eq!(found.allocator.as_deref(), Some("glibc"));
}

/// Nothing says then where the procedure linkage table is, which jumps through each of its slots.
#[test]
fn entries_of_the_linkage_table_are_no_calls_in_a_file_without_section_headers() {
    let calls = |name: &str, flag: &str| -> Vec<String> {
        let function = |n: usize| format!("int f{n}(int x) {{ return f{}(x) + 1; }}\n", n + 1);
        let source: String = (0..12).map(|n| format!("int f{n}(int);\n")).collect();
        let source = source + "int f12(int x) { return x; }\n" + &(0..12).map(function).collect::<String>();
        let whole = build(name, &source, &["-shared", "-fPIC", "-O1", flag]);
        let mut bare = whole.clone();
        bare[40..48].fill(0);
        bare[58..64].fill(0);
        let request = Request { rules: Some(&["interposable-call"]), ..Request::default() };
        let found = [whole, bare].map(|bytes| {
            let report = check(&bytes, &request).expect("a library");
            report.findings.iter().map(|finding| finding.message.to_string()).collect::<Vec<_>>().join("; ")
        });
        found.map(|text| text.split(':').next().unwrap_or_default().to_owned()).to_vec()
    };
    let through =
        |table: &str| format!("12 calls of 12 functions that the file itself exports go through its {table}");
    assert_eq!(calls("by-table.so", "-fplt"), [through("procedure linkage table"), String::new()]);
    assert_eq!(
        calls("by-slot.so", "-fno-plt"),
        [through("global offset table"), through("global offset table")]
    );
}

#[test]
fn debug_information_is_a_warning_in_what_users_get() {
    let found = |name: &str, is_packed: bool| -> Vec<Severity> {
        let path = format!("{}/fixtures/debug_information_left_in/{name}.o", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(path).expect("a fixture");
        let report = check(&bytes, &Request { is_packed, ..Request::default() }).expect("a library");
        let own = report.findings.iter().filter(|finding| finding.rule == "debug-information-left-in");
        own.map(|finding| finding.severity).collect()
    };
    assert_eq!(found("hit-warning", true), [Severity::Warning]);
    assert_eq!(found("hit-warning", false), [Severity::Note]);
    assert_eq!(found("hit-note", true), [Severity::Note]);
    // What is yet to be linked is linked elsewhere, and a little is nothing.
    for none in ["miss-object", "miss-small"] {
        assert_eq!(found(none, true), []);
    }
}

#[test]
fn a_library_is_held_to_its_place_in_an_application_if_it_is_for_android() {
    let found = |name: &str, stored_at: Option<u64>| -> Vec<String> {
        let path = format!("{}/fixtures/page_size/{name}.o", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(path).expect("a fixture");
        let request = Request { rules: Some(&["page-size"]), stored_at, ..Request::default() };
        let report = check(&bytes, &request).expect("a library");
        report.findings.iter().map(|finding| finding.message.to_string()).collect()
    };
    let library = "miss-android";
    assert_eq!(found(library, None), [""; 0]);
    assert_eq!(found(library, Some(0x1_c000)), [""; 0]);
    let expected = "cannot be mapped from its application where pages have 16 KiB: it is stored at 0x1d000, which is not a multiple of 16 KiB";
    assert_eq!(found(library, Some(0x1_d000)), [expected]);
    let expected = "cannot be mapped from its application where pages have 4 KiB or larger: it is stored at 0xb0, which is not a multiple of 4 KiB";
    assert_eq!(found(library, Some(0xb0)), [expected]);
    // Other systems do not map it from there.
    assert_eq!(found("miss-default", Some(0xb0)), [""; 0]);
}

//! The image stage on small real files: two committed AArch64 fixtures, and programs built by the host's `cc`.

use deburr_core::address::Extent;
use deburr_core::image::lines::SourceLines;
use deburr_core::image::{
    Error, Image, Linkage, Symbol, SymbolKind, SymbolOrigin, TransferTarget, demangle, wanted_debug_file,
};
use std::path::PathBuf;
use std::process::Command;

const SHARED: &[u8] = include_bytes!("../image/calls-aarch64.so");
const OBJECT: &[u8] = include_bytes!("../image/calls-aarch64.o");

/// Builds C code with the host's compiler, which these tests need.
pub(crate) fn build(name: &str, source: &str, flags: &[&str]) -> Vec<u8> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/image-tests");
    std::fs::create_dir_all(&directory).expect("a folder for test programs");
    let (input, output) = (directory.join(format!("{name}.c")), directory.join(name));
    std::fs::write(&input, source).expect("the test program's source");
    let status = Command::new("cc").args(flags).arg("-o").arg(&output).arg(&input).status();
    assert!(status.expect("cc, the host's C compiler, is needed").success());
    std::fs::read(&output).expect("what cc wrote")
}

fn parse(bytes: &[u8]) -> Image<'_> {
    Image::parse(bytes, None).expect("a well-formed file")
}

fn symbol<'i, 'a>(image: &'i Image<'a>, name: &str) -> &'i Symbol<'a> {
    image.symbols.iter().find(|symbol| symbol.name == name).expect("the symbol")
}

#[test]
fn aarch64_plt_entry_is_named_after_its_slot() {
    let image = parse(SHARED);
    let entry = symbol(&image, "elsewhere@plt");
    assert_eq!(image.code_at(entry.svma).map(|code| code.name.as_str()), Some(".plt"));
    assert_eq!((entry.size, entry.svma.0 % 16), (16, 0));
}

#[test]
fn constructor_of_a_shared_object_is_an_entry() {
    let image = parse(SHARED);
    assert!(image.entries.contains(&symbol(&image, "start").svma));
    assert!(image.pointers.contains(&symbol(&image, "here").svma));
}

#[test]
fn mapping_symbols_and_frames_are_read() {
    let image = parse(SHARED);
    assert!(image.symbols.iter().any(|symbol| symbol.kind == SymbolKind::MapCode));
    let calls = symbol(&image, "calls");
    let frame = image.frames.iter().find(|frame| frame.extent.start == calls.svma).expect("a frame");
    assert_eq!((frame.extent.len(), frame.is_part), (calls.size, false));
}

#[test]
fn calls_of_an_object_go_here_and_elsewhere() {
    let image = parse(OBJECT);
    let to = |wanted: &TransferTarget<'_>| image.transfers.iter().any(|transfer| transfer.to == *wanted);
    assert!(to(&TransferTarget::Here(symbol(&image, "here").svma)));
    assert!(to(&TransferTarget::Elsewhere("elsewhere")));
    let calls = symbol(&image, "calls");
    assert!(image.frames.iter().any(|frame| frame.extent == Extent::sized(calls.svma, calls.size)));
}

/// One that is left out is no code, whatever its relocations say.
#[test]
fn addresses_are_made_in_the_code_of_an_object_alone() {
    let source =
        "int f(void) { return 1; } int (*g(void))(void) { return f; } int (*h(void))(void) { return f; }";
    let object =
        build("addresses.o", source, &["-O1", "-c", "-fPIC", "-ffunction-sections", "-fvisibility=hidden"]);
    assert_eq!(parse(&object).addresses.len(), 2);
    let headers = u64::from_le_bytes(object[40..48].try_into().unwrap()) as usize;
    let is_code = |header: &usize| object[header + 8] & 4 != 0 && object[header + 32] > 0;
    let mut left_out = 0;
    for header in (headers..object.len() - 63).step_by(64).filter(is_code) {
        let mut bytes = object.clone();
        bytes[header + 4] = 7; // SHT_NOTE
        let image = parse(&bytes);
        assert!(
            image.addresses.iter().all(|&(from, to)| image.code_at(from).and(image.code_at(to)).is_some())
        );
        left_out += 2 - image.addresses.len();
    }
    assert_eq!(left_out, 4, "without f both, without g or h one");
}

#[test]
fn without_section_headers_the_same_dynamic_functions_are_found() {
    let mut bytes = SHARED.to_vec();
    bytes[40..48].fill(0);
    bytes[58..64].fill(0);
    let (whole, bare) = (parse(SHARED), parse(&bytes));
    let calls = symbol(&bare, "calls");
    assert_eq!(calls.svma, symbol(&whole, "calls").svma);
    let text = whole.code.iter().find(|code| code.name == ".text").expect(".text").extent;
    for frame in whole.frames.iter().filter(|frame| text.contains(frame.extent.start)) {
        assert!(bare.frames.contains(frame), "{frame:?}");
    }
}

#[test]
fn cold_part_is_told_from_its_function() {
    let source = "extern void g(int) __attribute__((noipa,cold)); extern int h(int) __attribute__((noipa));
        __attribute__((noinline)) int f(int x, int y) { int a = h(x); int b = h(y); if (__builtin_expect(a == b, 0)) { g(a); g(b); g(h(a)); }
        return a * b; }
        __attribute__((noipa,cold)) void g(int x) { __asm__ volatile(\"\" :: \"r\"(x)); }
        __attribute__((noipa)) int h(int x) { __asm__ volatile(\"\" : \"+r\"(x)); return x; }
        int main(int c, char **v) { return f(c, c + 1); }";
    let bytes = build("cold", source, &["-O2", "-freorder-blocks-and-partition"]);
    let image = parse(&bytes);
    let parts: Vec<&Symbol<'_>> =
        image.symbols.iter().filter(|symbol| symbol.name.ends_with(".cold")).collect();
    assert_eq!(parts.len(), 1);
    for part in &parts {
        assert!(
            image.frames.iter().any(|frame| frame.extent.start == part.svma && frame.is_part),
            "{part:?}"
        );
    }
    let main = symbol(&image, "main");
    assert!(image.frames.iter().any(|frame| frame.extent.start == main.svma && !frame.is_part));
}

#[test]
fn lines_and_producers_are_read_plain_and_compressed() {
    for (name, flags) in [("lines", vec!["-g", "-O0"]), ("lines-z", vec!["-g", "-O0", "-gz=zlib"])] {
        let bytes = build(name, "int main(void)\n{\n  return 7;\n}\n", &flags);
        let image = parse(&bytes);
        assert_eq!(image.build.producers.len(), 1, "{:?}", image.build);
        let lines = SourceLines::of(&parse(&bytes)).expect("line tables");
        let found = lines.find(symbol(&image, "main").svma).expect("a line");
        assert!(found.file.ends_with(&format!("{name}.c")) && found.line == 2, "{found:?}");
    }
}

#[test]
fn other_files_are_named_as_what_they_are() {
    let refused = |bytes: &[u8]| match Image::parse(bytes, None) {
        Err(Error::Unsupported(what)) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(b"MZ"), "PE file (not an ELF file)");
    assert_eq!(refused(b""), "empty file");
    let with = |at: usize, value: u8| {
        let mut bytes = SHARED.to_vec();
        bytes[at] = value;
        bytes
    };
    assert_eq!(refused(&with(18, 243)), "64-bit RISC-V ELF");
    assert_eq!(refused(&with(16, 4)), "core dump");
    let mut arm = with(4, 1);
    arm[18] = 40;
    assert_eq!(refused(&arm), "32-bit Arm ELF");
}

/// Where the header is changed, and the bytes put there.
type Change<'b> = (usize, &'b [u8]);

/// The faults of the shared object with some bytes of its header replaced, or why it cannot be read.
fn faults_with(changes: &[Change<'_>]) -> Vec<String> {
    let mut bytes = SHARED.to_vec();
    for &(at, change) in changes {
        bytes[at..at + change.len()].copy_from_slice(change);
    }
    match Image::parse(&bytes, None) {
        Ok(image) => image.faults,
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn lying_headers_are_told_with_their_place() {
    let shoff = u64::from_le_bytes(SHARED[40..48].try_into().unwrap());
    let past_end = SHARED.len() as u64 + 100;
    let lies: [(&[Change<'_>], String); 8] = [
        (&[(32, &[0xff; 8])], "file offset 0xffffffffffffffff: expected 7 program headers".to_owned()),
        (&[(40, &past_end.to_le_bytes())], format!("file offset {past_end:#x}: expected")),
        (&[(40, &[0xff; 8])], "file offset 0xffffffffffffffff: expected".to_owned()),
        (&[(58, &[40, 0])], "file offset 0x3a: expected section headers of 64 bytes, found 40".to_owned()),
        (&[(54, &[32, 0])], "file offset 0x36: expected program headers of 56 bytes, found 32".to_owned()),
        (&[(60, &[0xff, 0xfe])], format!("file offset {shoff:#x}: expected 65279 section headers")),
        (&[(62, &[0xe7, 3])], "expected the names of sections in section 999".to_owned()),
        (&[(32, &[0xff; 8]), (40, &[0; 8])], "malformed at file offset 0x20: expected headers".to_owned()),
    ];
    assert!(faults_with(&[]).is_empty());
    for (changes, expected) in lies {
        let faults = faults_with(changes);
        assert!(faults.iter().any(|fault| fault.contains(&expected)), "{expected}: {faults:?}");
    }
}

/// A few kilobytes of headers would else be gigabytes of code.
#[test]
fn bytes_that_several_sections_hold_are_read_once() {
    let source = "int a(void) { return 1; } int b(int x) { return x; } int c(int x) { return -x; }";
    let whole = build("alias.o", source, &["-c", "-O1", "-ffunction-sections"]);
    assert_eq!(parse(&whole).code.len(), 3);
    let (mut same, mut within) = (whole.clone(), whole.clone());
    let u64_at = |at: usize| u64::from_le_bytes(*whole[at..].first_chunk().unwrap());
    let header = |index: usize| u64_at(40) as usize + 64 * index;
    let count = usize::from(u16::from_le_bytes([whole[60], whole[61]]));
    let is_code = |at: &usize| u64_at(at + 8) & 4 != 0 && u64_at(at + 32) > 0;
    let headers: Vec<usize> = (0..count).map(header).filter(is_code).collect();
    let first = u64_at(headers[0] + 24);
    for at in &headers[1..] {
        same[at + 24..at + 32].copy_from_slice(&first.to_le_bytes());
        within[at + 24..at + 32].copy_from_slice(&(first + 1).to_le_bytes());
    }
    for (bytes, offset) in [(same, first), (within, first + 1)] {
        let image = parse(&bytes);
        let names: Vec<&str> = image.code.iter().map(|code| code.name.as_str()).collect();
        assert_eq!(names, [".text.a"]);
        let expected = format!(
            "section .text.b at file offset {offset:#x} holds bytes of section .text.a, and so does one other: left out"
        );
        assert_eq!(image.faults, [expected]);
    }
}

#[test]
fn segment_of_zeros_may_lie_past_the_end() {
    let source = "static long zero; void _start(void) { for (;;) zero++; }";
    let flags = ["-static", "-nostdlib", "-no-pie", "-fno-pie", "-Wl,-z,max-page-size=0x10000,-z,norelro"];
    let mut whole = build("zeros", source, &flags);
    let header = |index: usize| 64 + 56 * index;
    let u32_at = |bytes: &[u8], at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let u64_at = |bytes: &[u8], at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let is_zeros = |at: &usize| u32_at(&whole, *at) == 1 && u64_at(&whole, at + 32) == 0;
    let at = (0..usize::from(whole[56])).map(header).find(is_zeros).expect("a segment without bytes");
    let beyond = whole.len() as u64 + 0x1_0000;
    whole[at + 8..at + 16].copy_from_slice(&beyond.to_le_bytes());
    assert!(parse(&whole).faults.is_empty(), "{:?}", parse(&whole).faults);
    // The same with one byte is cut.
    whole[at + 32] = 1;
    assert!(
        parse(&whole).faults.iter().any(|fault| fault.contains("of 1 bytes")),
        "{:?}",
        parse(&whole).faults
    );
}

#[test]
fn executable_that_was_cut_short_says_so() {
    let whole = build("cut", "#include <stdio.h>\nint main(void) { return puts(\"\"); }", &["-O2"]);
    assert!(parse(&whole).faults.is_empty(), "{:?}", parse(&whole).faults);
    for length in [whole.len() / 2, whole.len() / 4, whole.len() - 1] {
        let cut = &whole[..length];
        let told = match Image::parse(cut, None) {
            Ok(image) => image.faults.join("; "),
            Err(error) => error.to_string(),
        };
        assert!(told.contains("file offset"), "{length}: {told:?}");
    }
}

/// Runs a tool of the host, which the test needs.
fn run(tool: &str, arguments: &[&std::ffi::OsStr]) {
    let status = Command::new(tool).args(arguments).status();
    assert!(status.unwrap_or_else(|error| panic!("{tool} is needed: {error}")).success(), "{tool}");
}

const WITH_LOCAL: &str = "__attribute__((noipa)) static int hidden(int x) { return x * 3; }
    int main(int c, char **v) { (void)v; return hidden(c); }";

#[test]
fn mini_debug_information_names_local_functions() {
    let _ = build("mini", WITH_LOCAL, &["-O2"]);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/image-tests");
    let path = |name: &str| folder.join(name).into_os_string();
    run("strip", &["--strip-debug".as_ref(), "-o".as_ref(), &path("mini.debug"), &path("mini")]);
    run("xz", &["--force".as_ref(), "--keep".as_ref(), &path("mini.debug")]);
    let mut section = std::ffi::OsString::from(".gnu_debugdata=");
    section.push(path("mini.debug.xz"));
    run("strip", &["-o".as_ref(), &path("mini.bare"), &path("mini")]);
    run("objcopy", &["--add-section".as_ref(), &section, &path("mini.bare"), &path("mini.packed")]);
    let bytes = std::fs::read(path("mini.packed")).expect("what objcopy wrote");
    let bare = std::fs::read(path("mini.bare")).expect("what strip wrote");
    assert!(!parse(&bare).symbols.iter().any(|symbol| symbol.name == "hidden"));
    let image = parse(&bytes);
    assert_eq!(symbol(&image, "hidden").origin, SymbolOrigin::MiniDebug);
    assert!(image.faults.is_empty(), "{:?}", image.faults);
}

#[test]
fn separate_debug_file_names_local_functions_and_another_programs_does_not() {
    let flags = ["-O2", "-g", "-Wl,--build-id"];
    let _ = build("apart", WITH_LOCAL, &flags);
    let other = build("apart-other", "int main(void) { return 1; }", &flags);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/image-tests");
    let path = |name: &str| folder.join(name).into_os_string();
    run("objcopy", &["--only-keep-debug".as_ref(), &path("apart"), &path("apart.debug")]);
    run("strip", &["-o".as_ref(), &path("apart.bare"), &path("apart")]);
    let bare = std::fs::read(path("apart.bare")).expect("what strip wrote");
    let debug = std::fs::read(path("apart.debug")).expect("what objcopy wrote");
    let wanted = wanted_debug_file(&bare).expect("a build-id");
    assert_eq!(wanted.build_id, parse(&bare).build_id);
    let image = Image::parse(&bare, Some(&debug)).expect("a well-formed file");
    assert_eq!(symbol(&image, "hidden").origin, SymbolOrigin::DebugFile);
    assert!(image.faults.is_empty() && !image.build.producers.is_empty(), "{:?}", image.faults);
    let image = Image::parse(&bare, Some(&other)).expect("a well-formed file");
    assert!(!image.symbols.iter().any(|symbol| symbol.name == "hidden"));
    assert_eq!(image.faults, ["debug file: has another build-id: left out"]);
}

#[test]
fn go_program_is_known_as_one_and_named_without_section_headers() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/image-tests/go");
    std::fs::create_dir_all(&folder).expect("a folder for test programs");
    std::fs::write(folder.join("main.go"), "package main\nfunc main() { println(1) }\n").expect("a source");
    for arch in ["arm64", "amd64"] {
        let status = Command::new("go")
            .args(["build", "-o", arch, "main.go"])
            .envs([("GOARCH", arch), ("GOOS", "linux"), ("GO111MODULE", "off"), ("CGO_ENABLED", "0")])
            .current_dir(&folder)
            .status();
        assert!(status.expect("go is needed").success());
        let whole = std::fs::read(folder.join(arch)).expect("what go wrote");
        let mut bare = whole.clone();
        bare[40..48].fill(0);
        bare[58..64].fill(0);
        let (whole, bare) = (parse(&whole), parse(&bare));
        assert!(whole.build.is_go && bare.build.is_go);
        assert!(whole.build.go_version.is_some());
        assert_eq!(bare.build.go_version, whole.build.go_version);
        let main = symbol(&bare, "main.main");
        assert_eq!((main.svma, main.origin), (symbol(&whole, "main.main").svma, SymbolOrigin::Pclntab));
    }
}

#[test]
fn names_are_demangled_and_plain_ones_kept() {
    assert_eq!(demangle("_ZN3foo3barEi"), "foo::bar(int)");
    assert_eq!(demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
    assert_eq!(demangle("_ZN3foo3barEi@plt"), "foo::bar(int)@plt");
    assert_eq!(demangle("main.(*T).Run"), "main.(*T).Run");
}

#[test]
fn mutated_files_never_panic() {
    let host = build("small", "#include <stdio.h>\nint main(void) { return puts(\"\"); }", &["-O2", "-g"]);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).unwrap_or(0)
    };
    for seed in 0..2000 {
        let mut bytes = [SHARED, OBJECT, &host][seed % 3].to_vec();
        for _ in 0..1 + next(8) {
            // Headers matter most: half of the changes go to the first 64 bytes or the section headers.
            let table = bytes.get(40..48).map_or(0, |field| {
                usize::try_from(u64::from_le_bytes(field.try_into().unwrap())).unwrap_or(0)
            });
            let at = match next(4) {
                0 => next(64),
                1 => table.saturating_add(next(2048)).min(bytes.len() - 1),
                _ => next(bytes.len()),
            };
            bytes[at] = [0, 0xff, 0x80, 1, u8::try_from(next(256)).unwrap_or(0)][next(5)];
        }
        if next(8) == 0 {
            bytes.truncate(next(bytes.len()));
        }
        let _ = wanted_debug_file(&bytes);
        if let Ok(image) = Image::parse(&bytes, Some(&bytes)) {
            for pair in image.code.windows(2) {
                assert!(pair[0].extent.end <= pair[1].extent.start);
            }
            let linkage = Linkage::parse(&image);
            for pair in linkage.data.windows(2) {
                assert!(pair[0].extent.end <= pair[1].extent.start);
            }
            if let Some(lines) = SourceLines::of(&image) {
                for symbol in image.symbols.iter().take(20) {
                    let _ = lines.find(symbol.svma);
                    let _ = demangle(&symbol.name);
                }
            }
        }
    }
}

/// `SHARED` with another entry point.
fn shared_with_entry(entry: u64) -> Vec<u8> {
    let mut bytes = SHARED.to_vec();
    bytes[24..32].copy_from_slice(&entry.to_le_bytes());
    bytes
}

#[test]
fn shared_object_has_no_entry_point_where_its_linker_wrote_the_start_of_its_code() {
    let image = parse(SHARED);
    let text = image.code.iter().find(|code| code.name == ".text").expect("its code").extent.start;
    let inner = symbol(&image, "calls").svma;
    for (entry, expected) in [(text, None), (inner.offset(4), None), (inner, Some(inner))] {
        // Where a function begins that is not the first, someone said so to the linker.
        let expected = expected.filter(|_| inner != text);
        assert_eq!(parse(&shared_with_entry(entry.0)).entry_point, expected, "{entry:?}");
    }
    let source = "__attribute__((used)) static int first(int a) { return a * 3; } int second(int a) { return first(a); }";
    let flags = ["-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,--build-id=none"];
    let bytes = build("entry-default", source, &flags);
    let stated = u64::from_le_bytes(bytes[24..32].try_into().expect("eight bytes"));
    let image = parse(&bytes);
    assert!(stated == 0 || image.code_at(deburr_core::address::Svma(stated)).is_some());
    assert_eq!(image.entry_point, None);
}

#[test]
fn program_that_looks_like_a_shared_object_keeps_its_entry_point() {
    const START: &str = match cfg!(target_arch = "x86_64") {
        true => "xor %ebp, %ebp; mov %rsp, %rdi; call first",
        false => "mov x29, #0; mov x0, sp; bl first",
    };
    let program = |start: &str, name: &str| {
        format!(
            "__asm__(\".text\\n.globl {name}\\n{name}: {start}\\n\");\n\
             __attribute__((visibility(\"hidden\"))) int first(long *a) {{ return a[0]; }}"
        )
    };
    let entry_of = |test: &str, source: &str, more: &[&str]| {
        let flags = [&["-O1", "-fPIC", "-nostdlib", "-static-pie", "-Wl,--build-id=none"][..], more].concat();
        let bytes = build(test, source, &flags);
        let stated = u64::from_le_bytes(bytes[24..32].try_into().expect("eight bytes"));
        (deburr_core::address::Svma(stated), bytes)
    };
    // A static PIE; one whose linker did not mark it; and a loader, which has a name of its own for it.
    let (stated, bytes) = entry_of("entry-static-pie", &program(START, "_start"), &[]);
    assert_eq!(parse(&bytes).entry_point, Some(stated));
    let shared = ["-shared", "-Wl,-e,_start"];
    let (stated, bytes) = entry_of("entry-unmarked", &program(START, "_start"), &shared);
    assert_eq!(parse(&bytes).entry_point, Some(stated));
    let (stated, bytes) =
        entry_of("entry-loader", &program(START, "_dlstart"), &["-shared", "-Wl,-e,_dlstart", "-s"]);
    assert_eq!(parse(&bytes).entry_point, Some(stated));
    // Only its name shows that a process starts there.
    let (stated, bytes) = entry_of("entry-named", &program("nop; nop; nop; nop", "_start"), &shared);
    assert_eq!(parse(&bytes).entry_point, Some(stated));
}

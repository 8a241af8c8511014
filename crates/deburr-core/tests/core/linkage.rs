//! Linkage of small real files: the committed AArch64 fixtures, and programs built by the host's `cc`, where the linker's
//! own symbols say what must be found.

use deburr_core::address::{Extent, Svma};
use deburr_core::image::linkage::{Reference, ReferenceTarget, Resolved};
use deburr_core::image::{Image, Linkage};
use std::path::PathBuf;
use std::process::Command;

const SHARED: &[u8] = include_bytes!("../image/calls-aarch64.so");
const OBJECT: &[u8] = include_bytes!("../image/calls-aarch64.o");

/// Every kind of link: tables of functions, objects here and elsewhere, an ifunc, a constructor.
const SOURCE: &str = "extern int elsewhere(int); extern int far_word; extern char **environ;
    int word = 3; int zeros[4]; int *pointer = &zeros[2]; int *far_pointer = &far_word;
    __attribute__((noipa)) int here(int x) { return x * 3; }
    __attribute__((noipa, visibility(\"hidden\"))) int inner(int x) { return x * 5; }
    int (*table[])(int) = {here, elsewhere, inner};
    int (*const fixed[])(int) = {inner, here, inner};
    static int (*resolve(void))(int) { return here; }
    int chosen(int) __attribute__((ifunc(\"resolve\")));
    __attribute__((constructor)) static void start(void) { word++; }
    int calls(int x) { zeros[1] = 7; far_word = 5; return table[x](x) + fixed[x](x) + chosen(x) + elsewhere(x) + word; }
    int *address(void) { return &far_word; }";
const MAIN: &str = "int far_word; int elsewhere(int x) { return x - 1; } int main(int c, char **v) { (void)v;
    return environ == 0 ? 1 : calls(c) + *pointer + *far_pointer; }";

/// Builds C code with the host's compiler, which these tests need.
fn build(name: &str, source: &str, flags: &[&str]) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/linkage-tests");
    std::fs::create_dir_all(&folder).expect("a folder for test programs");
    let (input, output) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&input, source).expect("the test program's source");
    let status = Command::new("cc").arg("-O2").args(flags).arg("-o").arg(&output).arg(&input).status();
    assert!(status.expect("cc, the host's C compiler, is needed").success());
    std::fs::read(&output).expect("what cc wrote")
}

fn program(name: &str, flags: &[&str]) -> Vec<u8> {
    build(name, &format!("{SOURCE}\n{MAIN}"), flags)
}

fn without_section_headers(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[40..48].fill(0);
    bytes[58..64].fill(0);
    bytes
}

fn parse(bytes: &[u8]) -> (Image<'_>, Linkage<'_>) {
    let image = Image::parse(bytes, None).expect("a well-formed file");
    let linkage = Linkage::parse(&image);
    (image, linkage)
}

fn function(image: &Image<'_>, name: &str) -> Svma {
    image.symbols.iter().find(|symbol| symbol.name == name).unwrap_or_else(|| panic!("{name}")).svma
}

fn object(linkage: &Linkage<'_>, name: &str) -> Extent {
    linkage.objects.iter().find(|object| object.name == name).unwrap_or_else(|| panic!("{name}")).extent
}

fn slot(table: Extent, index: i64) -> Svma {
    table.start.offset(index * 8)
}

/// What holds of every file that defines all that [`SOURCE`] does.
fn assert_tables(image: &Image<'_>, linkage: &Linkage<'_>) {
    let (table, fixed) = (object(linkage, "table"), object(linkage, "fixed"));
    assert_eq!(linkage.cell(slot(table, 0)), Some(function(image, "here")));
    assert_eq!(linkage.cell(slot(table, 2)), Some(function(image, "inner")));
    assert_eq!(linkage.cell(slot(fixed, 1)), Some(function(image, "here")));
    let pointer = object(linkage, "pointer").start;
    assert_eq!(linkage.cell(pointer), Some(object(linkage, "zeros").start.offset(8)));
    let zeros = linkage.data_at(object(linkage, "zeros").start).expect("the zero-filled data");
    assert!(zeros.is_writable && (zeros.bytes.len() as u64) < zeros.extent.len());
    assert!(linkage.data_at(table.start).is_some_and(|data| data.is_writable));
    assert!(linkage.data_at(fixed.start).is_some_and(|data| !data.is_writable));
    assert_eq!(linkage.object_at(slot(table, 1)).map(|object| object.name), Some("table"));
    let start = function(image, "start");
    let cell = linkage.cells.iter().find(|cell| cell.to == start).expect("the init array's cell");
    assert!(linkage.data_at(cell.at).is_some_and(|data| !data.is_writable));
    assert!(linkage.resolvers.contains(&function(image, "chosen")));
}

#[test]
fn shared_object_exports_what_is_not_hidden_and_imports_what_is_elsewhere() {
    let bytes = build("shared.so", SOURCE, &["-shared", "-fPIC"]);
    let (image, linkage) = parse(&bytes);
    assert_tables(&image, &linkage);
    for (name, is_exported) in [("here", true), ("calls", true), ("inner", false), ("chosen", false)] {
        assert_eq!(linkage.exports.contains(&function(&image, name)), is_exported, "{name}");
    }
    let table = object(&linkage, "table");
    assert_eq!(linkage.import(slot(table, 1)).map(|import| import.name), Some("elsewhere"));
    let far_pointer = object(&linkage, "far_pointer").start;
    assert_eq!(linkage.import(far_pointer).map(|import| import.name), Some("far_word"));
    assert!(linkage.imports.iter().all(|import| !import.is_copy));
    let resolver = function(&image, "chosen");
    assert!(linkage.resolved.iter().any(|resolved| resolved.resolver == resolver), "{:?}", linkage.resolved);
}

#[test]
fn programs_loaded_anywhere_and_where_they_say_hold_the_same_tables() {
    for (name, flags) in [
        ("pie", ["-pie", "-fPIE"]),
        ("static-pie", ["-static-pie", "-fPIE"]),
        ("relr", ["-pie", "-Wl,-z,pack-relative-relocs"]),
        ("fixed", ["-no-pie", "-fno-pic"]),
        ("static", ["-static", "-fno-pic"]),
    ] {
        let bytes = program(name, &flags);
        let (image, linkage) = parse(&bytes);
        assert_tables(&image, &linkage);
        assert_eq!(linkage.cell(slot(object(&linkage, "table"), 1)), Some(function(&image, "elsewhere")));
        let resolver = function(&image, "chosen");
        assert!(linkage.resolved.iter().any(|resolved| resolved.resolver == resolver), "{name}");
    }
}

#[test]
fn copied_object_lies_where_the_loader_copies_it_to() {
    let bytes = program("copied", &["-no-pie", "-fno-pic"]);
    let (_, linkage) = parse(&bytes);
    let environ = linkage.imports.iter().find(|import| import.is_copy).expect("a copied object");
    assert!(environ.name.ends_with("environ"), "{environ:?}");
    assert_eq!(linkage.import(environ.at), Some(environ));
    assert!(linkage.data_at(environ.at).is_some_and(|data| data.is_writable));
}

#[test]
fn slots_are_read_only_where_the_loader_binds_all_at_once() {
    for (binding, is_writable) in [("-Wl,-z,now", false), ("-Wl,-z,lazy", true)] {
        let name = binding.trim_start_matches("-Wl,-z,");
        let bytes = build(name, SOURCE, &["-shared", "-fPIC", "-fplt", "-Wl,-z,relro", binding]);
        let (_, linkage) = parse(&bytes);
        // `table` holds the other one.
        let slots: Vec<_> = linkage.imports.iter().filter(|import| import.name == "elsewhere").collect();
        assert_eq!(slots.len(), 2, "{name}");
        let table = object(&linkage, "table");
        let slot = slots.iter().find(|import| !table.contains(import.at)).expect("the slot of the PLT");
        assert!(linkage.data_at(slot.at).is_some_and(|data| data.is_writable == is_writable), "{name}");
    }
}

#[test]
fn without_section_headers_the_same_links_are_found() {
    let shared = build("bare.so", SOURCE, &["-shared", "-fPIC"]);
    for whole in [&shared[..], SHARED, &program("bare-static-pie", &["-static-pie", "-fPIE"])] {
        let bare = without_section_headers(whole);
        let ((image, whole), (_, bare)) = (parse(whole), parse(&bare));
        assert_eq!(whole.cells, bare.cells);
        assert_eq!(whole.resolved, bare.resolved);
        assert_eq!(whole.imports, bare.imports);
        assert_eq!(whole.exports, bare.exports);
        for data in &whole.data {
            // GNU ld leaves the first words of the PLT's slots, which only the loader uses, to the part made read-only.
            let same = bare.data_at(data.extent.end.offset(-1)).expect("the same data");
            assert_eq!(same.is_writable, data.is_writable, "{:?}", data.extent);
        }
        let code = image.code.iter().filter(|code| code.name == ".text");
        assert!(code.into_iter().all(|code| bare.data_at(code.extent.start).is_none()));
    }
}

#[test]
fn resolvers_of_a_static_program_are_found_behind_its_notes() {
    let whole = program("bare-static", &["-static", "-fno-pic"]);
    let bare = without_section_headers(&whole);
    let ((_, whole), (_, bare)) = (parse(&whole), parse(&bare));
    assert!(!whole.resolved.is_empty());
    assert_eq!(whole.resolved, bare.resolved);
}

#[test]
fn aarch64_table_holds_functions_here_and_elsewhere() {
    let (image, linkage) = parse(SHARED);
    let table = object(&linkage, "table");
    assert_eq!(linkage.cell(slot(table, 0)), Some(function(&image, "here")));
    assert_eq!(linkage.import(slot(table, 1)).map(|import| import.name), Some("elsewhere"));
    assert!(linkage.data_at(table.start).is_some_and(|data| !data.is_writable));
    assert_eq!(linkage.exports, [function(&image, "calls")]);
}

#[test]
fn aarch64_object_has_the_same_table_in_its_own_layout() {
    let (image, linkage) = parse(OBJECT);
    let table = object(&linkage, "table");
    assert_eq!(linkage.cell(slot(table, 0)), Some(function(&image, "here")));
    assert_eq!(linkage.import(slot(table, 1)).map(|import| import.name), Some("elsewhere"));
    assert!(image.code.iter().all(|code| code.extent.end <= table.start));
}

#[test]
fn instructions_of_an_object_refer_to_data_and_to_other_files() {
    for (name, flags, is_slot) in
        [("near.o", ["-c", "-fno-pic"], false), ("position-independent.o", ["-c", "-fPIC"], true)]
    {
        let bytes = build(name, SOURCE, &flags);
        let (image, linkage) = parse(&bytes);
        let table = object(&linkage, "table");
        assert_eq!(linkage.cell(slot(table, 0)), Some(function(&image, "here")));
        let pointed = linkage.cell(object(&linkage, "pointer").start);
        assert_eq!(pointed, Some(object(&linkage, "zeros").start.offset(8)));
        let resolver = function(&image, "chosen");
        assert_eq!(linkage.resolvers, [resolver]);
        for exported in ["here", "inner", "calls"] {
            assert!(linkage.exports.contains(&function(&image, exported)), "{name}: {exported}");
        }
        let address = image.symbols.iter().find(|symbol| symbol.name == "address").expect("a function");
        let found = linkage.references_in(Extent::sized(address.svma, address.size));
        let [Reference { to: ReferenceTarget::Elsewhere("far_word"), offset: 0, .. }] = found else {
            panic!("{name}: {found:?}");
        };
        assert_eq!(found[0].is_slot, is_slot);
        let is_direct = |reference: &&Reference<'_>| reference.to == ReferenceTarget::Here(table.start);
        assert!(linkage.references.iter().any(|reference| is_direct(&reference)), "{name}");
        // A call is the image's, not a reference.
        let calls = image.transfers.iter().filter(|transfer| transfer.is_call);
        for call in calls {
            assert!(linkage.references_in(Extent::sized(call.from, 5)).is_empty(), "{name}: {call:?}");
        }
    }
}

/// `movl $5, far_word(%rip)`: the immediate lies between the field and the end of the instruction.
#[test]
fn field_before_an_immediate_counts_from_its_own_end() {
    let bytes =
        build("immediate.o", "extern int far_word; void set(void) { far_word = 5; }", &["-c", "-fno-pic"]);
    let (_, linkage) = parse(&bytes);
    let [field] = linkage.references[..] else { panic!("{:?}", linkage.references) };
    assert_eq!((field.to, field.offset), (ReferenceTarget::Elsewhere("far_word"), -4));
    assert!(field.is_relative && !field.is_slot);
}

#[test]
fn separate_debug_file_names_objects() {
    let whole = build(
        "apart",
        "static int hidden_word[4]; int main(int c, char **v) { (void)v; hidden_word[c] = c;
        __asm__ volatile(\"\" ::: \"memory\"); return hidden_word[1]; }",
        &["-Wl,--build-id"],
    );
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/linkage-tests");
    let status =
        Command::new("strip").arg("-o").arg(folder.join("apart.bare")).arg(folder.join("apart")).status();
    assert!(status.expect("strip is needed").success());
    let bare = std::fs::read(folder.join("apart.bare")).expect("what strip wrote");
    let has_name = |debug_file: Option<&[u8]>| {
        let image = Image::parse(&bare, debug_file).expect("a well-formed file");
        Linkage::parse(&image).objects.iter().any(|object| object.name == "hidden_word")
    };
    assert!(!has_name(None));
    assert!(has_name(Some(&whole)));
    let other = build(
        "apart-other",
        "static int hidden_word[4]; int main(void) { return *(volatile int *)hidden_word; }",
        &["-Wl,--build-id"],
    );
    assert!(!has_name(Some(&other)));
}

#[test]
fn lists_are_sorted_without_duplicates() {
    for bytes in [SHARED.to_vec(), OBJECT.to_vec(), program("sorted", &["-static"])] {
        let (_, linkage) = parse(&bytes);
        assert!(linkage.data.windows(2).all(|pair| pair[0].extent.end <= pair[1].extent.start));
        assert!(linkage.cells.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!(linkage.resolved.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!(linkage.imports.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!(linkage.exports.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(linkage.references.windows(2).all(|pair| pair[0] < pair[1]));
        let filled = |resolved: &Resolved| linkage.cell(resolved.at).is_none();
        assert!(linkage.resolved.iter().all(filled));
    }
}

/// A relative relocation table whose every entry names the same 63 words again.
#[test]
fn table_that_repeats_itself_makes_no_list_longer_than_the_file() {
    let mut bytes = without_section_headers(SHARED);
    let headers = u64::from_le_bytes(bytes[32..40].try_into().unwrap()) as usize;
    let dynamic = (0..bytes[56] as usize).map(|index| headers + index * 56);
    let dynamic = dynamic.into_iter().find(|&at| bytes[at..at + 4] == [2, 0, 0, 0]).expect("PT_DYNAMIC");
    let at = u64::from_le_bytes(bytes[dynamic + 8..dynamic + 16].try_into().unwrap()) as usize;
    let load = (0..bytes[56] as usize).map(|index| headers + index * 56);
    let first = load.into_iter().find(|&at| bytes[at..at + 4] == [1, 0, 0, 0]).expect("PT_LOAD");
    // The first segment grows to hold the table behind the file's end.
    let table = bytes.len().next_multiple_of(8);
    bytes.resize(table, 0);
    for _ in 0..4096 {
        bytes.extend(64u64.to_le_bytes());
        bytes.extend(u64::MAX.to_le_bytes());
    }
    let length = bytes.len() as u64;
    bytes[first + 32..first + 40].copy_from_slice(&length.to_le_bytes());
    bytes[first + 40..first + 48].copy_from_slice(&length.to_le_bytes());
    for (index, (tag, value)) in [(36, table as u64), (35, 4096 * 16), (0, 0u64)].into_iter().enumerate() {
        let entry = at + index * 16;
        bytes[entry..entry + 8].copy_from_slice(&u64::to_le_bytes(tag));
        bytes[entry + 8..entry + 16].copy_from_slice(&value.to_le_bytes());
    }
    let (_, linkage) = parse(&bytes);
    assert!(linkage.cells.len() > 60 && linkage.cells.len() <= bytes.len() / 8, "{}", linkage.cells.len());
}

/// An address that wraps belongs to no section.
#[test]
fn data_that_reaches_past_the_last_address_is_left_out() {
    let headers = u64::from_le_bytes(SHARED[40..48].try_into().unwrap()) as usize;
    let mut left_out = 0;
    for header in (headers..SHARED.len() - 63).step_by(64) {
        let mut bytes = SHARED.to_vec();
        bytes[header + 16..header + 24].copy_from_slice(&(u64::MAX - 3).to_le_bytes());
        let Ok(image) = Image::parse(&bytes, None) else { continue };
        let linkage = Linkage::parse(&image);
        assert!(linkage.data.iter().all(|data| data.bytes.len() as u64 <= data.extent.len()));
        assert!(image.constants.iter().all(|(extent, bytes)| bytes.len() as u64 == extent.len()));
        left_out += usize::from(linkage.data.len() < parse(SHARED).1.data.len());
    }
    assert!(left_out > 2, "{left_out} sections were moved");
}

//! Which variants of libraries are laid out where another level's code may load them: those whose interface is shown to be the same, and
//! those of which the user says so.

mod common;

use common::compile;
use deburr_cpu::Target;
use deburr_pack::assemble::{AssembleError, Assembled, Pattern, Request, Source, assemble};
use deburr_pack::record::{InterfaceState, Record};
use deburr_test_support::Scratch;
use std::path::Path;

const LEVELS: [&str; 2] = ["x86-64-v1", "x86-64-v3"];

/// A type whose alignment follows the level, as Eigen's do.
const ITEM: &str = "struct Item { int id; _Alignas(AL) float v[4]; };\n";
const SAME: &str = "int answer(int x) { return x * AL; }";
const DIFFERING: &str = "int answer(struct Item *item) { return item->id * AL; }";
const PUBLIC: &str = "usr/lib/libpublic.so.1";
const HIGH: &str = "usr/lib/glibc-hwcaps/x86-64-v3/libpublic.so.1";

/// A file of the trees: where, its source, and options of the compiler.
type File<'a> = (&'a str, &'a str, &'a [&'a str]);

/// Trees of two levels with these files; of each level, the library folder is searched.
fn request(scratch: &Scratch, files: &[File<'_>]) -> Request {
    let mut request = Request::default();
    for (level, alignment) in LEVELS.into_iter().zip(["-DAL=16", "-DAL=32"]) {
        let tree = scratch.join(level);
        for (path, source, options) in files {
            let search = format!("-L{}", tree.join("usr/lib").display());
            let name = format!("-Wl,-soname,{}", Path::new(path).file_name().unwrap().display());
            let mut all = vec![alignment, search.as_str()];
            if path.contains("lib/") {
                all.extend(["-shared", "-fPIC", &name]);
            }
            all.extend(*options);
            compile(&tree, path, &format!("{ITEM}{source}"), &all);
        }
        let target = Target::parse(level).unwrap();
        let (arch, features) = (target.arch, target.features);
        request.sources.push(Source { level: level.into(), arch, features, tree, check: None });
    }
    request
}

fn laid(scratch: &Scratch, name: &str, request: &Request) -> Assembled {
    assemble(request, &scratch.join(name)).unwrap()
}

fn refused(scratch: &Scratch, request: &Request) -> String {
    let error = assemble(request, &scratch.join("refused")).unwrap_err();
    assert!(matches!(error, AssembleError::Interfaces(_)), "{error}");
    assert!(!scratch.join("refused").exists());
    error.to_string()
}

fn remark<'a>(assembled: &'a Assembled, path: &str) -> &'a str {
    let found = assembled.remarks.iter().find(|remark| remark.path == Path::new(path));
    found.map(|remark| remark.text.as_str()).unwrap_or_default()
}

fn patterns(text: &str) -> Vec<Pattern> {
    vec![Pattern::new(text).unwrap()]
}

#[test]
fn a_public_library_goes_to_the_folders_of_glibc_where_its_interface_is_shown_to_be_the_same() {
    for (source, options, state, text) in [
        (SAME, &["-g"][..], InterfaceState::Same, ""),
        (DIFFERING, &["-g"], InterfaceState::Differs, "struct Item: size 32 at x86-64-v1, 64 at x86-64-v3"),
        (SAME, &[], InterfaceState::Unknown, "is unknown: it has no debug information; build with -g"),
    ] {
        let scratch = Scratch::new("interface-public");
        let request = request(&scratch, &[(PUBLIC, source, options)]);
        let assembled = laid(&scratch, "dist", &request);
        assert_eq!(scratch.join("dist").join(HIGH).exists(), state == InterfaceState::Same);
        assert!(remark(&assembled, PUBLIC).contains(text), "{assembled:?}");
        let record = Record::read(&scratch.join("dist")).unwrap();
        assert_eq!(record.interfaces, assembled.interfaces);
        let [interface] = &record.interfaces[..] else { panic!("{record:?}") };
        assert_eq!(
            (interface.state, interface.accepted, interface.level.as_str()),
            (state, false, "x86-64-v3")
        );
        // What the user says of a library by name, and what of all that is not known.
        let named = Request { by_loader: patterns("usr/lib/libpub*"), ..request.clone() };
        let named = laid(&scratch, "named", &named);
        assert!(scratch.join("named").join(HIGH).exists());
        let accepted = Request { is_unproven_accepted: true, ..request };
        let accepted = laid(&scratch, "accepted", &accepted);
        assert_eq!(scratch.join("accepted").join(HIGH).exists(), state != InterfaceState::Differs);
        assert_eq!(named.interfaces[0].accepted, state != InterfaceState::Same);
        assert_eq!(accepted.interfaces[0].accepted, state == InterfaceState::Unknown);
        if state != InterfaceState::Same {
            assert!(remark(&named, PUBLIC).starts_with("taken for the same"), "{named:?}");
        }
    }
}

#[test]
fn a_library_in_a_folder_of_an_architecture_is_the_loader_s_too() {
    let scratch = Scratch::new("interface-multiarch");
    let library = "usr/lib/x86_64-linux-gnu/libpublic.so.1";
    laid(&scratch, "dist", &request(&scratch, &[(library, SAME, &["-g"])]));
    let high = scratch.join("dist/usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libpublic.so.1");
    assert!(high.exists() && !scratch.join(format!("dist/{library}.deburr")).exists());
}

#[test]
fn what_needs_a_library_that_stays_at_the_lowest_level_stays_there_too() {
    let scratch = Scratch::new("interface-needs");
    let user = "int answer(int); int twice(int x) { return answer(x) + AL; }";
    let between = "int answer(int); int once(int x) { return answer(x); }";
    let options = ["-g", "-Wl,--no-as-needed", "-l:libpublic.so.1"];
    let request = request(
        &scratch,
        &[
            (PUBLIC, SAME, &[]),
            ("usr/lib/libbetween.so.1", between, &options),
            ("usr/lib/libuser.so.1", user, &["-g", "-Wl,--no-as-needed", "-l:libbetween.so.1"]),
            ("usr/lib/libalone.so.1", SAME, &["-g"]),
        ],
    );
    let assembled = laid(&scratch, "dist", &request);
    let high = |name: &str| scratch.join(format!("dist/usr/lib/glibc-hwcaps/x86-64-v3/{name}")).exists();
    assert_eq!(["libpublic.so.1", "libuser.so.1", "libalone.so.1"].map(high), [false, false, true]);
    let text = remark(&assembled, "usr/lib/libuser.so.1");
    assert!(
        text.contains("it needs libbetween.so.1, of which only the lowest level is used: it needs libpublic"),
        "{text}"
    );
}

#[test]
fn a_program_of_a_level_does_not_load_a_library_of_another_that_differs() {
    let program = "int answer(int); int main(void) { return answer(AL) == 0; }";
    let linked = ["-l:libpublic.so.1", "-Wl,-rpath-link,."];
    let trees = |scratch: &Scratch, source, options: &[&str], linked: &[&str]| {
        request(scratch, &[(PUBLIC, source, options), ("usr/bin/prog", program, linked)])
    };
    let scratch = Scratch::new("interface-program");
    let differing = trees(&scratch, DIFFERING, &["-g"], &linked);
    let text = refused(&scratch, &differing);
    assert!(text.starts_with("usr/bin/prog: it needs libpublic.so.1, of which only the lowest"), "{text}");
    assert!(text.contains("differs: struct Item") && text.contains("$ORIGIN"), "{text}");
    // Where nothing is known a line says so.
    let scratch = Scratch::new("interface-program-unknown");
    let unknown = trees(&scratch, SAME, &[], &linked);
    let assembled = laid(&scratch, "dist", &unknown);
    let text = remark(&assembled, "usr/bin/prog");
    assert!(
        text.starts_with("at x86-64-v3, it needs libpublic.so.1, of which only the lowest level"),
        "{text}"
    );
    assert!(text.contains("build with -g") && !scratch.join("dist").join(HIGH).exists(), "{text}");
    laid(&scratch, "accepted", &Request { is_unproven_accepted: true, ..unknown });
    assert!(scratch.join("accepted").join(HIGH).exists());
    // Its types are shown; or it is in the tree of the program.
    for (options, linked) in
        [(&["-g"][..], &linked[..]), (&[], &["-l:libpublic.so.1", "-Wl,-rpath,$ORIGIN/../lib"])]
    {
        let scratch = Scratch::new("interface-program-shown");
        let request = trees(&scratch, SAME, options, linked);
        laid(&scratch, "dist", &request);
        assert_eq!(scratch.join("dist").join(HIGH).exists(), !options.is_empty());
    }
}

#[test]
fn one_tree_for_all_levels_needs_types_that_are_the_same() {
    let program = "int main(void) { return AL; }";
    for (source, options, expected) in [
        (DIFFERING, &["-g"][..], Some("differs: struct Item")),
        (SAME, &[], Some("is unknown: it has no debug information")),
        (SAME, &["-g"], None),
    ] {
        let scratch = Scratch::new("interface-shared");
        let files = [("usr/lib/app/plug.so", source, options), ("usr/bin/prog", program, &[])];
        let request = Request { is_shared: true, ..request(&scratch, &files) };
        let unproven = Request { is_unproven_accepted: true, ..request.clone() };
        match expected {
            Some(expected) => {
                let text = refused(&scratch, &request);
                assert!(text.starts_with("usr/lib/app/plug.so: ") && text.contains(expected), "{text}");
                assert!(text.contains("without --layout shared"), "{text}");
                assert_eq!(assemble(&unproven, &scratch.join("unproven")).is_ok(), options.is_empty());
            }
            None => {
                let assembled = laid(&scratch, "dist", &request);
                let text = remark(&assembled, "usr/lib/app/plug.so");
                assert_eq!(text, "its interface is shown to be the same at each level");
            }
        }
    }
}

#[test]
fn a_plug_in_without_a_program_is_laid_out_and_a_difference_is_mentioned() {
    for (source, options, expected) in [
        (DIFFERING, &["-g"][..], "its interface for x86-64-v3 differs: struct Item"),
        (SAME, &[], ""),
        (SAME, &["-g"], ""),
    ] {
        let scratch = Scratch::new("interface-table");
        let request = request(&scratch, &[("usr/lib/python3/plug.so", source, options)]);
        let assembled = laid(&scratch, "dist", &request);
        assert!(scratch.join("dist/usr/lib/python3/plug.so.variants/x86-64-v3/plug.so").exists());
        let text = remark(&assembled, "usr/lib/python3/plug.so");
        assert!(text.starts_with(expected) && text.is_empty() == expected.is_empty(), "{text}");
    }
}

#[test]
fn a_type_that_the_installed_headers_do_not_show_does_not_count_unless_a_file_of_the_trees_needs_the_library()
{
    let source = "struct Opaque { struct Item item; };\nstruct Shown { int x; };\n
        int answer(struct Opaque *it, struct Shown *shown) { return it->item.id * AL + shown->x; }";
    let user =
        ("usr/lib/libuser.so.1", "int answer(void *, void *); int f(void) { return answer(0, 0) + AL; }");
    let linked = ["-g", "-Wl,--no-as-needed", "-l:libpublic.so.1"];
    for (header, is_needed, is_laid) in [
        (None, false, false),
        (
            Some("struct Opaque;\nstruct Shown { int x; };\nint answer(struct Opaque *, struct Shown *);\n"),
            false,
            true,
        ),
        (Some("struct Opaque { struct Item item; };\n"), false, false),
        (Some("struct Opaque;\n"), true, false),
    ] {
        let scratch = Scratch::new("interface-headers");
        let mut files: Vec<File<'_>> = vec![(PUBLIC, source, &["-g"])];
        files.extend(is_needed.then_some((user.0, user.1, &linked[..])));
        let request = request(&scratch, &files);
        for source in request.sources.iter().filter(|_| header.is_some()) {
            std::fs::create_dir_all(source.tree.join("usr/include/public")).unwrap();
            std::fs::write(source.tree.join("usr/include/public/public.h"), header.unwrap_or_default())
                .unwrap();
        }
        let assembled = laid(&scratch, "dist", &request);
        assert_eq!(scratch.join("dist").join(HIGH).exists(), is_laid, "{header:?}: {assembled:?}");
    }
}

//! Libraries compiled here at two levels → whether their interfaces are the same, by the comparison and by libabigail's `abidiff`, which
//! shares no code with it.

use deburr_cpu::Target;
use deburr_pack::abi::{Build, Verdict, compare};
use deburr_test_support::Scratch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LOW: &str = "x86-64-v1";
const HIGH: &str = "x86-64-v3";

/// What is expected of a library; the text is part of the first reason.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Same,
    Differs(&'static str),
    Unknown(&'static str),
}
use Expected::{Differs, Same, Unknown};

/// A type whose alignment follows the level, as Eigen's do; a number that does; and `m256`, a vector.
const PRELUDE: &str = "
#ifdef __AVX__
#define AL 32
#define N 8
#else
#define AL 16
#define N 4
#endif
#ifdef __cplusplus
#define _Alignas alignas
#endif
typedef float m256 __attribute__((vector_size(32)));
struct Item { int id; _Alignas(AL) float v[4]; };
";

/// Compiles a library for a level.
fn library(folder: &Path, level: &str, compiler: &str, source: &str, flags: &[&str]) -> PathBuf {
    let input = folder.join(if compiler.ends_with("++") { "input.cc" } else { "input.c" });
    fs::write(&input, format!("{PRELUDE}{source}\n")).unwrap();
    let march = if level == LOW { "-march=x86-64" } else { "-march=x86-64-v3" };
    let output = folder.join(format!("{level}.so"));
    let mut command = Command::new(compiler);
    command.current_dir(folder).args(["-O2", "-w", "-fPIC", "-shared", march, "-o"]);
    let done = command.arg(&output).arg(&input).args(flags).output().unwrap();
    assert!(done.status.success(), "{source}: {}", String::from_utf8_lossy(&done.stderr));
    output
}

fn build<'a>(level: &'a str, bytes: &'a [u8], debug: Option<&'a [u8]>) -> Build<'a> {
    let target = Target::parse(level).unwrap();
    Build { level, arch: target.arch, features: target.features, bytes, is_program: false, debug }
}

fn verdict(low: &Path, high: &Path) -> Verdict {
    let (low, high) = (fs::read(low).unwrap(), fs::read(high).unwrap());
    compare(&build(LOW, &low, None), &build(HIGH, &high, None), None)
}

fn is_as_expected(verdict: &Verdict, expected: Expected) -> bool {
    match (verdict, expected) {
        (Verdict::Same, Same) => true,
        (Verdict::Differs(found), Differs(text)) | (Verdict::Unknown(found), Unknown(text)) => {
            found.iter().any(|reason| reason.contains(text))
        }
        _ => false,
    }
}

/// Compares one source at both levels.
fn judge(compiler: &str, flags: &[&str], source: &str, expected: Expected) -> Verdict {
    let scratch = Scratch::new("abi");
    let [low, high] = [LOW, HIGH].map(|level| library(scratch.path(), level, compiler, source, flags));
    let found = verdict(&low, &high);
    assert!(is_as_expected(&found, expected), "{compiler} {flags:?} {source}: {found:?}, not {expected:?}");
    found
}

fn judge_all(cases: &[(&str, &str, &str, Expected)]) {
    for (compiler, flags, source, expected) in cases {
        let flags: Vec<&str> = flags.split_whitespace().collect();
        judge(compiler, &flags, source, *expected);
    }
}

const SAME: &str = "struct P { int x; double y; struct P *next; }; double f(struct P *p) { return p->x * p->y; } struct P table[4];";
const ITEM: &str = "float f(struct Item *p) { return p->v[0]; }";

#[test]
fn a_type_that_follows_the_level_is_found_however_an_exported_name_leads_to_it() {
    let item = Differs("struct Item: size 32 at x86-64-v1, 64 at x86-64-v3");
    judge_all(&[
        ("g++", "-g", "extern \"C\" float total(const Item *p, int n) { return p[n].v[0]; }", item),
        (
            "clang++",
            "-g",
            "extern \"C\" float total(const Item *p, int n) { return p[n].v[0]; }",
            Differs("struct Item"),
        ),
        ("gcc", "-g", "struct Item *items;", item),
        ("gcc", "-g", "float f(struct Item ***p) { return (**p)->v[0]; }", item),
        ("gcc", "-g", "typedef void (*Call)(int, struct Item *); int f(Call c) { return c != 0; }", item),
        (
            "g++",
            "-g",
            "struct B { Item i; }; struct D : B { int z; }; int f(D *d) { return d->z; }",
            Differs("struct D"),
        ),
        (
            "gcc",
            "-g",
            "struct S { int t; union { int a; struct Item i; }; }; int f(struct S *s) { return s->a; }",
            Differs("struct S"),
        ),
        (
            "gcc",
            "-g",
            "struct S { struct Item i[2][3]; }; int f(struct S *s) { return s->i[0][0].id; }",
            Differs("struct S"),
        ),
        (
            "gcc",
            "-g",
            "typedef struct Item A; typedef const A B; typedef B *C; int f(C c) { return c->id; }",
            item,
        ),
        ("gcc", "-g", "float f(float (*s)[N]) { return (*s)[0]; }", Differs("last index")),
        (
            "g++",
            "-g",
            "struct K { virtual ~K(); virtual float m(Item &); }; K::~K() {} float K::m(Item &i) { return i.v[0]; }",
            item,
        ),
        ("g++", "-g", "struct K { int a; }; int f(K *, float (*Item::*)[4]) { return 1; }", item),
        (
            "gcc",
            "-g",
            "struct B; struct A { struct B *b; }; struct B { struct A *a; float v[N]; }; int f(struct A *a) { return a->b->a != a; }",
            Differs("struct B: size"),
        ),
    ]);
}

#[test]
fn each_property_of_a_layout_counts() {
    judge_all(&[
        (
            "gcc",
            "-g",
            "struct S { unsigned a : N / 4; unsigned b : 9; }; int f(struct S *s) { return s->b; }",
            Differs("bits"),
        ),
        (
            "gcc",
            "-g",
            "enum E { LANES = N, END = 100 }; int f(enum E e) { return e; }",
            Differs("value of LANES 4 at"),
        ),
        (
            "g++",
            "-g",
            "#ifdef __AVX__\nenum E : short { A };\n#else\nenum E : int { A };\n#endif\nint f(E *e) { return *e; }",
            Differs("enum E: size"),
        ),
        (
            "gcc",
            "-g",
            "struct S { _Alignas(AL) float v[8]; }; float f(struct S *s) { return s->v[0]; }",
            Differs("alignment 16"),
        ),
        (
            "clang",
            "-gdwarf-4",
            "struct S { _Alignas(AL) float v[8]; }; float f(struct S *s) { return s->v[0]; }",
            Differs("alignment"),
        ),
        (
            "gcc",
            "-gdwarf-4 -gstrict-dwarf",
            "struct S { _Alignas(AL) float v[8]; }; float f(struct S *s) { return s->v[0]; }",
            Unknown("alignments"),
        ),
        // The largest alignment that the machine has any use for.
        (
            "gcc",
            "-g",
            "struct S { float v[16]; } __attribute__((aligned(__BIGGEST_ALIGNMENT__))); float f(struct S *s) { return s->v[0]; }",
            Differs("alignment 16 at x86-64-v1, 32"),
        ),
        (
            "gcc",
            "-g",
            "typedef int A __attribute__((aligned(AL))); void f(A *p) { *p = 1; }",
            Differs("alignment"),
        ),
        (
            "gcc",
            "-g",
            "#ifdef __AVX__\ntypedef __float128 T;\n#else\ntypedef long double T;\n#endif\nT f(T *x) { return *x; }",
            Differs("format"),
        ),
        (
            "g++",
            "-g",
            "struct K { virtual ~K();\n#ifdef __AVX__\nvirtual int x() { return 2; }\n#endif\nvirtual int m(); }; K::~K() {} int K::m() { return 1; }",
            Differs("struct K"),
        ),
    ]);
}

#[test]
fn a_vector_that_only_one_level_has_registers_for_is_passed_in_another_place() {
    let moved = Differs("in memory at x86-64-v1, in a register at x86-64-v3");
    judge_all(&[
        ("gcc", "-g", "m256 f(m256 x) { return x + x; }", moved),
        ("g++", "-g", "m256 f(m256 x, int) { return x + x; }", moved),
        ("clang", "-g", "float f(m256 x) { return x[0]; }", moved),
        ("gcc", "-g", "struct W { m256 v; }; float f(struct W w) { return w.v[0]; }", moved),
        ("gcc", "-g", "struct W { m256 v[1]; }; float f(struct W w) { return w.v[0][0]; }", moved),
        ("gcc", "-g", "typedef int (*Call)(m256); int f(Call c) { return c != 0; }", moved),
        // These are in memory, or in a register, at both.
        ("gcc", "-g", "union W { m256 v; double d[4]; }; float f(union W w) { return w.v[0]; }", Same),
        ("gcc", "-g", "struct W { m256 v[2]; }; float f(struct W w) { return w.v[0][0]; }", Same),
        ("gcc", "-g", "void f(m256 *x) { *x += *x; }", Same),
        (
            "gcc",
            "-g",
            "typedef float m128 __attribute__((vector_size(16))); m128 f(m128 x) { return x + x; }",
            Same,
        ),
    ]);
}

#[test]
fn names_and_sizes_of_objects_need_no_debug_information() {
    judge_all(&[
        (
            "gcc",
            "",
            "float table[N] = { 1 };",
            Differs("object table: 16 bytes at x86-64-v1, 32 at x86-64-v3"),
        ),
        ("gcc", "", "__thread float table[N];", Differs("object table")),
        (
            "gcc",
            "",
            "int f(void) { return N; }\n#ifdef __AVX__\nint g(void) { return 1; }\n#endif",
            Differs("g is only exported at x86-64-v3"),
        ),
        ("gcc", "", "int f(int x) { return x * N; }", Unknown("no debug information")),
        ("gcc", "-g -s", "int f(int x) { return x * N; }", Unknown("no debug information")),
    ]);
}

#[test]
fn the_same_interface_is_shown_by_every_form_of_debug_information() {
    for (compiler, flags) in [
        ("gcc", "-g"),
        ("gcc", "-gdwarf-4"),
        ("gcc", "-gdwarf-3"),
        ("gcc", "-g -gz=zlib"),
        ("gcc", "-g -flto"),
        ("gcc", "-g -fdebug-types-section"),
        ("gcc", "-gdwarf-4 -fdebug-types-section"),
        ("clang", "-g"),
        ("clang", "-gdwarf-4"),
        ("g++", "-g -fdebug-types-section"),
    ] {
        let flags: Vec<&str> = flags.split_whitespace().collect();
        judge(compiler, &flags, SAME, Same);
        judge(compiler, &flags, ITEM, Differs("Item"));
    }
    for compiler in ["gcc", "clang"] {
        judge(compiler, &["-g", "-gsplit-dwarf"], ITEM, Unknown("-gsplit-dwarf"));
        judge(
            compiler,
            &["-g1"],
            ITEM,
            Unknown(if compiler == "gcc" { "not -g1" } else { "no debug information of f" }),
        );
    }
}

#[test]
fn what_real_programs_export_is_shown_to_be_the_same() {
    let cpp = "#include <algorithm>\n#include <functional>\n#include <memory>\n#include <ostream>\n#include <string>\n#include <vector>\n
        std::string f(const std::vector<std::string> &v) { return v[0] + v[1]; } void g(std::ostream &o) { o << N; }
        int h(std::nullptr_t, std::function<int(int)> &&c) { return c(1); }
        void s(std::vector<int> &v) { std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; }); }
        struct K { K(); virtual ~K(); virtual float m(int &); int n(); static int count; int z; };
        K::K() {} K::~K() {} float K::m(int &i) { return i; } int K::n() { return z; } int K::count = 3;
        namespace q { int v = 3; template<class T> struct V { T t; T get(); }; template<class T> T V<T>::get() { return t; } template struct V<int>; }";
    judge_all(&[
        ("g++", "-g", cpp, Same),
        ("clang++", "-g -fstandalone-debug", cpp, Same),
        (
            "gcc",
            "-g",
            "int f(int x) { return x * N; } extern int g(int) __attribute__((alias(\"f\")));",
            Same,
        ),
        ("gcc", "-g", "int f(a) int a; { return a * N; } void v() {}", Same),
        (
            "gcc",
            "-g",
            "int f(int n, ...) { return n * N; } __thread int t; struct S { int n; char d[]; }; int g(struct S *s, int n, int m[n]) { return s->d[0] + m[0]; }",
            Same,
        ),
        (
            "gcc",
            "-g",
            "#include <complex.h>\n#include <stdio.h>\ndouble complex f(double complex x, _Bool b, _Atomic int *a, FILE *o) { fprintf(o, \"x\"); return b ? x : *a; }",
            Same,
        ),
        (
            "gcc",
            "-g",
            "__attribute__((target_clones(\"avx2\", \"default\"))) int f(int *x) { int s = N; for (int i = 0; i < 64; i++) s += x[i]; return s; }",
            Same,
        ),
        ("gcc", "-g", "struct H; struct H *g; struct H *f(struct H *h) { g = h; return h; }", Same),
    ]);
}

#[test]
fn what_was_not_seen_is_unknown() {
    let through = Unknown("may pass through a pointer");
    judge_all(&[
        ("gcc", "-g", "float f(void *p) { return ((struct Item *)p)->v[0]; }", through),
        (
            "gcc",
            "-g",
            "typedef struct { float v[N]; } T; float f(void *p) { return ((T *)p)->v[0]; }",
            through,
        ),
        (
            "gcc",
            "-g",
            "#ifdef __AVX__\nstruct W { float v[8]; }; typedef struct W T;\n#else\nstruct V { float v[4]; }; typedef struct V T;\n#endif\nfloat f(void *p) { return ((T *)p)->v[0]; }",
            through,
        ),
        (
            "gcc",
            "-g",
            "enum { LANES = N }; int f(float *x) { float s = 0; for (int i = 0; i < LANES; i++) s += x[i]; return s; }",
            through,
        ),
        (
            "gcc",
            "-g",
            "#ifdef __AVX__\nstruct W { float v[8]; }; float f(void *p) { return ((struct W *)p)->v[0]; }\n#else\nstruct V { float v[4]; }; float f(void *p) { return ((struct V *)p)->v[0]; }\n#endif",
            Unknown("only defined at"),
        ),
        // In C++ a class that is only declared may be complete where it is used.
        ("g++", "-g", "struct H; H *g; H *f(H *h) { g = h; return h; }", Unknown("only declared")),
        (
            "clang++",
            "-g",
            "struct C { C(); C(int); int id; alignas(AL) float v[4]; }; float f(C *p) { return p->v[0]; }",
            Unknown("-fstandalone-debug"),
        ),
        (
            "gcc",
            "-g",
            "__asm__(\".globl f\\n.type f,@function\\nf: ret\\n.size f,1\"); int g(int x) { return x; }",
            Unknown("no debug information of f"),
        ),
        (
            "gcc",
            "-g",
            "static int a(int x) { return x; } static void *r(void) { return (void *)a; } int f(int) __attribute__((ifunc(\"r\")));",
            Unknown("no debug information of f"),
        ),
    ]);
}

#[test]
fn a_type_that_one_unit_declares_and_another_defines_is_compared() {
    let scratch = Scratch::new("abi-units");
    let hidden = scratch.join("hidden.c");
    let [low, high] = [LOW, HIGH].map(|level| {
        let text = format!("{PRELUDE}__attribute__((visibility(\"hidden\"))) float use(struct Opaque *p) {{ return p->i.v[0]; }}\n");
        fs::write(&hidden, text.replace("__attribute__((vis", "struct Opaque { struct Item i; }; __attribute__((vis")).unwrap();
        let source = "struct Opaque; struct Opaque *g; struct Opaque *f(struct Opaque *h) { g = h; return h; }";
        library(scratch.path(), level, "gcc", source, &["-g", hidden.to_str().unwrap()])
    });
    let found = verdict(&low, &high);
    assert!(is_as_expected(&found, Differs("struct Opaque: size 32")), "{found:?}");
}

#[test]
fn a_separate_debug_file_serves() {
    let scratch = Scratch::new("abi-separate");
    let mut stripped = Vec::new();
    for level in [LOW, HIGH] {
        let whole = library(scratch.path(), level, "gcc", ITEM, &["-g"]);
        let (debug, bare) = (scratch.join(format!("{level}.debug")), scratch.join(format!("{level}.bare")));
        for arguments in
            [[Path::new("--only-keep-debug"), &whole, &debug], [Path::new("--strip-debug"), &whole, &bare]]
        {
            assert!(Command::new("objcopy").args(arguments).status().unwrap().success());
        }
        stripped.push((fs::read(bare).unwrap(), fs::read(debug).unwrap()));
    }
    let [(low, low_debug), (high, high_debug)] = &stripped[..] else { panic!("two levels") };
    let with = compare(&build(LOW, low, Some(low_debug)), &build(HIGH, high, Some(high_debug)), None);
    assert!(is_as_expected(&with, Differs("struct Item")), "{with:?}");
    let without = compare(&build(LOW, low, Some(low_debug)), &build(HIGH, high, None), None);
    assert!(is_as_expected(&without, Unknown("no debug information")), "{without:?}");
}

#[test]
fn damaged_debug_information_is_unknown_and_no_panic() {
    let scratch = Scratch::new("abi-damaged");
    let source = format!("{SAME} {}", ITEM.replace("f(", "g("));
    let [low, high] =
        [LOW, HIGH].map(|level| fs::read(library(scratch.path(), level, "gcc", &source, &["-g"])).unwrap());
    let start = memchr::memmem::find(&low, b"GNU C17").map_or(low.len() / 2, |at| at);
    // A fixed sequence of changes: xorshift.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % (1 << 40)).unwrap()
    };
    let mut kinds = [0; 3];
    for attempt in 0..400 {
        let mut changed = low.clone();
        // The sections of debug information come after what is loaded.
        let from = start.saturating_sub(2000);
        for _ in 0..=attempt % 8 {
            let at = from + next() % (changed.len() - from);
            changed[at] = u8::try_from(next() % 256).unwrap();
        }
        if attempt % 5 == 0 {
            changed.truncate(from + next() % (low.len() - from));
        }
        let found = compare(&build(LOW, &changed, None), &build(HIGH, &high, None), None);
        kinds[match found {
            Verdict::Same => 0,
            Verdict::Differs(_) => 1,
            Verdict::Unknown(_) => 2,
        }] += 1;
    }
    assert_eq!(kinds[0], 0, "a type that differs was lost: {kinds:?}");
    assert!(kinds[1] > 20 && kinds[2] > 20, "{kinds:?}");
    assert!(matches!(
        compare(&build(LOW, b"", None), &build(HIGH, b"\x7fELF", None), None),
        Verdict::Unknown(_)
    ));
}

#[test]
fn types_that_refer_to_themselves_come_to_an_end() {
    let chain: String = (0..200).map(|at| format!("struct T{at}; ")).collect();
    let types: String = (0..200)
        .map(|at| {
            format!(
                "struct T{at} {{ struct T{} *a; struct T{} *b; struct T{at} *(*c)(struct T{at} *); }}; ",
                (at * 7 + 1) % 200,
                (at * 3 + 2) % 200
            )
        })
        .collect();
    judge("gcc", &["-g"], &format!("{chain}{types} int f(struct T0 *t) {{ return t->a != 0; }}"), Same);
}

#[test]
fn a_type_that_is_only_declared_is_opaque_where_all_code_has_debug_information() {
    // The first unit only hands on what the second, which the library's users see the header of, defines by level.
    let first = "struct S; float g(struct S *s); float f(struct S *s) { return g(s); }";
    let second = "struct S { int a; _Alignas(AL) float v[4]; };\n\
                  __attribute__((visibility(\"hidden\"))) float g(struct S *s) { return s[1].v[0]; }";
    // Nobody here knows what a handle of another library is.
    let of_others = "int g(int x) { return x; }";
    for (second, debug, expected) in [
        (second, "-g0", Unknown("S is only declared, and some code was built without -g")),
        (second, "-g", Differs("struct S")),
        (of_others, "-g", Same),
        (of_others, "-g0", Unknown("S is only declared, and some code was built without -g")),
    ] {
        let scratch = Scratch::new("abi-bare");
        let [low, high] = [LOW, HIGH].map(|level| {
            let other = scratch.file("second.c", format!("{PRELUDE}{second}\n").as_bytes());
            let object = scratch.join(format!("{level}.o"));
            let march = if level == LOW { "-march=x86-64" } else { "-march=x86-64-v3" };
            let mut gcc = Command::new("gcc");
            gcc.args(["-O2", "-w", "-fPIC", "-c", march, debug, "-o"]).arg(&object).arg(other);
            assert!(gcc.status().unwrap().success());
            library(scratch.path(), level, "gcc", first, &["-g", object.to_str().unwrap()])
        });
        let found = verdict(&low, &high);
        assert!(is_as_expected(&found, expected), "{debug} {second}: {found:?}, not {expected:?}");
    }
}

#[test]
fn libraries_of_rust_are_compared() {
    for (source, expected) in [
        ("#[repr(C)] pub struct P { x: i32, n: Option<Box<P>> }\n#[no_mangle] pub extern \"C\" fn f(p: &P) -> i32 { p.x }", Same),
        (
            "#[cfg_attr(target_feature = \"avx\", repr(C, align(32)))] #[cfg_attr(not(target_feature = \"avx\"), repr(C, align(16)))]
             pub struct P { x: f64 }\n#[no_mangle] pub extern \"C\" fn f(p: &P) -> f64 { p.x }",
            Differs("struct P: size 16"),
        ),
    ] {
        let scratch = Scratch::new("abi-rust");
        let input = scratch.file("input.rs", source.as_bytes());
        let [low, high] = [(LOW, "x86-64"), (HIGH, "x86-64-v3")].map(|(level, cpu)| {
            let output = scratch.join(format!("{level}.so"));
            let mut rustc = Command::new("rustc");
            rustc.args(["--edition", "2021", "-O", "-g", "--crate-type", "cdylib", &format!("-Ctarget-cpu={cpu}"), "-o"]);
            assert!(rustc.arg(&output).arg(&input).status().unwrap().success());
            output
        });
        let found = verdict(&low, &high);
        assert!(is_as_expected(&found, expected), "{source}: {found:?}");
    }
}

#[test]
fn a_wide_vector_of_aarch64_is_unknown_where_only_one_level_has_sve() {
    for (bytes, expected) in [(16, Same), (32, Unknown("with SVE"))] {
        let scratch = Scratch::new("abi-aarch64");
        let source =
            format!("typedef float V __attribute__((vector_size({bytes}))); V f(V x) {{ return x; }}\n");
        let input = scratch.file("input.c", source.as_bytes());
        let levels = ["armv8-a", "armv8.2-a+sve"];
        let files = levels.map(|level| {
            let output = scratch.join(format!("{level}.so"));
            let mut gcc = Command::new("aarch64-linux-gnu-gcc");
            gcc.args(["-g", "-O2", "-w", "-shared", "-fPIC", &format!("-march={level}"), "-o"]);
            assert!(gcc.arg(&output).arg(&input).status().unwrap().success());
            fs::read(output).unwrap()
        });
        let found = compare(&build(levels[0], &files[0], None), &build(levels[1], &files[1], None), None);
        assert!(is_as_expected(&found, expected), "{bytes}: {found:?}");
    }
}

#[test]
fn abidiff_finds_the_same_differences() {
    let scratch = Scratch::new("abi-abidiff");
    for (source, differs) in [
        (SAME, false),
        (ITEM, true),
        (
            "struct B; struct A { struct B *b; }; struct B { struct A *a; float v[N]; }; int f(struct A *a) { return a->b->a != a; }",
            true,
        ),
        ("struct S { unsigned a : N; unsigned b : 9; }; int f(struct S *s) { return s->b; }", true),
        ("enum E { LANES = N }; int f(enum E e) { return e; }", true),
        ("float table[N] = { 1 };", true),
        ("typedef void (*Call)(int, struct Item *); int f(Call c) { return c != 0; }", true),
        ("struct H; struct H *f(struct H *h) { return h; }", false),
    ] {
        let [low, high] = [LOW, HIGH].map(|level| library(scratch.path(), level, "gcc", source, &["-g"]));
        let found = verdict(&low, &high);
        let status = Command::new("abidiff").arg(&low).arg(&high).output().unwrap().status.code();
        let by_abidiff = status.is_some_and(|status| status & 4 != 0);
        assert_eq!(
            (matches!(found, Verdict::Differs(_)), by_abidiff),
            (differs, differs),
            "{source}: {found:?}, {status:?}"
        );
    }
}

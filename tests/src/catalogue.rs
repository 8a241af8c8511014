//! C and Rust source that spells out every atomic operation × size × memory order, one function each.
//!
//! The function's name says what it holds, and its suffix what may become of it:
//! `_unmissed` marks what no compiler flag turns into an LSE instruction (nand; 128-bit exchange and read-modify-write; a
//! 128-bit compare-and-swap may become `casp`, so it bears no mark). Sizes are in bytes.

use std::fmt::Write as _;

const ORDERS: [(&str, &str); 5] = [
    ("relaxed", "__ATOMIC_RELAXED"),
    ("acquire", "__ATOMIC_ACQUIRE"),
    ("release", "__ATOMIC_RELEASE"),
    ("acq_rel", "__ATOMIC_ACQ_REL"),
    ("seq_cst", "__ATOMIC_SEQ_CST"),
];
const SIZES: [(u32, &str); 4] =
    [(1, "unsigned char"), (2, "unsigned short"), (4, "unsigned int"), (8, "unsigned long")];

/// Every operation, with the builtins that gcc and clang share. With `clang`, those that only clang has (minimum and maximum)
/// and 16 bytes (which gcc leaves to libatomic).
pub fn c_source(clang: bool) -> String {
    let wide = clang;
    let mut text = String::from("typedef unsigned __int128 u128;\n");
    for (size, kind) in SIZES.iter().copied().chain(wide.then_some((16, "u128"))) {
        for (order, constant) in ORDERS {
            read_modify_write(&mut text, size, kind, order, constant);
            compare_and_swap(&mut text, size, kind, order, constant);
            if clang && size < 16 {
                extremes(&mut text, size, kind, order, constant);
            }
        }
        if size < 16 {
            sync_builtins(&mut text, size, kind);
        }
    }
    text.push_str("int main(void) { return 0; }\n");
    text
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("writing to a string");
    text.push('\n');
}

fn read_modify_write(text: &mut String, size: u32, kind: &str, order: &str, constant: &str) {
    let wide = if size == 16 { "_unmissed" } else { "" };
    line(
        text,
        format_args!(
            "{kind} exchange_{size}_{order}{wide}({kind} *p, {kind} v) {{ return __atomic_exchange_n(p, v, {constant}); }}"
        ),
    );
    for operation in ["add", "sub", "and", "or", "xor", "nand"] {
        let mark = if operation == "nand" { "_unmissed" } else { wide };
        line(
            text,
            format_args!(
                "{kind} fetch_{operation}_{size}_{order}{mark}({kind} *p, {kind} v) {{ return __atomic_fetch_{operation}(p, v, {constant}); }}"
            ),
        );
        line(
            text,
            format_args!(
                "{kind} {operation}_fetch_{size}_{order}{mark}({kind} *p, {kind} v) {{ return __atomic_{operation}_fetch(p, v, {constant}); }}"
            ),
        );
        line(
            text,
            format_args!(
                "void only_{operation}_{size}_{order}{mark}({kind} *p, {kind} v) {{ __atomic_fetch_{operation}(p, v, {constant}); }}"
            ),
        );
    }
    line(
        text,
        format_args!(
            "{kind} add_one_{size}_{order}{wide}({kind} *p) {{ return __atomic_fetch_add(p, 1, {constant}); }}"
        ),
    );
    if size == 1 {
        line(
            text,
            format_args!(
                "_Bool test_and_set_{order}(_Bool *p) {{ return __atomic_test_and_set(p, {constant}); }}"
            ),
        );
    }
}

fn compare_and_swap(text: &mut String, size: u32, kind: &str, order: &str, constant: &str) {
    let failure = failure_of(order);
    line(
        text,
        format_args!(
            "_Bool cas_strong_{size}_{order}({kind} *p, {kind} e, {kind} v) {{ return __atomic_compare_exchange_n(p, &e, v, 0, {constant}, {failure}); }}"
        ),
    );
    line(
        text,
        format_args!(
            "{kind} cas_value_{size}_{order}({kind} *p, {kind} e, {kind} v) {{ __atomic_compare_exchange_n(p, &e, v, 0, {constant}, {failure}); return e; }}"
        ),
    );
    line(
        text,
        format_args!(
            "_Bool cas_from_zero_{size}_{order}({kind} *p, {kind} v) {{ {kind} e = 0; return __atomic_compare_exchange_n(p, &e, v, 0, {constant}, {failure}); }}"
        ),
    );
    line(
        text,
        format_args!(
            "{kind} cas_weak_loop_{size}_{order}({kind} *p, {kind} v) {{ {kind} e = __atomic_load_n(p, __ATOMIC_RELAXED); \
         while (!__atomic_compare_exchange_n(p, &e, e * 3 + v, 1, {constant}, {failure})) {{}} return e; }}"
        ),
    );
    line(
        text,
        format_args!(
            "void cas_maximum_{size}_{order}({kind} *p, {kind} v) {{ {kind} e = __atomic_load_n(p, __ATOMIC_RELAXED); \
         while (e < v && !__atomic_compare_exchange_n(p, &e, v, 1, {constant}, {failure})) {{}} }}"
        ),
    );
}

fn sync_builtins(text: &mut String, size: u32, kind: &str) {
    for operation in ["add", "sub", "and", "or", "xor"] {
        line(
            text,
            format_args!(
                "{kind} sync_{operation}_{size}({kind} *p, {kind} v) {{ return __sync_fetch_and_{operation}(p, v); }}"
            ),
        );
    }
    line(
        text,
        format_args!(
            "{kind} sync_nand_{size}_unmissed({kind} *p, {kind} v) {{ return __sync_fetch_and_nand(p, v); }}"
        ),
    );
    line(
        text,
        format_args!(
            "{kind} sync_lock_{size}({kind} *p, {kind} v) {{ return __sync_lock_test_and_set(p, v); }}"
        ),
    );
    line(
        text,
        format_args!(
            "{kind} sync_cas_{size}({kind} *p, {kind} e, {kind} v) {{ return __sync_val_compare_and_swap(p, e, v); }}"
        ),
    );
    line(
        text,
        format_args!(
            "_Bool sync_bool_cas_{size}({kind} *p, {kind} e, {kind} v) {{ return __sync_bool_compare_and_swap(p, e, v); }}"
        ),
    );
}

fn extremes(text: &mut String, size: u32, kind: &str, order: &str, constant: &str) {
    for operation in ["min", "max"] {
        for signed in ["", "signed_"] {
            let kind = if signed.is_empty() { kind.to_owned() } else { kind.replace("unsigned", "signed") };
            line(
                text,
                format_args!(
                    "{kind} fetch_{signed}{operation}_{size}_{order}({kind} *p, {kind} v) {{ return __atomic_fetch_{operation}(p, v, {constant}); }}"
                ),
            );
        }
    }
}

/// The forms that code generation tells apart beyond operation, size and order: signed types, operands and expected values
/// that are constants, old values through memory, results that nobody wants, and loops around a compare-and-swap. What is
/// weak is called `weak_` or `loop_`.
pub fn c_forms() -> String {
    let mut text = String::new();
    for (size, unsigned) in SIZES {
        for (sign, kind) in [("u", unsigned.to_owned()), ("s", unsigned.replace("unsigned", "signed"))] {
            for (order, constant) in ORDERS {
                let failure = failure_of(order);
                for (name, value) in [("T", &*kind), ("ORDER", constant), ("FAILURE", failure)] {
                    line(&mut text, format_args!("#undef {name}\n#define {name} {value}"));
                }
                forms_of_read_modify_write(&mut text, &format!("{sign}{size}_{order}"));
                forms_of_compare_and_swap(&mut text, &format!("{sign}{size}_{order}"));
            }
        }
    }
    text
}

/// With `T`, `ORDER` and `FAILURE` defined.
fn forms_of_read_modify_write(text: &mut String, name: &str) {
    let operations = ["exchange_n", "fetch_add", "fetch_sub", "fetch_or", "fetch_and", "fetch_xor"];
    let after = ["add_fetch", "sub_fetch", "or_fetch", "and_fetch", "xor_fetch"];
    for operation in operations.iter().chain(&after) {
        let call = format!("__atomic_{operation}(p, v, ORDER)");
        line(text, format_args!("T {operation}_{name}(T *p, T v) {{ return {call}; }}"));
        line(text, format_args!("void only_{operation}_{name}(T *p, T v) {{ {call}; }}"));
    }
    // Immediates that an instruction has room for, and that it has not.
    let operands = [("one", "1"), ("minus", "-1"), ("mask", "255"), ("page", "4096"), ("odd", "0x12345")];
    for (word, operand) in operands {
        for operation in operations {
            let call = format!("__atomic_{operation}(p, (T){operand}, ORDER)");
            line(text, format_args!("T {operation}_{word}_{name}(T *p) {{ return {call}; }}"));
        }
    }
}

/// With `T`, `ORDER` and `FAILURE` defined.
fn forms_of_compare_and_swap(text: &mut String, name: &str) {
    let single = [
        ("cas_memory", "T *p, T *e, T v", "", "e, v, 0"),
        ("cas", "T *p, T e, T v", "", "&e, v, 0"),
        ("cas_from_zero", "T *p, T v", "T e = 0;", "&e, v, 0"),
        ("cas_from_constant", "T *p, T v", "T e = 42;", "&e, v, 0"),
        ("cas_from_all_ones", "T *p, T v", "T e = (T)-1;", "&e, v, 0"),
        ("cas_zero_to_one", "T *p", "T e = 0;", "&e, 1, 0"),
        ("cas_one_to_zero", "T *p", "T e = 1;", "&e, 0, 0"),
        ("cas_to_zero", "T *p, T e", "", "&e, 0, 0"),
        ("cas_next", "T *p, T e", "", "&e, (T)(e + 1), 0"),
        ("weak_memory", "T *p, T *e, T v", "", "e, v, 1"),
        ("weak", "T *p, T e, T v", "", "&e, v, 1"),
        ("weak_zero_to_one", "T *p", "T e = 0;", "&e, 1, 1"),
    ];
    for (what, parameters, before, arguments) in single {
        let call = format!("__atomic_compare_exchange_n(p, {arguments}, ORDER, FAILURE)");
        line(text, format_args!("_Bool {what}_{name}({parameters}) {{ {before} return {call}; }}"));
        if !what.starts_with("weak") && !parameters.contains("*e") {
            let body = format!("{before} {call}; return e;");
            line(text, format_args!("T {what}_value_{name}({parameters}) {{ {body} }}"));
        }
    }
    let loops = [
        ("spin", "T e; do e = 0;", "v, 0"),
        ("cas_loop", "T e = *(volatile T *)p;", "(T)(e * 3 + v), 0"),
        ("loop", "T e = *(volatile T *)p;", "(T)(e * 3 + v), 1"),
        ("loop_next", "T e = *(volatile T *)p;", "(T)(e + 1), 1"),
    ];
    for (what, before, arguments) in loops {
        let call = format!("__atomic_compare_exchange_n(p, &e, {arguments}, ORDER, FAILURE)");
        line(text, format_args!("void {what}_{name}(T *p, T v) {{ {before} while (!{call}); }}"));
    }
}

/// A failed exchange stores nothing, so its order has no release part.
fn failure_of(order: &str) -> &'static str {
    match order {
        "relaxed" | "release" => "__ATOMIC_RELAXED",
        "seq_cst" => "__ATOMIC_SEQ_CST",
        _ => "__ATOMIC_ACQUIRE",
    }
}

/// Every operation of `core::sync::atomic`.
pub fn rust_source() -> String {
    let mut text =
        String::from("use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicU8, Ordering};\n");
    const RUST_ORDERS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
    for bits in [8, 16, 32, 64] {
        for order in RUST_ORDERS {
            for operation in [
                "swap",
                "fetch_add",
                "fetch_sub",
                "fetch_and",
                "fetch_or",
                "fetch_xor",
                "fetch_nand",
                "fetch_max",
                "fetch_min",
            ] {
                let mark = if operation == "fetch_nand" { "_unmissed" } else { "" };
                line(
                    &mut text,
                    format_args!(
                        "#[no_mangle] pub extern \"C\" fn {operation}_{bits}_{order}{mark}(p: &AtomicU{bits}, v: u{bits}) -> u{bits} {{ p.{operation}(v, Ordering::{order}) }}"
                    ),
                );
            }
            let failure = match order {
                "AcqRel" | "Acquire" => "Acquire",
                "SeqCst" => "SeqCst",
                _ => "Relaxed",
            };
            line(
                &mut text,
                format_args!(
                    "#[no_mangle] pub extern \"C\" fn compare_exchange_{bits}_{order}(p: &AtomicU{bits}, e: u{bits}, v: u{bits}) -> bool {{ \
                 p.compare_exchange(e, v, Ordering::{order}, Ordering::{failure}).is_ok() }}"
                ),
            );
            line(
                &mut text,
                format_args!(
                    "#[no_mangle] pub extern \"C\" fn fetch_update_{bits}_{order}(p: &AtomicU{bits}, v: u{bits}) {{ \
                 let _ = p.fetch_update(Ordering::{order}, Ordering::{failure}, |e| Some(e.wrapping_mul(3).wrapping_add(v))); }}"
                ),
            );
        }
    }
    text.push_str("fn main() { println!(\"{}\", std::thread::spawn(|| 7).join().unwrap_or(0)); }\n");
    text.replace("#[no_mangle]", "#[allow(non_snake_case)] #[no_mangle]")
}

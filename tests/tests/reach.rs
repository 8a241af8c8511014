//! Which functions a program reaches without having asked for their features: programs compiled here, run under qemu, judged
//! by deburr.
//!
//! Each case is tested twice: `runs` holds the program against qemu-user on CPUs with and without the feature, so that what the
//! case claims is so; `verdicts` holds deburr against the case.
// tidy: table

use deburr_tests::reach::Outcome::{DiesOfSigill, Prints};
use deburr_tests::reach::{Build, Case, assert_runs, assert_verdicts};

macro_rules! tests_of {
    ($($name:ident)*) => {$(
        mod $name {
            #[test]
            fn runs() {
                super::assert_runs(stringify!($name), &super::$name());
            }

            #[test]
            fn verdicts() {
                super::assert_verdicts(stringify!($name), &super::$name());
            }
        }
    )*};
}

const X86_64: &[Build] = &[
    ("gcc", "-O2"),
    ("gcc", "-O1 -fno-pie -no-pie"),
    ("gcc", "-O2 -static"),
    ("gcc", "-O0"),
    ("clang", "-O2"),
    ("clang", "-O1 -fno-pie -no-pie"),
    ("clang", "-O2 -static"),
];

/// A program that asks for AVX2 and takes another path where it is missing.
const ASKS_FOR_AVX2: Case = Case {
    sources: &[],
    library: &[],
    builds: X86_64,
    runs: &[("Nehalem", Prints("plain")), ("IvyBridge", Prints("plain")), ("Haswell", Prints("avx2"))],
    expects: &[("twice_avx2", "guarded")],
    path: &[],
    level: "x86-64-v1",
};

tests_of! {
    a_check_in_line_guards_its_branch
    a_check_in_a_function_guards_who_branches_on_its_result
    one_block_of_a_function_is_guarded
    a_cached_flag_guards
    a_bit_of_a_cached_word_guards_what_that_bit_means
    a_member_of_a_struct_guards
    a_flag_set_in_a_constructor_guards
    the_compilers_feature_word_guards
    a_clone_for_a_target_is_guarded_by_its_resolver
    an_indirect_function_is_guarded_by_its_resolver
    a_resolver_may_ask_cpuid_itself
    a_pointer_set_once_by_a_function_that_tests_guards
    a_table_of_methods_is_guarded_by_its_getter
    a_check_guards_one_to_four_calls_deep
}

fn a_check_in_line_guards_its_branch() -> Case {
    Case { sources: &["check_in_line.c"], ..ASKS_FOR_AVX2 }
}

fn a_check_in_a_function_guards_who_branches_on_its_result() -> Case {
    Case { sources: &["check_in_callee.c"], ..ASKS_FOR_AVX2 }
}

fn one_block_of_a_function_is_guarded() -> Case {
    Case { sources: &["both_sides_in_one_function.c"], expects: &[("main", "guarded")], ..ASKS_FOR_AVX2 }
}

fn a_cached_flag_guards() -> Case {
    Case { sources: &["cached_flag.c"], ..ASKS_FOR_AVX2 }
}

fn a_bit_of_a_cached_word_guards_what_that_bit_means() -> Case {
    Case {
        sources: &["cached_bit.c"],
        runs: &[("Nehalem", Prints("plain")), ("IvyBridge", Prints("avx")), ("Haswell", Prints("avx2"))],
        expects: &[("twice_avx2", "guarded"), ("twice_avx", "guarded")],
        ..ASKS_FOR_AVX2
    }
}

fn a_member_of_a_struct_guards() -> Case {
    Case { sources: &["cached_struct.c"], ..ASKS_FOR_AVX2 }
}

fn a_flag_set_in_a_constructor_guards() -> Case {
    Case { sources: &["flag_set_in_constructor.c"], ..ASKS_FOR_AVX2 }
}

fn the_compilers_feature_word_guards() -> Case {
    Case { sources: &["builtin_cpu_supports.c"], ..ASKS_FOR_AVX2 }
}

fn a_clone_for_a_target_is_guarded_by_its_resolver() -> Case {
    Case {
        sources: &["target_clones.c"],
        expects: &[("twice.avx2|twice.avx2.0", "guarded")],
        ..ASKS_FOR_AVX2
    }
}

fn an_indirect_function_is_guarded_by_its_resolver() -> Case {
    Case { sources: &["ifunc.c"], ..ASKS_FOR_AVX2 }
}

fn a_resolver_may_ask_cpuid_itself() -> Case {
    Case { sources: &["ifunc_cpuid.c"], ..ASKS_FOR_AVX2 }
}

fn a_pointer_set_once_by_a_function_that_tests_guards() -> Case {
    Case {
        sources: &["pointer_chosen_once.c"],
        runs: &[("core2duo", Prints("plain")), ("Nehalem", Prints("sse4.2"))],
        expects: &[("crc_sse42", "guarded")],
        ..ASKS_FOR_AVX2
    }
}

fn a_table_of_methods_is_guarded_by_its_getter() -> Case {
    Case {
        sources: &["method_table.c"],
        expects: &[("twice_avx2", "guarded"), ("initialise_avx2", "guarded")],
        ..ASKS_FOR_AVX2
    }
}

fn a_check_guards_one_to_four_calls_deep() -> Case {
    Case {
        sources: &["callers.c"],
        expects: &[
            ("under_one", "guarded"),
            ("under_two", "guarded"),
            ("under_three", "guarded"),
            ("under_four", "guarded"),
        ],
        ..ASKS_FOR_AVX2
    }
}

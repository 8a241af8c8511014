//! Cases for x86-64: AVX2 and its neighbours.
// tidy: table

use super::case;
use deburr_tests::reach::Outcome::{Aborts, DiesOfSigill, Prints};
use deburr_tests::reach::{Build, Case, reports};

/// Position-independent, static and at a fixed address; optimised in two ways and not at all.
const X86_64: &[Build] = &[
    ("gcc", "-O2"),
    ("gcc", "-O1 -static"),
    ("gcc", "-O0"),
    ("clang", "-O2"),
    ("clang", "-O1 -fno-pie -no-pie"),
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

/// The same, but it runs AVX2 code unasked.
const NEEDS_AVX2: Case = Case {
    runs: &[("Nehalem", DiesOfSigill), ("IvyBridge", DiesOfSigill), ("Haswell", Prints("avx2"))],
    expects: &[("twice_avx2", "required")],
    level: "x86-64-v3",
    ..ASKS_FOR_AVX2
};

/// It asks, but for less than AVX2: only what lies in between dies of it, and no level does.
const ASKS_FOR_LESS: Case = Case {
    runs: &[("Nehalem", Prints("plain")), ("IvyBridge", DiesOfSigill), ("Haswell", Prints("avx2"))],
    expects: &[("twice_avx2", "under-guarded")],
    ..ASKS_FOR_AVX2
};

/// The same, by a pointer in an object that is not followed. The function begins right after the one that stores the pointer.
const ENTERED_UNSEEN: Case = Case {
    builds: &[("gcc", "-O2 -fno-toplevel-reorder"), ("clang", "-O2")],
    expects: &[("twice_avx2", "unknown|required")],
    level: "x86-64-v1|x86-64-v3",
    ..NEEDS_AVX2
};

/// Nothing above the baseline ever runs.
const RUNS_PLAIN: Case =
    Case { runs: &[("Nehalem", Prints("plain")), ("Haswell", Prints("plain"))], ..ASKS_FOR_AVX2 };

const SHARED: &[Build] = &[("gcc", "-O2"), ("gcc", "-O0"), ("clang", "-O1"), ("clang", "-O2")];

/// Functions keep their names where a file is stripped.
const NAMED: &[Build] = &[("gcc", "-O2 -rdynamic"), ("gcc", "-O1 -rdynamic"), ("clang", "-O2 -rdynamic")];

const OPTIMISED: &[Build] = &[("gcc", "-O2"), ("clang", "-O2")];

/// The same, of programs that have a false twin.
const TRAPS: &[Build] = &[("gcc", "-O2 -DTRAP"), ("clang", "-O2 -DTRAP")];

const GCC: &[Build] = &[("gcc", "-O2"), ("gcc", "-O1 -static"), ("gcc", "-O0")];

const OPTIMISED_AT_LINK: &[Build] = &[("gcc", "-O3 -flto"), ("clang", "-O3 -flto -fuse-ld=lld")];

const RUST: &[Build] = &[RUST_OPTIMISED[0], RUST_OPTIMISED[1], RUST_NOT_OPTIMISED[0]];

const RUST_OPTIMISED: &[Build] =
    &[("rustc", "-Copt-level=2"), ("rustc", "-Copt-level=3 -Ccodegen-units=1 -Cpanic=abort")];

const RUST_NOT_OPTIMISED: &[Build] = &[("rustc", "-Copt-level=0 -Crelocation-model=static")];

/// Where gcc packs neighbouring stores into a vector, and where it does not.
const PACKED: &[Build] = &[("gcc", "-O3"), ("gcc", "-O2"), ("gcc", "-O0"), ("clang", "-O2")];

case!(a_check_in_line_guards_its_branch, Case { sources: &["check_in_line.c"], ..ASKS_FOR_AVX2 });

case!(
    a_check_in_a_function_guards_who_branches_on_its_result,
    Case { sources: &["check_in_callee.c"], ..ASKS_FOR_AVX2 }
);

case!(
    cpuid_that_only_serializes_takes_nothing_from_a_check,
    Case { sources: &["serializing_beside_check.c"], ..ASKS_FOR_AVX2 }
);

case!(
    the_highest_leaf_from_a_function_that_stores_takes_nothing_from_a_check,
    Case { sources: &["highest_leaf_first.c"], ..ASKS_FOR_AVX2 }
);

case!(
    one_block_of_a_function_is_guarded,
    Case { sources: &["both_sides_in_one_function.c"], expects: &[("main", "guarded")], ..ASKS_FOR_AVX2 }
);

case!(
    what_a_flag_packed_into_a_wide_word_decides_is_not_required,
    Case {
        sources: &["packed_flag.c"],
        builds: OPTIMISED,
        expects: &[("twice_avx2", "unknown")],
        ..ASKS_FOR_AVX2
    }
);

case!(a_cached_flag_guards, Case { sources: &["cached_flag.c"], ..ASKS_FOR_AVX2 });

case!(
    a_bit_of_a_cached_word_guards_what_that_bit_means,
    Case {
        sources: &["cached_bit.c"],
        runs: &[("Nehalem", Prints("plain")), ("IvyBridge", Prints("avx")), ("Haswell", Prints("avx2"))],
        expects: &[("twice_avx2", "guarded"), ("twice_avx", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(a_member_of_a_struct_guards, Case { sources: &["cached_struct.c"], ..ASKS_FOR_AVX2 });

case!(
    an_element_of_an_array_that_a_function_reads_guards,
    Case { sources: &["cached_array.c"], expects: &[("twice_avx2", "guarded|unknown")], ..ASKS_FOR_AVX2 }
);

case!(
    a_struct_on_the_stack_that_a_function_fills_guards,
    Case { sources: &["filled_on_stack.c"], ..ASKS_FOR_AVX2 }
);

case!(
    what_an_argument_of_unknown_origin_chooses_is_not_required,
    Case { sources: &["flag_argument.c"], expects: &[("twice_avx2", "unknown|guarded")], ..ASKS_FOR_AVX2 }
);

case!(
    what_an_argument_chooses_that_is_one_somewhere_is_required,
    Case { sources: &["trap_flag_argument.c"], ..NEEDS_AVX2 }
);

case!(
    a_mask_in_an_object_is_presumed_to_be_the_answer,
    Case {
        sources: &["mask_in_object.c"],
        builds: SHARED,
        expects: &[
            ("absolute", "presumed|guarded"),
            ("shuffled", "presumed|guarded"),
            ("largest", "presumed|guarded"),
            ("product", "presumed|guarded"),
            ("compared", "presumed|guarded"),
            ("twice_avx2", "presumed|guarded"),
        ],
        ..ASKS_FOR_AVX2
    }
);

case!(
    one_agreement_presumes_nothing,
    Case {
        sources: &["trap_mask_few.c"],
        builds: SHARED,
        expects: &[("twice_avx2", "required"), ("absolute", "presumed|guarded")],
        ..NEEDS_AVX2
    }
);

case!(
    a_mask_that_contradicts_presumes_nothing,
    Case {
        sources: &["trap_mask_wrong.c"],
        builds: SHARED,
        expects: &[("twice_avx2", "required"), ("largest", "under-guarded"), ("absolute", "unknown|guarded")],
        ..NEEDS_AVX2
    }
);

case!(
    the_users_mask_or_the_cpus_is_an_argument_in_a_register_that_calls_leave,
    Case {
        sources: &["flag_beside_answer.c"],
        expects: &[("twice_avx2", "guarded|unknown")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    names_that_agree_with_what_functions_use_are_believed,
    Case {
        sources: &["named_for_cpus.c"],
        builds: NAMED,
        expects: &[
            ("twice_avx2", "presumed"),
            ("square_avx2", "presumed"),
            ("zero_avx2", "presumed"),
            ("twice_avx512", "presumed"),
            ("square_avx512", "presumed"),
        ],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_name_does_not_make_a_function_one_that_is_chosen,
    Case {
        sources: &["trap_named_unasked.c"],
        builds: NAMED,
        expects: &[("twice_avx2", "required"), ("twice_avx512", "unknown")],
        ..NEEDS_AVX2
    }
);

case!(
    a_name_that_says_too_little_discredits_the_others,
    Case {
        sources: &["trap_named_for_less.c"],
        builds: NAMED,
        expects: &[("add_sse42", "unknown"), ("twice_avx2", "unknown"), ("twice_avx512", "unknown")],
        ..ASKS_FOR_AVX2
    }
);

// That it comes from a check is seen; that it does on every way is not.
case!(
    a_flag_in_an_object_guards_what_it_is_passed_to,
    Case { sources: &["flag_in_object.c"], expects: &[("twice_avx2", "guarded|unknown")], ..ASKS_FOR_AVX2 }
);

case!(
    a_flag_in_an_object_that_nobody_asks_for_guards_nothing,
    Case { sources: &["trap_flag_in_object_ignored.c"], ..NEEDS_AVX2 }
);

case!(a_function_asked_through_a_pointer_guards, Case { sources: &["asked_by_pointer.c"], ..ASKS_FOR_AVX2 });

case!(a_flag_set_in_a_constructor_guards, Case { sources: &["flag_set_in_constructor.c"], ..ASKS_FOR_AVX2 });

case!(the_compilers_feature_word_guards, Case { sources: &["builtin_cpu_supports.c"], ..ASKS_FOR_AVX2 });

case!(
    a_clone_for_a_target_is_guarded_by_its_resolver,
    Case {
        sources: &["target_clones.c"],
        expects: &[("twice.avx2|twice.avx2.0", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(an_indirect_function_is_guarded_by_its_resolver, Case { sources: &["ifunc.c"], ..ASKS_FOR_AVX2 });

case!(a_resolver_may_ask_cpuid_itself, Case { sources: &["ifunc_cpuid.c"], ..ASKS_FOR_AVX2 });

case!(
    a_pointer_set_once_by_a_function_that_tests_guards,
    Case {
        sources: &["pointer_chosen_once.c"],
        runs: &[("core2duo", Prints("plain")), ("Nehalem", Prints("sse4.2"))],
        expects: &[("crc_sse42", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_table_of_methods_is_guarded_by_its_getter,
    Case {
        sources: &["method_table.c"],
        expects: &[("twice_avx2", "guarded"), ("initialise_avx2", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_check_guards_one_to_four_calls_deep,
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
);

case!(
    what_follows_an_early_return_is_guarded,
    Case {
        sources: &["returns_early.c"],
        expects: &[("twice_avx2", "guarded"), ("thrice_avx2", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    what_follows_an_abort_is_guarded,
    Case {
        sources: &["aborts_without.c"],
        runs: &[("Nehalem", Aborts), ("IvyBridge", Aborts), ("Haswell", Prints("avx2"))],
        level: "x86-64-v3",
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_level_guards_by_comparison_and_by_switch,
    Case {
        sources: &["level_enum.c"],
        runs: &[
            ("core2duo", Prints("plain")),
            ("Nehalem", Prints("sse4.2")),
            ("IvyBridge", Prints("avx")),
            ("Haswell", Prints("avx2")),
        ],
        expects: &[
            ("twice_avx2", "guarded"),
            ("thrice_avx2", "guarded"),
            ("twice_avx", "guarded"),
            ("hash_sse42", "guarded"),
        ],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_switch_over_a_level_guards_each_of_its_cases,
    Case {
        sources: &["level_table.c"],
        expects: &[
            ("twice_avx2", "guarded"),
            ("slowly_avx2", "guarded"),
            ("twice_avx", "guarded"),
            ("hash_sse42", "guarded"),
        ],
        ..a_level_guards_by_comparison_and_by_switch::CASE
    }
);

case!(
    a_case_for_less_is_named_as_such,
    Case {
        sources: &["trap_level_table.c"],
        runs: &[
            ("core2duo", Prints("plain")),
            ("Nehalem", Prints("sse4.2")),
            ("IvyBridge", DiesOfSigill),
            ("Haswell", Prints("avx2")),
        ],
        expects: &[("twice_avx2", "under-guarded"), ("slowly_avx2", "guarded"), ("hash_sse42", "guarded")],
        ..ASKS_FOR_LESS
    }
);

case!(
    flags_stored_side_by_side_guard,
    Case {
        sources: &["flags_packed.c"],
        builds: PACKED,
        runs: &[
            ("core2duo", Prints("plain")),
            ("Nehalem", Prints("sse4.2")),
            ("IvyBridge", Prints("sse4.2")),
            ("Haswell", Prints("avx2")),
        ],
        expects: &[("twice_avx2", "guarded"), ("hash_sse42", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_flag_beside_the_right_one_is_less,
    Case {
        sources: &["trap_flags_packed.c"],
        builds: PACKED,
        runs: &[
            ("core2duo", Prints("plain")),
            ("Nehalem", Prints("sse4.2")),
            ("IvyBridge", DiesOfSigill),
            ("Haswell", Prints("avx2")),
        ],
        expects: &[("twice_avx2", "under-guarded"), ("hash_sse42", "guarded")],
        ..ASKS_FOR_LESS
    }
);

case!(
    a_value_chosen_by_the_carry_guards,
    Case { sources: &["carry_chosen.c"], builds: X86_64, ..flags_stored_side_by_side_guard::CASE }
);

case!(
    a_bit_below_the_right_one_is_less,
    Case {
        sources: &["trap_carry_chosen.c"],
        runs: &[("core2duo", DiesOfSigill), ("Nehalem", DiesOfSigill), ("Haswell", Prints("avx2"))],
        expects: &[("twice_avx2", "under-guarded"), ("hash_sse42", "under-guarded")],
        ..ASKS_FOR_LESS
    }
);

case!(
    a_flag_exchanged_atomically_guards,
    Case {
        sources: &["exchanged.c"],
        runs: &[("Nehalem", Prints("plain")), ("IvyBridge", Prints("avx")), ("Haswell", Prints("avx2"))],
        expects: &[("twice_avx2", "guarded"), ("twice_avx", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_flag_read_before_it_is_found_guards_nothing,
    Case { sources: &["trap_lazily.c"], expects: &[("twice_avx2", "required|under-guarded")], ..NEEDS_AVX2 }
);

case!(a_flag_found_at_the_first_use_guards, Case { sources: &["lazily_cached.c"], ..ASKS_FOR_AVX2 });

case!(a_flag_set_by_pthread_once_guards, Case { sources: &["once.c"], ..ASKS_FOR_AVX2 });

case!(
    a_pointer_selected_without_a_branch_is_guarded,
    Case { sources: &["pointer_selected_in_line.c"], ..ASKS_FOR_AVX2 }
);

case!(
    a_pointer_overridden_behind_a_check_is_guarded,
    Case {
        sources: &["pointer_overridden.c"],
        expects: &[("twice_avx2", "guarded"), ("other_avx2", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_vtable_used_behind_a_check_is_guarded,
    Case { sources: &["vtable_factory.cc"], expects: &[("Wide::twice", "guarded")], ..ASKS_FOR_AVX2 }
);

case!(a_static_variable_of_a_function_guards, Case { sources: &["local_static.cc"], ..ASKS_FOR_AVX2 });

case!(
    a_word_of_capabilities_guards_assembly,
    Case { sources: &["capability_word.c", "capability_word.s"], ..ASKS_FOR_AVX2 }
);

case!(a_mask_of_two_features_guards_each, Case { sources: &["mask_of_two.c"], ..ASKS_FOR_AVX2 });

case!(a_check_without_xgetbv_guards, Case { sources: &["without_xgetbv.c"], ..ASKS_FOR_AVX2 });

case!(
    a_thread_started_behind_a_check_is_guarded,
    Case { sources: &["thread_behind_check.c"], expects: &[("thread_avx2", "guarded")], ..ASKS_FOR_AVX2 }
);

case!(
    avx512_behind_its_check_is_guarded,
    Case {
        sources: &["avx512.c"],
        runs: &[("Nehalem", Prints("plain")), ("Haswell", Prints("plain"))],
        expects: &[("twice_avx512", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_hidden_function_of_a_library_is_guarded_by_the_exported_one,
    Case {
        sources: &["library_guarded.c"],
        library: &["library_guarded_part.c"],
        builds: SHARED,
        expects: &[("twice_avx2", "guarded"), ("thrice_avx2", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(rusts_detection_guards, Case { sources: &["rust_detected.rs"], builds: RUST, ..ASKS_FOR_AVX2 });

case!(
    a_level_that_rust_works_out_at_the_first_use_guards,
    Case {
        sources: &["rust_lazy_level.rs"],
        builds: RUST,
        runs: &[("core2duo", Prints("plain")), ("Nehalem", Prints("sse42")), ("Haswell", Prints("avx2"))],
        expects: &[("twice_avx2", "guarded"), ("sum_sse42", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_pointer_in_a_rust_atomic_guards,
    Case { sources: &["rust_pointer.rs"], builds: RUST, ..ASKS_FOR_AVX2 }
);

case!(
    gos_standard_library_needs_nothing,
    Case {
        sources: &["go_dispatch.go"],
        builds: &[("go", "GOARCH=amd64 GOAMD64=v1")],
        runs: &[("Nehalem", Prints("541b ca3d d84dda57")), ("Haswell", Prints("541b ca3d d84dda57"))],
        expects: &[
            ("hash/crc32.castagnoliSSE42.abi0|hash/crc32.castagnoliSSE42", "guarded"),
            (
                "crypto/internal/fips140/sha256.blockAVX2.abi0|crypto/sha256.blockAVX2.abi0|crypto/sha256.blockAVX2",
                "guarded",
            ),
        ],
        ..ASKS_FOR_AVX2
    }
);

case!(an_unchecked_call_is_required, Case { sources: &["trap_unchecked.c"], ..NEEDS_AVX2 });

case!(
    an_address_that_nothing_calls_is_not_required,
    Case { sources: &["trap_address_only.c"], expects: &[("twice_avx2", "unreached|unknown")], ..RUNS_PLAIN }
);

case!(
    a_level_that_is_known_by_name_is_not_followed,
    // The name is kept where all others are stripped.
    Case {
        sources: &["named_level.c"],
        builds: &[("gcc", "-O2 -rdynamic"), ("gcc", "-O0 -rdynamic"), ("clang", "-O2 -rdynamic")],
        expects: &[("twice_avx2", "unknown|guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_name_that_promises_a_check_guards_nothing,
    Case { sources: &["trap_named_constant.c"], ..NEEDS_AVX2 }
);

case!(
    what_only_the_code_before_it_makes_an_address_of_may_be_entered,
    Case {
        sources: &["trap_unframed.c -fno-asynchronous-unwind-tables -fno-unwind-tables"],
        ..ENTERED_UNSEEN
    }
);

case!(
    what_no_branch_leads_to_may_be_entered,
    // Without names the two functions are one, which begins where `make` does.
    Case {
        sources: &["trap_unframed_offset.c -fno-asynchronous-unwind-tables -fno-unwind-tables"],
        expects: &[("twice_avx2", "unknown|required|absent"), ("make", "unknown|required|absent")],
        ..ENTERED_UNSEEN
    }
);

case!(
    an_address_that_is_compared_leads_nowhere,
    Case {
        sources: &["compared_address.c"],
        builds: &[("gcc", "-O2 -fPIC"), ("clang", "-O2 -fPIC"), ("clang", "-O1 -fPIC")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_flag_beside_a_pointer_guards_only_what_looks_at_it,
    Case {
        sources: &["trap_flag_beside_pointer.c"],
        expects: &[("twice_avx2", "unknown|required")],
        level: "x86-64-v1|x86-64-v3",
        ..NEEDS_AVX2
    }
);

case!(a_list_of_addresses_calls_nothing, Case { sources: &["trap_address_list.c"], ..ASKS_FOR_AVX2 });

case!(
    what_only_glibcs_list_of_variants_names_is_not_reached,
    Case {
        sources: &["library_guarded.c"],
        library: &["library_variant_list_part.c"],
        builds: SHARED,
        expects: &[("twice_avx2", "guarded"), ("thrice_avx2", "unreached")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_table_in_text_jumps_nowhere,
    Case { sources: &["trap_table_in_text.c", "trap_table_in_text.s"], ..ASKS_FOR_AVX2 }
);

case!(
    a_comdat_function_from_an_avx2_unit_is_required,
    Case {
        sources: &["trap_comdat_wide.cc -mavx2", "trap_comdat.cc"],
        expects: &[("Sample::double_all", "required")],
        ..NEEDS_AVX2
    }
);

case!(
    an_inverted_check_guards_nothing,
    Case {
        sources: &["trap_inverted.c"],
        runs: &[("Nehalem", DiesOfSigill), ("IvyBridge", DiesOfSigill), ("Haswell", Prints("plain"))],
        expects: &[("twice_avx2", "required|under-guarded")],
        ..NEEDS_AVX2
    }
);

case!(a_check_for_less_is_named_as_such, Case { sources: &["trap_weaker.c"], ..ASKS_FOR_LESS });

case!(a_cached_check_for_less_is_named_as_such, Case { sources: &["trap_weaker_cached.c"], ..ASKS_FOR_LESS });

case!(
    a_resolver_that_asks_for_less_is_named_as_such,
    Case { sources: &["trap_weaker_ifunc.c"], ..ASKS_FOR_LESS }
);

case!(
    a_check_for_either_of_two_is_less,
    Case {
        sources: &["trap_either.c"],
        runs: &[
            ("core2duo", Prints("plain")),
            ("Nehalem", DiesOfSigill),
            ("IvyBridge", DiesOfSigill),
            ("Haswell", Prints("avx2")),
        ],
        expects: &[("twice_avx2", "under-guarded|required")],
        // Without either it runs.
        level: "x86-64-v1|x86-64-v3",
        ..NEEDS_AVX2
    }
);

case!(
    avx512_behind_a_check_for_avx2_is_under_guarded,
    Case {
        sources: &["trap_avx512_behind_avx2.c"],
        runs: &[("Nehalem", Prints("plain")), ("IvyBridge", Prints("plain")), ("Haswell", DiesOfSigill)],
        expects: &[("twice_avx512", "under-guarded")],
        ..ASKS_FOR_LESS
    }
);

case!(
    dead_code_is_unreached,
    Case {
        sources: &["trap_dead.c"],
        expects: &[("twice_avx2", "unreached"), ("thrice_avx2", "unreached")],
        ..RUNS_PLAIN
    }
);

case!(
    a_prefix_that_old_processors_ignore_is_no_feature,
    Case { sources: &["trap_rep_bsf.c"], expects: &[("lowest", "absent"), ("main", "absent")], ..RUNS_PLAIN }
);

case!(
    a_resolver_that_uses_the_feature_is_required,
    Case {
        sources: &["trap_resolver.c"],
        expects: &[("resolve_twice", "required"), ("twice_avx2", "guarded")],
        ..NEEDS_AVX2
    }
);

case!(
    a_dispatcher_compiled_above_its_level_is_required,
    Case {
        sources: &["trap_dispatcher.c"],
        expects: &[("twice", "required"), ("twice_avx2", "guarded")],
        ..NEEDS_AVX2
    }
);

case!(
    a_static_constructor_is_a_root,
    Case {
        sources: &["trap_constructor.c"],
        expects: &[("initialise", "required")],
        path: &["initialise"],
        ..NEEDS_AVX2
    }
);

case!(
    the_initialisation_of_a_global_object_is_a_root,
    Case {
        sources: &["trap_initializer.cc", "trap_initializer_wide.cc -mavx2"],
        expects: &[("Filled::Filled", "required")],
        ..NEEDS_AVX2
    }
);

case!(
    an_exported_function_is_a_root,
    Case {
        sources: &["trap_library.c"],
        library: &["trap_library_part.c"],
        builds: SHARED,
        expects: &[("twice_unchecked", "required"), ("twice_hidden", "guarded")],
        path: &["twice_unchecked"],
        ..NEEDS_AVX2
    }
);

case!(
    a_table_of_pointers_that_no_check_owns_is_a_root,
    Case {
        sources: &["trap_pointer_table.c"],
        expects: &[("twice_avx2", "required"), ("thrice_avx2", "required")],
        ..NEEDS_AVX2
    }
);

case!(
    what_a_table_of_offsets_leads_to_is_not_unreached,
    Case {
        sources: &["trap_offset_table.c"],
        expects: &[("twice_avx2", "unknown|required"), ("thrice_avx2", "unknown|required")],
        level: "x86-64-v1|x86-64-v3",
        ..NEEDS_AVX2
    }
);

case!(
    what_a_large_table_of_pointers_leads_to_is_not_unreached,
    Case {
        sources: &["trap_large_table.c"],
        expects: &[("twice_avx2", "unknown|required"), ("thrice_avx2", "unknown|required")],
        level: "x86-64-v1|x86-64-v3",
        ..NEEDS_AVX2
    }
);

case!(
    pointers_that_a_vector_register_stores_are_not_unreached,
    Case {
        sources: &["trap_paired_pointers.c"],
        expects: &[("twice_avx2", "unknown|required"), ("thrice_avx2", "unknown|required")],
        level: "x86-64-v1|x86-64-v3",
        ..NEEDS_AVX2
    }
);

case!(
    a_vtable_used_unasked_is_a_root,
    Case { sources: &["trap_vtable.cc"], expects: &[("Wide::twice", "required")], ..NEEDS_AVX2 }
);

case!(
    a_program_compiled_for_the_third_level_is_required_from_main,
    Case {
        sources: &["trap_whole_program.c -march=x86-64-v3"],
        expects: &[("main", "required")],
        ..NEEDS_AVX2
    }
);

case!(a_check_after_the_use_guards_nothing, Case { sources: &["trap_used_before.c"], ..NEEDS_AVX2 });

case!(
    one_careless_caller_is_enough,
    Case { sources: &["trap_one_caller.c"], path: &["…", "careless", "twice_avx2"], ..NEEDS_AVX2 }
);

case!(
    a_check_that_both_sides_outlive_guards_nothing,
    Case { sources: &["trap_check_ignored.c"], ..NEEDS_AVX2 }
);

case!(
    what_is_chosen_beside_cpuid_that_only_serializes_is_not_followed,
    Case { sources: &["serializing_or_wide.c"], expects: &[("twice_avx2", "unknown")], ..RUNS_PLAIN }
);

case!(
    cpuid_that_only_serializes_guards_nothing,
    Case { sources: &["trap_serializing_only.c"], ..NEEDS_AVX2 }
);

case!(
    a_flag_that_others_write_too_guards_nothing,
    Case {
        sources: &["trap_flag_overwritten.c"],
        expects: &[("twice_avx2", "required|under-guarded")],
        ..NEEDS_AVX2
    }
);

case!(a_pointer_set_unasked_guards_nothing, Case { sources: &["trap_pointer_unchecked.c"], ..NEEDS_AVX2 });

case!(
    a_thread_started_unasked_is_required,
    Case { sources: &["trap_thread.c"], expects: &[("thread_avx2", "required")], ..NEEDS_AVX2 }
);

case!(
    a_destructor_is_a_root,
    Case {
        sources: &["trap_destructor.c"],
        expects: &[("finish", "required")],
        path: &["finish"],
        ..NEEDS_AVX2
    }
);

case!(
    a_rust_function_called_unasked_is_required,
    Case { sources: &["trap_rust_unchecked.rs"], builds: RUST_OPTIMISED, ..NEEDS_AVX2 }
);

case!(
    a_boxed_object_that_the_input_chooses_is_required,
    Case { sources: &["trap_rust_boxed.rs"], builds: &[RUST_OPTIMISED[0]], ..NEEDS_AVX2 }
);

case!(
    what_an_unoptimised_rust_function_calls_is_required_too,
    Case {
        sources: &["trap_rust_unchecked.rs"],
        builds: RUST_NOT_OPTIMISED,
        expects: &[
            ("twice_avx2", "required"),
            ("avx2::_mm256_add_epi32", "required"),
            ("avx::_mm256_loadu_si256", "required"),
            ("avx::_mm256_storeu_si256", "required"),
        ],
        ..NEEDS_AVX2
    }
);

case!(
    a_check_before_a_loop_guards_what_the_loop_calls,
    Case { sources: &["check_before_loop.c"], ..ASKS_FOR_AVX2 }
);

case!(
    a_table_indexed_by_what_a_check_found_is_not_required,
    Case {
        sources: &["table_indexed_by_level.c"],
        expects: &[("twice_avx2", "guarded|unknown")],
        ..ASKS_FOR_AVX2
    }
);

case!(gccs_check_for_a_level_guards, Case { sources: &["supports_level.c"], builds: GCC, ..ASKS_FOR_AVX2 });

case!(
    gccs_clone_for_a_level_is_guarded,
    Case {
        sources: &["target_clones_level.c"],
        builds: GCC,
        expects: &[("twice.arch_x86_64_v3", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_check_guards_what_link_time_optimisation_moves,
    Case {
        sources: &["cached_bit.c"],
        builds: OPTIMISED_AT_LINK,
        ..a_bit_of_a_cached_word_guards_what_that_bit_means::CASE
    }
);

case!(
    a_count_that_comes_out_wrong_is_required,
    Case {
        sources: &["trap_lzcnt.c"],
        runs: &[("Nehalem", Prints("wrong")), ("Haswell", Prints("right"))],
        expects: &[("leading", "required")],
        ..NEEDS_AVX2
    }
);

case!(
    a_handler_installed_unasked_is_required,
    Case { sources: &["trap_signal.c"], expects: &[("handler_avx2", "required")], ..NEEDS_AVX2 }
);

case!(
    a_comdat_function_from_a_plain_unit_needs_nothing,
    Case {
        sources: &["trap_comdat.cc", "trap_comdat_wide.cc -mavx2"],
        expects: &[("Sample::double_all", "absent")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_modules_other_exports_are_not_roots,
    Case {
        sources: &["module.c"],
        library: &["module_part.c"],
        builds: SHARED,
        expects: &[("twice_avx2", "guarded"), ("spare_avx2", "unknown|unreached|offered")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_modules_entry_is_a_root,
    Case { sources: &["module.c"], library: &["trap_module_part.c"], builds: SHARED, ..NEEDS_AVX2 }
);

case!(
    an_exported_function_that_a_check_chooses_is_guarded,
    Case {
        sources: &["library_guarded.c"],
        library: &["library_exported_part.c"],
        builds: SHARED,
        expects: &[("twice_avx2", "guarded"), ("thrice_avx2", "guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_function_that_takes_wide_vectors_is_offered,
    Case {
        sources: &["vectors_taken.c"],
        library: &["vectors_taken_part.c -mavx2 -mavx512f"],
        builds: SHARED,
        // AVX passes 256 bits, and AVX2 is one thing more.
        expects: &[("twice16", "offered"), ("twice8", "under-guarded")],
        ..RUNS_PLAIN
    }
);

case!(
    a_function_that_loads_or_widens_itself_is_not_offered,
    Case {
        sources: &["vectors_taken.c -DSCALARS"],
        library: &["vectors_taken_part.c -DSCALARS -mavx2 -mavx512f"],
        builds: SHARED,
        expects: &[
            ("twice_all", "required"),
            ("scale_all", "required"),
            ("first_of_all", "required"),
            ("finish_all", "required"),
            ("gather_all", "required"),
            ("twice8", "required|under-guarded"),
        ],
        ..NEEDS_AVX2
    }
);

case!(
    a_function_that_takes_wide_vectors_is_required_where_the_file_does_not_query_the_cpu,
    Case {
        sources: &["vectors_taken.c -DSCALARS"],
        library: &["vectors_taken_part.c -DSCALARS -DSILENT -mavx2"],
        builds: SHARED,
        expects: &[
            ("twice8", "required"),
            ("twice_all", "required"),
            ("scale_all", "required"),
            ("first_of_all", "required"),
            ("finish_all", "required"),
            ("gather_all", "required"),
        ],
        ..NEEDS_AVX2
    }
);

case!(
    one_careless_exported_function_is_enough,
    Case {
        sources: &["library_guarded.c"],
        library: &["trap_library_exported_part.c"],
        builds: SHARED,
        expects: &[("thrice_avx2", "required")],
        ..NEEDS_AVX2
    }
);

case!(
    a_templates_instance_is_exported_by_accident,
    Case {
        sources: &["library.cc"],
        library: &["instance_part.cc"],
        builds: SHARED,
        expects: &[("Doubler<int>::chosen", "guarded"), ("Doubler<int>::spare", "unknown")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_templates_instance_called_unasked_is_required,
    Case {
        sources: &["library.cc"],
        library: &["trap_instance_part.cc"],
        builds: SHARED,
        expects: &[("Doubler<int>::twice", "required")],
        ..NEEDS_AVX2
    }
);

case!(
    a_check_by_an_imported_function_is_not_required,
    Case {
        sources: &["answerer.c"],
        library: &["answerer_part.c"],
        builds: SHARED,
        expects: &[("twice_avx2", "unknown")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    another_answer_of_an_imported_function_guards_nothing,
    Case { sources: &["trap_answerer.c"], library: &["trap_answerer_part.c"], builds: SHARED, ..NEEDS_AVX2 }
);

case!(
    a_pointer_that_something_chooses_is_not_required,
    Case { sources: &["chosen_by_kind.c"], expects: &[("twice_avx2", "unknown")], ..RUNS_PLAIN }
);

case!(a_call_after_a_counted_loop_is_required, Case { sources: &["trap_counted_loop.c"], ..NEEDS_AVX2 });

case!(
    a_handler_of_exceptions_beside_a_jump_table_is_reached,
    Case { sources: &["trap_switch_and_catch.cc"], ..NEEDS_AVX2 }
);

/// A static program has the C library's own checks in it, which ask.
#[test]
fn a_system_that_is_not_asked_for_its_registers_is_noted() {
    let told = |name: &str, case: &Case| {
        let reports = reports(name, case).into_iter().filter(|(build, _)| !build.contains("-static"));
        let told = reports.map(|(_, report)| report["xcr0_not_asked"].clone()).collect::<Vec<_>>();
        assert!(!told.is_empty(), "{name}");
        told
    };
    let alone = told(a_check_without_xgetbv_guards::NAME, &a_check_without_xgetbv_guards::CASE);
    assert!(alone.iter().all(|told| told == true), "{alone:?}");
    let both = told(a_check_in_line_guards_its_branch::NAME, &a_check_in_line_guards_its_branch::CASE);
    assert!(both.iter().all(|told| told == false), "{both:?}");
}

/// `TESTS_OSXSAVE` without running `xgetbv` is enough to be silent: the system saves at least something.
#[test]
fn a_query_for_avx_alone_is_noted_where_its_functions_are_unknown() {
    const BY_LEVEL: Case = Case {
        sources: &["xcr0_by_level.c"],
        builds: OPTIMISED,
        expects: &[("twice_avx2", "unknown|presumed|guarded")],
        ..ASKS_FOR_AVX2
    };
    let told = |name: &str, builds: &'static [Build]| {
        let each = builds.chunks(1).enumerate();
        let reports =
            each.flat_map(|(at, builds)| reports(&format!("{name}/{at}"), &Case { builds, ..BY_LEVEL }));
        reports.map(|(_, report)| report["xcr0_not_asked"].clone()).collect::<Vec<_>>()
    };
    let alone: &[Build] = &[("gcc", "-O2"), ("gcc", "-O0"), ("clang", "-O2")];
    assert_eq!(told("x86_64::xcr0_by_level_alone", alone), [true; 3]);
    let not: &[Build] = &[
        ("gcc", "-O2 -DASKS_SYSTEM"),
        ("gcc", "-O2 -DTESTS_OSXSAVE"),
        ("gcc", "-O0 -DTESTS_OSXSAVE"),
        ("gcc", "-O2 -DASKS_OTHERWISE"),
        ("clang", "-O2 -DASKS_SYSTEM"),
        ("clang", "-O2 -DTESTS_OSXSAVE"),
        ("clang", "-O2 -DASKS_OTHERWISE"),
    ];
    assert_eq!(told("x86_64::xcr0_by_level_with_system", not), [false; 7]);
}

case!(
    what_needs_avx_does_not_cover_bmi2,
    Case {
        sources: &["covered_by_cpu.c"],
        builds: OPTIMISED,
        runs: &[("Nehalem", DiesOfSigill), ("IvyBridge", Prints("plain")), ("Haswell", Prints("bmi2")),],
        expects: &[("twice_unasked", "required"), ("deposit_bmi2", "unknown|guarded")],
        ..NEEDS_AVX2
    }
);

case!(
    what_needs_avx2_covers_bmi2,
    Case {
        sources: &["covered_by_cpu.c"],
        builds: &[("gcc", "-O2 -DWIDER"), ("clang", "-O2 -DWIDER")],
        runs: &[("IvyBridge", DiesOfSigill), ("Haswell", Prints("bmi2"))],
        expects: &[("twice_unasked", "required"), ("deposit_bmi2", "covered|guarded")],
        ..NEEDS_AVX2
    }
);

case!(
    an_object_that_is_cleared_and_filled_by_halves_guards,
    Case { sources: &["filled_by_halves.c"], builds: OPTIMISED, ..ASKS_FOR_AVX2 }
);

case!(
    a_field_that_is_always_set_guards_nothing,
    Case { sources: &["filled_by_halves.c"], builds: TRAPS, ..NEEDS_AVX2 }
);

case!(
    the_lower_of_what_is_wanted_and_what_the_cpu_has_guards,
    Case {
        sources: &["capped_level.c"],
        builds: &[("gcc", "-O2"), ("clang", "-O2"), ("gcc", "-O0"), ("gcc", "-O3 -flto")],
        ..ASKS_FOR_AVX2
    }
);

case!(the_higher_of_both_guards_nothing, Case { sources: &["capped_level.c"], builds: TRAPS, ..NEEDS_AVX2 });

case!(
    a_level_in_the_word_of_the_function_that_finds_it_guards,
    Case {
        sources: &["pointer_or_level.c"],
        builds: &[("gcc", "-O2"), ("clang", "-O2"), ("gcc", "-O0"), ("gcc", "-O2 -Dvolatile=")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_copy_of_that_word_holds_the_level_too,
    Case { sources: &["pointer_or_level.c"], builds: TRAPS, ..NEEDS_AVX2 }
);

case!(
    an_address_in_the_second_result_leads_to_the_level,
    Case { sources: &["trap_second_result.c"], builds: OPTIMISED, ..NEEDS_AVX2 }
);

case!(
    a_name_in_another_librarys_list_is_not_required,
    Case {
        sources: &["named_extension.c", "named_extension_part.c"],
        builds: OPTIMISED,
        expects: &[("twice_avx2", "unknown|guarded")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    a_name_that_is_none_of_an_extension_guards_nothing,
    Case { sources: &["named_extension.c", "named_extension_part.c"], builds: TRAPS, ..NEEDS_AVX2 }
);

case!(
    what_a_function_reports_by_its_name_is_not_required,
    Case {
        sources: &["hardware_support.c"],
        builds: &[("gcc", "-O2 -rdynamic"), ("clang", "-O2 -rdynamic")],
        expects: &[("twice_avx2", "unknown|guarded|presumed")],
        ..ASKS_FOR_AVX2
    }
);

case!(
    what_a_function_of_another_name_answers_guards_nothing,
    Case { sources: &["hardware_support.c"], builds: TRAPS, ..NEEDS_AVX2 }
);

/// A program that asks for the size of a cache, or in which AVX2 may be known otherwise.
const MAY_KNOW_OF_AVX2: Case = Case {
    sources: &["never_tested.c"],
    expects: &[("twice_avx2", "unknown|presumed|guarded")],
    ..ASKS_FOR_AVX2
};

case!(
    what_nobody_tests_is_required_through_a_pointer,
    Case { sources: &["never_tested.c"], builds: OPTIMISED, ..NEEDS_AVX2 }
);

case!(
    family_and_model_may_say_anything,
    Case { builds: &[("gcc", "-O2 -DBY_MODEL"), ("clang", "-O2 -DBY_MODEL")], ..MAY_KNOW_OF_AVX2 }
);

case!(
    an_answer_that_is_kept_as_a_whole_is_a_test_of_all,
    Case { builds: &[("gcc", "-O2 -DBY_HEAP"), ("clang", "-O2 -DBY_HEAP")], ..MAY_KNOW_OF_AVX2 }
);

case!(
    a_test_of_what_came_with_it_may_be_meant,
    Case { builds: &[("gcc", "-O2 -DBY_BMI2"), ("clang", "-O2 -DBY_BMI2")], ..MAY_KNOW_OF_AVX2 }
);

case!(
    what_a_host_says_may_be_anything,
    Case {
        sources: &["never_tested_host.c"],
        library: &["never_tested_part.c"],
        builds: &[("gcc", "-O2 -DBY_IMPORT"), ("gcc", "-O2 -DBY_ARGUMENT"), ("clang", "-O2 -DBY_IMPORT")],
        ..MAY_KNOW_OF_AVX2
    }
);

/// The same, of programs of `kernels.h`: they print the same on every path.
const PRINTS_THE_SAME: Case = Case {
    builds: &[("gcc", "-O2"), ("gcc", "-O0"), ("gcc", "-O3 -flto"), ("clang", "-O2")],
    runs: &[("Nehalem", Prints("0")), ("IvyBridge", Prints("0")), ("Haswell", Prints("0"))],
    expects: &[("ka", "guarded")],
    ..ASKS_FOR_AVX2
};

/// The same, but they run AVX2 code on every CPU.
const DIES_WITHOUT_AVX2: Case = Case {
    runs: &[("Nehalem", DiesOfSigill), ("IvyBridge", DiesOfSigill), ("Haswell", Prints("0"))],
    level: "x86-64-v3",
    ..PRINTS_THE_SAME
};

case!(
    what_a_landing_pad_calls_is_required,
    Case {
        sources: &["trap_catches_and_goes_wide.cc"],
        expects: &[("kb", "required"), ("ka", "guarded")],
        ..DIES_WITHOUT_AVX2
    }
);

case!(
    a_helper_that_throws_without_the_feature_guards_what_follows,
    Case { sources: &["checked_by_throwing.cc"], ..PRINTS_THE_SAME }
);

case!(
    a_flag_that_is_overwritten_by_way_of_its_struct_guards_nothing,
    Case {
        sources: &["trap_flag_in_struct_overwritten.c"],
        expects: &[("ka", "required")],
        ..DIES_WITHOUT_AVX2
    }
);

case!(
    a_flag_that_scanf_writes_guards_nothing,
    Case { sources: &["trap_flag_scanned.c"], expects: &[("ka", "required")], ..DIES_WITHOUT_AVX2 }
);

case!(
    a_flag_that_printf_counts_into_guards_nothing,
    Case {
        sources: &["trap_flag_scanned.c"],
        builds: &[("gcc", "-O2 -DBY_COUNT"), ("gcc", "-O0 -DBY_COUNT"), ("clang", "-O2 -DBY_COUNT")],
        expects: &[("ka", "required")],
        ..DIES_WITHOUT_AVX2
    }
);

case!(
    a_flag_of_each_thread_guards,
    Case {
        sources: &["thread_local_flag.c"],
        builds: &[("gcc", "-O2"), ("gcc", "-O0"), ("gcc", "-O3")],
        ..PRINTS_THE_SAME
    }
);

case!(
    a_flag_of_each_thread_that_is_overwritten_guards_nothing,
    Case {
        sources: &["thread_local_flag.c"],
        builds: &[("gcc", "-O2 -DOVERWRITTEN"), ("gcc", "-O0 -DOVERWRITTEN"), ("clang", "-O2 -DOVERWRITTEN")],
        expects: &[("ka", "required")],
        ..DIES_WITHOUT_AVX2
    }
);

case!(
    what_a_return_enters_is_required,
    Case { sources: &["trap_entered_by_return.c"], expects: &[("ka", "required")], ..DIES_WITHOUT_AVX2 }
);

case!(
    pointers_that_are_copied_to_the_heap_stay_guarded,
    Case {
        sources: &["table_copied_to_heap.c"],
        runs: &[("Nehalem", Prints("0 0")), ("IvyBridge", Prints("0 0")), ("Haswell", Prints("0 0"))],
        expects: &[("ka", "guarded"), ("kb", "guarded"), ("kc", "guarded")],
        ..PRINTS_THE_SAME
    }
);

case!(a_check_in_a_lambda_that_runs_once_guards, Case { sources: &["once_by_lambda.cc"], ..PRINTS_THE_SAME });

case!(
    an_object_that_is_made_after_a_check_guards_its_methods,
    Case { sources: &["virtual_by_check.cc"], expects: &[("ka", "guarded")], ..PRINTS_THE_SAME }
);

case!(
    an_object_that_the_input_chooses_requires_its_methods,
    Case { sources: &["trap_virtual_by_input.cc"], expects: &[("ka", "required")], ..DIES_WITHOUT_AVX2 }
);

case!(
    an_object_that_the_input_chooses_requires_its_methods_beside_one_that_is_cleared,
    Case {
        sources: &["trap_virtual_beside_cleared.cc"],
        expects: &[("ka", "required")],
        ..DIES_WITHOUT_AVX2
    }
);

case!(
    a_level_in_a_static_local_object_guards,
    Case {
        sources: &["static_local_struct.cc"],
        expects: &[("ka", "guarded"), ("kc", "guarded")],
        ..PRINTS_THE_SAME
    }
);

case!(
    a_pointer_that_others_keep_and_call_is_required,
    Case { sources: &["trap_irrelevant_callee.c"], ..NEEDS_AVX2 }
);

case!(
    a_pointer_that_a_thread_keeps_and_others_call_is_required,
    Case { sources: &["trap_irrelevant_callee.c -DBY_THREAD"], ..NEEDS_AVX2 }
);

case!(
    a_pointer_that_others_find_by_a_link_and_call_is_required,
    Case { sources: &["trap_irrelevant_callee.c -DBY_LINK"], ..NEEDS_AVX2 }
);

case!(
    a_pointer_that_is_stored_to_what_others_keep_is_required,
    Case { sources: &["trap_irrelevant_callee.c -DBY_HEAP"], ..NEEDS_AVX2 }
);

case!(
    what_stands_after_a_call_of_code_behind_data_is_required,
    Case { sources: &["trap_falls_through.c -DAFTER_DATA"], ..NEEDS_AVX2 }
);

case!(
    what_is_pushed_at_an_entry_and_returned_to_is_required,
    Case { sources: &["trap_entered_at_once.c"], ..NEEDS_AVX2 }
);

case!(
    what_stands_after_a_call_that_falls_through_is_required,
    Case { sources: &["trap_falls_through.c"], ..NEEDS_AVX2 }
);

//! Cases for AArch64: LSE and its neighbours.
// tidy: table

use super::case;
use deburr_tests::reach::Outcome::{DiesOfSigill, Prints};
use deburr_tests::reach::{Build, Case, reports};

const AARCH64: &[Build] = &[
    ("aarch64-linux-gnu-gcc", "-O2"),
    ("aarch64-linux-gnu-gcc", "-O1 -static"),
    ("aarch64-linux-gnu-gcc", "-O0"),
    ("aarch64-clang", "-O2"),
    ("aarch64-clang", "-O1 -fno-pie -no-pie"),
];

const AARCH64_SHARED: &[Build] =
    &[("aarch64-linux-gnu-gcc", "-O2"), ("aarch64-linux-gnu-gcc", "-O0"), ("aarch64-clang", "-O2")];

const ARM_OPTIMISED: &[Build] = &[("aarch64-linux-gnu-gcc", "-O2"), ("aarch64-linux-gnu-gcc", "-O3")];

/// The same, of programs that have a false twin.
const TRAPS: &[Build] = &[("aarch64-linux-gnu-gcc", "-O2 -DTRAP"), ("aarch64-linux-gnu-gcc", "-O3 -DTRAP")];

/// A program that asks for LSE and takes another path where it is missing.
const ASKS_FOR_LSE: Case = Case {
    sources: &[],
    library: &[],
    builds: AARCH64,
    runs: &[("cortex-a53", Prints("plain")), ("neoverse-n1", Prints("lse"))],
    expects: &[("add_lse", "guarded")],
    path: &[],
    level: "armv8.0-a",
};

/// The same, but it runs LSE code unasked.
const NEEDS_LSE: Case = Case {
    runs: &[("cortex-a53", DiesOfSigill), ("neoverse-n1", Prints("lse"))],
    expects: &[("add_lse", "required")],
    level: "armv8.1-a",
    ..ASKS_FOR_LSE
};

case!(hwcap_guards, Case { sources: &["arm_hwcap.c"], ..ASKS_FOR_LSE });

case!(the_second_word_of_a_pair_guards, Case { sources: &["arm_stored_pair.c"], ..ASKS_FOR_LSE });

case!(
    what_a_program_reads_from_auxv_itself_is_not_required,
    Case { sources: &["arm_auxv_read.c"], expects: &[("add_lse", "unknown")], ..ASKS_FOR_LSE }
);

case!(what_came_back_without_a_signal_guards, Case { sources: &["arm_probed_by_signal.c"], ..ASKS_FOR_LSE });

case!(a_probe_that_nobody_heeds_guards_nothing, Case { sources: &["arm_trap_probe_ignored.c"], ..NEEDS_LSE });

case!(
    each_bit_of_hwcap_guards_its_feature,
    Case {
        sources: &["arm_hwcap_several.c"],
        runs: &[
            ("cortex-a53", Prints("plain crc32 aes")),
            ("neoverse-n1", Prints("plain crc32 aes dotprod")),
            ("max", Prints("plain crc32 aes dotprod sve")),
        ],
        expects: &[
            ("with_crc32", "guarded"),
            ("with_aes", "guarded"),
            ("with_dot_product", "guarded"),
            ("with_sve", "guarded"),
        ],
        ..ASKS_FOR_LSE
    }
);

case!(
    hwcap2_guards,
    Case {
        sources: &["arm_hwcap2.c"],
        runs: &[("neoverse-n1", Prints("plain")), ("max", Prints("sve2"))],
        expects: &[("with_sve2", "guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(
    an_outlined_helper_is_guarded_by_construction,
    Case {
        sources: &["arm_outlined.c -moutline-atomics"],
        runs: &[("cortex-a53", Prints("plain")), ("neoverse-n1", Prints("plain"))],
        expects: &[("__aarch64_ldadd4_acq_rel", "guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(a_resolver_asks_its_argument, Case { sources: &["arm_ifunc.c"], ..ASKS_FOR_LSE });

case!(a_cached_flag_guards, Case { sources: &["arm_cached_flag.c"], ..ASKS_FOR_LSE });

case!(an_answer_that_is_asked_once_guards, Case { sources: &["arm_asked_once.c"], ..ASKS_FOR_LSE });

case!(
    an_answer_that_is_asked_once_and_never_zero_guards,
    Case { sources: &["arm_asked_once.c -DZERO"], ..ASKS_FOR_LSE }
);

case!(
    what_a_constant_keeps_control_from_is_not_required,
    Case {
        sources: &["arm_constant_test.c", "arm_constant_test.s"],
        builds: AARCH64_SHARED,
        runs: &[("cortex-a53", Prints("plain")), ("neoverse-n1", Prints("plain"))],
        expects: &[("add", "unreached")],
        ..ASKS_FOR_LSE
    }
);

case!(
    what_is_entered_beside_the_test_of_a_constant_is_required,
    Case {
        sources: &["arm_constant_entered.c"],
        builds: &[
            ("aarch64-linux-gnu-gcc", "-O2 -DJUMP"),
            ("aarch64-linux-gnu-gcc", "-O2 -DCELL"),
            ("aarch64-linux-gnu-gcc", "-O2"),
        ],
        expects: &[("add", "required")],
        ..NEEDS_LSE
    }
);

case!(
    what_a_lost_flag_of_an_object_decides_is_not_required,
    Case { sources: &["arm_lost_flag.c"], expects: &[("add_lse", "unknown")], ..ASKS_FOR_LSE }
);

case!(
    a_word_of_capabilities_guards,
    Case {
        sources: &["arm_capability_word.c"],
        expects: &[("add_lse", "guarded"), ("with_crc32", "guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(
    what_the_environment_states_is_the_users_account,
    Case { sources: &["arm_environment.c"], builds: ARM_OPTIMISED, ..ASKS_FOR_LSE }
);

case!(
    what_the_program_states_itself_guards_nothing,
    Case {
        sources: &["arm_environment.c"],
        builds: &[("aarch64-linux-gnu-gcc", "-O2 -DELSEWHERE"), ("aarch64-linux-gnu-gcc", "-O3 -DELSEWHERE")],
        ..NEEDS_LSE
    }
);

case!(
    a_getenv_of_the_programs_own_is_nobodys_account,
    Case {
        sources: &["arm_environment.c"],
        builds: &[("aarch64-linux-gnu-gcc", "-O2 -DOWN"), ("aarch64-clang", "-O2 -DOWN")],
        ..NEEDS_LSE
    }
);

case!(
    a_word_that_a_literal_leads_to_guards,
    Case { sources: &["arm_literal_word.c", "arm_literal_word.s"], builds: AARCH64_SHARED, ..ASKS_FOR_LSE }
);

case!(
    another_bit_of_a_word_that_a_literal_leads_to_guards_nothing,
    Case {
        sources: &["arm_literal_word.c", "arm_literal_word.s"],
        builds: &[
            ("aarch64-linux-gnu-gcc", "-O2 -DEXCHANGED"),
            ("aarch64-linux-gnu-gcc", "-O0 -DEXCHANGED"),
            ("aarch64-clang", "-O2 -DEXCHANGED"),
        ],
        expects: &[("add_lse", "under-guarded")],
        level: "armv8.0-a",
        ..NEEDS_LSE
    }
);

case!(
    an_answer_cached_or_fresh_is_not_required,
    Case { sources: &["arm_cached_or_fresh.c"], expects: &[("add_lse", "unknown|guarded")], ..ASKS_FOR_LSE }
);

case!(
    a_pointer_left_in_a_register_is_not_given,
    Case {
        sources: &["arm_chosen_beside_call.c", "arm_chosen_beside_call.s"],
        builds: AARCH64_SHARED,
        ..ASKS_FOR_LSE
    }
);

case!(
    a_pointer_that_a_callee_passes_on_is_given,
    Case {
        sources: &["arm_trap_given_beside_call.c", "arm_trap_given_beside_call.s"],
        builds: AARCH64_SHARED,
        ..NEEDS_LSE
    }
);

case!(a_pointer_set_once_guards, Case { sources: &["arm_pointer_chosen_once.c"], ..ASKS_FOR_LSE });

case!(a_conjunction_guards_each, Case { sources: &["arm_conjunction.c"], ..ASKS_FOR_LSE });

case!(
    a_disjunction_guards_neither,
    Case {
        sources: &["arm_trap_disjunction.c"],
        expects: &[("add_lse", "required|under-guarded")],
        ..NEEDS_LSE
    }
);

case!(an_identification_register_guards, Case { sources: &["arm_id_register.c"], ..ASKS_FOR_LSE });

case!(
    one_block_of_a_function_is_guarded,
    Case {
        sources: &["arm_both_sides.c -mno-outline-atomics"],
        expects: &[("add", "guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(a_check_guards_three_calls_deep, Case { sources: &["arm_callers.c"], ..ASKS_FOR_LSE });

case!(
    hints_are_no_feature,
    Case {
        sources: &["arm_hints.c -mbranch-protection=standard"],
        runs: &[("cortex-a53", Prints("plain")), ("neoverse-n1", Prints("plain"))],
        expects: &[("add_plain", "absent"), ("main", "absent")],
        ..ASKS_FOR_LSE
    }
);

case!(
    gos_standard_library_needs_nothing,
    Case {
        sources: &["go_dispatch.go"],
        builds: &[("go", "GOARCH=arm64 GOARM64=v8.0")],
        runs: &[("cortex-a53", Prints("541b ca3d d84dda57")), ("neoverse-n1", Prints("541b ca3d d84dda57"))],
        expects: &[("hash/crc32.castagnoliUpdate.abi0|hash/crc32.castagnoliUpdate", "guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(
    gos_flag_byte_guards_the_atomics_that_it_chooses,
    Case {
        sources: &["go_atomics.go"],
        builds: &[("go", "GOARCH=arm64 GOARM64=v8.0")],
        runs: &[("cortex-a53", Prints("sum 2000 7")), ("neoverse-n1", Prints("sum 2000 7"))],
        expects: &[
            ("main.add", "guarded"),
            ("sync.(*Mutex).lockSlow|internal/sync.(*Mutex).lockSlow", "guarded"),
            ("runtime.schedule", "guarded|absent"),
        ],
        ..ASKS_FOR_LSE
    }
);

case!(
    what_go_has_from_the_kernel_proves_nothing_once_replaced,
    Case {
        sources: &["go_hwcap_replaced"],
        builds: &[("go", "GOARCH=arm64 GOARM64=v8.0")],
        runs: &[("cortex-a53", DiesOfSigill), ("neoverse-n1", Prints("lse 1"))],
        expects: &[("main.addLSE.abi0", "unknown")],
        ..ASKS_FOR_LSE
    }
);

case!(an_unchecked_call_is_required, Case { sources: &["arm_trap_unchecked.c"], ..NEEDS_LSE });

case!(
    a_program_compiled_for_lse_is_required_from_main,
    Case {
        sources: &["arm_trap_whole_program.c -march=armv8.2-a"],
        expects: &[("main", "required")],
        ..NEEDS_LSE
    }
);

case!(
    a_check_for_less_is_named_as_such,
    Case {
        sources: &["arm_trap_weaker.c"],
        expects: &[("add_lse", "under-guarded")],
        level: "armv8.0-a",
        ..NEEDS_LSE
    }
);

case!(
    a_bit_of_the_wrong_word_guards_nothing,
    Case {
        sources: &["arm_trap_wrong_word.c"],
        runs: &[("neoverse-n1", DiesOfSigill), ("max", Prints("sve2"))],
        expects: &[("with_sve2", "required|under-guarded")],
        level: "armv9.0-a",
        ..NEEDS_LSE
    }
);

case!(
    an_inverted_check_guards_nothing,
    Case {
        sources: &["arm_trap_inverted.c"],
        runs: &[("cortex-a53", DiesOfSigill), ("neoverse-n1", Prints("plain"))],
        expects: &[("add_lse", "required|under-guarded")],
        ..NEEDS_LSE
    }
);

case!(
    a_static_constructor_is_a_root,
    Case {
        sources: &["arm_trap_constructor.c"],
        expects: &[("initialise", "required")],
        path: &["initialise"],
        ..NEEDS_LSE
    }
);

case!(
    an_unwinder_reads_the_vector_length_for_sve_frames,
    Case {
        sources: &["arm_unwinder.cc"],
        builds: &[
            ("aarch64-linux-gnu-gcc", "-O2 -static -lstdc++"),
            ("aarch64-clang", "-O2 -static -lstdc++")
        ],
        runs: &[("cortex-a53", Prints("plain"))],
        expects: &[("uw_update_context", "guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(
    a_vector_length_that_is_read_otherwise_is_required,
    Case {
        sources: &["arm_trap_vector_length.c", "arm_trap_vector_length.s"],
        runs: &[("neoverse-n1", DiesOfSigill), ("max", Prints("sve"))],
        expects: &[
            ("by_another_branch", "required"),
            ("by_falling_in", "required"),
            ("with_more_of_it", "required"),
            ("with_a_sum_between", "required"),
        ],
        level: "armv9.0-a",
        ..ASKS_FOR_LSE
    }
);

case!(a_table_of_pointers_is_a_root, Case { sources: &["arm_trap_pointer_table.c"], ..NEEDS_LSE });

case!(
    dead_code_is_unreached,
    Case {
        sources: &["arm_trap_dead.c"],
        runs: &[("cortex-a53", Prints("plain")), ("neoverse-n1", Prints("plain"))],
        expects: &[("add_lse", "unreached")],
        ..ASKS_FOR_LSE
    }
);

case!(
    a_resolver_that_uses_the_feature_is_required,
    Case {
        sources: &["arm_trap_resolver.c"],
        expects: &[("resolve_add", "required"), ("add_lse", "guarded")],
        ..NEEDS_LSE
    }
);

case!(
    an_exported_function_is_a_root,
    Case {
        sources: &["arm_trap_library.c"],
        library: &["arm_trap_library_part.c"],
        builds: AARCH64_SHARED,
        expects: &[("add_unchecked", "required"), ("add_hidden", "guarded")],
        path: &["add_unchecked"],
        ..NEEDS_LSE
    }
);

case!(
    a_vector_length_may_be_moved_around,
    Case {
        sources: &["arm_vector_length.c", "arm_vector_length.s"],
        builds: ARM_OPTIMISED,
        runs: &[("cortex-a53", Prints("plain"))],
        expects: &[("with_moves_between", "guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(
    the_librarys_word_that_a_function_returns_is_heeded,
    Case {
        sources: &["arm_feature_word.c"],
        builds: ARM_OPTIMISED,
        expects: &[("add_lse", "unknown|guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(
    the_librarys_word_that_nobody_heeds_guards_nothing,
    Case { sources: &["arm_feature_word.c"], builds: TRAPS, ..NEEDS_LSE }
);

case!(
    a_word_that_is_zero_at_the_start_may_be_an_answer,
    Case {
        sources: &["arm_word_cleared.c"],
        builds: ARM_OPTIMISED,
        expects: &[("add_lse", "unknown|guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(
    a_word_that_is_cleared_for_another_reason_guards_nothing,
    Case { sources: &["arm_word_cleared.c"], builds: TRAPS, ..NEEDS_LSE }
);

case!(
    a_check_after_a_loop_by_post_index_guards,
    Case { sources: &["arm_after_loop.c"], builds: ARM_OPTIMISED, ..ASKS_FOR_LSE }
);

case!(
    what_comes_after_a_loop_by_post_index_is_required,
    Case { sources: &["arm_after_loop.c"], builds: TRAPS, ..NEEDS_LSE }
);

case!(
    names_in_the_environment_are_the_users_own_account,
    Case { sources: &["arm_stated_names.c"], builds: ARM_OPTIMISED, ..ASKS_FOR_LSE }
);

case!(
    names_that_the_program_has_itself_guard_nothing,
    Case {
        sources: &["arm_stated_names.c"],
        builds: TRAPS,
        expects: &[("add_lse", "required|unknown")],
        level: "armv8.0-a|armv8.1-a",
        ..NEEDS_LSE
    }
);

case!(
    a_check_that_answers_no_leads_nowhere,
    Case {
        sources: &["arm_check_without.c", "arm_check_without_part.c"],
        builds: ARM_OPTIMISED,
        runs: &[("cortex-a53", Prints("plain")), ("neoverse-n1", Prints("plain"))],
        expects: &[("add_lse", "unreached|unknown|guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(
    a_check_that_answers_yes_guards_nothing,
    Case { sources: &["arm_check_without.c", "arm_check_without_part.c"], builds: TRAPS, ..NEEDS_LSE }
);

case!(
    an_address_from_the_offset_table_is_no_call,
    Case {
        sources: &["arm_got_table.c"],
        library: &["arm_got_table_part.c"],
        builds: ARM_OPTIMISED,
        expects: &[("add_lse", "unknown|presumed|guarded")],
        ..ASKS_FOR_LSE
    }
);

case!(
    a_call_by_an_address_from_the_offset_table_is_required,
    Case { sources: &["arm_got_table.c"], library: &["arm_got_table_part.c"], builds: TRAPS, ..NEEDS_LSE }
);

case!(
    what_needs_rcpc_does_not_cover_fcma,
    Case {
        sources: &["arm_covered_by_cpu.c"],
        builds: ARM_OPTIMISED,
        runs: &[("cortex-a53", DiesOfSigill), ("neoverse-n1", Prints("plain")), ("max", Prints("fcma")),],
        expects: &[("load_rcpc", "required"), ("add_fcma", "guarded")],
        level: "armv8.3-a",
        ..NEEDS_LSE
    }
);

/// A program, or a library, that looks at the bit for CRC32 alone, or in which SVE may come from elsewhere.
const MAY_KNOW_OF_SVE: Case = Case {
    sources: &["arm_never_tested.c"],
    runs: &[("cortex-a53", Prints("plain")), ("neoverse-n1", Prints("plain")), ("max", Prints("sve"))],
    expects: &[("with_sve", "unknown"), ("with_crc32", "guarded")],
    ..ASKS_FOR_LSE
};

const HOSTED: Case =
    Case { sources: &["arm_never_tested_host.c"], library: &["arm_never_tested_part.c"], ..MAY_KNOW_OF_SVE };

case!(
    what_nobody_tests_is_required_through_a_pointer,
    Case {
        builds: ARM_OPTIMISED,
        runs: &[("cortex-a53", DiesOfSigill), ("neoverse-n1", DiesOfSigill), ("max", Prints("sve")),],
        expects: &[("with_sve", "required"), ("with_crc32", "guarded")],
        level: "armv9.0-a",
        ..MAY_KNOW_OF_SVE
    }
);

case!(
    what_a_name_may_lead_to_carries,
    Case { builds: &[("aarch64-linux-gnu-gcc", "-O2 -DBY_NAME")], ..MAY_KNOW_OF_SVE }
);

case!(
    what_a_file_of_the_kernel_describes_carries,
    Case {
        builds: &[("aarch64-linux-gnu-gcc", "-O2 -DBY_FILE")],
        runs: &[("cortex-a53", Prints("plain"))],
        ..MAY_KNOW_OF_SVE
    }
);

case!(
    an_answer_that_is_kept_as_a_whole_is_a_test_of_all,
    Case {
        builds: &[("aarch64-linux-gnu-gcc", "-O2 -DBY_HEAP"), ("aarch64-clang", "-O2 -DBY_HEAP")],
        expects: &[("with_sve", "guarded"), ("with_crc32", "guarded")],
        ..MAY_KNOW_OF_SVE
    }
);

case!(
    a_test_of_what_needs_it_guards,
    Case {
        builds: &[("aarch64-linux-gnu-gcc", "-O2 -DBY_SVE2")],
        expects: &[("with_sve", "guarded"), ("with_crc32", "guarded")],
        ..MAY_KNOW_OF_SVE
    }
);

case!(
    what_an_imported_function_returns_carries,
    Case {
        builds: &[("aarch64-linux-gnu-gcc", "-O2 -DBY_IMPORT"), ("aarch64-clang", "-O2 -DBY_IMPORT")],
        ..HOSTED
    }
);

case!(an_imported_object_carries, Case { builds: &[("aarch64-linux-gnu-gcc", "-O2 -DBY_OBJECT")], ..HOSTED });

case!(
    the_argument_of_a_callback_carries,
    Case { builds: &[("aarch64-linux-gnu-gcc", "-O2 -DBY_CALLBACK")], ..HOSTED }
);

case!(
    the_argument_of_an_exported_function_carries,
    Case { builds: &[("aarch64-linux-gnu-gcc", "-O2 -DBY_ARGUMENT")], ..HOSTED }
);

/// The import that may carry what nobody tests is named.
#[test]
fn an_import_that_may_carry_it_is_named() {
    let case = what_a_name_may_lead_to_carries::CASE;
    for (_, report) in reports("aarch64::an_import_that_may_carry_it_is_named", &case) {
        assert_eq!(report["isa_groups"][0]["import"], "dlsym", "{}", report["isa_groups"]);
    }
}

/// What every compiler makes of a program with a false twin at two levels.
const TWINS: &[Build] =
    &[("aarch64-linux-gnu-gcc", "-O0"), ("aarch64-linux-gnu-gcc", "-O2"), ("aarch64-clang", "-O2")];
const TWIN_TRAPS: &[Build] = &[
    ("aarch64-linux-gnu-gcc", "-O0 -DTRAP"),
    ("aarch64-linux-gnu-gcc", "-O2 -DTRAP"),
    ("aarch64-clang", "-O2 -DTRAP"),
];

case!(a_threads_own_state_guards, Case { sources: &["arm_thread_state.cc"], builds: TWINS, ..ASKS_FOR_LSE });
case!(
    a_threads_own_state_of_another_feature_guards_nothing,
    Case { sources: &["arm_thread_state.cc"], builds: TWIN_TRAPS, ..NEEDS_LSE }
);
case!(
    the_lower_of_two_levels_guards,
    Case { sources: &["arm_lower_of_two.c"], builds: TWINS, ..ASKS_FOR_LSE }
);
case!(
    the_higher_of_two_levels_guards_nothing,
    Case { sources: &["arm_lower_of_two.c"], builds: TWIN_TRAPS, ..NEEDS_LSE }
);
case!(
    either_of_two_features_that_no_cpu_has_alone_guards,
    Case {
        sources: &["arm_either_bit.c"],
        runs: &[("cortex-a53", Prints("plain")), ("neoverse-n1", Prints("plain")), ("max", Prints("sha512"))],
        expects: &[("with_sha512", "guarded"), ("with_sha3", "guarded")],
        ..ASKS_FOR_LSE
    }
);
case!(
    either_of_two_features_that_one_cpu_has_alone_guards_nothing,
    Case {
        sources: &["arm_either_bit.c"],
        builds: &[("aarch64-linux-gnu-gcc", "-O2 -DTRAP"), ("aarch64-clang", "-O2 -DTRAP")],
        runs: &[("neoverse-n1", DiesOfSigill), ("max", Prints("sha512"))],
        expects: &[("with_sha512", "under-guarded"), ("with_sha3", "under-guarded")],
        level: "armv8.0-a",
        ..ASKS_FOR_LSE
    }
);
case!(
    two_features_that_are_both_tested_guard,
    Case { sources: &["arm_either_of_two.c"], builds: TWINS, ..ASKS_FOR_LSE }
);
case!(
    one_of_two_features_guards_nothing,
    Case { sources: &["arm_either_of_two.c"], builds: TWIN_TRAPS, ..NEEDS_LSE }
);
case!(what_a_resolver_is_handed_guards, Case { sources: &["arm_resolver.c"], builds: TWINS, ..ASKS_FOR_LSE });
case!(
    a_resolver_that_chooses_the_wrong_way_round_guards_nothing,
    Case {
        sources: &["arm_resolver.c"],
        builds: TWIN_TRAPS,
        runs: &[("cortex-a53", DiesOfSigill), ("neoverse-n1", Prints("plain"))],
        ..NEEDS_LSE
    }
);
case!(
    what_an_exception_refuses_is_guarded,
    Case { sources: &["arm_refused.cc"], builds: TWINS, ..ASKS_FOR_LSE }
);
case!(
    what_a_handler_uses_all_the_same_is_required,
    Case { sources: &["arm_refused.cc"], builds: TWIN_TRAPS, ..NEEDS_LSE }
);

case!(
    a_pointer_on_the_stack_is_not_guarded,
    Case {
        sources: &["arm_trap_by_stack.c"],
        builds: TWINS,
        expects: &[("add_lse", "required|unknown")],
        level: "armv8.0-a",
        ..NEEDS_LSE
    }
);
case!(
    a_pointer_that_vectors_copy_is_required,
    Case { sources: &["arm_trap_by_vectors.c"], builds: &[("aarch64-clang", "-O2")], ..NEEDS_LSE }
);
case!(
    a_flag_that_another_thread_sets_meanwhile_guards_nothing,
    Case { sources: &["arm_trap_while_waiting.c"], builds: TWINS, ..NEEDS_LSE }
);
case!(
    what_each_target_of_a_pointer_refuses_is_guarded,
    Case { sources: &["arm_pointer_refuses.c"], builds: TWINS, ..ASKS_FOR_LSE }
);
case!(
    what_no_target_of_a_pointer_refuses_is_required,
    Case { sources: &["arm_pointer_refuses.c"], builds: TWIN_TRAPS, ..NEEDS_LSE }
);
case!(
    a_threads_variable_of_a_library_guards,
    Case {
        sources: &["arm_thread_library.c"],
        library: &["arm_thread_library_part.c"],
        builds: TWINS,
        ..ASKS_FOR_LSE
    }
);
case!(
    a_threads_variable_that_callers_set_guards_nothing,
    Case {
        sources: &["arm_thread_library.c"],
        library: &["arm_thread_library_part.c"],
        builds: TWIN_TRAPS,
        ..NEEDS_LSE
    }
);

//! Cases of programs that refuse to start where a feature is missing, and of those that only seem to.
// tidy: table

use super::case;
use deburr_tests::reach::Outcome::{Aborts, DiesOfSigill, Fails, Prints};
use deburr_tests::reach::{Build, Case, reports};

const X86_64: &[Build] = &[
    ("gcc", "-O2"),
    ("gcc", "-O1 -static"),
    ("gcc", "-O0"),
    ("clang", "-O2"),
    ("clang", "-O0"),
    ("clang", "-O1 -fno-pie -no-pie"),
];

const SHARED: &[Build] = &[("gcc", "-O2"), ("gcc", "-O0"), ("clang", "-O1"), ("clang", "-O2")];

/// A program that refuses to start without AVX2.
const REFUSES: Case = Case {
    sources: &[],
    library: &[],
    builds: X86_64,
    runs: &[("Nehalem", Fails(1)), ("IvyBridge", Fails(1)), ("Haswell", Prints("avx2"))],
    expects: &[("twice_avx2", "guarded")],
    path: &[],
    level: "x86-64-v3",
};

/// A library that cannot be loaded without AVX2.
const REFUSES_TO_LOAD: Case = Case {
    sources: &["refuses.c"],
    builds: SHARED,
    runs: &[("Nehalem", Aborts), ("IvyBridge", Aborts), ("Haswell", Prints("avx2"))],
    expects: &[],
    ..REFUSES
};

/// A program that runs everywhere.
const RUNS: Case = Case {
    runs: &[("Nehalem", Prints("plain")), ("IvyBridge", Prints("plain")), ("Haswell", Prints("avx2"))],
    expects: &[],
    level: "x86-64-v1",
    ..REFUSES
};

/// The same of a library.
const LOADS: Case = Case { sources: &["refuses.c"], builds: SHARED, ..RUNS };

case!(a_program_that_ends_without_a_feature_needs_it, Case { sources: &["refuses_in_main.c"], ..REFUSES });

case!(
    a_refusal_in_a_function_of_its_own_is_one,
    Case {
        sources: &["refuses_by_function.c"],
        runs: &[("Nehalem", Fails(3)), ("IvyBridge", Fails(3)), ("Haswell", Prints("avx2"))],
        ..REFUSES
    }
);

case!(a_constructor_that_aborts_refuses, Case { library: &["refuses_part.c"], ..REFUSES_TO_LOAD });

case!(
    a_constructor_that_throws_refuses,
    Case {
        sources: &["refuses_by_throw.cc"],
        library: &["refuses_by_throw_part.cc"],
        builds: &[("gcc", "-O2"), ("gcc", "-O1"), ("clang", "-O1"), ("clang", "-O2"), ("clang", "-O0")],
        ..REFUSES_TO_LOAD
    }
);

case!(
    a_constructor_that_traps_refuses,
    Case {
        sources: &["refuses_by_trap.c"],
        runs: &[("Nehalem", DiesOfSigill), ("IvyBridge", DiesOfSigill), ("Haswell", Prints("avx2"))],
        ..REFUSES
    }
);

case!(
    a_module_that_its_host_does_not_get_refuses,
    Case {
        sources: &["module.c"],
        library: &["refuses_module_part.c"],
        runs: &[("Haswell", Prints("avx2"))],
        expects: &[("twice_avx2", "guarded")],
        ..REFUSES_TO_LOAD
    }
);

case!(a_warning_is_no_refusal, Case { sources: &["warns_only.c"], ..RUNS });

case!(a_refused_option_is_no_refusal, Case { sources: &["refuses_an_option.c"], ..RUNS });

case!(a_refusal_that_the_environment_avoids_is_none, Case { sources: &["refuses_unless_told.c"], ..RUNS });

case!(a_refusal_of_the_system_is_none, Case { sources: &["needs_a_system.c"], ..RUNS });

case!(
    a_program_that_ends_well_either_way_refuses_nothing,
    Case { sources: &["works_first_with_avx2.c"], ..RUNS }
);

case!(a_program_that_ends_with_a_result_refuses_nothing, Case { sources: &["ends_with_a_result.c"], ..RUNS });

case!(
    what_is_opened_on_demand_refuses_nothing,
    Case {
        library: &["opens_a_codec_part.c"],
        runs: &[("Nehalem", Prints("plain")), ("Haswell", Prints("plain"))],
        ..LOADS
    }
);

case!(
    a_refusal_that_is_caught_is_none,
    Case { sources: &["refuses_by_throw.cc"], library: &["catches_its_refusal_part.cc"], ..LOADS }
);

const THROWS: &[Build] = &[("gcc", "-O2"), ("gcc", "-O0"), ("clang", "-O2"), ("clang", "-O0")];

case!(
    a_refusal_that_main_catches_and_fails_for_is_one,
    Case { sources: &["refuses_in_catch.cc"], builds: THROWS, ..REFUSES }
);

case!(
    a_refusal_that_main_catches_and_goes_on_after_is_none,
    Case { sources: &["goes_on_in_catch.cc"], builds: THROWS, ..RUNS }
);

case!(
    a_program_that_only_says_what_it_lacks_needs_it,
    Case {
        sources: &["refuses_with_status_zero.c"],
        runs: &[("Nehalem", Prints("needs AVX2")), ("Haswell", Prints("avx2"))],
        ..REFUSES
    }
);

case!(
    a_program_that_ends_alike_with_and_without_refuses_nothing,
    Case { sources: &["ends_well_on_both_sides.c"], ..RUNS }
);

case!(a_refusal_that_a_setting_wants_is_none, Case { library: &["checks_what_is_wanted_part.c"], ..LOADS });

case!(
    go_refuses_below_its_level,
    Case {
        sources: &["go_level.go"],
        builds: &[("go", "GOARCH=amd64 GOAMD64=v3")],
        runs: &[("Nehalem", Fails(1)), ("IvyBridge", Fails(1)), ("Haswell", Prints("1 0"))],
        expects: &[],
        ..REFUSES
    }
);

case!(
    go_without_a_level_refuses_nothing,
    Case {
        sources: &["go_level.go"],
        builds: &[("go", "GOARCH=amd64 GOAMD64=v1")],
        runs: &[("Nehalem", Prints("1 0")), ("Haswell", Prints("1 0"))],
        ..RUNS
    }
);

case!(
    go_refuses_without_lse,
    Case {
        sources: &["go_level.go"],
        builds: &[("go", "GOARCH=arm64 GOARM64=v8.1"), ("go", "GOARCH=arm64 GOARM64=v8.0,lse")],
        runs: &[("neoverse-n1", Prints("1 0"))],
        level: "armv8.1-a",
        ..REFUSES_TO_LOAD
    }
);

case!(
    go_for_armv8_0_refuses_nothing,
    Case {
        sources: &["go_level.go"],
        builds: &[("go", "GOARCH=arm64 GOARM64=v8.0")],
        runs: &[("cortex-a53", Prints("1 0")), ("neoverse-n1", Prints("1 0"))],
        level: "armv8.0-a",
        ..RUNS
    }
);

case!(
    a_program_that_ends_without_lse_needs_it,
    Case {
        sources: &["arm_refuses.c"],
        builds: &[
            ("aarch64-linux-gnu-gcc", "-O2"),
            ("aarch64-linux-gnu-gcc", "-O1 -static"),
            ("aarch64-linux-gnu-gcc", "-O0"),
            ("aarch64-clang", "-O2"),
        ],
        runs: &[("cortex-a53", Fails(1)), ("neoverse-n1", Prints("lse"))],
        expects: &[("add_lse", "guarded")],
        level: "armv8.1-a",
        ..REFUSES
    }
);

#[test]
fn a_refusal_is_told_in_its_own_words() {
    for (build, report) in reports(go_refuses_below_its_level::NAME, &go_refuses_below_its_level::CASE) {
        let refuses = &report["refuses"];
        assert_eq!(refuses["level"], "x86-64-v3", "{build}: {refuses}");
        assert_eq!(refuses["function"], "runtime.rt0_go.abi0", "{build}: {refuses}");
        let text = "This program can only be run on AMD64 processors with v3 microarchitecture support.";
        assert_eq!(refuses["text"], text, "{build}: {refuses}");
        assert_eq!(refuses["stated"], "GOAMD64=v3", "{build}: {refuses}");
    }
    for (build, report) in
        reports(a_constructor_that_aborts_refuses::NAME, &a_constructor_that_aborts_refuses::CASE)
    {
        let refuses = &report["refuses"];
        assert_eq!(refuses["text"], "libsubject: no AVX2 on this machine", "{build}: {refuses}");
        assert_eq!((refuses["level"].is_null(), &refuses["without"][0]), (true, &"AVX2".into()), "{build}");
    }
}

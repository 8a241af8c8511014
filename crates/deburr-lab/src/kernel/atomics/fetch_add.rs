//! FETCH_ADD: one more in a shared word, with the old value and without.

use crate::kernel::assembly::{sized, widths};
use crate::kernel::model::After;

#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!($bits, "lock xadd", &[], [], ["mov eax, 1", r"lock xadd [rdi], \r\()ax"]),
            sized!($bits, "lock add (no old value)", &[], ["mov ecx, 1"], [r"lock add [rdi], \r\()cx"]),
            sized!(
                $bits,
                "cmpxchg loop",
                &[],
                [],
                [
                    r"mov \r\()ax, [rdi]",
                    r"3: lea \r\()cx, [rax + 1]",
                    r"lock cmpxchg [rdi], \r\()cx",
                    "jne 3b"
                ]
            ),
            sized!(
                $bits,
                "prefetchw and lock xadd",
                &[deburr_cpu::Feature::PREFETCHW],
                [],
                ["prefetchw [rdi]", "mov eax, 1", r"lock xadd [rdi], \r\()ax"]
            ),
            sized!(
                $bits,
                "prefetchw and lock add",
                &[deburr_cpu::Feature::PREFETCHW],
                ["mov ecx, 1"],
                ["prefetchw [rdi]", r"lock add [rdi], \r\()cx"]
            ),
        ]
    };
}

/// LL/SC by its two instructions.
#[cfg(target_arch = "aarch64")]
macro_rules! exclusive {
    ($bits:tt, $load:literal, $store:literal) => {
        sized!(
            $bits,
            concat!($load, "/", $store),
            &[],
            [],
            [
                concat!("3: ", $load, r" \r\()3, [x0]"),
                r"add \r\()5, \r\()3, #1",
                concat!($store, r" w4, \r\()5, [x0]"),
                "cbnz w4, 3b"
            ]
        )
    };
}

/// One instruction of LSE, with the old value in a register.
#[cfg(target_arch = "aarch64")]
macro_rules! single {
    ($bits:tt, $instruction:literal) => {
        sized!(
            $bits,
            $instruction,
            &[deburr_cpu::Feature::FEAT_LSE],
            ["mov x5, #1"],
            [concat!($instruction, r" \r\()5, \r\()3, [x0]")]
        )
    };
}

/// One instruction of LSE without the old value, after others.
#[cfg(target_arch = "aarch64")]
macro_rules! store {
    ($bits:tt, $name:literal, $instruction:literal $(, $before:literal)*) => {
        sized!(
            $bits,
            $name,
            &[deburr_cpu::Feature::FEAT_LSE],
            ["mov x5, #1"],
            [$($before,)* concat!($instruction, r" \r\()5, [x0]")]
        )
    };
}

/// An outlined helper.
#[cfg(target_arch = "aarch64")]
macro_rules! helper {
    ($lse:ident, $bits:tt) => {
        crate::kernel::assembly::outlined!(
            $lse,
            $bits,
            "mov x5, #1",
            [r"ldaddal \r\()5, \r\()3, [x0]"],
            [
                r"3: ldaxr \r\()3, [x0]",
                r"add \r\()17, \r\()3, \r\()5",
                r"stlxr w16, \r\()17, [x0]",
                "cbnz w16, 3b"
            ]
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            exclusive!($bits, "ldaxr", "stlxr"),
            exclusive!($bits, "ldaxr", "stxr"),
            exclusive!($bits, "ldxr", "stlxr"),
            exclusive!($bits, "ldxr", "stxr"),
            single!($bits, "ldaddal"),
            single!($bits, "ldadda"),
            single!($bits, "ldaddl"),
            single!($bits, "ldadd"),
            store!($bits, "stadd (no old value)", "stadd"),
            store!($bits, "staddl (no old value)", "staddl"),
            store!($bits, "prfm and stadd", "stadd", "prfm pstl1keep, [x0]"),
            sized!(
                $bits,
                "prfm and ldadd",
                &[deburr_cpu::Feature::FEAT_LSE],
                ["mov x5, #1"],
                ["prfm pstl1keep, [x0]", r"ldadd \r\()5, \r\()3, [x0]"]
            ),
            sized!(
                $bits,
                "casal loop",
                &[deburr_cpu::Feature::FEAT_LSE],
                [],
                [
                    r"ldr \r\()3, [x0]",
                    r"3: add \r\()5, \r\()3, #1",
                    r"mov \r\()6, \r\()3",
                    r"casal \r\()3, \r\()5, [x0]",
                    r"cmp \r\()3, \r\()6",
                    "b.ne 3b",
                ]
            ),
            helper!(with, $bits),
            helper!(without, $bits),
        ]
    };
}

widths!("fetch-add", "addition to", initial: 0, after: After::Sum);

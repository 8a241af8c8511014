//! FETCH_OR: bits into a shared word, with the old value and without.

use crate::kernel::assembly::{sized, widths};
use crate::kernel::model::After;

#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!($bits, "lock or (no old value)", &[], [], [r"lock or [rdi], \r\()dx"]),
            sized!(
                $bits,
                "cmpxchg loop",
                &[],
                [],
                [
                    r"mov \r\()ax, [rdi]",
                    r"3: mov \r\()cx, \r\()ax",
                    r"or \r\()cx, \r\()dx",
                    r"lock cmpxchg [rdi], \r\()cx",
                    "jne 3b",
                ]
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
                r"orr \r\()5, \r\()3, \r\()2",
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
            [],
            [concat!($instruction, r" \r\()2, \r\()3, [x0]")]
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
            "",
            [r"ldsetal \r\()2, \r\()3, [x0]"],
            [
                r"3: ldaxr \r\()3, [x0]",
                r"orr \r\()17, \r\()3, \r\()2",
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
            single!($bits, "ldsetal"),
            single!($bits, "ldseta"),
            single!($bits, "ldsetl"),
            single!($bits, "ldset"),
            sized!(
                $bits,
                "stset (no old value)",
                &[deburr_cpu::Feature::FEAT_LSE],
                [],
                [r"stset \r\()2, [x0]"]
            ),
            sized!(
                $bits,
                "prfm and stset",
                &[deburr_cpu::Feature::FEAT_LSE],
                [],
                ["prfm pstl1keep, [x0]", r"stset \r\()2, [x0]"]
            ),
            helper!(with, $bits),
            helper!(without, $bits),
        ]
    };
}

widths!("fetch-or", "or into", initial: 0, after: After::Union);

//! EXCHANGE: a value into a shared word, its old value out.

use crate::kernel::assembly::{sized, widths};
use crate::kernel::model::After;

#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!($bits, "xchg", &[], [], [r"mov \r\()ax, \r\()dx", r"xchg [rdi], \r\()ax"]),
            sized!(
                $bits,
                "cmpxchg loop",
                &[],
                [],
                [r"mov \r\()ax, [rdi]", r"3: lock cmpxchg [rdi], \r\()dx", "jne 3b"]
            ),
            sized!(
                $bits,
                "prefetchw and xchg",
                &[deburr_cpu::Feature::PREFETCHW],
                [],
                ["prefetchw [rdi]", r"mov \r\()ax, \r\()dx", r"xchg [rdi], \r\()ax"]
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
            [concat!("3: ", $load, r" \r\()3, [x0]"), concat!($store, r" w4, \r\()2, [x0]"), "cbnz w4, 3b"]
        )
    };
}

/// One instruction of LSE.
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
            [r"swpal \r\()2, \r\()3, [x0]"],
            [r"3: ldaxr \r\()3, [x0]", r"stlxr w16, \r\()2, [x0]", "cbnz w16, 3b"]
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
            single!($bits, "swpal"),
            single!($bits, "swpa"),
            single!($bits, "swpl"),
            single!($bits, "swp"),
            helper!(with, $bits),
            helper!(without, $bits),
        ]
    };
}

widths!("exchange", "exchange of", initial: 0, after: After::OneValue);

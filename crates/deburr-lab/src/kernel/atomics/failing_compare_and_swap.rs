//! BAD_CAS: a compare-and-swap that never finds what it expects.

use crate::kernel::assembly::{sized, widths};
use crate::kernel::model::After;

#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!($bits, "lock cmpxchg", &[], [], [r"mov \r\()ax, -1", r"lock cmpxchg [rdi], \r\()dx"]),
            sized!(
                $bits,
                "load, then lock cmpxchg",
                &[],
                [],
                [r"mov \r\()ax, -1", r"cmp [rdi], \r\()ax", "jne 3f", r"lock cmpxchg [rdi], \r\()dx", "3:"]
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
                "mov x5, #-1",
                concat!("3: ", $load, r" \r\()3, [x0]"),
                r"cmp \r\()3, \r\()5",
                "b.ne 4f",
                concat!($store, r" w4, \r\()2, [x0]"),
                "cbnz w4, 3b",
                "4:"
            ]
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
            ["mov x3, #-1", concat!($instruction, r" \r\()3, \r\()2, [x0]")]
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
            "mov x5, #-1",
            [r"mov \r\()3, \r\()5", r"casal \r\()3, \r\()2, [x0]"],
            [
                r"3: ldaxr \r\()3, [x0]",
                r"cmp \r\()3, \r\()5",
                "b.ne 3f",
                r"stlxr w16, \r\()2, [x0]",
                "cbnz w16, 3b",
                "3:"
            ]
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            exclusive!($bits, "ldaxr", "stlxr"),
            exclusive!($bits, "ldxr", "stxr"),
            single!($bits, "casal"),
            single!($bits, "casa"),
            single!($bits, "casl"),
            single!($bits, "cas"),
            sized!(
                $bits,
                "ldr, then casal",
                &[deburr_cpu::Feature::FEAT_LSE],
                [],
                [
                    "mov x3, #-1",
                    r"ldr \r\()4, [x0]",
                    r"cmp \r\()4, \r\()3",
                    "b.ne 4f",
                    r"casal \r\()3, \r\()2, [x0]",
                    "4:"
                ]
            ),
            helper!(with, $bits),
            helper!(without, $bits),
        ]
    };
}

widths!("failing-compare-and-swap", "compare-and-swap that fails, on", initial: 7, after: After::Same);

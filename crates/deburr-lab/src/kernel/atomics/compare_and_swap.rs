//! OK_CAS: a compare-and-swap that always finds what it expects.

use crate::kernel::assembly::{sized, widths};
use crate::kernel::model::After;

#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!(
                $bits,
                "lock cmpxchg",
                &[],
                ["xor ecx, ecx"],
                ["xor eax, eax", r"lock cmpxchg [rdi], \r\()cx"]
            ),
            sized!(
                $bits,
                "prefetchw and lock cmpxchg",
                &[deburr_cpu::Feature::PREFETCHW],
                ["xor ecx, ecx"],
                ["prefetchw [rdi]", "xor eax, eax", r"lock cmpxchg [rdi], \r\()cx"]
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
                r"cbnz \r\()3, 4f",
                concat!($store, r" w4, \r\()zr, [x0]"),
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
            ["mov x3, xzr", concat!($instruction, r" \r\()3, \r\()zr, [x0]")]
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
            [r"mov \r\()3, \r\()zr", r"casal \r\()3, \r\()zr, [x0]"],
            [r"3: ldaxr \r\()3, [x0]", r"cbnz \r\()3, 3f", r"stlxr w16, \r\()zr, [x0]", "cbnz w16, 3b", "3:"]
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
            single!($bits, "casal"),
            single!($bits, "casa"),
            single!($bits, "casl"),
            single!($bits, "cas"),
            helper!(with, $bits),
            helper!(without, $bits),
        ]
    };
}

widths!("compare-and-swap", "compare-and-swap that succeeds, on", initial: 0, after: After::Same);

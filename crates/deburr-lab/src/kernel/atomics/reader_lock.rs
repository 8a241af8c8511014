//! RW_LOCK_LIKE: one less in a shared word, by compare-and-swap, as long as it is above 0.

use crate::kernel::assembly::{sized, widths};
use crate::kernel::model::After;

#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!(
                $bits,
                "cmpxchg loop",
                &[],
                [],
                [
                    r"mov \r\()ax, [rdi]",
                    r"3: test \r\()ax, \r\()ax",
                    "jle 4f",
                    r"lea \r\()cx, [rax - 1]",
                    r"lock cmpxchg [rdi], \r\()cx",
                    "jne 3b",
                    "4:",
                ]
            ),
            sized!($bits, "lock xadd", &[], [], [r"mov \r\()ax, -1", r"lock xadd [rdi], \r\()ax"]),
        ]
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!(
                $bits,
                "ldaxr/stlxr",
                &[],
                [],
                [
                    r"3: ldaxr \r\()3, [x0]",
                    r"cmp \r\()3, #0",
                    "b.le 4f",
                    r"sub \r\()5, \r\()3, #1",
                    r"stlxr w4, \r\()5, [x0]",
                    "cbnz w4, 3b",
                    "4:",
                ]
            ),
            sized!(
                $bits,
                "casal loop",
                &[deburr_cpu::Feature::FEAT_LSE],
                [],
                [
                    r"ldr \r\()3, [x0]",
                    r"3: cmp \r\()3, #0",
                    "b.le 4f",
                    r"sub \r\()5, \r\()3, #1",
                    r"mov \r\()6, \r\()3",
                    r"casal \r\()3, \r\()5, [x0]",
                    r"cmp \r\()3, \r\()6",
                    "b.ne 3b",
                    "4:",
                ]
            ),
            sized!(
                $bits,
                "ldaddal",
                &[deburr_cpu::Feature::FEAT_LSE],
                ["mov x5, #-1"],
                [r"ldaddal \r\()5, \r\()3, [x0]"]
            ),
        ]
    };
}

widths!("reader-lock", "x to x-1 while positive, in", initial: 0x7fff_ffff, after: After::Difference);

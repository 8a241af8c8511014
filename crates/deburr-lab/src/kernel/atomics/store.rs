//! STORE: a value to a shared word, with sequential consistency and without.

use crate::kernel::assembly::{sized, widths};
use crate::kernel::model::After;

#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!($bits, "xchg", &[], [], [r"mov \r\()ax, \r\()dx", r"xchg [rdi], \r\()ax"]),
            sized!($bits, "mov and mfence", &[], [], [r"mov [rdi], \r\()dx", "mfence"]),
            sized!(
                $bits,
                "mov and lock or",
                &[],
                [],
                [r"mov [rdi], \r\()dx", "lock or dword ptr [rsp - 8], 0"]
            ),
            sized!($bits, "mov (release)", &[], [], [r"mov [rdi], \r\()dx"]),
        ]
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!($bits, "stlr", &[], [], [r"stlr \r\()2, [x0]"]),
            sized!($bits, "str and dmb", &[], [], [r"str \r\()2, [x0]", "dmb ish"]),
            sized!($bits, "str (relaxed)", &[], [], [r"str \r\()2, [x0]"]),
        ]
    };
}

widths!("store", "store to", initial: 0, after: After::OneValue);

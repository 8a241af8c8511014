//! LOAD: a shared word.

use crate::kernel::assembly::{sized, widths};
use crate::kernel::model::After;

#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!($bits, "mov", &[], [], [r"mov \r\()ax, [rdi]"]),
            sized!($bits, "lock xadd of 0", &[], [], ["xor eax, eax", r"lock xadd [rdi], \r\()ax"]),
        ]
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! variants {
    ($bits:tt) => {
        &[
            sized!($bits, "ldar", &[], [], [r"ldar \r\()3, [x0]"]),
            sized!(
                $bits,
                "ldapr",
                &[deburr_cpu::Feature::FEAT_LRCPC],
                [".arch_extension rcpc"],
                [r"ldapr \r\()3, [x0]"]
            ),
            sized!($bits, "ldr (relaxed)", &[], [], [r"ldr \r\()3, [x0]"]),
            sized!(
                $bits,
                "ldadd of 0",
                &[deburr_cpu::Feature::FEAT_LSE],
                [],
                [r"ldadd \r\()zr, \r\()3, [x0]"]
            ),
        ]
    };
}

widths!("load", "load of", initial: 7, after: After::Same);

//! Two stores of 8 bytes, then loads of both: whether the store buffer forwards to one wide load, and how far apart they must be.

use super::assembly::variant;
use super::model::{After, Kernel, Variant};

/// The kernel.
pub(super) const KERNEL: Kernel = Kernel {
    name: "forwarding",
    suite: "forwarding",
    summary: "two 8-byte stores, then 16 bytes loaded",
    bits: 32,
    initial: 0,
    after: After::OneValue,
    handovers: false,
    variants: VARIANTS,
};

/// Two loads, with so many instructions between the stores and them.
#[cfg(target_arch = "x86_64")]
macro_rules! two {
    ($name:literal, $distance:literal) => {
        variant!(
            $name,
            &[],
            [],
            [
                "mov qword ptr [rdi], rdx",
                "mov qword ptr [rdi + 8], rdx",
                $distance,
                "nop",
                ".endr",
                "mov rdx, qword ptr [rdi]",
                "mov rax, qword ptr [rdi + 8]",
            ]
        )
    };
}

/// One load of both.
#[cfg(target_arch = "x86_64")]
macro_rules! wide {
    ($name:literal, $distance:literal) => {
        variant!(
            $name,
            &[],
            [],
            [
                "mov qword ptr [rdi], rdx",
                "mov qword ptr [rdi + 8], rdx",
                $distance,
                "nop",
                ".endr",
                "movups xmm0, xmmword ptr [rdi]",
                "movq rdx, xmm0",
            ]
        )
    };
}

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    two!("two loads", ".rept 0"),
    two!("two loads, 16 instructions later", ".rept 16"),
    wide!("one wide load", ".rept 0"),
    wide!("one wide load, 1 instruction later", ".rept 1"),
    wide!("one wide load, 2 instructions later", ".rept 2"),
    wide!("one wide load, 4 instructions later", ".rept 4"),
    wide!("one wide load, 8 instructions later", ".rept 8"),
    wide!("one wide load, 16 instructions later", ".rept 16"),
];

/// Two loads, with so many instructions between the stores and them.
#[cfg(target_arch = "aarch64")]
macro_rules! two {
    ($name:literal, $distance:literal) => {
        variant!(
            $name,
            &[],
            [],
            [
                "str x2, [x0]",
                "str x2, [x0, #8]",
                $distance,
                "nop",
                ".endr",
                "ldr x2, [x0]",
                "ldr x3, [x0, #8]"
            ]
        )
    };
}

/// One load of both.
#[cfg(target_arch = "aarch64")]
macro_rules! wide {
    ($name:literal, $distance:literal) => {
        variant!(
            $name,
            &[],
            [],
            ["str x2, [x0]", "str x2, [x0, #8]", $distance, "nop", ".endr", "ldp x2, x3, [x0]"]
        )
    };
}

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    two!("two loads", ".rept 0"),
    two!("two loads, 16 instructions later", ".rept 16"),
    wide!("one ldp", ".rept 0"),
    wide!("one ldp, 1 instruction later", ".rept 1"),
    wide!("one ldp, 2 instructions later", ".rept 2"),
    wide!("one ldp, 4 instructions later", ".rept 4"),
    wide!("one ldp, 8 instructions later", ".rept 8"),
    wide!("one ldp, 16 instructions later", ".rept 16"),
];

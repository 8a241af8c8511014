//! A call of a function that keeps two registers on the stack: stored and loaded apart, or together, or, as Go did before 1.24,
//! stored apart and loaded together (since then, both apart).
//!
//! A register goes through each frame, so that the next call waits for this one's loads.

use super::assembly::variant;
use super::model::{After, Kernel, Variant};

/// The kernel.
pub(super) const KERNEL: Kernel = Kernel {
    name: "frame",
    suite: "forwarding",
    summary: "call of a function that stores two registers and loads them again",
    bits: 32,
    initial: 0,
    after: After::Same,
    handovers: false,
    variants: VARIANTS,
};

/// A function that keeps `rcx` and `r8`, as `rbp` and another one would be. The wide store is of what `xmm0` has.
#[cfg(target_arch = "x86_64")]
macro_rules! frame {
    ($name:literal, [$($store:literal),*], [$($load:literal),*]) => {
        variant!(
            $name,
            &[],
            ["jmp 4f", ".p2align 6", "5:", "sub rsp, 24", $($store,)* $($load,)* "add rsp, 24", "ret", "4:"],
            ["call 5b"]
        )
    };
}

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    frame!(
        "two stores, one wide load",
        ["mov qword ptr [rsp], rcx", "mov qword ptr [rsp + 8], r8"],
        ["movups xmm0, xmmword ptr [rsp]", "movq rcx, xmm0", "movhlps xmm0, xmm0", "movq r8, xmm0"]
    ),
    frame!(
        "two stores, two loads",
        ["mov qword ptr [rsp], rcx", "mov qword ptr [rsp + 8], r8"],
        ["mov rcx, qword ptr [rsp]", "mov r8, qword ptr [rsp + 8]"]
    ),
    frame!(
        "one wide store, one wide load",
        ["movups xmmword ptr [rsp], xmm0"],
        ["movups xmm0, xmmword ptr [rsp]", "movq rcx, xmm0"]
    ),
];

/// A function with a frame for `x29` and `x30`, whose pair is 8 bytes off a multiple of 16, as Go has it. Go has `x29` below `sp`, where
/// a signal would overwrite it here.
#[cfg(target_arch = "aarch64")]
macro_rules! frame {
    ($name:literal, [$($store:literal),*], [$($load:literal),*]) => {
        variant!(
            $name,
            &[],
            [
                "mov x9, x30", "b 4f", ".p2align 6",
                "5: sub sp, sp, #32", $($store,)* "add x29, sp, #8", $($load,)* "add sp, sp, #32", "ret",
                "4:"
            ],
            ["bl 5b", "mov x30, x9"]
        )
    };
}

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    frame!("two stores, one ldp", ["str x30, [sp, #16]", "str x29, [sp, #8]"], ["ldp x29, x30, [sp, #8]"]),
    frame!(
        "two stores, two loads",
        ["str x30, [sp, #16]", "str x29, [sp, #8]"],
        ["ldr x29, [sp, #8]", "ldr x30, [sp, #16]"]
    ),
    frame!("one stp, one ldp", ["stp x29, x30, [sp, #8]"], ["ldp x29, x30, [sp, #8]"]),
];

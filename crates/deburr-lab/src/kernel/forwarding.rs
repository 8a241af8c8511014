//! Two stores of 8 bytes, then loads of both: whether the store buffer forwards to one wide load.

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

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "two loads",
        &[],
        [],
        [
            "mov qword ptr [rdi], rdx",
            "mov qword ptr [rdi + 8], rdx",
            "mov rdx, qword ptr [rdi]",
            "mov rax, qword ptr [rdi + 8]"
        ]
    ),
    variant!(
        "one wide load",
        &[],
        [],
        [
            "mov qword ptr [rdi], rdx",
            "mov qword ptr [rdi + 8], rdx",
            "movups xmm0, xmmword ptr [rdi]",
            "movq rdx, xmm0"
        ]
    ),
    variant!(
        "one wide load, 8 instructions later",
        &[],
        [],
        [
            "mov qword ptr [rdi], rdx",
            "mov qword ptr [rdi + 8], rdx",
            ".rept 8",
            "nop",
            ".endr",
            "movups xmm0, xmmword ptr [rdi]",
            "movq rdx, xmm0",
        ]
    ),
    variant!(
        "one wide load, 16 instructions later",
        &[],
        [],
        [
            "mov qword ptr [rdi], rdx",
            "mov qword ptr [rdi + 8], rdx",
            ".rept 16",
            "nop",
            ".endr",
            "movups xmm0, xmmword ptr [rdi]",
            "movq rdx, xmm0",
        ]
    ),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!("two loads", &[], [], ["str x2, [x0]", "str x2, [x0, #8]", "ldr x2, [x0]", "ldr x3, [x0, #8]"]),
    variant!("one ldp", &[], [], ["str x2, [x0]", "str x2, [x0, #8]", "ldp x2, x3, [x0]"]),
    variant!(
        "one ldp, 8 instructions later",
        &[],
        [],
        ["str x2, [x0]", "str x2, [x0, #8]", ".rept 8", "nop", ".endr", "ldp x2, x3, [x0]"]
    ),
    variant!(
        "one ldp, 16 instructions later",
        &[],
        [],
        ["str x2, [x0]", "str x2, [x0, #8]", ".rept 16", "nop", ".endr", "ldp x2, x3, [x0]"]
    ),
];

//! A call of a function of one instruction: directly, through a PLT, through a pointer, and the instruction by itself.
//!
//! A PLT's stub jumps to where a slot of the GOT points to. An ifunc is called by the same code: only who fills the slot differs.

use super::assembly::variant;
use super::model::{After, Kernel, Variant};

/// The kernel.
pub(super) const KERNEL: Kernel = Kernel {
    name: "call",
    suite: "calls",
    summary: "call of a function of one instruction",
    bits: 32,
    initial: 0,
    after: After::Same,
    handovers: false,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!("inline", &[], [], ["inc rax"]),
    variant!("direct call", &[], ["jmp 4f", ".p2align 6", "5: inc rax", "ret", "4:"], ["call 5b"]),
    variant!(
        "call through a pointer",
        &[],
        ["jmp 4f", ".p2align 6", "5: inc rax", "ret", "4:", "lea rcx, [rip + 5b]"],
        ["call rcx"]
    ),
    variant!(
        "call through a PLT",
        &[],
        [
            "jmp 4f",
            ".pushsection .data.rel.ro, \"aw\"",
            ".p2align 3",
            "57: .quad 5f",
            ".popsection",
            ".p2align 6",
            "5: inc rax",
            "ret",
            ".p2align 4",
            "6: jmp qword ptr [rip + 57b]",
            "4:"
        ],
        ["call 6b"]
    ),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!("inline", &[], ["mov x9, x30"], ["add x3, x3, #1"]),
    variant!(
        "direct call",
        &[],
        ["mov x9, x30", "b 4f", ".p2align 6", "5: add x3, x3, #1", "ret", "4:"],
        ["bl 5b", "mov x30, x9"]
    ),
    variant!(
        "call through a pointer",
        &[],
        ["mov x9, x30", "b 4f", ".p2align 6", "5: add x3, x3, #1", "ret", "4:", "adr x4, 5b"],
        ["blr x4", "mov x30, x9"]
    ),
    variant!(
        "call through a PLT",
        &[],
        [
            "mov x9, x30",
            "b 4f",
            ".pushsection .data.rel.ro, \"aw\"",
            ".p2align 3",
            "57: .quad 5f",
            ".popsection",
            ".p2align 6",
            "5: add x3, x3, #1",
            "ret",
            ".p2align 4",
            "6: adrp x16, 57b",
            "ldr x17, [x16, :lo12:57b]",
            "add x16, x16, :lo12:57b",
            "br x17",
            "4:"
        ],
        ["bl 6b", "mov x30, x9"]
    ),
];

//! The bits of a register: by the instruction, also in a function that is called through a pointer or a PLT, and by masks and
//! shifts as compilers write them.

use super::assembly::variant;
use super::model::{After, Kernel, Variant};

/// The kernel.
pub(super) const KERNEL: Kernel = Kernel {
    name: "popcount",
    suite: "popcount",
    summary: "population count of 64 bits",
    bits: 32,
    initial: 0,
    after: After::Same,
    handovers: false,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!("popcnt", &[deburr_cpu::Feature::POPCNT], [], ["popcnt rax, rdx", "lea rdx, [rdx + rax]"]),
    variant!(
        "popcnt, called through a pointer",
        &[deburr_cpu::Feature::POPCNT],
        ["jmp 4f", ".p2align 6", "5: popcnt rax, rdx", "ret", "4:", "lea rcx, [rip + 5b]"],
        ["call rcx", "lea rdx, [rdx + rax]"]
    ),
    variant!(
        "popcnt, called through a PLT",
        &[deburr_cpu::Feature::POPCNT],
        [
            "jmp 4f",
            ".pushsection .data.rel.ro, \"aw\"",
            ".p2align 3",
            "57: .quad 5f",
            ".popsection",
            ".p2align 6",
            "5: popcnt rax, rdx",
            "ret",
            ".p2align 4",
            "6: jmp qword ptr [rip + 57b]",
            "4:"
        ],
        ["call 6b", "lea rdx, [rdx + rax]"]
    ),
    variant!(
        "masks and shifts",
        &[],
        [
            "movabs r8, 0x5555555555555555",
            "movabs r9, 0x3333333333333333",
            "movabs r10, 0x0f0f0f0f0f0f0f0f",
            "movabs r11, 0x0101010101010101"
        ],
        [
            "mov rax, rdx",
            "shr rax, 1",
            "and rax, r8",
            "mov rcx, rdx",
            "sub rcx, rax",
            "mov rax, rcx",
            "and rax, r9",
            "shr rcx, 2",
            "and rcx, r9",
            "add rcx, rax",
            "mov rax, rcx",
            "shr rax, 4",
            "add rax, rcx",
            "and rax, r10",
            "imul rax, r11",
            "shr rax, 56",
            "lea rdx, [rdx + rax]",
        ]
    ),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "cnt",
        &[],
        [],
        ["fmov d0, x2", "cnt v0.8b, v0.8b", "addv b0, v0.8b", "fmov w3, s0", "add x2, x2, x3"]
    ),
    variant!(
        "cnt, called through a pointer",
        &[],
        [
            "mov x9, x30",
            "b 4f",
            ".p2align 6",
            "5: fmov d0, x2",
            "cnt v0.8b, v0.8b",
            "addv b0, v0.8b",
            "fmov w3, s0",
            "ret",
            "4:",
            "adr x4, 5b"
        ],
        ["blr x4", "mov x30, x9", "add x2, x2, x3"]
    ),
    variant!(
        "cnt, called through a PLT",
        &[],
        [
            "mov x9, x30",
            "b 4f",
            ".pushsection .data.rel.ro, \"aw\"",
            ".p2align 3",
            "57: .quad 5f",
            ".popsection",
            ".p2align 6",
            "5: fmov d0, x2",
            "cnt v0.8b, v0.8b",
            "addv b0, v0.8b",
            "fmov w3, s0",
            "ret",
            ".p2align 4",
            "6: adrp x16, 57b",
            "ldr x17, [x16, :lo12:57b]",
            "add x16, x16, :lo12:57b",
            "br x17",
            "4:"
        ],
        ["bl 6b", "mov x30, x9", "add x2, x2, x3"]
    ),
    variant!(
        "masks and shifts",
        &[],
        [],
        [
            "lsr x3, x2, #1",
            "and x3, x3, #0x5555555555555555",
            "sub x4, x2, x3",
            "and x3, x4, #0x3333333333333333",
            "lsr x4, x4, #2",
            "and x4, x4, #0x3333333333333333",
            "add x4, x4, x3",
            "add x3, x4, x4, lsr #4",
            "and x3, x3, #0x0f0f0f0f0f0f0f0f",
            "mov x5, #0x0101010101010101",
            "mul x3, x3, x5",
            "lsr x3, x3, #56",
            "add x2, x2, x3",
        ]
    ),
];

//! The bits of a register: by the instruction, and by masks and shifts as compilers write them.

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

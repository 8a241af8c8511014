//! EXCHANGE of the thread's name, which counts how often another thread had the word last: how long a thread keeps it.

use crate::kernel::assembly::variant;
use crate::kernel::model::{After, Kernel, Variant};

/// The kernel. The function's value is how often the old value was not the thread's own.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "handover",
    suite: "atomics",
    summary: "exchange of a shared 32-bit word that counts its changes of owner",
    bits: 32,
    initial: 0,
    after: After::OneValue,
    handovers: true,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "xchg",
        &[],
        ["xor eax, eax", "xor r8d, r8d"],
        ["mov ecx, edx", "xchg dword ptr [rdi], ecx", "cmp ecx, edx", "setne r8b", "add rax, r8"]
    ),
    variant!(
        "cmpxchg loop",
        &[],
        ["xor r8d, r8d", "xor r9d, r9d"],
        [
            "mov eax, dword ptr [rdi]",
            "3: lock cmpxchg dword ptr [rdi], edx",
            "jne 3b",
            "cmp eax, edx",
            "setne r8b",
            "add r9, r8",
            "mov rax, r9",
        ]
    ),
];

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "ldaxr/stlxr",
        &[],
        ["mov x3, #0"],
        ["3: ldaxr w5, [x0]", "stlxr w4, w2, [x0]", "cbnz w4, 3b", "cmp w5, w2", "cinc x3, x3, ne"]
    ),
    variant!(
        "swpal",
        &[deburr_cpu::Feature::FEAT_LSE],
        ["mov x3, #0"],
        ["swpal w2, w5, [x0]", "cmp w5, w2", "cinc x3, x3, ne"]
    ),
    variant!(
        "casal loop",
        &[deburr_cpu::Feature::FEAT_LSE],
        ["mov x3, #0"],
        [
            "ldr w5, [x0]",
            "3: mov w6, w5",
            "casal w5, w2, [x0]",
            "cmp w5, w6",
            "b.ne 3b",
            "cmp w5, w2",
            "cinc x3, x3, ne",
        ]
    ),
];

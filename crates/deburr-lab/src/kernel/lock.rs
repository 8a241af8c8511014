//! A spin lock around one addition: tried by a plain load first or not, with a pause between two tries or none.

use super::assembly::variant;
use super::model::{After, Kernel, Variant};

/// The kernel. The sum is in the first word, the lock in the second.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "lock",
    suite: "locks",
    summary: "spin lock taken, one added to a word, and the lock released",
    initial: 0,
    after: After::Sum,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[Variant] = &[
    variant!(
        "load first, pause",
        &[],
        [],
        [
            "3: mov eax, 1",
            "xchg dword ptr [rdi + 4], eax",
            "test eax, eax",
            "jz 5f",
            "4: pause",
            "cmp dword ptr [rdi + 4], 0",
            "jne 4b",
            "jmp 3b",
            "5: add dword ptr [rdi], 1",
            "mov dword ptr [rdi + 4], 0",
        ]
    ),
    variant!(
        "load first, no pause",
        &[],
        [],
        [
            "3: mov eax, 1",
            "xchg dword ptr [rdi + 4], eax",
            "test eax, eax",
            "jz 5f",
            "4: cmp dword ptr [rdi + 4], 0",
            "jne 4b",
            "jmp 3b",
            "5: add dword ptr [rdi], 1",
            "mov dword ptr [rdi + 4], 0",
        ]
    ),
    variant!(
        "xchg again, pause",
        &[],
        [],
        [
            "3: mov eax, 1",
            "xchg dword ptr [rdi + 4], eax",
            "test eax, eax",
            "jz 5f",
            "pause",
            "jmp 3b",
            "5: add dword ptr [rdi], 1",
            "mov dword ptr [rdi + 4], 0",
        ]
    ),
    variant!(
        "xchg again, no pause",
        &[],
        [],
        [
            "3: mov eax, 1",
            "xchg dword ptr [rdi + 4], eax",
            "test eax, eax",
            "jnz 3b",
            "add dword ptr [rdi], 1",
            "mov dword ptr [rdi + 4], 0",
        ]
    ),
];

/// A lock taken by LL/SC, with this between two looks.
#[cfg(target_arch = "aarch64")]
macro_rules! exclusive {
    ($name:literal, $pause:literal) => {
        variant!(
            $name,
            &[],
            ["add x4, x0, #4", "mov w5, #1"],
            [
                "3: ldaxr w3, [x4]",
                "cbnz w3, 4f",
                "stxr w7, w5, [x4]",
                "cbnz w7, 3b",
                "b 5f",
                "4:",
                $pause,
                "ldr w3, [x4]",
                "cbnz w3, 4b",
                "b 3b",
                "5: ldr w6, [x0]",
                "add w6, w6, #1",
                "str w6, [x0]",
                "stlr wzr, [x4]",
            ]
        )
    };
}

/// The same by LSE.
#[cfg(target_arch = "aarch64")]
macro_rules! exchanged {
    ($name:literal, $pause:literal) => {
        variant!(
            $name,
            &[deburr_cpu::Feature::FEAT_LSE],
            ["add x4, x0, #4", "mov w5, #1"],
            [
                "3: swpa w5, w3, [x4]",
                "cbz w3, 5f",
                "4:",
                $pause,
                "ldr w3, [x4]",
                "cbnz w3, 4b",
                "b 3b",
                "5: ldr w6, [x0]",
                "add w6, w6, #1",
                "str w6, [x0]",
                "stlr wzr, [x4]",
            ]
        )
    };
}

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[Variant] = &[
    exclusive!("ldaxr/stxr, isb", "isb"),
    exclusive!("ldaxr/stxr, yield", "yield"),
    exclusive!("ldaxr/stxr, no pause", ""),
    exchanged!("swpa, isb", "isb"),
    exchanged!("swpa, yield", "yield"),
    exchanged!("swpa, no pause", ""),
];

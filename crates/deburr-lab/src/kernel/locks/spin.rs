//! The lock of these kernels: taken, something done inside, released.
//!
//! The cell's first word of 32 bits is the sum of what was done, the second one the lock, and the next 64 bits the name of the
//! thread that had it last. The function's value is how often another thread had it last.

/// A variant: how the lock is taken, and what is done inside. Registers are those of [`variant`](super::super::assembly).
///
/// On x86-64 the lines that take it jump to `5` when they have it, and may use `ecx`; inside, `ecx`, `r10` and `r11` are free,
/// `r8` is the block and `r9d` the length of the section.
#[cfg(target_arch = "x86_64")]
macro_rules! locked {
    ($name:literal, $needs:expr, [$($take:literal),* $(,)?], [$($inside:literal),* $(,)?]) => {
        $crate::kernel::assembly::variant!(
            $name, $needs,
            ["mov r9d, dword ptr [rcx]", "mov r8, qword ptr [rcx + 8]", "xor eax, eax"],
            [
                $($take,)*
                "5:", $($inside,)*
                "mov r10d, r9d", "6: dec r10d", "jns 6b",
                "xor ecx, ecx", "cmp qword ptr [rdi + 8], rdx", "setne cl", "add rax, rcx", "mov qword ptr [rdi + 8], rdx",
                "mov dword ptr [rdi + 4], 0",
            ]
        )
    };
}

/// A variant: how the lock is taken, and what is done inside. Registers are those of [`variant`](super::super::assembly).
///
/// On AArch64 the lines that take it branch to `5` when they have it, and may use `w6` and `w7`; the lock is at `x4`, and `w5` is
/// 1. Inside, `x6`, `x7` and `x11` to `x15` are free, `x8` is the block and `w10` the length of the section.
#[cfg(target_arch = "aarch64")]
macro_rules! locked {
    ($name:literal, $needs:expr, [$($take:literal),* $(,)?], [$($inside:literal),* $(,)?]) => {
        $crate::kernel::assembly::variant!(
            $name, $needs,
            ["ldr w10, [x3]", "ldr x8, [x3, #8]", "mov x3, #0", "add x4, x0, #4", "mov w5, #1"],
            [
                $($take,)*
                "5:", $($inside,)*
                "mov w11, w10", "6: subs w11, w11, #1", "b.pl 6b",
                "ldr x6, [x0, #8]", "cmp x6, x2", "cinc x3, x3, ne", "str x2, [x0, #8]",
                "stlr wzr, [x4]",
            ]
        )
    };
}

/// The variants of a kernel: each instruction and pause that takes the lock, with the same done inside.
#[cfg(target_arch = "x86_64")]
macro_rules! locks {
    ($inside:tt) => {
        &[
            locked!(
                "load first, pause",
                &[],
                [
                    "3: mov ecx, 1",
                    "xchg dword ptr [rdi + 4], ecx",
                    "test ecx, ecx",
                    "jz 5f",
                    "4: pause",
                    "cmp dword ptr [rdi + 4], 0",
                    "jne 4b",
                    "jmp 3b",
                ],
                $inside
            ),
            locked!(
                "load first, no pause",
                &[],
                [
                    "3: mov ecx, 1",
                    "xchg dword ptr [rdi + 4], ecx",
                    "test ecx, ecx",
                    "jz 5f",
                    "4: cmp dword ptr [rdi + 4], 0",
                    "jne 4b",
                    "jmp 3b",
                ],
                $inside
            ),
            locked!(
                "xchg again, pause",
                &[],
                [
                    "3: mov ecx, 1",
                    "xchg dword ptr [rdi + 4], ecx",
                    "test ecx, ecx",
                    "jz 5f",
                    "pause",
                    "jmp 3b",
                ],
                $inside
            ),
            locked!(
                "xchg again, no pause",
                &[],
                ["3: mov ecx, 1", "xchg dword ptr [rdi + 4], ecx", "test ecx, ecx", "jnz 3b"],
                $inside
            ),
            locked!(
                "lock bts, load first, pause",
                &[],
                [
                    "3: lock bts dword ptr [rdi + 4], 0",
                    "jnc 5f",
                    "4: pause",
                    "cmp dword ptr [rdi + 4], 0",
                    "jne 4b",
                    "jmp 3b",
                ],
                $inside
            ),
        ]
    };
}

/// The variants of a kernel: each instruction and pause that takes the lock, with the same done inside.
#[cfg(target_arch = "aarch64")]
macro_rules! locks {
    ($inside:tt) => {
        &[
            exclusive!("ldaxr/stxr, isb", &[], "isb", $inside),
            exclusive!("ldaxr/stxr, yield", &[], "yield", $inside),
            exclusive!("ldaxr/stxr, no pause", &[], "", $inside),
            exclusive!("ldaxr/stxr, sb", &[deburr_cpu::Feature::FEAT_SB], ".inst 0xd50330ff", $inside), // sb
            locked!(
                "ldaxr/stxr, wfe",
                &[],
                [
                    "3: ldaxr w6, [x4]",
                    "cbnz w6, 4f",
                    "stxr w7, w5, [x4]",
                    "cbnz w7, 3b",
                    "b 5f",
                    // The monitor of the load is an event when the lock's line is written.
                    "4: wfe",
                    "b 3b",
                ],
                $inside
            ),
            exchanged!("swpa, isb", &[deburr_cpu::Feature::FEAT_LSE], "isb", $inside),
            exchanged!("swpa, yield", &[deburr_cpu::Feature::FEAT_LSE], "yield", $inside),
            exchanged!("swpa, no pause", &[deburr_cpu::Feature::FEAT_LSE], "", $inside),
            exchanged!(
                "swpa, sb",
                &[deburr_cpu::Feature::FEAT_LSE, deburr_cpu::Feature::FEAT_SB],
                ".inst 0xd50330ff",
                $inside // sb
            ),
            locked!(
                "swpa again, no pause",
                &[deburr_cpu::Feature::FEAT_LSE],
                ["3: swpa w5, w6, [x4]", "cbnz w6, 3b"],
                $inside
            ),
        ]
    };
}

/// A lock taken by LL/SC, with this between two loads.
#[cfg(target_arch = "aarch64")]
macro_rules! exclusive {
    ($name:literal, $needs:expr, $pause:literal, $inside:tt) => {
        locked!(
            $name,
            $needs,
            [
                "3: ldaxr w6, [x4]",
                "cbnz w6, 4f",
                "stxr w7, w5, [x4]",
                "cbnz w7, 3b",
                "b 5f",
                "4:",
                $pause,
                "ldr w6, [x4]",
                "cbnz w6, 4b",
                "b 3b",
            ],
            $inside
        )
    };
}

/// The same by LSE.
#[cfg(target_arch = "aarch64")]
macro_rules! exchanged {
    ($name:literal, $needs:expr, $pause:literal, $inside:tt) => {
        locked!(
            $name,
            $needs,
            ["3: swpa w5, w6, [x4]", "cbz w6, 5f", "4:", $pause, "ldr w6, [x4]", "cbnz w6, 4b", "b 3b"],
            $inside
        )
    };
}

#[cfg(target_arch = "aarch64")]
pub(super) use {exchanged, exclusive};
pub(super) use {locked, locks};

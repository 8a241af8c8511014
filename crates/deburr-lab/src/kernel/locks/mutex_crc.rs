//! A spin mutex around a CRC-32 of 16 KiB in software: the experiment of 'ARM's LSE (for atomics) and MySQL'.

#[cfg(target_arch = "aarch64")]
use super::spin::{exchanged, exclusive};
use super::spin::{locked, locks};
use crate::kernel::model::{After, Kernel};

/// The kernel. Only a right CRC is added.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "mutex-crc",
    suite: "locks",
    summary: "spin mutex taken, the CRC-32 of 16 KiB by a table, and the mutex released",
    bits: 32,
    initial: 0,
    after: After::Sum,
    handovers: true,
    variants: VARIANTS,
};

#[cfg(target_arch = "x86_64")]
const VARIANTS: &[crate::kernel::Variant] = locks!([
    "mov r11d, -1",
    "xor r10d, r10d",
    "6: movzx ecx, byte ptr [r8 + r10 + 1024]",
    "xor cl, r11b",
    "shr r11d, 8",
    "xor r11d, dword ptr [r8 + 4*rcx]",
    "inc r10d",
    "cmp r10d, 16384",
    "jne 6b",
    "not r11d",
    "xor ecx, ecx",
    "cmp r11d, dword ptr [r8 + 17408]",
    "sete cl",
    "add dword ptr [rdi], ecx",
]);

#[cfg(target_arch = "aarch64")]
const VARIANTS: &[crate::kernel::Variant] = locks!([
    "add x11, x8, #1024",
    "mov w12, #-1",
    "mov w14, #16384",
    "6: ldrb w13, [x11], #1",
    "eor w13, w13, w12",
    "and w13, w13, #255",
    "ldr w13, [x8, x13, lsl #2]",
    "eor w12, w13, w12, lsr #8",
    "subs w14, w14, #1",
    "b.ne 6b",
    "mvn w12, w12",
    "ldr w13, [x11]",
    "cmp w12, w13",
    "cset w13, eq",
    "ldr w15, [x0]",
    "add w15, w15, w13",
    "str w15, [x0]",
]);

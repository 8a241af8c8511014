//! The frame of a variant: what is before the loop, what an iteration does, and the count.
//!
//! In: lines of assembly. Out: a [`Variant`](super::model::Variant). Registers on entry and in the loop:
//!
//! | | cell | iterations left | value | free |
//! |---|---|---|---|---|
//! | x86-64 (System V psABI) | `rdi` | `rsi` | `rdx` | `rax`, `rcx`, `r8` to `r11`, `xmm0` to `xmm15` |
//! | AArch64 (AAPCS64) | `x0` | `x1` | `x2` | `x3` to `x17`, `v0` to `v7`, `v16` to `v31` |
//!
//! The loop's label is `2`; others in an iteration begin with 3.

/// A variant for x86-64, in Intel's syntax.
#[cfg(target_arch = "x86_64")]
macro_rules! variant {
    ($name:literal, $needs:expr, [$($before:literal),* $(,)?], [$($once:literal),* $(,)?]) => {{
        #[unsafe(naked)]
        unsafe extern "C" fn body(_cell: *mut u64, _iterations: u64, _value: u64) -> u64 {
            core::arch::naked_asm!($($before,)* ".p2align 6", "2:", $($once,)* "dec rsi", "jnz 2b", "ret")
        }
        $crate::kernel::model::Variant { name: $name, needs: $needs, body }
    }};
}

/// A variant for AArch64.
#[cfg(target_arch = "aarch64")]
macro_rules! variant {
    ($name:literal, $needs:expr, [$($before:literal),* $(,)?], [$($once:literal),* $(,)?]) => {{
        #[unsafe(naked)]
        unsafe extern "C" fn body(_cell: *mut u64, _iterations: u64, _value: u64) -> u64 {
            core::arch::naked_asm!(
                ".arch_extension lse", $($before,)* ".p2align 6", "2:", $($once,)* "subs x1, x1, #1", "b.ne 2b", "ret",
                ".arch_extension nolse"
            )
        }
        $crate::kernel::model::Variant { name: $name, needs: $needs, body }
    }};
}

pub(super) use variant;

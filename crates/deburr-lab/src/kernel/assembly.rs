//! The frame of a variant: what is before the loop, what an iteration does, a delay if there is one, and the count.
//!
//! In: lines of assembly. Out: a [`Variant`](super::model::Variant). Registers on entry and in the loop:
//!
//! | | cell | iterations left | value | work, before the loop | free |
//! |---|---|---|---|---|---|
//! | x86-64 (System V psABI) | `rdi` | `rsi` | `rdx` | `rcx` | `rax`, `rcx`, `r8` to `r11`, `xmm0` to `xmm15` |
//! | AArch64 (AAPCS64) | `x0` | `x1` | `x2` | `x3` | `x3` to `x16`, in an iteration `x17`, `v0` to `v7`, `v16` to `v31` |
//!
//! What the first free register (`rax`, `x3`) holds at the end is the function's value, and of no meaning unless the kernel says
//! so. The loop's label is `2`, and 7 to 9 are the frame's; others in an iteration begin with 3. The frame has the loop twice,
//! with delays and without.
//!
//! [`sized`] writes the same variant for words of 32 and 64 bits: `\r` is the part of a register's name that says how
//! wide it is, `e` or `r` in `\r\()ax`, `w` or `x` in `\r\()3`. It is the parameter of an assembler's `.irp`.

/// A variant for x86-64, in Intel's syntax.
#[cfg(target_arch = "x86_64")]
macro_rules! variant {
    ($name:expr, $needs:expr, [$($before:expr),* $(,)?], [$($once:expr),* $(,)?]) => {{
        #[unsafe(naked)]
        unsafe extern "C" fn body(
            _cell: *mut u64, _iterations: u64, _value: u64, _work: *const $crate::kernel::work::Work,
        ) -> u64 {
            core::arch::naked_asm!(
                "cmp dword ptr [rcx + 4], 0", "jne 7f",
                $($before,)* ".p2align 6", "2:", $($once,)* "dec rsi", "jnz 2b", "ret",
                "7: push r12", "push r13", "push r14", "mov r12, rcx", "xor r13d, r13d",
                $($before,)* ".p2align 6", "2:", $($once,)*
                "mov r14d, dword ptr [r12 + 4*r13 + 16]", "inc r13b", "9: dec r14d", "jns 9b",
                "dec rsi", "jnz 2b", "pop r14", "pop r13", "pop r12", "ret",
            )
        }
        $crate::kernel::model::Variant { name: $name, needs: $needs, body }
    }};
}

/// A variant for AArch64.
#[cfg(target_arch = "aarch64")]
macro_rules! variant {
    ($name:expr, $needs:expr, [$($before:expr),* $(,)?], [$($once:expr),* $(,)?]) => {{
        #[unsafe(naked)]
        unsafe extern "C" fn body(
            _cell: *mut u64, _iterations: u64, _value: u64, _work: *const $crate::kernel::work::Work,
        ) -> u64 {
            core::arch::naked_asm!(
                ".arch_extension lse", "ldr w17, [x3, #4]", "cbnz w17, 7f",
                $($before,)* ".p2align 6", "2:", $($once,)* "subs x1, x1, #1", "b.ne 2b", "mov x0, x3", "ret",
                "7: stp x19, x20, [sp, #-16]!", "add x19, x3, #16", "mov x20, #0",
                $($before,)* ".p2align 6", "2:", $($once,)*
                "ldr w17, [x19, x20, lsl #2]", "add x20, x20, #1", "and x20, x20, #255", "9: subs w17, w17, #1", "b.pl 9b",
                "subs x1, x1, #1", "b.ne 2b", "mov x0, x3", "ldp x19, x20, [sp], #16", "ret",
                ".arch_extension nolse"
            )
        }
        $crate::kernel::model::Variant { name: $name, needs: $needs, body }
    }};
}

/// A variant on a word whose width is named first: `32` or `64`.
#[cfg(target_arch = "x86_64")]
macro_rules! sized {
    (32, $($rest:tt)*) => { $crate::kernel::assembly::wide!("e", $($rest)*) };
    (64, $($rest:tt)*) => { $crate::kernel::assembly::wide!("r", $($rest)*) };
}

/// A variant on a word whose width is named first: `32` or `64`.
#[cfg(target_arch = "aarch64")]
macro_rules! sized {
    (32, $($rest:tt)*) => { $crate::kernel::assembly::wide!("w", $($rest)*) };
    (64, $($rest:tt)*) => { $crate::kernel::assembly::wide!("x", $($rest)*) };
}

/// A variant whose lines have `\r` for this.
macro_rules! wide {
    ($r:literal, $name:expr, $needs:expr, [$($before:expr),* $(,)?], [$($once:expr),* $(,)?]) => {
        $crate::kernel::assembly::variant!(
            $name, $needs,
            [concat!(".irp r, ", $r), $($before,)* ".endr"],
            [concat!(".irp r, ", $r), $($once,)* ".endr"]
        )
    };
}

/// The kernels of an operation on a shared word: `KERNEL` with 32 bits and `WIDE` with 64, of what `variants!` makes of the width.
macro_rules! widths {
    ($name:literal, $summary:literal, initial: $initial:expr, after: $after:expr $(,)?) => {
        $crate::kernel::assembly::widths!(KERNEL, 32, $name, $summary, $initial, $after);
        $crate::kernel::assembly::widths!(WIDE, 64, concat!($name, "-64"), $summary, $initial, $after);
    };
    ($const:ident, $bits:tt, $name:expr, $summary:literal, $initial:expr, $after:expr) => {
        #[doc = concat!("The kernel with a word of ", $bits, " bits.")]
        pub(crate) const $const: $crate::kernel::model::Kernel = $crate::kernel::model::Kernel {
            name: $name,
            suite: "atomics",
            summary: concat!($summary, " a shared ", $bits, "-bit word"),
            bits: $bits,
            initial: $initial,
            after: $after,
            handovers: false,
            variants: variants!($bits),
        };
    };
}

/// An operation as gcc's outlined helpers do it (`-moutline-atomics`): a call of a function that executes the instruction of LSE
/// where a flag is set, and the loop of LL/SC otherwise. The helper is at `5` before the loop, the flag at `55`, and `x9` keeps the
/// return address.
#[cfg(target_arch = "aarch64")]
macro_rules! outlined {
    (with, $($rest:tt)*) => {
        $crate::kernel::assembly::outlined!(
            "outlined, with LSE", &[deburr_cpu::Feature::FEAT_LSE], "1", $($rest)*
        )
    };
    (without, $($rest:tt)*) => {
        $crate::kernel::assembly::outlined!("outlined, without LSE", &[], "0", $($rest)*)
    };
    ($name:literal, $needs:expr, $flag:literal, $bits:tt, $before:literal, [$($lse:literal),*], [$($exclusive:literal),*]) => {
        $crate::kernel::assembly::sized!(
            $bits, $name, $needs,
            [
                ".pushsection .rodata.flags,\"a\",@progbits", "55:", concat!(".byte ", $flag), ".popsection",
                $before, "mov x9, x30", "b 4f", ".p2align 4",
                "5: adrp x16, 55b", "ldrb w16, [x16, :lo12:55b]", "cbz w16, 6f", $($lse,)* "ret", "6:", $($exclusive,)* "ret", "4:"
            ],
            ["bl 5b", "mov x30, x9"]
        )
    };
}

#[cfg(target_arch = "aarch64")]
pub(super) use outlined;
pub(super) use {sized, variant, wide, widths};

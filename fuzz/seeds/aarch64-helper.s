// Outlined atomics as libgcc has them, their callers, locks and waits.
        .text
        .type   __aarch64_ldadd4_acq_rel, %function
        .hidden __aarch64_ldadd4_acq_rel
__aarch64_ldadd4_acq_rel:
        adrp    x16, __aarch64_have_lse_atomics
        ldrb    w16, [x16, :lo12:__aarch64_have_lse_atomics]
        cbz     w16, 1f
        .arch_extension lse
        ldaddal w0, w0, [x1]
        ret
1:      mov     w16, w0
2:      ldaxr   w0, [x1]
        add     w17, w0, w16
        stlxr   w15, w17, [x1]
        cbnz    w15, 2b
        ret
        .size   __aarch64_ldadd4_acq_rel, .-__aarch64_ldadd4_acq_rel
        .globl  count
        .type   count, %function
count:
        .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        mov     x1, x0
        mov     w0, #1
        bl      __aarch64_ldadd4_acq_rel
        add     w0, w0, #1
        ldp     x29, x30, [sp], #16
        ret
        .cfi_endproc
        .size   count, .-count
        .globl  lock
        .type   lock, %function
lock:
        sevl
1:      wfe
        ldaxr   w8, [x0]
        cbnz    w8, 1b
        stxr    w9, w1, [x0]
        cbnz    w9, 1b
        ret
        .size   lock, .-lock
        .globl  swap
        .type   swap, %function
swap:
        ldaxp   x8, x9, [x0]
        stlxp   w10, x2, x3, [x0]
        cbnz    w10, swap
        dmb     ish
        ret
        .size   swap, .-swap
        .globl  wait
        .type   wait, %function
wait:
        yield
        ldr     w8, [x0]
        cbnz    w8, wait
        ret
        .size   wait, .-wait
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000000, 4, 3, 0
        .bss
        .hidden __aarch64_have_lse_atomics
__aarch64_have_lse_atomics:
        .zero   1

// A veneer that leads four bytes too far, past the flag.
// rule: outlined-atomic
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: NoHelper
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        str x30, [sp, #-16]!
site:
        bl veneer
        ldr x30, [sp], #16
        ret
        .size   f, .-f
        .type   veneer, %function
veneer:
        adrp x16, entry + 4
        add x16, x16, :lo12:entry + 4
        br x16
        .size   veneer, .-veneer
        .hidden __aarch64_ldadd4_acq_rel
        .globl  __aarch64_ldadd4_acq_rel
        .type   __aarch64_ldadd4_acq_rel, %function
__aarch64_ldadd4_acq_rel:
        bti c
entry:
        adrp x16, flag
        ldrb w16, [x16, :lo12:flag]
        cbz w16, 1f
        ldaddal w0, w0, [x1]
        ret
1:
        mov w16, w0
2:
        ldaxr w0, [x1]
        add w17, w0, w16
        stlxr w15, w17, [x1]
        cbnz w15, 2b
        ret
        .size   __aarch64_ldadd4_acq_rel, .-__aarch64_ldadd4_acq_rel
        .type   init, %function
init:
        stp x29, x30, [sp, #-16]!
        mov x0, #16
        bl getauxval
        ubfx w0, w0, #8, #1
        adrp x1, flag
        strb w0, [x1, :lo12:flag]
        ldp x29, x30, [sp], #16
        ret
        .size   init, .-init
        .section .init_array, "aw"
        .balign 8
        .quad   init
        .bss
flag:   .zero   1
other:  .zero   1
        .text

        .section .replacement
        ldaddal w0, w0, [x1]

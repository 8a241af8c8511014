// Nothing writes the flag.
// rule: outlined-atomic
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: HelperFlag
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        str x30, [sp, #-16]!
site:
        bl __aarch64_ldadd4_acq_rel
        ldr x30, [sp], #16
        ret
        .size   f, .-f
        .hidden __aarch64_ldadd4_acq_rel
        .globl  __aarch64_ldadd4_acq_rel
        .type   __aarch64_ldadd4_acq_rel, %function
__aarch64_ldadd4_acq_rel:
        bti c
helper:
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
        .bss
flag:   .zero   1
        .text

        .section .replacement
        ldaddal w0, w0, [x1]

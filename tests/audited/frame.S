// The reload of a small frame.
// rule: split-frame-reload
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: nothing
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        sub sp, sp, #48
        stp x29, x30, [sp, #-8]
site:
        ldp x29, x30, [sp, #-8]
        add sp, sp, #48
        ret
        .size   f, .-f

        .section .replacement
        ldur    x29, [sp, #-8]
        ldr     x30, [sp], #48

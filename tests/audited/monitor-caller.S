// wfe in the caller.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Monitor
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .type   f, %function
f:
        mov     w1, #1
site:
        ldaxr   w8, [x0]
        cbnz    w8, 2f
        stxr    w9, w1, [x0]
        cbnz    w9, site
        ret
        mul x12, x12, x12
2:
        ret
        .size   f, .-f
        .globl  h
        .type   h, %function
h:
        mov x19, x30
3:
        bl f
        cbz w9, 4f
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        wfe
        b 3b
4:
        ret x19
        .size   h, .-h

        .section .replacement
        mov     w8, #0
        casa    w8, w1, [x0]
        cbnz    w8, . + 16
        mov     w9, wzr

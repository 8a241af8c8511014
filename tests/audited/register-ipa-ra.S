// A caller keeps a value over the call in a register that the function never wrote.
// rule: llsc-pair
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Register
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .type   g, %function
g:
        mov     x12, #7
        mov     x14, #8
        nop
site:
        ldaxp   x8, x9, [x0]
        cmp     x8, #2
        ccmp    x9, #3, #0, eq
        b.ne    2f
        stlxp   w10, x12, x14, [x0]
        cbnz    w10, site
2:
        mov x0, x8
        ret
        .size   g, .-g
        .globl  h
        .type   h, %function
h:
        stp x29, x30, [sp, #-16]!
        mov x13, x1
        bl g
        add x0, x0, x13
        ldp x29, x30, [sp], #16
        ret
        .size   h, .-h

        .section .replacement
        mov     x13, x14
        mov     x8, #2
        mov     x9, #3
        caspal  x8, x9, x12, x13, [x0]
        cmp     x8, #2
        ccmp    x9, #3, #0, eq

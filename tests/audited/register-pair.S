// A compare-and-swap of pairs reads it as the second.
// rule: llsc-pair
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Register
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  g
        .type   g, %function
g:
        mov     x13, #2
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
        caspal x4, x5, x12, x13, [x1]
        mov x13, #0
        mov x10, #0
        ret
        .size   g, .-g

        .section .replacement
        mov     x13, x14
        mov     x8, #2
        mov     x9, #3
        caspal  x8, x9, x12, x13, [x0]
        cmp     x8, #2
        ccmp    x9, #3, #0, eq

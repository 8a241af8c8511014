// A system call (svc) reads its sixth argument.
// rule: llsc-pair
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Register
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  g
        .type   g, %function
g:
        mov     x5, #0x1000
        mov     x4, #7
        mov     x6, #8
site:
        ldaxp   x8, x9, [x0]
        cmp     x8, #2
        ccmp    x9, #3, #0, eq
        b.ne    2f
        stlxp   w10, x4, x6, [x0]
        cbnz    w10, site
2:
        mov x8, #222
        svc #0
        mov x5, #0
        mov x10, #0
        ret
        .size   g, .-g

        .section .replacement
        mov     x5, x6
        mov     x8, #2
        mov     x9, #3
        caspal  x8, x9, x4, x5, [x0]
        cmp     x8, #2
        ccmp    x9, #3, #0, eq

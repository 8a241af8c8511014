// The replacement compares with one more, which random values never meet.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Differs
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  g
        .type   g, %function
g:
site:
        ldaxr   x8, [x1]
        sub     x9, x8, #0xabc
        cbnz    x9, 2f
        stlxr   w10, x2, [x1]
        cbnz    w10, site
2:
        ret
        .size   g, .-g

        .section .replacement
        mov     x8, #0xabd
        casal   x8, x2, [x1]
        sub     x9, x8, #0xabc
        cbnz    x9, . + 8
        mov     w10, wzr

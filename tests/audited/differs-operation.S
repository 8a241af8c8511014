// The replacement adds without a carry.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Differs
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  g
        .type   g, %function
g:
site:
        ldaxr   w8, [x1]
        add     w9, w8, w2
        stlxr   w10, w9, [x1]
        cbnz    w10, site
        ret
        .size   g, .-g

        .section .replacement
        ldeoral w2, w8, [x1]
        add     w9, w8, w2
        mov     w10, wzr
        nop

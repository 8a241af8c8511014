// No branch orders what follows after the load, which does not acquire.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Differs
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  g
        .type   g, %function
g:
site:
        ldxr    w8, [x1]
        cmp     w8, w0
        b.ne    2f
        stlxr   w10, w2, [x1]
        cbnz    w10, site
2:
        ret
        .size   g, .-g

        .section .replacement
        mov     w8, w0
        casl    w8, w2, [x1]
        cmp     w8, w0
        nop
        mov     w10, wzr

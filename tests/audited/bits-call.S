// A function writes its result over it.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Differs
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  g
        .type   g, %function
g:
        mov x1, x0
        ldrb w0, [x1]
        bl g
        mov     w2, #9
site:
        ldaxrb  w8, [x1]
        cmp     w8, w0
        b.ne    2f
        stlxrb  w9, w2, [x1]
        cbnz    w9, site
2:
        mov     w0, w8
        ret
        .size   g, .-g

        .section .replacement
        mov     w8, w0
        casalb  w8, w2, [x1]
        cmp     w8, w0
        b.ne    . + 8
        mov     w9, wzr

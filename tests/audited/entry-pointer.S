// A relocated pointer leads inside.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: EntryAt
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
site:
        ldxr    w8, [x0]
inside:
        add     w9, w8, w1
        stxr    w10, w9, [x0]
        cbnz    w10, site
        mov     w0, w8
        ret
        .size   f, .-f
        .globl  g
        .type   g, %function
g:
        ret
        .size   g, .-g
        .data
        .balign 8
        .quad   inside

        .section .replacement
        ldadd   w1, w8, [x0]
        add     w9, w8, w1
        mov     w10, wzr
        nop

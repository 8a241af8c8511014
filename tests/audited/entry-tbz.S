// A test of a bit in another section leads inside.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: BranchInto
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
        mov x0, x1
        b f
        .size   g, .-g
        .section .text.unlikely, "ax"
        .type   f.cold, %function
f.cold:
        str w1, [x5]
        tbz w1, #3, inside
        ret
        .size   f.cold, .-f.cold

        .section .replacement
        ldadd   w1, w8, [x0]
        add     w9, w8, w1
        mov     w10, wzr
        nop

// Immediates make the address.
// rule: llsc-loop
// link: -no-pie -static -nostdlib -Wl,-e,f
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
        movz x9, #:abs_g1:inside
        movk x9, #:abs_g0_nc:inside
        br x9
        .size   g, .-g

        .section .replacement
        ldadd   w1, w8, [x0]
        add     w9, w8, w1
        mov     w10, wzr
        nop

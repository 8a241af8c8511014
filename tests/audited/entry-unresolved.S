// The function jumps to an address that comes from two others by addition.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: UnresolvedJump
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        cbz x3, site
        ldr x9, [x3]
        add x9, x9, x4
        br x9
site:
        ldxr    w8, [x0]
inside:
        add     w9, w8, w1
        stxr    w10, w9, [x0]
        cbnz    w10, site
        mov     w0, w8
        ret
        .size   f, .-f

        .section .replacement
        ldadd   w1, w8, [x0]
        add     w9, w8, w1
        mov     w10, wzr
        nop

// After the barrier comes the atomic; who enters at the barrier comes to it.
// rule: barrier-around-atomic
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: nothing
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        cbz w4, site
        str w1, [x5]
site:
        dmb ish
        ldaddal w1, w2, [x0]
        ldr w0, [x3]
        ret
        .size   f, .-f

        .section .replacement
        nop

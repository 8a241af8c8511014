// A function that is called cleans the cache.
// rule: barrier-around-atomic
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Ordered
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        ldaddal w1, w2, [x0]
site:
        dmb ish
        mov x19, x30
        bl h
        ret x19
        .size   f, .-f
        .type   h, %function
h:
        dc cvau, x5
        ret
        .size   h, .-h

        .section .replacement
        nop

// Only a barrier orders dc.
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
        dc cvac, x5
        ret
        .size   f, .-f

        .section .replacement
        nop

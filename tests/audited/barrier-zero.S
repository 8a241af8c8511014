// An atomic whose result goes nowhere is no load.
// rule: barrier-around-atomic
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: NoAtomic
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        ldaddal w1, wzr, [x0]
site:
        dmb ish
        ldr w0, [x3]
        ret
        .size   f, .-f

        .section .replacement
        nop

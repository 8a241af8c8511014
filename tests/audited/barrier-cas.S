// A compare-and-swap that fails orders less.
// rule: barrier-around-atomic
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: NoAtomic
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        casal w1, w2, [x0]
site:
        dmb ish
        ldr w0, [x3]
        ret
        .size   f, .-f

        .section .replacement
        nop

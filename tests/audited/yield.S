// A hint that does nothing.
// rule: yield-in-spin-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: nothing
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
1:
site:
        yield
        ldr w1, [x0]
        cbnz w1, 1b
        ret
        .size   f, .-f

        .section .replacement
        isb

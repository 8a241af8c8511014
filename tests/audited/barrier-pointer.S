// A pointer leads to the barrier.
// rule: barrier-around-atomic
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: EntryAt
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        ldaddal w1, w2, [x0]
site:
        dmb ish
        ret
        .size   f, .-f
        .data
        .balign 8
        .quad   site

        .section .replacement
        nop

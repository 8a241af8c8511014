// A jump table leads to the barrier.
// rule: barrier-around-atomic
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: BranchInto
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        adrp x5, table
        add x5, x5, :lo12:table
        ldrb w4, [x5, w4, uxtw]
        adr x5, 4f
        add x5, x5, w4, sxtb #2
        br x5
4:
        ldaddal w1, w2, [x0]
site:
        dmb ish
        ret
        .size   f, .-f
        .section .rodata
        .balign 8
table:  .byte   0, 1

        .section .replacement
        nop

// wfe in a case of a switch.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Monitor
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        mov     w1, #1
site:
        ldaxr   w8, [x0]
        cbnz    w8, 2f
        stxr    w9, w1, [x0]
        cbnz    w9, site
        ret
        mul x12, x12, x12
2:
        adrp x5, table
        add x5, x5, :lo12:table
        ldrb w4, [x5, w4, uxtw]
        adr x5, 4f
        add x5, x5, w4, sxtb #2
        br x5
4:
        ret
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        wfe
        b site
        .size   f, .-f
        .section .rodata
        .balign 8
table:  .byte   0, 1

        .section .replacement
        mov     w8, #0
        casa    w8, w1, [x0]
        cbnz    w8, . + 16
        mov     w9, wzr

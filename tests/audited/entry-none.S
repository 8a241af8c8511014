// Nothing enters: a table of 8-bit offsets goes elsewhere.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: nothing
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
site:
        ldxr    w8, [x0]
inside:
        add     w9, w8, w1
        stxr    w10, w9, [x0]
        cbnz    w10, site
        mov     w0, w8
        ret
        .size   f, .-f
        .globl  g
        .type   g, %function
g:
        cmp w2, #1
        b.hi 2f
        adrp x9, table
        add x9, x9, :lo12:table
        ldrb w11, [x9, w2, uxtw]
        adr x10, 1f
        add x9, x10, w11, sxtb #2
        br x9
1:
        mov w0, #1
        ret
2:
        mov w0, #2
        ret
        .size   g, .-g
        .section .rodata
        .balign 8
table:  .byte   0
        .byte   1
        .byte   (inside - f - 56) / 4

        .section .replacement
        ldadd   w1, w8, [x0]
        add     w9, w8, w1
        mov     w10, wzr
        nop

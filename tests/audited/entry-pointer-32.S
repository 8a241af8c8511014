// A pointer of 4 bytes.
// rule: llsc-loop
// link: -no-pie -static -nostdlib -Wl,-e,f
// says: EntryAt
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
        adrp x9, table
        ldr w9, [x9, :lo12:table]
        br x9
        .size   g, .-g
        .section .rodata
        .balign 8
        .word   1
table:  .word   inside

        .section .replacement
        ldadd   w1, w8, [x0]
        add     w9, w8, w1
        mov     w10, wzr
        nop

// What OpenSSL 1.1.1 begins its block functions with (crypto/sha/asm/sha1-armv8.pl).
        .text
        .hidden armcap
        .globl  add
        .type   add, %function
        .align  6
add:
        ldr     x16, .Larmcap
        adr     x17, .Larmcap
        add     x16, x16, x17
        ldr     w16, [x16]
        tst     w16, #1 << 3
        b.ne    add_lse
        b       add_plain
        .size   add, . - add
        .align  3
.Larmcap:
        .quad   armcap - .
        .section .note.GNU-stack,"",%progbits

# The assembly half of trap_table_in_text.c: a table of words in .text, read as data, that decodes as jumps to twice_avx2.
        .text
        .globl  add_constants
        .type   add_constants, @function
add_constants:
        lea     .Lconstants(%rip), %rcx
        movdqu  (%rdi), %xmm0
        paddd   (%rcx), %xmm0
        paddd   16(%rcx), %xmm0
        paddd   32(%rcx), %xmm0
        paddd   48(%rcx), %xmm0
        movdqu  %xmm0, (%rdi)
        mov     $1, %eax
        ret
        .size   add_constants, .-add_constants

        .p2align 6
        .type   .Lconstants, @object
.Lconstants:
        .long   0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5
        .long   0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5
        # jmp twice_avx2, twice; the rest is what a hash function's table holds.
        .byte   0xe9
        .long   twice_avx2 - . - 4
        .byte   0x0f, 0x84
        .long   twice_avx2 - . - 4
        .byte   0x98, 0x2f, 0x8a, 0x42, 0x91
        .long   0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3
        .long   0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174
        .long   0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc

        .globl  twice_avx2
        .type   twice_avx2, @function
        .p2align 4
twice_avx2:
        vmovdqu (%rdi), %ymm0
        vpaddd  %ymm0, %ymm0, %ymm0
        vmovdqu %ymm0, (%rdi)
        vzeroupper
        mov     $1, %eax
        ret
        .size   twice_avx2, .-twice_avx2
        .section .note.GNU-stack,"",@progbits

# The assembly half of capability_word.c: `bt` and `test` on words in memory, and two bits tested at once.
        .text
        .globl  twice_in_assembly
        .type   twice_in_assembly, @function
twice_in_assembly:
        .cfi_startproc
        lea     capabilities(%rip), %r11
        mov     4(%r11), %r10d
        bt      $28, %r10d
        jnc     .Lplain
        testl   $(1 << 5), 8(%r11)
        jz      .Lplain
        jmp     twice_avx2
.Lplain:
        movdqu  (%rdi), %xmm0
        paddd   %xmm0, %xmm0
        movdqu  %xmm0, (%rdi)
        xor     %eax, %eax
        ret
        .cfi_endproc
        .size   twice_in_assembly, .-twice_in_assembly

        .p2align 5
        .type   twice_avx2, @function
twice_avx2:
        .cfi_startproc
        vmovdqu (%rdi), %ymm0
        vpaddd  %ymm0, %ymm0, %ymm0
        vmovdqu %ymm0, (%rdi)
        vzeroupper
        mov     $1, %eax
        ret
        .cfi_endproc
        .size   twice_avx2, .-twice_avx2
        .section .note.GNU-stack,"",@progbits

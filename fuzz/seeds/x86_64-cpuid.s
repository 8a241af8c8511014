# A dispatch by cpuid and xgetbv, stored in a word that other functions test; one guarded and one required function.
        .text
        .globl  init
        .type   init, @function
init:
        .cfi_startproc
        push    %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset 3, -16
        mov     $1, %eax
        cpuid
        bt      $27, %ecx
        jnc     1f
        xor     %ecx, %ecx
        xgetbv
        and     $6, %eax
        cmp     $6, %eax
        jne     1f
        mov     $7, %eax
        xor     %ecx, %ecx
        cpuid
        shr     $5, %ebx
        and     $1, %ebx
        mov     %ebx, has_avx2(%rip)
1:      pop     %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   init, .-init
        .globl  sum
        .type   sum, @function
sum:
        .cfi_startproc
        cmpl    $0, has_avx2(%rip)
        jne     sum_avx2
        movdqu  (%rdi), %xmm0
        paddd   %xmm1, %xmm0
        ret
        .cfi_endproc
        .size   sum, .-sum
        .type   sum_avx2, @function
sum_avx2:
        .cfi_startproc
        vmovdqu (%rdi), %ymm0
        vpaddd  %ymm1, %ymm0, %ymm0
        vzeroupper
        ret
        .cfi_endproc
        .size   sum_avx2, .-sum_avx2
        .globl  direct
        .type   direct, @function
direct:
        andn    %eax, %ecx, %edx
        call    sum_avx2
        ret
        .size   direct, .-direct
        .section .init_array, "aw"
        .quad   init
        .bss
        .type   has_avx2, @object
        .size   has_avx2, 4
has_avx2:
        .zero   4

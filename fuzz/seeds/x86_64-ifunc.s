# A resolver by __cpu_model, one by its own cpuid, and a table of functions.
        .text
        .globl  work
        .type   work, @gnu_indirect_function
work:
        endbr64
        mov     __cpu_model@GOTPCREL(%rip), %rax
        testb   $4, 13(%rax)
        lea     work_base(%rip), %rax
        lea     work_avx512(%rip), %rdx
        cmovne  %rdx, %rax
        ret
        .size   work, .-work
        .type   work_base, @function
work_base:
        ret
        .size   work_base, .-work_base
        .type   work_avx512, @function
work_avx512:
        vpternlogd $0xff, %zmm0, %zmm0, %zmm0
        vpopcntd %zmm0, %zmm0
        ret
        .size   work_avx512, .-work_avx512
        .globl  choose
        .type   choose, @function
choose:
        push    %rbx
        mov     $7, %eax
        xor     %ecx, %ecx
        cpuid
        test    $0x100, %ebx
        lea     table_bmi2(%rip), %rdx
        lea     table_base(%rip), %rax
        cmovne  %rdx, %rax
        mov     %rax, chosen(%rip)
        pop     %rbx
        ret
        .size   choose, .-choose
        .globl  run
        .type   run, @function
run:
        mov     chosen(%rip), %rax
        call    *(%rax)
        call    work@PLT
        jmp     *8(%rax)
        .size   run, .-run
        .type   leaf_bmi2, @function
leaf_bmi2:
        mulx    %eax, %ecx, %edx
        ret
        .size   leaf_bmi2, .-leaf_bmi2
        .section .data.rel.ro, "aw"
table_base:
        .quad   work_base, work_base
table_bmi2:
        .quad   leaf_bmi2, leaf_bmi2
        .bss
chosen: .zero   8

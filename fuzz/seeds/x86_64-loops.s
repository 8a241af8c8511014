# Loops that wait, count, multiply, and search bits; locked instructions; a note that claims a level.
        .text
        .globl  _start
        .type   _start, @function
_start:
        mov     $1, %ecx
1:      mov     (%rdi), %eax
        test    %eax, %eax
        je      1b
2:      xchg    %eax, (%rdi)
        test    %eax, %eax
        jne     2b
3:      mov     (%rdi), %eax
        lea     1(%rax), %edx
        lock cmpxchg %edx, (%rdi)
        jne     3b
4:      mulss   (%rsi,%rcx,4), %xmm0
        addss   %xmm0, %xmm1
        inc     %rcx
        cmp     %rcx, %rdx
        jne     4b
5:      shr     $1, %eax
        jnc     6f
        xor     $0xedb88320, %eax
6:      dec     %ecx
        jne     5b
        mov     %eax, -8(%rsp)
        mov     %edx, -4(%rsp)
        mov     -8(%rsp), %rax
        mov     %eax, %edx
        shr     $1, %edx
        and     $0x55555555, %edx
        sub     %edx, %eax
        mov     %eax, %edx
        and     $0x33333333, %edx
        shr     $2, %eax
        and     $0x33333333, %eax
        add     %edx, %eax
        imul    $0x1010101, %eax, %eax
        shr     $24, %eax
        hlt
        .size   _start, .-_start
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 32, 5
        .asciz  "GNU"
        .long   0xc0000002, 4, 3, 0
        .long   0xc0008002, 4, 7, 0
        .section .note.gnu.build-id, "a"
        .long   4, 8, 3
        .asciz  "GNU"
        .byte   1, 2, 3, 4, 5, 6, 7, 8
        .section .comment
        .asciz  "GCC: (Debian 12.2.0-14) 12.2.0"

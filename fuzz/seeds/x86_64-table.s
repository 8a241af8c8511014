# A jump table, a cold part, an exception table and padding.
        .text
        .globl  pick
        .type   pick, @function
pick:
        .cfi_startproc
        .cfi_personality 0x9b, DW.ref.personality
        .cfi_lsda 0x1b, .Llsda
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset 6, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register 6
        cmp     $3, %edi
        ja      pick.cold
        lea     .Ltable(%rip), %rdx
        movslq  (%rdx,%rdi,4), %rax
        add     %rdx, %rax
        notrack jmp *%rax
.La:    call    other@PLT
.Lb:    popcnt  %eax, %eax
        jmp     .Ld
.Lc:    vfmadd231ps %ymm1, %ymm0, %ymm0
.Ld:    leave
        .cfi_def_cfa 7, 8
        ret
        .cfi_endproc
        .size   pick, .-pick
        .p2align 4
        .section .text.unlikely, "ax"
        .type   pick.cold, @function
pick.cold:
        .cfi_startproc
        .cfi_def_cfa 6, 16
        .cfi_offset 6, -16
        call    abort@PLT
        .cfi_endproc
        .size   pick.cold, .-pick.cold
        .section .rodata
        .p2align 2
.Ltable:
        .long   .La-.Ltable, .Lb-.Ltable, .Lc-.Ltable, .Ld-.Ltable
        .section .gcc_except_table, "a"
.Llsda: .byte   0xff, 0xff, 1, 4
        .byte   .La-pick, .Lb-.La, .Lc-pick, 0
        .section .data.rel.local.DW.ref.personality, "awG", @progbits, DW.ref.personality, comdat
        .hidden DW.ref.personality
        .weak   DW.ref.personality
DW.ref.personality:
        .quad   personality

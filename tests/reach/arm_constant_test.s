// The text `lse` if it comes to the addition, else `plain`. The program never queries the CPU.
        .arch_extension lse
        .section .rodata
.Llse:  .asciz  "lse"
.Lplain: .asciz "plain"
        .text
        .globl  add
        .type   add, %function
add:
        mov     w16, wzr
        cbz     w16, .Lwithout
        mov     w1, #1
        ldadd   w1, w1, [x0]
        adrp    x0, .Llse
        add     x0, x0, :lo12:.Llse
        ret
.Lwithout:
        ldr     w1, [x0]
        add     w1, w1, #1
        str     w1, [x0]
        adrp    x0, .Lplain
        add     x0, x0, :lo12:.Lplain
        ret
        .size   add, .-add
        .section .note.GNU-stack, "", %progbits

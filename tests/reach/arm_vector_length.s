// The assembly half of arm_vector_length.c.
        .arch   armv8-a+sve
        .text
        .globl  with_moves_between
        .type   with_moves_between, %function
with_moves_between:
        cmp     w0, #46
        b.eq    1f
        mov     x0, #0
        ret
1:      cntd    x0
        mov     w5, w19
        mov     x4, x3
        sxtw    x0, w0
        ret
        .size   with_moves_between, .-with_moves_between
        .section .note.GNU-stack,"",%progbits

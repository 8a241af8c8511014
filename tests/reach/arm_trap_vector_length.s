// The assembly half of arm_trap_vector_length.c.
        .arch   armv8-a+sve
        .text
        .globl  by_another_branch
        .type   by_another_branch, %function
by_another_branch:
        cmp     w0, #46
        b.eq    1f
        cmp     w1, #1
        b.eq    1f
        mov     x0, #0
        ret
1:      cntd    x0
        sxtw    x0, w0
        ret
        .size   by_another_branch, .-by_another_branch

        .globl  by_falling_in
        .type   by_falling_in, %function
by_falling_in:
        cmp     w0, #46
        b.eq    1f
        cbz     w1, 2f
        mov     x0, #0
        ret
2:      mov     x1, #0
1:      cntd    x0
        sxtw    x0, w0
        ret
        .size   by_falling_in, .-by_falling_in

        .globl  with_more_of_it
        .type   with_more_of_it, %function
with_more_of_it:
        cmp     w0, #46
        b.eq    1f
        cbnz    w1, 2f
        ret
1:      cntd    x0
        sxtw    x0, w0
        ret
2:      cntd    x0
        ret
        .size   with_more_of_it, .-with_more_of_it

        .globl  with_a_sum_between
        .type   with_a_sum_between, %function
with_a_sum_between:
        cmp     w0, #46
        b.eq    1f
        mov     x0, #0
        ret
1:      cntd    x0
        add     x1, x1, #1
        sxtw    x0, w0
        ret
        .size   with_a_sum_between, .-with_a_sum_between
        .section .note.GNU-stack,"",%progbits

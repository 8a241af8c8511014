        .text
        .globl  choose
        .type   choose, %function
choose:
        str     x30, [sp, #-16]!
        mov     x0, #16
        bl      getauxval
        tst     x0, #1 << 8
        adrp    x0, add_plain
        add     x0, x0, :lo12:add_plain
        adrp    x1, chosen
        adrp    x2, add_lse
        add     x2, x2, :lo12:add_lse
        csel    x0, x0, x2, eq
        str     x0, [x1, :lo12:chosen]
        mov     x0, #0
        bl      stated
        ldr     x30, [sp], #16
        ret
        .size   choose, . - choose
        .type   stated, %function
stated:
        str     x30, [sp, #-16]!
        adrp    x0, number
        add     x0, x0, :lo12:number
        bl      run                     // x2 is what choose left there
        ldr     x30, [sp], #16
        ret
        .size   stated, . - stated
        .section .note.GNU-stack,"",%progbits

// Tables of offsets in code and in data, a literal pool, a veneer, a cold part.
        .text
        .globl  pick
        .type   pick, %function
pick:
        .cfi_startproc
        cmp     w0, #3
        b.hi    pick.cold
        adr     x8, .Ltable
        ldrb    w9, [x8, w0, uxtw]
        adr     x10, .La
        add     x9, x10, w9, sxtb #2
        br      x9
.La:    ldr     x0, .Lpool
        blr     x0
.Lb:    .inst   0x4e040400 // dup
.Lc:    ret
        .cfi_endproc
        .size   pick, .-pick
.Ltable:
        .byte   (.La-.La)/4, (.Lb-.La)/4, (.Lc-.La)/4, 0
        .p2align 3
.Lpool: .quad   far
        .type   veneer, %function
veneer:
        adrp    x16, far
        add     x16, x16, :lo12:far
        br      x16
        .size   veneer, .-veneer
        .globl  words
        .type   words, %function
words:
        adrp    x8, .Lwords
        add     x8, x8, :lo12:.Lwords
        ldrsw   x9, [x8, x0, lsl #2]
        add     x9, x8, x9
        br      x9
1:      dmb     ish
2:      ret
        .size   words, .-words
        .type   pick.cold, %function
pick.cold:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset 30, -8
        bl      abort
        .cfi_endproc
        .size   pick.cold, .-pick.cold
        .section .rodata
        .p2align 2
.Lwords:
        .long   1b-.Lwords, 2b-.Lwords
        .data
far:    .quad   pick, words

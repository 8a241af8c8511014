/* All 31 general registers, SP and the flags belong to the sequence; what `enter` must keep lies in d0 to d2 and in `saved`.
   Before each sequence stands the word that loads x0 and x1, the last two; behind it a branch to `exit_N` in each word N to
   which it may be left. */
    .set SP_AT, 248
    .set NZCV_AT, 256
    .set PLACE_AT, 296

    .text
    .global enter
enter:
    stp x29, x30, [sp, #-96]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    adrp x9, saved
    add x9, x9, :lo12:saved
    mov x10, sp
    stp x10, x1, [x9]
    ldr x10, [x0, #NZCV_AT]
    msr nzcv, x10
    ldr x10, [x0, #SP_AT]
    mov sp, x10
    mov x1, x2
    ldp x2, x3, [x0, #16]
    ldp x4, x5, [x0, #32]
    ldp x6, x7, [x0, #48]
    ldp x8, x9, [x0, #64]
    ldp x10, x11, [x0, #80]
    ldp x12, x13, [x0, #96]
    ldp x14, x15, [x0, #112]
    ldp x16, x17, [x0, #128]
    ldp x18, x19, [x0, #144]
    ldp x20, x21, [x0, #160]
    ldp x22, x23, [x0, #176]
    ldp x24, x25, [x0, #192]
    ldp x26, x27, [x0, #208]
    ldp x28, x29, [x0, #224]
    ldr x30, [x0, #240]
    br x1

    .macro exit number
exit_\number:
    fmov d0, x0
    mov x0, #\number
    b leave
    .endm

leave:
    fmov d1, x1
    fmov d2, x2
    adrp x1, saved
    add x1, x1, :lo12:saved
    ldr x2, [x1, #8]
    str x0, [x2, #PLACE_AT]
    fmov x0, d0
    fmov x1, d1
    stp x0, x1, [x2]
    fmov x0, d2
    stp x0, x3, [x2, #16]
    stp x4, x5, [x2, #32]
    stp x6, x7, [x2, #48]
    stp x8, x9, [x2, #64]
    stp x10, x11, [x2, #80]
    stp x12, x13, [x2, #96]
    stp x14, x15, [x2, #112]
    stp x16, x17, [x2, #128]
    stp x18, x19, [x2, #144]
    stp x20, x21, [x2, #160]
    stp x22, x23, [x2, #176]
    stp x24, x25, [x2, #192]
    stp x26, x27, [x2, #208]
    stp x28, x29, [x2, #224]
    str x30, [x2, #240]
    mov x0, sp
    str x0, [x2, #SP_AT]
    mrs x0, nzcv
    str x0, [x2, #NZCV_AT]
    adrp x1, saved
    add x1, x1, :lo12:saved
    ldr x0, [x1]
    mov sp, x0
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #96
    ret

    .include "sequences.s"

    .bss
    .balign 16
saved:
    .skip 16
    .section .note.GNU-stack, "", %progbits

/* How a program is entered: with a value in every general register but the stack pointer and x30, as the procedure call
   standard has a function called. What that standard lets a function overwrite is not looked at afterwards, but for x0 to
   x8, which may hold results. */
    .set SP_AT, 248

    .text
    .global _start
    .hidden _start
    .type _start, %function
_start:
    mov x29, #0
    mov x30, #0
    mov x0, sp
    b start
    .size _start, . - _start

    .global enter
    .hidden enter
    .type enter, %function
enter:
    stp x29, x30, [sp, #-112]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    str x1, [sp, #96]
    adrp x9, saved_sp
    mov x10, sp
    str x10, [x9, :lo12:saved_sp]
    mov x30, x2
    mov x1, x0
    ldr x0, [x1]
    ldp x2, x3, [x1, #16]
    ldp x4, x5, [x1, #32]
    ldp x6, x7, [x1, #48]
    ldp x8, x9, [x1, #64]
    ldp x10, x11, [x1, #80]
    ldp x12, x13, [x1, #96]
    ldp x14, x15, [x1, #112]
    ldp x16, x17, [x1, #128]
    ldp x19, x20, [x1, #152]
    ldp x21, x22, [x1, #168]
    ldp x23, x24, [x1, #184]
    ldp x25, x26, [x1, #200]
    ldp x27, x28, [x1, #216]
    ldr x29, [x1, #232]
    ldr x1, [x1, #8]
    blr x30
    adrp x9, saved_sp
    ldr x9, [x9, :lo12:saved_sp]
    ldr x10, [x9, #96]
    stp x0, x1, [x10]
    stp x2, x3, [x10, #16]
    stp x4, x5, [x10, #32]
    stp x6, x7, [x10, #48]
    str x8, [x10, #64]
    stp x19, x20, [x10, #152]
    stp x21, x22, [x10, #168]
    stp x23, x24, [x10, #184]
    stp x25, x26, [x10, #200]
    stp x27, x28, [x10, #216]
    str x29, [x10, #232]
    mov x11, sp
    str x11, [x10, #SP_AT]
    mov sp, x9
    b leave_crashed
    .size enter, . - enter

    .global leave_crashed
    .hidden leave_crashed
    .type leave_crashed, %function
leave_crashed:
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #112
    ret
    .size leave_crashed, . - leave_crashed

    .bss
    .balign 8
    .global saved_sp
    .hidden saved_sp
saved_sp:
    .skip 8

    .section .note.GNU-stack, "", %progbits

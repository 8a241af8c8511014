// A dispatch by getauxval, by an identification register, and by a resolver's argument.
        .text
        .globl  init
        .type   init, %function
init:
        .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset 29, -16
        .cfi_offset 30, -8
        mov     x0, #16
        bl      getauxval
        adrp    x1, has_lse
        ubfx    x0, x0, #8, #1
        strb    w0, [x1, :lo12:has_lse]
        ldp     x29, x30, [sp], #16
        ret
        .cfi_endproc
        .size   init, .-init
        .globl  add
        .type   add, %function
add:
        adrp    x2, has_lse
        ldrb    w2, [x2, :lo12:has_lse]
        cbz     w2, 1f
        .arch_extension lse
        ldaddal w0, w0, [x1]
        ret
1:      ldaxr   w3, [x1]
        add     w4, w3, w0
        stlxr   w5, w4, [x1]
        cbnz    w5, 1b
        mov     w0, w3
        ret
        .size   add, .-add
        .globl  resolved
        .type   resolved, %gnu_indirect_function
resolved:
        tst     x0, #0x400000
        adr     x1, with_sve
        adr     x0, without
        csel    x0, x1, x0, ne
        ret
        .size   resolved, .-resolved
        .type   with_sve, %function
with_sve:
        .inst   0x2518e3e0 // ptrue p0.b
        .inst   0x04a10000 // add z0.s, z0.s, z1.s
        ret
        .size   with_sve, .-with_sve
        .type   without, %function
without:
        ret
        .size   without, .-without
        .globl  system
        .type   system, %function
system:
        mrs     x0, ID_AA64ISAR0_EL1
        ubfx    x0, x0, #16, #4
        cbz     x0, without
        .arch_extension crc
        crc32b  w0, w0, w1
        b       with_sve
        .size   system, .-system
        .section .init_array, "aw"
        .quad   init
        .bss
has_lse:
        .zero   8

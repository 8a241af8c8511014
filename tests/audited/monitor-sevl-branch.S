// sevl on one path to wfe, but not on the other.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: Monitor
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        mov     w1, #1
site:
        ldaxr   w8, [x0]
        cbnz    w8, 2f
        stxr    w9, w1, [x0]
        cbnz    w9, site
        ret
        mul     x12, x12, x12
2:
        .rept   32
        mul     x12, x12, x12
        .endr
        cbz     x3, 3f
        sevl
3:
        wfe
        ret
        .size   f, .-f

        .section .replacement
        mov     w8, #0
        casa    w8, w1, [x0]
        cbnz    w8, . + 16
        mov     w9, wzr

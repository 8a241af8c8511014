# Go's table of functions, as from Go 1.20 on, with three functions of which one has inlined calls' tables.
        .text
        .type   text, @function
text:
main.one:
        mfence
        ret
        .balign 16
main.two:
        lock incl (%rdi)
        pause
        jmp     main.two
        .balign 16
runtime.last:
        vpaddd  %ymm0, %ymm1, %ymm2
        ret
.Lend:
        .size   text, .-text
        .section .gopclntab,"a",@progbits
        .balign 32
.Ltab:
        .long   0xfffffff1
        .byte   0, 0, 1, 8
        .quad   3, 1
        .quad   text
        .quad   .Lnames-.Ltab, .Lunits-.Ltab, .Lfiles-.Ltab, .Lvalues-.Ltab, .Lrows-.Ltab
.Lnames:
        .string "main.one"
        .string "main.two"
        .string "runtime.last"
.Lunits:
        .long   0
.Lfiles:
        .string "/src/a.go"
.Lvalues:
        .byte   2, 4, 2, 8, 0
        .byte   20, 16, 0
        .balign 8
.Lrows:
        .long   main.one-text, .Lone-.Lrows
        .long   main.two-text, .Ltwo-.Lrows
        .long   runtime.last-text, .Llast-.Lrows
        .long   .Lend-text
.Lone:
        .long   main.one-text, 0, 0, 0, 1, 2, 3, 2, 0, 10
        .byte   0, 0, 0, 3
        .long   1, 2
.Ltwo:
        .long   main.two-text, 9, 0, 0, 1, 2, 3, 0, 0, 20
        .byte   0, 0, 0, 3
.Llast:
        .long   runtime.last-text, 18, 0, 0, 1, 2, 3, 0, 0, 30
        .byte   5, 0, 0, 3
        .section .note.GNU-stack,"",@progbits

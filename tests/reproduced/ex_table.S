.arch armv8-a
.text
.globl f
.type f,%function
.p2align 4
f:
1: ldxr w8,[x0]
 add w9,w8,w1
Lfault: stxr w10,w9,[x0]
 cbnz w10,1b
 mov w0,w8
 ret
Lfixup: mov w0,#-14
 ret
.size f,.-f
.section __ex_table,"a"
.p2align 2
.long Lfault-.
.long Lfixup-.
.short 1,0
.section .note.GNU-stack,"",%progbits

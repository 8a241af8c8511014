.arch armv8-a
.text
.globl f
.type f,%function
.p2align 4
f:
 mov x9,x5
1: ldxr w8,[x0]
 add w9,w8,w1
 stxr w10,w9,[x0]
 cbnz w10,1b
 mov w0,w8
Lend: ret
 .long 0xd428bc00
Labort: mov w0,#-1
 ret
.size f,.-f
.data
.p2align 5
.long 0,0
.quad f,Lend-f,Labort
.section .note.GNU-stack,"",%progbits

.arch armv8-a
.text
.globl f
.type f,%function
.p2align 4
f:
1: ldxr w8,[x0]
 add w9,w8,w1
Lsite: stxr w10,w9,[x0]
 cbnz w10,1b
 mov w0,w8
 ret
.size f,.-f
.section restart_points,"a"
.p2align 2
.long 0
.long Lsite-.
.section .note.GNU-stack,"",%progbits

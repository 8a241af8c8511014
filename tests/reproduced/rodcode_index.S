.arch armv8.2-a+lse
.text
.globl f
.type f,%function
.p2align 4
f:
Lf: 1: ldxr w8,[x0]
Lm: add w9,w8,w1
 stxr w10,w9,[x0]
 cbnz w10,1b
 mov w0,w8
 ret
.size f,.-f
.section .rodata
.p2align 4
.globl g
.hidden g
.type g,%function
g: ldaxr w8,[x0]
 adrp x9,Lf
 add x9,x9,:lo12:Lf
 add x9,x9,w4,uxtw #2
 br x9
.size g,.-g

.section .note.GNU-stack,"",%progbits

// What follows the path out of f stores by the monitor that f has armed, in code that is in no section of code.
.arch armv8-a
.text
.globl f
.type f,%function
.p2align 4
f:
1: ldxr w8,[x0]
 cmp w8,w1
 b.ne g
 stxr w10,w2,[x0]
 cbnz w10,1b
 ret
.size f,.-f
.section .rodata
.p2align 4
.globl g
.hidden g
.type g,%function
g: mov w8,#1
 stxr w10,w3,[x0]
 mov w0,w10
 ret
.size g,.-g
.section .note.GNU-stack,"",%progbits

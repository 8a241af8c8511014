// Code in no section of code adds a constant to the pointer of f until it leads into the loop.
.arch armv8-a
.text
.globl f
.type f,%function
.p2align 4
f:
1: ldxr w8,[x0]
 add w9,w8,w1
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
 ldr x9,[x3]
1: add x9,x9,#2
 sub w4,w4,#1
 cbnz w4,1b
 br x9
.size g,.-g
.section .data.rel.ro,"aw"
.p2align 3
.quad f
.section .note.GNU-stack,"",%progbits

// The address of f is in the global offset table, by its symbol; g goes into the loop from there.
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
.globl g
.type g,%function
.p2align 4
g: ldaxr w8,[x0]
 adrp x9,:got:f
 ldr x9,[x9,:got_lo12:f]
 add x9,x9,#4
 br x9
.size g,.-g
.section .note.GNU-stack,"",%progbits

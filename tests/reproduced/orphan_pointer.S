// The way out of f goes through a pointer to the store-exclusive in the loop of g, which f has armed the monitor for.
.arch armv8-a
.text
.globl f
.type f,%function
.p2align 4
f:
1: ldaxr w8,[x0]
 cmp w8,w1
 b.ne 2f
 stlxr w10,w2,[x0]
 cbnz w10,1b
 mov w0,#1
 ret
2: mov w9,#100
 adrp x11,tb
 ldr x11,[x11,:lo12:tb]
 br x11
.size f,.-f
.globl g
.type g,%function
.p2align 4
g:
1: ldxr w8,[x0]
 add w9,w8,#1
Lm: stxr w10,w9,[x0]
 cbnz w10,1b
 mov w0,w8
 ret
.size g,.-g
.section .data.rel.ro,"aw"
.p2align 3
tb: .quad Lm
.section .note.GNU-stack,"",%progbits

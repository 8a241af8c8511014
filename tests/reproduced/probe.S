.arch armv8-a
.text
.globl f
.type f,%function
.p2align 4
f:
1: ldxr w8,[x0]
Lprobe: add w9,w8,w1
 stxr w10,w9,[x0]
 cbnz w10,1b
 mov w0,w8
 ret
.size f,.-f
.section .stapsdt.base,"aG",%progbits,.stapsdt.base,comdat
_.stapsdt.base: .space 1
.section .note.stapsdt,"",%note
.p2align 2
.long 2f-1f,4f-3f,3
1: .asciz "stapsdt"
2: .p2align 2
3: .quad Lprobe,_.stapsdt.base,0
.asciz "p"
.asciz "q"
.asciz "4@x8"
4: .p2align 2
.section .note.GNU-stack,"",%progbits

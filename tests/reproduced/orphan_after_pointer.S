// f, which g calls by a pointer through its linkage table or by a jump, leaves the monitor armed for the store-exclusive after the call.
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
2: mov w0,#0
#ifdef BY_JUMP
 b k
.size f,.-f
.type k,%function
k:
 br x30
.size k,.-k
#else
 ret
.size f,.-f
#endif
.globl g
.type g,%function
.p2align 4
g:
 stp x29,x30,[sp,#-32]!
 mov x29,sp
 str x0,[sp,#16]
#ifdef BY_LINKAGE
 bl f
#elif defined BY_JUMP
 bl h
#else
 adrp x11,tb
 ldr x11,[x11,:lo12:tb]
 blr x11
#endif
 ldr x0,[sp,#16]
 mov w9,#100
 stxr w10,w9,[x0]
 mov w0,w10
 ldp x29,x30,[sp],#32
 ret
.size g,.-g
#ifdef BY_JUMP
.hidden f
.type h,%function
h: b f
.size h,.-h
#endif
.section .data.rel.ro,"aw"
.p2align 3
tb: .quad f
.section .note.GNU-stack,"",%progbits

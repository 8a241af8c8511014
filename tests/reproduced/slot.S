// A table's address waits in a slot of the frame; otherwise something writes there through an address of a place below it, or goes down to
// it from one above.
.arch armv8-a
.text
.globl f
.type f,%function
.p2align 4
f:
 stp x29,x30,[sp,#-48]!
 mov x29,sp
 adrp x9,table
 add x9,x9,:lo12:table
 str x9,[x29,#32]
#ifdef ESCAPES
 add x8,x29,#32
 bl other
#elif defined TWO_STEPS
 add x8,x29,#16
 add x8,x8,#16
 bl other
#elif defined BY_STORE
 add x8,x29,#16
 str x5,[x8,#16]
#elif defined ABOVE
 add x28,x29,#40
 mov x0,x28
 bl other
 cbz x0,3f
 ldr x28,[x5]
3: str x5,[x28]
 mov x28,x5
 str x5,[x28,#-8]
#elif defined DOWN
 add x8,x29,#40
 str x5,[x8,#-8]
#elif defined STEP_DOWN
 add x8,x29,#40
 sub x8,x8,#8
 bl other
#elif defined KEPT_BY_CALL
 add x28,x29,#40
 bl other
 str x5,[x28,#-8]
#elif defined ON_ONE_PATH
 mov x28,x5
 cbz x4,3f
 add x28,x29,#40
3: mov x6,x28
 str x5,[x6,#-8]
#elif defined BACK_FROM_MEMORY
 add x8,x29,#40
 str x8,[x5]
 ldr x7,[x5]
 str x5,[x7,#-8]
#elif defined BACK_BY_INDEX
 add x8,x29,#40
 str x8,[x29,#16]
 mov x6,#16
 ldr x7,[x29,x6]
 str x5,[x7,#-8]
#elif defined BACK_BY_VECTOR
 add x8,x29,#40
 str x8,[x29,#16]
 ldr d0,[x29,#16]
 fmov x7,d0
 str x5,[x7,#-8]
#elif defined LOW_HALF
 add x8,x29,#40
 mov w7,w8
 str x5,[x7,#-8]
#elif defined BLOCK_OF_ZEROS
 add x8,x29,#40
 dc zva,x8
#endif
 ldr x9,[x29,#32]
 cmp w4,#1
 b.hi 2f
 adr x10,Lbase
 ldrb w11,[x9,w4,uxtw]
 add x10,x10,w11,sxtb #2
 br x10
Lbase:
 mov w1,#1
1: ldxr w8,[x0]
 add w12,w8,w1
 stxr w10,w12,[x0]
 cbnz w10,1b
2: mov x10,#0
 mov x12,#0
 ldp x29,x30,[sp],#48
 ret
.size f,.-f
.section .rodata
table: .byte (2b-Lbase)/4, 0
.byte 0x7f
.section .note.GNU-stack,"",%progbits

// The unwinder enters at a landing pad inside.
// rule: llsc-loop
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: EntryAt
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:      .cfi_startproc
        .cfi_personality 0x9b, personality
        .cfi_lsda 0x1b, table
call:   bl      g
site:
        ldxr    w8, [x0]
inside: 
        add     w9, w8, w1
        stxr    w10, w9, [x0]
        cbnz    w10, site
        mov     w0, w8
        ret
        .cfi_endproc
        .size   f, .-f
        .globl  g
        .type   g, %function
g:
        ret
        .size   g, .-g
        .section .gcc_except_table, "a"
table:  .byte   0xff, 0xff, 0x01
        .uleb128 end - start
start:  .uleb128 call - f
        .uleb128 4
        .uleb128 inside - f
        .uleb128 0
end:
        .data
        .hidden personality
personality: .quad __gxx_personality_v0

        .section .replacement
        ldadd   w1, w8, [x0]
        add     w9, w8, w1
        mov     w10, wzr
        nop

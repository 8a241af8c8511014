// The unwinder enters at the barrier.
// rule: barrier-around-atomic
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
        ldaddal w1, w2, [x0]
site:   dmb     ish
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
        .uleb128 site - f
        .uleb128 0
end:
        .data
        .hidden personality
personality: .quad __gxx_personality_v0

        .section .replacement
        nop

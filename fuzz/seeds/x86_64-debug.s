# DWARF 4 by hand: a unit, a function with two inlined calls one within the other, a lexical block, ranges and lines.
        .file   1 "a.c"
        .text
        .globl  outer
        .type   outer, @function
outer:
        .loc    1 10 0
        mfence
.Linner:
        .loc    1 3 0
        lock incl (%rdi)
.Linnermost:
        .loc    1 4 0
        vpaddd  %ymm0, %ymm1, %ymm2
.Lend_innermost:
        pause
.Lend_inner:
        .loc    1 11 0
        ret
.Lend:
        .size   outer, .-outer
        .section .debug_abbrev,"",@progbits
        .uleb128 1, 0x11
        .byte   1                       # compile unit, children: producer, name, low_pc, high_pc, stmt_list
        .uleb128 0x25, 0x08, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0x10, 0x17, 0, 0
        .uleb128 2, 0x2e
        .byte   1                       # subprogram, children: name, linkage_name, low_pc, high_pc
        .uleb128 0x03, 0x08, 0x6e, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0
        .uleb128 3, 0x1d
        .byte   1                       # inlined subroutine, children: abstract_origin, low_pc, high_pc, call_file, call_line
        .uleb128 0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0x58, 0x0b, 0x59, 0x0b, 0, 0
        .uleb128 4, 0x2e
        .byte   0                       # subprogram: name, inline
        .uleb128 0x03, 0x08, 0x20, 0x0b, 0, 0
        .uleb128 5, 0x0b
        .byte   1                       # lexical block, children: ranges
        .uleb128 0x55, 0x17, 0, 0
        .byte   0
        .section .debug_info,"",@progbits
.Linfo:
        .long   .Linfo_end-.Lversion
.Lversion:
        .value  4
        .long   .debug_abbrev
        .byte   8
        .uleb128 1
        .string "GNU C17 12.2.0 -O2"
        .string "a.c"
        .quad   outer
        .quad   .Lend-outer
        .long   .Lline
.Labstract:
        .uleb128 4
        .string "inner"
        .byte   3
.Labstract2:
        .uleb128 4
        .string "innermost"
        .byte   3
        .uleb128 2
        .string "outer"
        .string "_Z5outerv"
        .quad   outer
        .quad   .Lend-outer
        .uleb128 5
        .long   .Lranges
        .uleb128 3
        .long   .Labstract-.Linfo
        .quad   .Linner
        .quad   .Lend_inner-.Linner
        .byte   1, 10
        .uleb128 3
        .long   .Labstract2-.Linfo
        .quad   .Linnermost
        .quad   .Lend_innermost-.Linnermost
        .byte   1, 3
        .byte   0, 0, 0, 0, 0
.Linfo_end:
        .section .debug_ranges,"",@progbits
.Lranges:
        .quad   outer
        .quad   .Lend
        .quad   0, 0
        .section .debug_line,"",@progbits
.Lline:
        .section .note.GNU-stack,"",@progbits

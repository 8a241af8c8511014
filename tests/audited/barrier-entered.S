// Another function branches to the barrier itself.
// rule: barrier-around-atomic
// link: -shared -nostdlib -Wl,-Bsymbolic
// says: BranchInto
        .arch   armv8.7-a+sve+memtag+ls64
        .text
        .globl  f
        .type   f, %function
f:
        cbz w4, f.cold
        ldaddal w1, w2, [x0]
site:
        dmb ish
        ldr w0, [x3]
        ret
        .size   f, .-f
        .section .text.unlikely, "ax"
        .type   f.cold, %function
f.cold:
        str w1, [x5]
        b site
        .size   f.cold, .-f.cold

        .section .replacement
        nop

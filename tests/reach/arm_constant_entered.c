/* The part of `add` that its own test of a constant keeps control from is entered from elsewhere: by a jump from another function (-DJUMP),
   by an address that the file's data hold (-DCELL), or by a jump that `add` computes (neither). */
#include "aarch64.h"

int number = 1;
const char *add(int *x);
const char *other(int *x);

asm("        .arch_extension lse\n"
    "        .text\n"
    "        .globl  add\n"
    "        .type   add, %function\n"
    "add:\n"
    "        mov     w16, wzr\n"
    "        cbz     w16, .Lwithout\n"
    ".Lwith: mov     w1, #1\n"
    "        ldadd   w1, w1, [x0]\n"
    "        b       lse\n"
    ".Lwithout:\n"
#if defined(JUMP) || defined(CELL)
    "        b       plain\n"
#else
    "        adr     x9, .Lwithout\n"
    "        sub     x9, x9, #12\n"
    "        br      x9\n"
#endif
    "        .size   add, .-add\n"
    "        .globl  other\n"
    "        .type   other, %function\n"
    "other:\n"
#if defined(JUMP)
    "        b       .Lwith\n"
#elif defined(CELL)
    "        adrp    x9, inner\n"
    "        ldr     x9, [x9, :lo12:inner]\n"
    "        br      x9\n"
    "        .data\n"
    "        .align  3\n"
    "inner:  .xword  .Lwith\n"
    "        .text\n"
#else
    "        b       add\n"
#endif
    "        .size   other, .-other\n");

const char *lse(void) { return "lse"; }
const char *plain(void) { return "plain"; }

int main(void) {
    add(&number);
    return puts(other(&number)) < 0;
}

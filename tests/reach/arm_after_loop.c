/* What comes after loops that walk through memory by post-indexed addresses is reached. With TRAP no check is there. */
#include "aarch64.h"

int number = 1;
static unsigned table[64];
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
APART const char *choose(int *x) {
    unsigned *at = table;
    unsigned last;
    __asm__ volatile("1:\n\tstr w1, [%0], #4\n\tcmp %0, %2\n\tb.ne 1b\n\tmov %w1, w1"
                     : "+r"(at), "=r"(last) : "r"(table + 64) : "cc", "w1", "memory");
#ifndef TRAP
    if (!(getauxval(AT_HWCAP) & HWCAP_ATOMICS)) return add_plain(x);
#endif
    return add_lse(x);
}

int main(int argc, char **argv) {
    (void)argv;
    return puts(argc > 1 ? add_plain(&number) : choose(&number)) < 0;
}

/* A program that refuses to go on where LSE is missing. */
#include "aarch64.h"

static int word;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }

int main(void) {
    if (!(getauxval(AT_HWCAP) & HWCAP_ATOMICS)) { fprintf(stderr, "a CPU with LSE is needed\n"); exit(1); }
    return puts(add_lse(&word)) < 0;
}

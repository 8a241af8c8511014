/* The check stands three calls above the code, and what lacks the feature returns early. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART static const char *inner(int *x) { x[0] += 2; return add_lse(x); }
APART static const char *middle(int *x) { x[0] += 3; return inner(x); }

APART static const char *outer(int *x) {
    if (!(getauxval(AT_HWCAP) & HWCAP_ATOMICS)) return add_plain(x);
    x[0] += 4;
    return middle(x);
}

int main(void) { return puts(outer(&number)) < 0; }

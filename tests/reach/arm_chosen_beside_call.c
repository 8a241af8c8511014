/* A pointer that was chosen between is left in a register for arguments where another function is called, which takes one
   argument. As in initialisers that choose one kernel after the other. */
#include "aarch64.h"

int number = 1;
const char *(*chosen)(int *);
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
APART char *stated(void) { return getenv("DEBURR_TEST_KERNELS"); }
void choose(void);

int main(void) {
    choose();
    return puts(chosen(&number)) < 0;
}

/* The pointer begins at a function that tests, sets the pointer and calls through it. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

static const char *add_choose(int *x);
const char *(*add)(int *) = add_choose;
static const char *add_choose(int *x) {
    add = getauxval(AT_HWCAP) & HWCAP_ATOMICS ? add_lse : add_plain;
    return add(x);
}

int main(void) {
    add(&number);
    return puts(add(&number)) < 0;
}

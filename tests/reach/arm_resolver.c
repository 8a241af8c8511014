/* A resolver chooses by the word that the loader hands it, and by the second one where there is one. With TRAP it chooses the wrong
   way round. */
#define _GNU_SOURCE
#include "aarch64.h"
#include <sys/ifunc.h>

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

typedef const char *adder(int *);
static adder *choose(unsigned long has, const __ifunc_arg_t *more) {
    if (has & _IFUNC_ARG_HWCAP) has = more->_hwcap;
#ifdef TRAP
    return has & HWCAP_ATOMICS ? add_plain : add_lse;
#else
    return has & HWCAP_ATOMICS ? add_lse : add_plain;
#endif
}
const char *add(int *x) __attribute__((ifunc("choose")));

int main(void) { return puts(add(&number)) < 0; }

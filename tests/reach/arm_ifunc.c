/* A resolver gets AT_HWCAP as its first argument. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
typedef const char *add_function(int *);

static __attribute__((used)) add_function *resolve_add(unsigned long hwcap) {
    return hwcap & HWCAP_ATOMICS ? add_lse : add_plain;
}
const char *add(int *) __attribute__((ifunc("resolve_add")));

int main(void) { return puts(add(&number)) < 0; }

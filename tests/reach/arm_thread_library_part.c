/* A library keeps in a variable of each thread what the CPU has. The variable is found by a descriptor, whose function leaves most
   registers alone. With TRAP callers may set it. */
#include "aarch64.h"

static __thread int use_lse;
static __thread int calls = 3;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

__attribute__((constructor)) static void ask(void) { use_lse = getauxval(AT_HWCAP) & HWCAP_ATOMICS ? 1 : 0; }
void set(int to) {
#ifdef TRAP
    if (to > 0) use_lse = 1;
#endif
    calls += to;
}
const char *add(int *x) {
    *x += calls;
    return use_lse ? add_lse(x) : add_plain(x);
}

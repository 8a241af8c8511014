/* The answer is kept at the first call and read again from where it is kept, which a load without optimisation finds by the register
   that it overwrites. With ZERO the flag is zero until then. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

#ifdef ZERO
static int kept;
APART static int has_lse(void) {
    if (kept == 0) kept = 1 + ((getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0);
    return kept - 1;
}
#else
static int kept = -1;
APART static int has_lse(void) {
    if (kept < 0) kept = (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
    return kept;
}
#endif

int main(void) { return puts(has_lse() ? add_lse(&number) : add_plain(&number)) < 0; }

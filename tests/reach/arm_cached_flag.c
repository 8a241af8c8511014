/* The result is kept in a static flag, which a constructor sets. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

static int has_lse;
__attribute__((constructor)) static void initialise(void) {
    has_lse = (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
}
APART const char *add(int *x) { return has_lse ? add_lse(x) : add_plain(x); }

int main(void) { return puts(add(&number)) < 0; }

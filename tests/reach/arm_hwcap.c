/* AT_HWCAP is asked inline. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

int main(void) {
    const char *done = getauxval(AT_HWCAP) & HWCAP_ATOMICS ? add_lse(&number) : add_plain(&number);
    return puts(done) < 0;
}

/* What Rust's std_detect does where it is inlined: the cached answer is tested, or, where there is none yet, a fresh one. How the
   answer gets into the cache is not followed here. */
#include "aarch64.h"

int number = 1;
unsigned long cache;
volatile unsigned char shift = 3;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART unsigned long detect(void) {
    unsigned long hwcap = getauxval(AT_HWCAP);
    unsigned long found = 1ul << 63 | (hwcap >> 8 & 1) * 5 << shift;
    cache = found;
    return found;
}
APART const char *add(int *x) {
    unsigned long found = cache;
    if (found ? found & 1 << 3 : detect() & 1 << 3) return add_lse(x);
    return add_plain(x);
}

int main(void) { return puts(add(&number)) < 0; }

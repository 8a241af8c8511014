/* Both sequences stand in one function, as Go writes them: a flag byte is tested inline. */
#include "aarch64.h"

int number = 1;
unsigned char has_lse;

APART const char *add(int *x) {
    if (__builtin_expect(has_lse, 1)) {
        ADD_LSE(x);
        return "lse";
    }
    __atomic_fetch_add(x, 1, __ATOMIC_ACQ_REL);
    return "plain";
}

int main(void) {
    has_lse = (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
    return puts(add(&number)) < 0;
}

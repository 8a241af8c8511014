/* Two features are needed at once, and both are tested: compilers make a conditional comparison of that. With TRAP one is enough. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART const char *add(int *x, unsigned long has, int count) {
#ifdef TRAP
    return count > 0 && (has & HWCAP_ATOMICS || has & HWCAP_ASIMD) ? add_lse(x) : add_plain(x);
#else
    return count > 0 && has & HWCAP_ATOMICS && has & HWCAP_ASIMD ? add_lse(x) : add_plain(x);
#endif
}

int main(int argc, char **argv) {
    (void)argv;
    return puts(add(&number, getauxval(AT_HWCAP), argc)) < 0;
}

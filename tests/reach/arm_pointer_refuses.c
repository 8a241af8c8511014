/* One of two functions is called by a pointer, and both end the program where LSE is missing. With TRAP neither looks. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }

#ifdef TRAP
#define LACKS(has) ((has) == 0)
#else
#define LACKS(has) (!((has) & HWCAP_ATOMICS))
#endif
APART void refuse(unsigned long has) {
    if (LACKS(has)) { puts("plain"); exit(0); }
}
APART void reject(unsigned long has) {
    number += 2;
    if (LACKS(has)) { puts("plain"); exit(0); }
}

int main(int argc, char **argv) {
    (void)argv;
    (argc > 3 ? refuse : reject)(getauxval(AT_HWCAP));
    return puts(add_lse(&number)) < 0;
}

/* A check guards one call. The other goes by a pointer that is the ninth argument, on the stack. */
#include "aarch64.h"

int number = 1;
typedef const char *adder(int *);
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART const char *add(long a, long b, long c, long d, long e, long f, long g, long h, adder *by, int *x) {
    number += a + b + c + d + e + f + g + h;
    return by(x);
}

int main(int argc, char **argv) {
    (void)argv;
    if (getauxval(AT_HWCAP) & HWCAP_ATOMICS) add_lse(&number);
    return puts(add(0, 0, 0, 0, 0, 0, 0, 0, argc > 5 ? add_plain : add_lse, &number)) < 0;
}

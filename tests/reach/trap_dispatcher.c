/* The dispatcher asks, but is itself compiled above the level that it dispatches to. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

AVX2 const char *twice(int *x) {
    TWICE_AVX2(x);
    return detect_avx2() ? twice_avx2(x) : twice_plain(x);
}

int main(void) { return puts(twice(numbers)) < 0; }

/* Two functions call it: one asks, the other does not. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) static const char *careful(int *x) {
    return detect_avx2() ? twice_avx2(x) : twice_plain(x);
}
__attribute__((noinline)) static const char *careless(int *x) {
    x[7] = 1;
    return twice_avx2(x);
}

int main(void) {
    careful(numbers);
    return puts(careless(numbers)) < 0;
}

/* The function goes no further where the feature is missing: it returns, or calls what does not return. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
AVX2 const char *thrice_avx2(int *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static __attribute__((noinline)) void finish_without(void) {
    puts(twice_plain(numbers));
    exit(0);
}

static __attribute__((noinline)) const char *twice(int *x) {
    if (!detect_avx2()) return twice_plain(x);
    x[7] = 1;
    return twice_avx2(x);
}

int main(void) {
    twice(numbers);
    if (!detect_avx2()) finish_without();
    return puts(thrice_avx2(numbers)) < 0;
}

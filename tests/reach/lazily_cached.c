/* Detected at the first use: the flag is -1 until then. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static int has_avx2 = -1;

__attribute__((noinline)) const char *twice(int *x) {
    if (has_avx2 < 0) has_avx2 = detect_avx2() ? 1 : 0;
    return has_avx2 ? twice_avx2(x) : twice_plain(x);
}

int main(void) {
    twice(numbers);
    return puts(twice(numbers)) < 0;
}

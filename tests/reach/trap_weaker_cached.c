/* The check is for AVX and the code is AVX2, in another function and through a bit of a word. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static unsigned features;

__attribute__((noinline)) static const char *twice(int *x) {
    return features & 1u << 28 ? twice_avx2(x) : twice_plain(x);
}

int main(void) {
    if (detect_avx()) features |= 1u << 28;
    return puts(twice(numbers)) < 0;
}

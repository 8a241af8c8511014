/* The result is one bit of a word that holds several features. */
#include "x86_64.h"

enum { HAS_AVX = 1 << 2, HAS_AVX2 = 1 << 3 };
int numbers[8] = {1, 2, 3};
static unsigned features;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
AVX const char *twice_avx(int *x) { TWICE_AVX(x); return "avx"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) void initialise(void) {
    if (detect_avx()) features |= HAS_AVX;
    if (detect_avx2()) features |= HAS_AVX2;
}

__attribute__((noinline)) const char *twice(int *x) {
    if (features & HAS_AVX2) return twice_avx2(x);
    if (features & HAS_AVX) return twice_avx(x);
    return twice_plain(x);
}

int main(void) {
    initialise();
    return puts(twice(numbers)) < 0;
}

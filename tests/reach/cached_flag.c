/* The result is kept in a static flag that main writes first and that others read later. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
static int has_avx2;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
__attribute__((noinline)) void initialise(void) { has_avx2 = detect_avx2(); }
__attribute__((noinline)) const char *twice(int *x) { return has_avx2 ? twice_avx2(x) : twice_plain(x); }

int main(void) {
    initialise();
    return puts(twice(numbers)) < 0;
}

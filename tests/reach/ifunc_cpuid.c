/* An indirect function whose resolver asks CPUID itself, and calls a function to do so. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
typedef const char *twice_function(int *);

__attribute__((noinline)) static int has_avx2(void) { return detect_avx2(); }
static twice_function *resolve_twice(void) {
    if (has_avx2()) return twice_avx2;
    return twice_plain;
}
const char *twice(int *) __attribute__((ifunc("resolve_twice")));

int main(void) { return puts(twice(numbers)) < 0; }

/* Nothing calls the AVX2 function or takes its address, but for a function that is itself dead. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

AVX2 const char *thrice_avx2(int *x) { TWICE_AVX2(x); return twice_plain(x); }
__attribute__((noinline)) const char *nobody_calls_this(int *x) {
    x[0] = 1;
    return thrice_avx2(x);
}

int main(void) { return puts(twice_plain(numbers)) < 0; }

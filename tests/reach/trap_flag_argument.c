/* Whether to use AVX2 is an argument: zero in one place, and one in another where nobody has queried the CPU. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) const char *twice(int *x, long a, int use_avx2) {
    __asm__ volatile("" : : "r"(a));
    return use_avx2 ? twice_avx2(x) : twice_plain(x);
}

__attribute__((noinline)) const char *twice_simply(int *x) { return twice(x, 2, 0); }
__attribute__((noinline)) const char *twice_quickly(int *x) { return twice(x, 2, 1); }

int main(void) {
    numbers[7] = detect_avx2();
    twice_simply(numbers);
    return puts(twice_quickly(numbers)) < 0;
}

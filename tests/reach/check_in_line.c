/* The check stands in main, inline: CPUID, XGETBV, and a branch around the call. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(void) {
    unsigned a, b = 0, c = 0, d;
    const char *done;
    __get_cpuid(1, &a, &b, &c, &d);
    int avx = (c & 1u << 27) && (c & 1u << 28) && (enabled_by_the_system() & 6) == 6;
    if (avx && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2))
        done = twice_avx2(numbers);
    else
        done = twice_plain(numbers);
    return puts(done) < 0;
}

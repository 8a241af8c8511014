/* The check asks CPUID alone: it proves AVX2, and that the operating system was not asked is a note. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(void) {
    unsigned a, b = 0, c, d;
    int avx2 = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
    const char *done = avx2 ? twice_avx2(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

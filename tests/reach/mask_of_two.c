/* Two features are tested by one mask: all of its bits must be set. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

enum { HAS_BMI = 1 << 0, HAS_AVX2 = 1 << 4, BOTH = HAS_BMI | HAS_AVX2 };
static unsigned features;

__attribute__((noinline)) unsigned probe(void) {
    unsigned a, b = 0, c, d, found = 0;
    if (detect_avx2()) found |= HAS_AVX2;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 3)) found |= HAS_BMI;
    return found;
}

int main(void) {
    features = probe();
    const char *done = (features & BOTH) == BOTH ? twice_avx2(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

/* The same, and the bit below the right one is asked. */
#include "x86_64.h"

enum { HAS_SSE2 = 1, HAS_SSSE3 = 2, HAS_SSE42 = 4, HAS_AVX2 = 8 };
int numbers[8] = {1, 2, 3};
static unsigned features;
SSE42 const char *hash_sse42(int *x) { x[0] = __builtin_ia32_crc32si(x[1], x[2]); return "sse4.2"; }
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) unsigned probe(void) {
    unsigned a, b, c, d, found = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (c & 1u << 9) {
        found = HAS_SSE2 | HAS_SSSE3;
        if (c & 1u << 20) found |= HAS_SSE42;
    }
    if (detect_avx2()) found |= HAS_AVX2;
    return found;
}

__attribute__((noinline)) const char *twice(int *x) {
    return features & HAS_SSE42 ? twice_avx2(x) : features & HAS_SSSE3 ? hash_sse42(x) : twice_plain(x);
}

int main(void) {
    features = probe();
    return puts(twice(numbers)) < 0;
}

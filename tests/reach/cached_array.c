/* What the CPU has is an array of booleans, filled at the first query and read by the number of the feature. */
#include "x86_64.h"
#include <stdbool.h>

enum feature { HAS_CLMUL, HAS_SSE42, HAS_AVX2, HAS_AVX512, FEATURES };
int numbers[8] = {1, 2, 3};
static bool features[FEATURES], is_cached;
static const char *(*twice)(int *);
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) static void fill(void) {
    unsigned a, b, c = 0, d;
    __get_cpuid(1, &a, &b, &c, &d);
    features[HAS_CLMUL] = c & 1u << 1;
    features[HAS_SSE42] = c & 1u << 20;
    features[HAS_AVX2] = detect_avx2();
    features[HAS_AVX512] = false;
}

__attribute__((noinline)) bool has_feature(enum feature feature) {
    if (!is_cached) {
        fill();
        is_cached = true;
    }
    return features[feature];
}

int main(void) {
    twice = has_feature(HAS_AVX2) ? twice_avx2 : twice_plain;
    return puts(twice(numbers)) < 0;
}

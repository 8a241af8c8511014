/* The worked example of docs/explanation/reach.md: a constructor that checks for AVX2, and a function that chooses. */
#include <cpuid.h>

static int has_avx2;

__attribute__((constructor)) static void detect(void) {
    unsigned a, b, c, d;
    __cpuid(0, a, b, c, d);
    if (a < 7) return;
    __cpuid_count(7, 0, a, b, c, d);
    has_avx2 = b >> 5 & 1;
}

__attribute__((noinline, target("avx2"))) static int fast(const int *v) {
    int sum = 0;
    for (int i = 0; i < 8; i++) sum += v[i];
    return sum;
}

__attribute__((noinline)) static int slow(const int *v) {
    int sum = 0;
    for (int i = 0; i < 8; i++) sum += v[i];
    return sum;
}

int sum(const int *v) {
    return has_avx2 ? fast(v) : slow(v);
}

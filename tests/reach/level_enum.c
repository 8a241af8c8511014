/* What the CPU has becomes a number, and the code compares the number or switches on it. */
#include "x86_64.h"

enum level { NONE, WITH_SSE42, WITH_AVX, WITH_AVX2 };
int numbers[8] = {1, 2, 3};
static enum level level;
SSE42 const char *hash_sse42(int *x) { x[0] = __builtin_ia32_crc32si(x[1], x[2]); return "sse4.2"; }
AVX const char *twice_avx(int *x) { TWICE_AVX(x); return "avx"; }
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
AVX2 int thrice_avx2(int *x) { TWICE_AVX2(x); TWICE_AVX2(x + 1); return x[0]; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) enum level detect_level(void) {
    unsigned a, b, c = 0, d;
    __get_cpuid(1, &a, &b, &c, &d);
    return detect_avx2() ? WITH_AVX2 : detect_avx() ? WITH_AVX : (c & 1u << 20) ? WITH_SSE42 : NONE;
}

__attribute__((noinline)) const char *twice(int *x) {
    switch (level) {
    case WITH_AVX2: return twice_avx2(x);
    case WITH_AVX: return twice_avx(x);
    case WITH_SSE42: return hash_sse42(x);
    default: return twice_plain(x);
    }
}

int main(void) {
    level = detect_level();
    static volatile int sum; /* otherwise gcc drops the call */
    if (level >= WITH_AVX2) sum = thrice_avx2((int[16]){1, 2, 3});
    return puts(twice(numbers)) < 0;
}

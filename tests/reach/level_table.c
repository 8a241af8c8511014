/* A switch with so many cases that it becomes a table of jumps, indexed by what was found. */
#include "x86_64.h"

enum level { NONE, WITH_SSE42, WITH_SSE42_SLOW, WITH_AVX, WITH_AVX_SLOW, WITH_AVX2, WITH_AVX2_SLOW };
int numbers[8] = {1, 2, 3};
static enum level level;
SSE42 const char *hash_sse42(int *x) { x[0] = __builtin_ia32_crc32si(x[1], x[2]); return "sse4.2"; }
AVX const char *twice_avx(int *x) { TWICE_AVX(x); return "avx"; }
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
AVX2 const char *slowly_avx2(int *x) { TWICE_AVX2(x); x[0] ^= x[1]; return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) enum level detect_level(int slow) {
    unsigned a, b, c = 0, d;
    __get_cpuid(1, &a, &b, &c, &d);
    if (detect_avx2()) return slow ? WITH_AVX2_SLOW : WITH_AVX2;
    if (detect_avx()) return slow ? WITH_AVX_SLOW : WITH_AVX;
    if (c & 1u << 20) return slow ? WITH_SSE42_SLOW : WITH_SSE42;
    return NONE;
}

__attribute__((noinline)) const char *twice(int *x) {
    const char *done = "";
    switch (level) {
    case WITH_AVX2_SLOW: x[7]++; done = slowly_avx2(x); break;
    case WITH_AVX2: x[6]++; done = twice_avx2(x); break;
    case WITH_AVX_SLOW: x[5]++; /* fall through */
    case WITH_AVX: x[4]++; done = twice_avx(x); break;
    case WITH_SSE42_SLOW: x[3]++; /* fall through */
    case WITH_SSE42: x[2]++; done = hash_sse42(x); break;
    default: x[1]++; done = twice_plain(x); break;
    }
    x[0]--;
    return done;
}

int main(int argc, char **argv) {
    (void)argv;
    level = detect_level(argc > 5);
    return puts(twice(numbers)) < 0;
}

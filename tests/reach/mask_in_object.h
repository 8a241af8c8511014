/* An encoder on the heap with a mask of what the CPU has, as its own function for that calls it. */
#include "x86_64.h"
#include <string.h>
#include <immintrin.h>

enum { HAS_SSSE3 = 1, HAS_SSE41 = 2, HAS_SSE42 = 4, HAS_AVX2 = 8 };

struct encoder {
    int width;
    unsigned cpu, options;
    const char *(*twice)(int *);
    void (*functions[5])(int *);
};

__attribute__((noinline)) unsigned detect(void) {
    unsigned cpu = 0, a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (c & 1u << 9) cpu |= HAS_SSSE3;
    if (c & 1u << 19) cpu |= HAS_SSE41;
    if (c & 1u << 20) cpu |= HAS_SSE42;
    if (detect_avx2()) cpu |= HAS_AVX2;
    return cpu;
}

#define ONE(x) _mm_loadu_si128((__m128i *)(x))
#define TO(x, v) _mm_storeu_si128((__m128i *)(x), v)
__attribute__((target("ssse3"), noinline)) void absolute(int *x) { TO(x, _mm_abs_epi32(ONE(x))); }
__attribute__((target("ssse3"), noinline)) void shuffled(int *x) { TO(x, _mm_shuffle_epi8(ONE(x), ONE(x + 4))); }
__attribute__((target("sse4.1"), noinline)) void largest(int *x) { TO(x, _mm_max_epi32(ONE(x), ONE(x + 4))); }
__attribute__((target("sse4.1"), noinline)) void product(int *x) { TO(x, _mm_mullo_epi32(ONE(x), ONE(x + 4))); }
__attribute__((target("sse4.2"), noinline)) void compared(int *x) { TO(x, _mm_cmpgt_epi64(ONE(x), ONE(x + 4))); }
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int numbers[8] = {1, 2, 3};

/* The copy hides where the mask is from. */
__attribute__((noinline)) struct encoder *create(unsigned cpu, unsigned options) {
    struct encoder made = {.width = 8, .cpu = cpu, .options = options, .twice = twice_plain};
    struct encoder *encoder = malloc(sizeof *encoder);
    if (!encoder) exit(1);
    memcpy(encoder, &made, sizeof made);
    __asm__ volatile("" : "+r"(encoder) : : "memory");
    return encoder;
}

__attribute__((noinline)) void run(struct encoder *encoder) {
    for (int i = 0; i < 5; i++)
        if (encoder->functions[i]) encoder->functions[i](numbers);
}

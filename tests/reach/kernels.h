/* Kernels that give the same on every path, so that a program shows by SIGILL alone what it has executed. Each macro defines a function
   that sums, mixes or hashes the numbers of an array with instructions of one extension. */
#ifndef KERNELS_H
#define KERNELS_H
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define NI __attribute__((noinline))
#else
#define NI __attribute__((noinline, noclone))
#endif
#define T(x) __attribute__((target(x)))
#ifdef __cplusplus
#define EXT extern "C"
#else
#define EXT
#endif

#define K_AVX2(name)                                                                                                   \
    EXT NI T("avx2") int name(const int *p, int k) {                                                                   \
        __m256i s = _mm256_setzero_si256();                                                                            \
        for (int i = 0; i < k; i += 8)                                                                                 \
            s = _mm256_add_epi32(s, _mm256_slli_epi32(_mm256_loadu_si256((const __m256i *)(p + i)), 1));               \
        int t[8];                                                                                                      \
        _mm256_storeu_si256((__m256i *)t, s);                                                                          \
        return t[0] + t[1] + t[2] + t[3] + t[4] + t[5] + t[6] + t[7];                                                  \
    }
#define K_AVX2B(name)                                                                                                  \
    EXT NI T("avx2") int name(const int *p, int k) {                                                                   \
        __m256i s = _mm256_set1_epi32(7);                                                                              \
        for (int i = 0; i < k; i += 8)                                                                                 \
            s = _mm256_max_epi32(s, _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)(p + i)), s));     \
        int t[8];                                                                                                      \
        _mm256_storeu_si256((__m256i *)t, s);                                                                          \
        return t[0] ^ t[7];                                                                                            \
    }
#define K_SSE42(name)                                                                                                  \
    EXT NI T("sse4.2") int name(const int *p, int k) {                                                                 \
        unsigned c = 0;                                                                                                \
        for (int i = 0; i < k; i++) c = _mm_crc32_u32(c, (unsigned)p[i]);                                              \
        return (int)c;                                                                                                 \
    }

EXT NI int plain(const int *p, int k) {
    int s = 0;
    for (int i = 0; i < k; i++) s += p[i] * 2;
    return s;
}

static int data[64];
typedef int (*fn)(const int *, int);
#endif

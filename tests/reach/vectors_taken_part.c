/* A library for vectors: each function computes with what its caller passes in a wide register. With SCALARS, there are functions that
   take a pointer, a number or nothing instead, and need AVX2 of themselves. With SILENT, it does not say what the CPU has. */
#include <immintrin.h>

#ifndef SILENT
int has_wide_vectors(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") != 0;
}
#endif

__m256i twice8(__m256i x) { return _mm256_add_epi32(x, x); }
#ifdef __AVX512F__
__m512i twice16(__m512i x, __m512i y) { return _mm512_add_epi32(_mm512_add_epi32(x, x), y); }
#endif

#ifdef SCALARS
void twice_all(int *p) {
    __m256i all = _mm256_loadu_si256((const __m256i *)p);
    _mm256_storeu_si256((__m256i *)p, _mm256_add_epi32(all, all));
}
void scale_all(double *p, double x) {
    __m256d all = _mm256_mul_pd(_mm256_loadu_pd(p), _mm256_set1_pd(x));
    _mm256_storeu_pd(p, all);
}
void first_of_all(double *p, double x) {
    __m256d all = _mm256_loadu_pd(p);
    all[0] = x;
    _mm256_storeu_pd(p, all);
}
void finish_all(void) { _mm256_zeroupper(); }
void gather_all(const int *p, int *to) {
    _mm256_storeu_si256((__m256i *)to, _mm256_i32gather_epi32(p, _mm256_loadu_si256((const __m256i *)to), 4));
}
#endif

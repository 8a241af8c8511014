/* A library for vectors, without a check: each function computes with what its caller passes in a wide register. With SCALARS, there
   are functions that take a pointer or a number instead, and need AVX2 of themselves. */
#include "kernels.h"

EXT NI T("avx2") __m256i twice8(__m256i x) { return _mm256_add_epi32(x, x); }
EXT NI T("avx512f") __m512i twice16(__m512i x, __m512i y) { return _mm512_add_epi32(_mm512_add_epi32(x, x), y); }

#ifdef SCALARS
EXT NI T("avx2") void twice_all(int *p) {
    __m256i all = _mm256_loadu_si256((const __m256i *)p);
    _mm256_storeu_si256((__m256i *)p, _mm256_add_epi32(all, all));
}
EXT NI T("avx2") void scale_all(double *p, double x) {
    __m256d all = _mm256_mul_pd(_mm256_loadu_pd(p), _mm256_set1_pd(x));
    _mm256_storeu_pd(p, all);
}
#endif

/* A library that checks in one function and forgets to in the other, in front of the same exported one. */
#include "x86_64.h"

AVX2 const char *thrice_avx2(int *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
const char *twice(int *x) { return detect_avx2() ? thrice_avx2(x) : twice_plain(x); }
const char *thrice(int *x) { x[1]++; return thrice_avx2(x); }

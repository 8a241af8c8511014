/* A module whose host gets to AVX2 code unasked. */
#include "x86_64.h"

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
const char *PyInit_subject(int *x) { return twice_avx2(x); }

/* A module whose host gets none where AVX2 is missing. */
#include "x86_64.h"

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
const char *PyInit_subject(int *x) {
    if (!detect_avx2()) { fprintf(stderr, "this module needs AVX2\n"); return 0; }
    return twice_avx2(x);
}

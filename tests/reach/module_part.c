/* A module whose other functions are exported as well, since nobody made them hidden: one is chosen by a check, one is spare. */
#include "x86_64.h"

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
AVX2 const char *spare_avx2(int *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
const char *PyInit_subject(int *x) { return detect_avx2() ? twice_avx2(x) : twice_plain(x); }

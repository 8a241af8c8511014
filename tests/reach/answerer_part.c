/* A library that asks a function of another file. */
#include "x86_64.h"
#define HIDDEN __attribute__((visibility("hidden")))

int subject_cpu_has_avx2(void);
HIDDEN AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
const char *twice(int *x) { return subject_cpu_has_avx2() ? twice_avx2(x) : twice_plain(x); }

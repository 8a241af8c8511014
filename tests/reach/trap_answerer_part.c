/* A library that asks a function of another file for something else. */
#include "x86_64.h"
#define HIDDEN __attribute__((visibility("hidden")))

int subject_is_in_a_hurry(void);
HIDDEN AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
const char *twice(int *x) { return subject_is_in_a_hurry() ? twice_avx2(x) : twice_plain(x); }

/* A library that exports what its check chooses, and what that calls in turn. */
#include "x86_64.h"

AVX2 const char *thrice_avx2(int *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return thrice_avx2(x); }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static const char *(*chosen)(int *) = twice_plain;
__attribute__((constructor)) static void initialise(void) {
    if (detect_avx2()) chosen = twice_avx2;
}
const char *twice(int *x) { return chosen(x); }
const char *thrice(int *x) { return detect_avx2() ? thrice_avx2(x) : twice_plain(x); }

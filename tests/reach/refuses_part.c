/* A library that cannot be loaded where AVX2 is missing: its constructor ends the program. The rest of it checks nothing. */
#include "x86_64.h"

__attribute__((constructor)) static void check(void) {
    if (!detect_avx2()) { fprintf(stderr, "libsubject: no AVX2 on this machine\n"); abort(); }
}
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "avx2"; }
const char *twice(int *x) { return twice_plain(x); }

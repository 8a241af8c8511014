/* A shared library whose only exported function asks a flag that the library's constructor sets. */
#include "x86_64.h"

static int has_avx2;
__attribute__((constructor)) static void initialise(void) { has_avx2 = detect_avx2(); }
__attribute__((visibility("hidden"))) AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
const char *twice(int *x) { return has_avx2 ? twice_avx2(x) : twice_plain(x); }

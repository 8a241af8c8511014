/* A shared library: an exported function uses AVX2 unasked, a hidden one is called by an exported one that asks. */
#include "x86_64.h"

__attribute__((visibility("hidden"))) AVX2 const char *twice_hidden(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
AVX2 const char *twice_unchecked(int *x) { TWICE_AVX2(x); return "avx2"; }
const char *twice(int *x) { return detect_avx2() ? twice_hidden(x) : twice_plain(x); }

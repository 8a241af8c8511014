/* A shared library that dispatches: one function asks a flag that the constructor sets, the other an exported function, which
   it calls through the linkage table as any other program would. */
#include "x86_64.h"
#define HIDDEN __attribute__((visibility("hidden")))

static int flag;
__attribute__((constructor)) static void initialise(void) { flag = detect_avx2(); }
HIDDEN AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
HIDDEN AVX2 const char *thrice_avx2(int *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) int library_has_avx2(void) { return detect_avx2(); }
const char *twice(int *x) { return flag ? twice_avx2(x) : twice_plain(x); }
const char *thrice(int *x) { return library_has_avx2() ? thrice_avx2(x) : twice_plain(x); }

/* The constructor refuses only where a setting wants AVX2. */
#include "x86_64.h"

int wanted;
static int level;
AVX2 static const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
__attribute__((constructor)) static void check(void) {
    if (wanted && !detect_avx2()) abort();
    level = detect_avx2();
}
const char *twice(int *x) { return level ? twice_avx2(x) : twice_plain(x); }

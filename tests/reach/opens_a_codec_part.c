/* A library whose codecs need AVX2: who opens one is told so, or is ended; who opens none uses the rest. */
#include "x86_64.h"

static int opened;
AVX2 static const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
int open_codec(void) {
    if (!detect_avx2()) { fprintf(stderr, "the codec needs AVX2\n"); return -1; }
    opened = 1;
    return 0;
}
void must_open_codec(void) {
    if (!detect_avx2()) abort();
    opened = 1;
}
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
const char *twice(int *x) { return opened ? twice_avx2(x) : twice_plain(x); }

/* What the check throws is caught: the library goes on without. */
#include "x86_64.h"
#include <stdexcept>

static int level;
AVX2 static const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
PLAIN static void check() {
    if (!detect_avx2()) throw std::runtime_error("no AVX2 on this machine");
    level = 1;
}
__attribute__((constructor)) static void start() {
    try { check(); } catch (const std::exception &) { level = 0; }
}
extern "C" const char *twice(int *x) { return level ? twice_avx2(x) : twice_plain(x); }

/* The constructor of an object throws, where nothing can catch it. */
#include "x86_64.h"
#include <stdexcept>

static struct Check {
    Check() {
        if (!detect_avx2()) throw std::runtime_error("no AVX2 on this machine");
    }
} checked;

extern "C" const char *twice(int *x) { TWICE_PLAIN(x); return "avx2"; }

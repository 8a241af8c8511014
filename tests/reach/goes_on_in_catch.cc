/* What the check throws is caught in `main`, which goes on without. */
#include "x86_64.h"
#include <stdexcept>

static int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
PLAIN static const char *work(int *x) {
    if (!detect_avx2()) throw std::runtime_error("no AVX2 on this machine");
    return twice_avx2(x);
}

int main() {
    try {
        return puts(work(numbers)) < 0;
    } catch (const std::exception &fault) {
        fprintf(stderr, "slower: %s\n", fault.what());
    }
    return puts(twice_plain(numbers)) < 0;
}

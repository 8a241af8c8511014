/* The word is shared by threads: found at the first use, and stored by an atomic exchange. */
#include "x86_64.h"

enum { NOT_ASKED = 1 << 30, HAS_AVX = 1 << 0, HAS_AVX2 = 1 << 1 };
int numbers[8] = {1, 2, 3};
static _Atomic int features = NOT_ASKED;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
AVX const char *twice_avx(int *x) { TWICE_AVX(x); return "avx"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) int supported(void) {
    int found = features;
    if (found == NOT_ASKED) {
        found = (detect_avx() ? HAS_AVX : 0) | (detect_avx2() ? HAS_AVX2 : 0);
        features = found;
    }
    return found;
}

int main(void) {
    int found = supported();
    const char *done = found & HAS_AVX2 ? twice_avx2(numbers) : found & HAS_AVX ? twice_avx(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

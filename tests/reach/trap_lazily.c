/* Not asked yet is -1, which is not zero: who does not look for it runs AVX2 unasked. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static int has_avx2 = -1;

__attribute__((noinline)) void ask(void) {
    if (has_avx2 < 0) has_avx2 = detect_avx2() ? 1 : 0;
}

__attribute__((noinline)) const char *twice(int *x) { return has_avx2 ? twice_avx2(x) : twice_plain(x); }

int main(void) {
    const char *done = twice(numbers);
    ask();
    return puts(done) < 0;
}

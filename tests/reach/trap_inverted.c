/* The check is the wrong way round: AVX2 where the CPU lacks it. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(void) {
    const char *done = !detect_avx2() ? twice_avx2(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

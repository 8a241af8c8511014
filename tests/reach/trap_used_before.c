/* The check comes after the use. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(void) {
    const char *done = twice_avx2(numbers);
    if (!detect_avx2()) done = twice_plain(numbers);
    return puts(done) < 0;
}

/* The check is for AVX and the code is AVX2: it dies on the one generation that has AVX alone. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(void) {
    const char *done = detect_avx() ? twice_avx2(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

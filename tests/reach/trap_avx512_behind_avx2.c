/* The check is for AVX2 and the code is AVX-512: it dies on most CPUs in use. */
#include "x86_64.h"

int numbers[16] = {1, 2, 3};
AVX512 const char *twice_avx512(int *x) { TWICE_AVX512(x); return "avx512"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(void) {
    const char *done = detect_avx2() ? twice_avx512(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

/* One of two features is enough for the check, but only one of them licenses the code. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(void) {
    unsigned a, b, c = 0, d;
    __get_cpuid(1, &a, &b, &c, &d);
    const char *done = detect_avx2() || (c & 1u << 20) ? twice_avx2(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

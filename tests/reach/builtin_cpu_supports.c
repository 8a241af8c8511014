/* The compiler's own check: libgcc fills __cpu_model in a constructor of its own. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(void) {
    const char *done = __builtin_cpu_supports("avx2") ? twice_avx2(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

/* AVX-512 behind the compiler's check for it; qemu has no CPU with it, so there the other path must run. */
#include "x86_64.h"

int numbers[16] = {1, 2, 3};
AVX512 const char *twice_avx512(int *x) { TWICE_AVX512(x); return "avx512"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(void) {
    const char *done = __builtin_cpu_supports("avx512f") ? twice_avx512(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

/* The flag is written from CPUID, but also from the command line (here: always), so it proves nothing. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int has_avx2;

__attribute__((noinline)) static void force(int argc) {
    if (argc > 0) has_avx2 = 1;
}

int main(int argc, char **argv) {
    (void)argv;
    has_avx2 = detect_avx2();
    force(argc);
    const char *done = has_avx2 ? twice_avx2(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

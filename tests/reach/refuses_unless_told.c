/* Whoever sets an environment variable gets on without AVX2. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(int argc, char **argv) {
    int has = detect_avx2();
    if (!has && !getenv("PATH")) { fprintf(stderr, "no AVX2: set PATH to go on\n"); return 1; }
    numbers[7] = argc;
    return puts(has ? twice_avx2(numbers) : twice_plain(numbers)) < 0;
}
